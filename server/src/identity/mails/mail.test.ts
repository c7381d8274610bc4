import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type OneTimePurpose, readOneTimeToken } from '../access/one-time-token-store.ts'
import { sql } from '../../platform/model/sql.ts'
import type { AccountChange, NewMail } from './store.ts'
import { texts } from './texts.ts'
import { mailKindNames } from './kinds.ts'
import { newId, decodeId } from '../../platform/model/ids.ts'
import { type MailReceiver, startMailReceiver } from '../../../test/mail-receiver.ts'
import { countValidTokens, mailOf, mailsOf, newPerson, enqueue } from '../../../test/mail-queue.ts'
import { until } from '../../../test/processes.ts'
import { startTestService, type TestService } from '../../../test/service.ts'

let receiver: MailReceiver
let service: TestService
beforeAll(async () => {
  receiver = await startMailReceiver()
  service = await startTestService({
    SMTP_URL: receiver.url,
    MAIL_FROM: 'Rapport <crm@example.com>',
    PUBLIC_URL: 'https://crm.example.com',
    SIGN_UP: 'open',
  })
})
afterAll(async () => {
  await service.close()
  await receiver.close()
})

const newAddress = () => `${randomUUID()}@example.com`
const nextMailTo = (address: string) => receiver.next((mail) => mail.to.includes(address))
const waitForStatus = (address: string, status: string) =>
  until(`the mail is ${status}`, async () => (await mailOf(service, address)).status === status)

const linkTo = (purpose: OneTimePurpose) =>
  expect.stringMatching(new RegExp(`^https://crm\\.example\\.com/account#${purpose}=ott_[\\w-]{43}$`))

const read = (purpose: OneTimePurpose, link = '') =>
  service.database.crossTenantTransaction('check the database', (spanning) =>
    readOneTimeToken(spanning, purpose, new URL(link).hash.split('=')[1] ?? ''),
  )

const newOrganization = async () => {
  const created = await service.newOrganization()
  return {
    ...created,
    uuid: decodeId('org', created.organizationId) ?? '',
    owner: decodeId('usr', created.userId) ?? '',
  }
}

async function invite(
  organizationId: string,
  { email = newAddress(), days = 7, invitedBy = null as string | null } = {},
): Promise<NewMail & { recordId: string }> {
  const recordId = newId()
  await service.database.crossTenantQuery(
    'check the database',
    sql`insert into invitations (organization_id, id, email, email_key, role, invited_by, expires_at)
      values (${organizationId}, ${recordId}, ${email}, ${email}, 'member', ${invitedBy}::uuid,
        now() + make_interval(days => ${days}))`,
  )
  return { kind: 'invitation', recipient: email, organizationId, recordId }
}

test('a mail goes from MAIL_FROM to one recipient, in plain text and HTML, marked as auto-generated', async () => {
  const { id, email } = await newPerson(service)
  const mailId = await enqueue(service, { kind: 'reset-password', recipient: email })
  const mail = await nextMailTo(email)
  expect(mail).toMatchObject({ from: 'crm@example.com', to: [email], subject: 'Set a new password' })
  expect(mail.headers.get('from')).toBe('Rapport <crm@example.com>')
  expect(mail.headers.get('to')).toBe(email)
  expect(mail.headers.get('content-type')).toMatch(/^multipart\/alternative/)
  expect(mail.headers.get('auto-submitted')).toBe('auto-generated')
  expect(mail.messageId).toMatch(new RegExp(`^<${mailId.replaceAll('-', '')}\\.\\d+@example\\.com>$`))
  expect(mail.links).toEqual([linkTo('reset-password')])
  expect(mail.html).toContain(`href="${mail.links[0]}"`)
  await waitForStatus(email, 'sent')
  expect(await mailOf(service, email)).toMatchObject({ userId: id, attempts: 1, isSealed: false, lastError: null })
})

test('a password reset link goes to the address stored in the account, however the caller typed it', async () => {
  const { id, email } = await newPerson(service, [], { email: `Kelvin-${newAddress()}` })
  // The Kelvin sign folds to a k: the owner of the look-alike address must not get the link.
  const typed = email.replace('K', '\u212a').toUpperCase()
  await enqueue(service, { kind: 'reset-password', recipient: typed })
  const mail = await nextMailTo(email)
  expect(await read('reset-password', mail.links[0])).toMatchObject({ userId: id, email })
  expect(receiver.mails().filter(({ to: all }) => all.includes(typed))).toEqual([])
})

test('a password reset gets the same response for a known and an unknown address; only the known one gets a mail', async () => {
  const { email: known } = await newPerson(service)
  const unknown = newAddress()
  const send = (email: string) => service.anonymous('POST', '/auth/forgot-password', { body: { email } })
  const [knownResponse, unknownResponse] = [await send(known), await send(unknown)]
  expect(unknownResponse.status).toBe(knownResponse.status)
  expect(unknownResponse.text).toBe(knownResponse.text)
  await nextMailTo(known)
  await waitForStatus(unknown, 'dropped')
  expect(await mailOf(service, unknown)).toMatchObject({ lastError: 'the address has no account', isSealed: false })
  expect(await countValidTokens(service, { email: unknown })).toBe(0)
  expect(receiver.mails().filter(({ to: all }) => all.includes(unknown))).toEqual([])
})

test('signing up mails a link to a new address, and a notice without a link to the address of an account', async () => {
  const { email: known } = await newPerson(service)
  const unknown = newAddress()
  const send = (email: string) => service.anonymous('POST', '/auth/sign-up', { body: { email } })
  const [knownResponse, unknownResponse] = [await send(known), await send(unknown)]
  expect([unknownResponse.status, unknownResponse.text]).toEqual([knownResponse.status, knownResponse.text])
  const welcome = await nextMailTo(unknown)
  expect(welcome.links).toEqual([linkTo('sign-up')])
  expect(await read('sign-up', welcome.links[0])).toMatchObject({ email: unknown, userId: null })
  const news = await nextMailTo(known)
  expect(news.subject).toBe('You already have an account')
  expect(news.raw).not.toMatch(/ott_/)
  expect(await countValidTokens(service, { email: known })).toBe(0)
})

test('a verification link goes to the address it verifies and names its account', async () => {
  const { id } = await newPerson(service)
  const newEmail = newAddress()
  await enqueue(service, { kind: 'verify-address', recipient: newEmail, userId: id })
  const mail = await nextMailTo(newEmail)
  expect(await read('verify-address', mail.links[0])).toMatchObject({ userId: id, email: newEmail })
})

test('an invitation names the inviter and the organization; its link expires with it', async () => {
  const { uuid, owner } = await newOrganization()
  const mail = await invite(uuid, { days: 3, invitedBy: owner })
  await enqueue(service, mail)
  const received = await nextMailTo(mail.recipient)
  expect(received.subject).toMatch(/^Invitation to Organization /)
  expect(received.text).toMatch(
    /^You are invited to join the organization “Organization [^”]+” at crm\.example\.com\.$/m,
  )
  expect(received.text).toMatch(/^Invited by: \S+$/m)
  expect(received.text).toContain('works once, for 3 days')
  expect(await read('invitation', received.links[0])).toEqual({
    userId: null,
    email: mail.recipient,
    organizationId: uuid,
    recordId: mail.recordId,
    isMailed: true,
  })
  await waitForStatus(mail.recipient, 'sent')
  expect((await mailOf(service, mail.recipient)).organizationId).toBe(uuid)

  const expired = await invite(uuid, { days: 0 })
  await enqueue(service, expired)
  await waitForStatus(expired.recipient, 'dropped')
  expect(await countValidTokens(service, { email: expired.recipient })).toBe(0)
})

test('names of people and organizations cannot inject a header, element or link into a mail', async () => {
  const { uuid } = await newOrganization()
  const evil = 'Free money\r\nBcc: all@example.com <a href="https://evil.example/?a=1">https://evil.example/pay</a>'
  const { id } = await newPerson(service, [uuid], { name: evil })
  await service.database.crossTenantQuery(
    'check the database',
    sql`update organizations set name = ${evil} where id = ${uuid}`,
  )
  const mail = await invite(uuid, { invitedBy: id })
  await enqueue(service, mail)
  const received = await nextMailTo(mail.recipient)
  expect(received.to).toEqual([mail.recipient])
  expect(received.headers.has('bcc')).toBe(false)
  expect(received.subject.length).toBeLessThan(80)
  expect(received.links).toEqual([linkTo('invitation')])
  expect(received.html.match(/<a [^>]*>/g)).toEqual([`<a href="${received.links[0]}">`])
  for (const part of [received.text, received.html, received.subject]) {
    expect(part).toContain('Free money')
    expect(part).not.toMatch(/evil\.example|https:\/\/evil/)
  }
})

test('a login from a new device is mailed with time, device, address and advice', async () => {
  const { id, email } = await newPerson(service)
  const facts = {
    device: 'Firefox\r\nX: y https://evil.example',
    address: '203.0.113.5',
    at: '2026-11-22T05:00:00.000Z',
  }
  await enqueue(service, { kind: 'new-device', recipient: email, userId: id, facts })
  const { text, links } = await nextMailTo(email)
  for (const part of ['Time: 22 Nov 2026, 05:00 UTC', 'Firefox X: y', '203.0.113.5', 'If this was not you'])
    expect(text).toContain(part)
  expect(links).toEqual([])
})

test('every change of an account’s ways to log in is mailed with advice', async () => {
  const { id } = await newPerson(service)
  const notices = Object.entries(texts.en.accountChanged.changes).map(([what, sentence]) => ({
    what,
    sentence,
    recipient: newAddress(),
  }))
  for (const { what, recipient } of notices)
    await enqueue(service, {
      kind: 'account-changed',
      recipient,
      userId: id,
      facts: { what: what as AccountChange },
    })
  for (const { sentence, recipient } of notices) {
    const { text, raw } = await nextMailTo(recipient)
    expect(text).toContain(sentence)
    expect(text).toContain('If this was not you')
    expect(raw).not.toMatch(/ott_/)
  }
})

test('nobody can flood an inbox: an address gets at most five links in half an hour', async () => {
  const { email } = await newPerson(service)
  for (let count = 0; count < 8; count++) {
    const answer = await service.anonymous('POST', '/auth/forgot-password', { body: { email } })
    expect(answer.status).toBe(202)
  }
  expect(await mailsOf(service, email)).toHaveLength(5)
  const unknownResponse = newAddress()
  await enqueue(service, { kind: 'reset-password', recipient: unknownResponse })
  await service.database.crossTenantQuery(
    'check the database',
    sql`update mails set created_at = created_at - interval '31 minutes' where recipient_key = ${email}`,
  )
  await enqueue(service, { kind: 'reset-password', recipient: email })
})

test('a mail to an invalid address fails and is sent nowhere', async () => {
  const { id } = await newPerson(service)
  for (const recipient of ['ada@example.com,eve@evil.example', 'ada@example.com\r\nRCPT TO:<eve@evil.example>', 'x']) {
    await enqueue(service, { kind: 'account-changed', recipient, userId: id, facts: { what: 'password-changed' } })
    await until('it is given up', async () => (await mailsOf(service, recipient))[0]?.status === 'failed')
  }
  const deliveredToEvil = receiver
    .mails()
    .filter(({ headers, to: all }) => /eve@/.test(`${headers.get('to')} ${all.join()}`))
  expect(deliveredToEvil).toEqual([])
})

test('the database accepts exactly the declared kinds of mail', async () => {
  const [row] = await service.database.crossTenantQuery<{ definition: string }>(
    'check the database',
    sql`select pg_get_constraintdef(oid) as definition from pg_constraint where conname = 'mails_kind_check'`,
  )
  expect([...(row?.definition ?? '').matchAll(/'([\w-]+)'/g)].map(([, kind]) => kind).sort()).toEqual(
    [...mailKindNames].sort(),
  )
})
