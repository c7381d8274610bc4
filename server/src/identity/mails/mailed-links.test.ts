import { afterAll, beforeAll, expect, test } from 'vitest'
import { sql } from '../../platform/model/sql.ts'
import { encodeId, decodeId } from '../../platform/model/ids.ts'
import { type MailReceiver, startMailReceiver } from '../../../test/mail-receiver.ts'
import { makeDue, mailOf, mailsOf } from '../../../test/mail-queue.ts'
import { goodPassword, receiveLinkToken, newEmail, newOwner, type TestOwner } from '../../../test/people.ts'
import { until } from '../../../test/processes.ts'
import { startTestService, type TestService } from '../../../test/service.ts'

let receiver: MailReceiver
let service: TestService
let isRejecting = false
/** Of the first organization: only its owners read invitations. */
let operator: TestOwner
beforeAll(async () => {
  receiver = await startMailReceiver({ refuseMail: () => (isRejecting ? 451 : undefined) })
  service = await startTestService({
    SMTP_URL: receiver.url,
    MAIL_FROM: 'Rapport <crm@example.com>',
    SIGN_UP: 'open',
  })
  operator = await newOwner(service)
})
afterAll(async () => {
  await service.close()
  await receiver.close()
})

const post = (path: string, body: unknown) => service.anonymous('POST', path, { body })

const isVerified = async (email: string): Promise<boolean> => {
  const rows = await service.database.crossTenantQuery(
    'check the database',
    sql`select from users where email_key = ${email} and verified_at is not null`,
  )
  return rows.length > 0
}

/** Queues a mail while the mail server rejects it temporarily; delivers it after an owner has read it. */
async function readBeforeDelivery(owner: TestOwner, email: string, send: () => Promise<unknown>): Promise<void> {
  isRejecting = true
  await send()
  await until('the first attempt is over', async () => (await mailOf(service, email)).lastError !== null)
  const mailId = encodeId('mai', (await mailOf(service, email)).id)
  expect((await owner.call('GET', `/v5/mails/${mailId}/content`)).status).toBe(200)
  isRejecting = false
  await makeDue(service)
  await until('the mail is sent', async () => (await mailOf(service, email)).status === 'sent')
}

test('an account that is created with a mailed link has a verified address', async () => {
  const [owner, invited, signedUp] = [await newOwner(service), newEmail(), newEmail()]
  await owner.call('POST', '/v5/invitations', { body: { email: invited, role: 'member' } })
  const invitation = {
    token: await receiveLinkToken(receiver, invited, 'invitation'),
    name: 'Grace',
    password: goodPassword,
  }
  expect((await post('/auth/invitations/accept', invitation)).status).toBe(200)
  await post('/auth/sign-up', { email: signedUp })
  const token = await receiveLinkToken(receiver, signedUp, 'sign-up')
  const confirmed = { token, name: 'Grace', organization: 'Grace & Co', password: goodPassword }
  expect((await post('/auth/sign-up/confirm', confirmed)).status).toBe(200)
  expect([await isVerified(invited), await isVerified(signedUp)]).toEqual([true, true])
})

test('an existing account’s address is verified by a mailed verification or password reset link', async () => {
  const [verifying, resetting] = [await newOwner(service), await newOwner(service)]
  expect(await isVerified(verifying.email)).toBe(false)
  await verifying.call('POST', '/v5/me/address', { body: { email: verifying.email } })
  const token = await receiveLinkToken(receiver, verifying.email, 'verify-address')
  expect((await post('/auth/verify-address', { token })).status).toBe(200)
  await post('/auth/forgot-password', { email: resetting.email })
  const reset = { token: await receiveLinkToken(receiver, resetting.email, 'reset-password'), password: goodPassword }
  expect((await post('/auth/reset-password', reset)).status).toBe(204)
  expect([await isVerified(verifying.email), await isVerified(resetting.email)]).toEqual([true, true])
})

test('a password reset does not verify the address of an account with a second factor', async () => {
  const { email, userId } = await newOwner(service)
  await service.database.crossTenantQuery(
    'check the database',
    sql`update users set second_factors = '{passkey}' where id = ${decodeId('usr', userId)}::uuid`,
  )
  await post('/auth/forgot-password', { email })
  const reset = { token: await receiveLinkToken(receiver, email, 'reset-password'), password: goodPassword }
  expect((await post('/auth/reset-password', reset)).status).toBe(204)
  expect(await isVerified(email)).toBe(false)
})

test('a link that an owner read before it was delivered admits the person but verifies no address', async () => {
  const email = newEmail()
  await readBeforeDelivery(operator, email, () =>
    operator.call('POST', '/v5/invitations', { body: { email, role: 'member' } }),
  )
  const token = await receiveLinkToken(receiver, email, 'invitation')
  const accepted = await post('/auth/invitations/accept', { token, name: 'Grace', password: goodPassword })
  expect(accepted.status, accepted.text).toBe(200)
  expect(await isVerified(email)).toBe(false)
})

test('a request for another organization’s mail does not stop its link from verifying the address', async () => {
  const [owner, otherOwner, email] = [await newOwner(service), await newOwner(service), newEmail()]
  isRejecting = true
  await owner.call('POST', '/v5/invitations', { body: { email, role: 'member' } })
  await until('the first attempt is over', async () => (await mailOf(service, email)).lastError !== null)
  const mailId = encodeId('mai', (await mailOf(service, email)).id)
  expect((await otherOwner.call('GET', `/v5/mails/${mailId}/content`)).status).toBe(404)
  isRejecting = false
  await makeDue(service)
  const token = await receiveLinkToken(receiver, email, 'invitation')
  expect((await post('/auth/invitations/accept', { token, name: 'Grace', password: goodPassword })).status).toBe(200)
  expect(await isVerified(email)).toBe(true)
  expect(await mailsOf(service, email)).toHaveLength(1)
})
