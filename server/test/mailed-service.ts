import { expect } from 'vitest'
import type { Role } from '../src/platform/model/scopes.ts'
import { type MailReceiver, startMailReceiver } from './mail-receiver.ts'
import { callAs, goodPassword, receiveLinkToken, newEmail, type TestPerson } from './people.ts'
import { type Call, startTestService, type TestService } from './service.ts'

/** A service with a mail server that receives its mails. */
export interface MailedService {
  service: TestService
  receiver: MailReceiver
  /** Invites a new address; returns the token in the mailed link. */
  invite(caller: Call, body?: Record<string, unknown>): Promise<{ id: string; email: string; token: string }>
  /** Invites a new person, who accepts; they are a member of this organization only. */
  join(caller: Call, role: Role): Promise<TestPerson>
  close(): Promise<void>
}

/** Services of one database need the same ones, because each of them sends its mails. */
export const mailSettings = ({ url }: MailReceiver) => ({ SMTP_URL: url, MAIL_FROM: 'Rapport <crm@example.com>' })

export async function startMailedService(
  environment: Record<string, string> = {},
  existing?: Parameters<typeof startTestService>[1],
): Promise<MailedService> {
  const receiver = await startMailReceiver()
  const service = await startTestService({ ...mailSettings(receiver), ...environment }, existing)
  const invite: MailedService['invite'] = async (caller, body = {}) => {
    const email = newEmail()
    const created = await caller('POST', '/v5/invitations', { body: { email, role: 'member', ...body } })
    expect(created.status, created.text).toBe(201)
    return {
      id: created.body.id,
      email: created.body.email,
      token: await receiveLinkToken(receiver, created.body.email, 'invitation'),
    }
  }
  return {
    service,
    receiver,
    invite,
    async join(caller, role) {
      const { email, token } = await invite(caller, { role })
      const body = { token, name: `Person who is ${role}`, password: goodPassword }
      const accepted = await service.anonymous('POST', '/auth/invitations/accept', { body })
      expect(accepted.status, accepted.text).toBe(200)
      const { accessToken } = accepted.body
      return { email, password: goodPassword, ...accepted.body, call: callAs(service, accessToken) }
    },
    async close() {
      await service.close()
      await receiver.close()
    },
  }
}
