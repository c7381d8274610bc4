import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { makeSetUpLink } from '../src/commands/set-up-link.ts'
import type { Call, CallOptions, Json, TestAnswer, TestService } from './service.ts'
import type { MailReceiver } from './mail-receiver.ts'

/** A person who has logged in, without a browser. */
export interface TestPerson {
  email: string
  password: string
  userId: string
  sessionId: string
  accessToken: string
  refreshToken: string
  /** With the access token. */
  call: Call
}

export const goodPassword = 'violet engine tandem'

/** Calls with the access token. */
export const callAs =
  (service: TestService, accessToken: string): Call =>
  (method, path, { headers = {}, ...options }: CallOptions = {}) =>
    service.anonymous(method, path, { ...options, headers: { authorization: `Bearer ${accessToken}`, ...headers } })

/** Logs in from nowhere in particular; `headers` say from where. */
export const logIn = (
  service: TestService,
  email: string,
  password = goodPassword,
  headers: Record<string, string> = {},
): Promise<TestAnswer<Json>> => service.anonymous('POST', '/auth/login', { body: { email, password }, headers })

/** Logs in and expects it to work. */
export async function loggedIn(
  service: TestService,
  email: string,
  password = goodPassword,
  headers: Record<string, string> = {},
): Promise<TestPerson> {
  const { status, body, text } = await logIn(service, email, password, headers)
  expect(status, text).toBe(200)
  expect(body.status).toBe('complete')
  return { email, password, ...body, call: callAs(service, body.accessToken) }
}

/** An owner with an organization of their own, who has a password and a session. */
export async function newOwner(service: TestService): Promise<TestPerson & { organizationId: string }> {
  const organization = await service.newOrganization()
  const { body } = await service.anonymous('POST', '/auth', { body: { token: organization.refreshToken } })
  const me = await callAs(service, body.accessToken)('GET', '/v5/me')
  return {
    email: me.body.email,
    password: 'a password that is long enough',
    ...body,
    organizationId: organization.organizationId,
    call: callAs(service, body.accessToken),
  }
}

export const newEmail = (): string => `${randomUUID()}@example.com`

/** What stands after the `=` in the link of the next mail to this address. */
export async function linkIn(receiver: MailReceiver, email: string, purpose: string): Promise<string> {
  const isMeant = (link: string) => new URL(link).hash.startsWith(`#${purpose}=`)
  const mail = await receiver.next(({ to, links }) => to.includes(email) && links.some(isMeant))
  return tokenOf(mail.links.find(isMeant) ?? '')
}

export const tokenOf = (link: string): string => decodeURIComponent(new URL(link).hash.split('=')[1] ?? '')

/** The token of a set-up link, as a start on an empty database prints it; undefined when somebody is there. */
export async function setUpToken({ database, url }: TestService): Promise<string | undefined> {
  const link = await makeSetUpLink(database, url)
  return link === undefined ? undefined : tokenOf(link)
}
