import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { createSetUpLink } from '../src/cli/set-up-link.ts'
import { createOneTimeToken } from '../src/identity/access/one-time-token-store.ts'
import { findOpenInvitation } from '../src/identity/invitations/store.ts'
import { serviceActor } from '../src/platform/model/caller.ts'
import { sql } from '../src/platform/model/sql.ts'
import { decodeId } from '../src/platform/model/ids.ts'
import type { MailReceiver } from './mail-receiver.ts'
import type { Call, CallOptions, Json, TestResponse, TestOrganization, TestService } from './service.ts'

/** A logged-in person. */
export interface TestPerson {
  email: string
  password: string
  userId: string
  sessionId: string
  accessToken: string
  refreshToken: string
  /** Calls with the access token. */
  call: Call
}

export const goodPassword = 'violet engine tandem'

/** Calls with an access token, or with an API key and the header of its organization. */
export const callAs =
  (service: TestService, credential: string, common: Record<string, string> = {}): Call =>
  (method, path, { headers = {}, ...options }: CallOptions = {}) =>
    service.anonymous(method, path, {
      ...options,
      headers: { authorization: `Bearer ${credential}`, ...common, ...headers },
    })

/** Repeats a request that an overloaded service has refused, as every client should. */
export async function untilServed<Answer extends Pick<TestResponse<Json>, 'headers' | 'body'> | undefined>(
  send: () => Promise<Answer>,
): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    const answer = await send()
    if (answer?.body?.code !== 'overloaded' || attempt === 10) return answer
    await delay(Number(answer.headers.get('retry-after')) * 1000)
  }
}

/** Logs in; `headers` can set the client's address or device. */
export const logIn = (
  service: TestService,
  email: string,
  password = goodPassword,
  headers: Record<string, string> = {},
): Promise<TestResponse<Json>> => service.anonymous('POST', '/auth/login', { body: { email, password }, headers })

/** Calls with the new access token: a re-authentication ends the old tokens. */
export function callAfterReauthentication(service: TestService, reauthentication: TestResponse<Json>): Call {
  expect(reauthentication.status, reauthentication.text).toBe(200)
  return callAs(service, reauthentication.body.accessToken)
}

/** Logs in and expects success. */
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

/** The token of an open invitation's link as the operator prints it: nobody proves with it to read the mails. */
export async function handedOverToken(service: TestService, organizationId: string, email: string): Promise<string> {
  const id = decodeId('org', organizationId) ?? ''
  const invitation = await service.database.transaction(serviceActor('command', id), (transaction) =>
    findOpenInvitation(transaction, email),
  )
  const recordId = decodeId('inv', invitation?.recordId ?? '') ?? ''
  return service.database.crossTenantTransaction('manage an account', (db) =>
    createOneTimeToken(db, { purpose: 'invitation', email, organizationId: id, recordId, lifetimeSeconds: 600 }),
  )
}

/** The owner of an organization. */
export interface TestOwner extends TestPerson {
  organizationId: string
  /** The result of `bootstrap`; its `call` uses the API key. */
  organization: TestOrganization
}

/** Creates an organization; returns its owner, who has a password and a session. */
export async function newOwner(service: TestService): Promise<TestOwner> {
  const organization = await service.newOrganization()
  const { organizationId, userId, sessionId, accessToken, refreshToken } = organization
  const call = callAs(service, accessToken)
  const { email } = (await call('GET', '/v5/me')).body
  const password = 'a password that is long enough'
  return { email, password, userId, sessionId, accessToken, refreshToken, call, organizationId, organization }
}

/** Moves the session's last authentication this many seconds into the past. */
export const backdateReauthentication = (
  service: TestService,
  { sessionId }: Pick<TestPerson, 'sessionId'>,
  seconds: number,
): Promise<object[]> =>
  service.database.crossTenantQuery(
    'check the database',
    sql`update sessions set proved_at = now() - make_interval(secs => ${seconds})
      where id = ${decodeId('session', sessionId)}::uuid`,
  )

export const newEmail = (): string => `${randomUUID()}@example.com`

/** The token in the link of the next mail to this address. */
export async function receiveLinkToken(receiver: MailReceiver, email: string, purpose: string): Promise<string> {
  const hasPurpose = (link: string) => new URL(link).hash.startsWith(`#${purpose}=`)
  const mail = await receiver.next(({ to, links }) => to.includes(email) && links.some(hasPurpose))
  return tokenInLink(mail.links.find(hasPurpose) ?? '')
}

export const tokenInLink = (link: string): string => decodeURIComponent(new URL(link).hash.split('=')[1] ?? '')

/** The token of the set-up link that a start on an empty database prints; undefined if an account exists. */
export async function setUpToken({ database, url }: TestService): Promise<string | undefined> {
  const link = await createSetUpLink(database, url)
  return link === undefined ? undefined : tokenInLink(link)
}
