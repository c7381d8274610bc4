import { afterAll, beforeAll, expect, test } from 'vitest'
import { sql } from '../../platform/model/sql.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { type MailReceiver, startMailReceiver } from '../../../test/mail-receiver.ts'
import {
  callAfterReauthentication,
  callAs,
  goodPassword,
  receiveLinkToken,
  logIn,
  loggedIn,
  newEmail,
  newOwner,
  setUpToken,
} from '../../../test/people.ts'
import { until } from '../../../test/processes.ts'
import { startTestService, type TestService } from '../../../test/service.ts'
import { addMember } from '../members/store.ts'

let receiver: MailReceiver
let service: TestService
beforeAll(async () => {
  receiver = await startMailReceiver()
  service = await startTestService({
    SMTP_URL: receiver.url,
    MAIL_FROM: 'Rapport <crm@example.com>',
    SIGN_UP: 'open',
    TRUST_PROXY: '1',
  })
})
afterAll(async () => {
  await service.close()
  await receiver.close()
})

const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  service.anonymous('POST', path, { body, headers })

const from = (address: string) => ({ 'x-forwarded-for': address })

/** Moves the last authentication of the session this many seconds into the past. */
const ageReauthentication = (sessionId: string, seconds: number) =>
  service.database.crossTenantQuery(
    'manage an account',
    sql`update sessions set proved_at = now() - make_interval(secs => ${seconds})
      where id = ${decodeId('session', sessionId)}::uuid`,
  )

test('the set-up link creates one first owner, even when used concurrently', async () => {
  const emptyService = await startTestService()
  try {
    const early = await setUpToken(emptyService)
    const token = await setUpToken(emptyService)
    const person = (index: number) => ({
      token,
      email: `first-${index}@example.com`,
      name: 'First',
      organization: 'Ada & Co',
      password: goodPassword,
    })
    const outdated = await emptyService.anonymous('POST', '/auth/set-up', { body: { ...person(0), token: early } })
    expect([outdated.status, outdated.body.details[0].field]).toEqual([422, 'token'])
    const weak = await emptyService.anonymous('POST', '/auth/set-up', {
      body: { ...person(0), password: '123456789012' },
    })
    expect([weak.status, weak.body.details[0].field]).toEqual([422, 'password'])
    const responses = await Promise.all(
      Array.from({ length: 8 }, (_, index) => emptyService.anonymous('POST', '/auth/set-up', { body: person(index) })),
    )
    const created = responses.filter(({ status }) => status === 200)
    expect(created).toHaveLength(1)
    // 503: a busy machine has no time to hash so many passwords at once.
    for (const { status } of responses) expect([200, 403, 422, 503]).toContain(status)
    const me = await callAs(emptyService, created[0]?.body.accessToken)('GET', '/v5/me')
    expect(me.body.organizations).toEqual([{ id: expect.any(String), name: 'Ada & Co', role: 'owner' }])
    expect(await setUpToken(emptyService)).toBeUndefined()
  } finally {
    await emptyService.close()
  }
})

test('the address is case-insensitive at login, and each login creates a new session', async () => {
  const { email, password } = await newOwner(service)
  const one = await loggedIn(service, email.toUpperCase(), password)
  const two = await loggedIn(service, email, password)
  expect(two.sessionId).not.toBe(one.sessionId)
  expect((await one.call('GET', '/v5/me')).body.email).toBe(email)
})

test('a wrong password, an unknown address and a too short password get the same response', async () => {
  const { email } = await newOwner(service)
  const responses = await Promise.all([
    logIn(service, email, 'not the password at all', from('192.0.2.10')),
    logIn(service, newEmail(), 'not the password at all', from('192.0.2.11')),
    logIn(service, email, 'x', from('192.0.2.12')),
  ])
  for (const { status, body, headers } of responses) {
    expect(status).toBe(401)
    expect(body).toEqual(responses[0]?.body)
    expect(headers.get('set-cookie')).toBeNull()
  }
})

test('failed logins of an attacker lock out neither the person’s known device nor other accounts', async () => {
  const { email, password } = await newOwner(service)
  await loggedIn(service, email, password, from('198.51.100.7'))
  const statuses: number[] = []
  for (let index = 1; index <= 11; index++) {
    const guess = await logIn(service, email, 'guess after guess after guess', from(`203.0.113.${index}`))
    statuses.push(guess.status)
  }
  expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), 429])
  const fromNewAddress = await logIn(service, email, password, from('203.0.113.99'))
  expect(fromNewAddress.status).toBe(429)
  expect(Number(fromNewAddress.headers.get('retry-after'))).toBeGreaterThan(0)
  await loggedIn(service, email, password, from('198.51.100.7'))
})

test('logging out ends the session immediately: access token and refresh token stop working', async () => {
  const { email, password } = await newOwner(service)
  const { refreshToken, call } = await loggedIn(service, email, password)
  const other = await loggedIn(service, email, password)
  expect((await call('GET', '/v5/me')).status).toBe(200)
  expect((await post('/auth/logout', { token: refreshToken })).status).toBe(204)
  expect((await call('GET', '/v5/me')).status).toBe(401)
  expect((await post('/auth', { token: refreshToken })).status).toBe(401)
  expect((await other.call('GET', '/v5/me')).status).toBe(200)
  // A second logout and an invalid token get the same response.
  expect((await post('/auth/logout', { token: refreshToken })).status).toBe(204)
  expect((await post('/auth/logout', { token: 'rft_nonsense' })).status).toBe(204)
})

test('a person lists sessions with device and address and ends one or all of them, but never another person’s', async () => {
  const { email, password } = await newOwner(service)
  const firefox = { 'user-agent': 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:130.0) Gecko/20100101 Firefox/130.0' }
  const one = await loggedIn(service, email, password, { ...firefox, ...from('192.0.2.77') })
  const two = await loggedIn(service, email, password)
  const listed = (await two.call('GET', '/v5/me/sessions')).body
  const shown = listed.find(({ id }: { id: string }) => id === one.sessionId)
  expect(shown).toMatchObject({ device: 'Firefox on Windows', address: '192.0.2.77', isCurrent: false })
  expect(listed.find(({ isCurrent }: { isCurrent: boolean }) => isCurrent).id).toBe(two.sessionId)
  const otherPerson = await newOwner(service)
  expect((await otherPerson.call('DELETE', `/v5/me/sessions/${one.sessionId}`)).status).toBe(404)
  expect((await one.call('GET', '/v5/me')).status).toBe(200)
  expect((await two.call('DELETE', `/v5/me/sessions/${one.sessionId}`)).status).toBe(204)
  expect((await one.call('GET', '/v5/me')).status).toBe(401)
  expect((await two.call('DELETE', '/v5/me/sessions')).status).toBe(204)
  expect((await two.call('GET', '/v5/me/sessions')).status).toBe(401)
  expect((await otherPerson.call('GET', '/v5/me')).status).toBe(200)
})

test('the mailed link sets a new password once and ends every session', async () => {
  const { email, call } = await newOwner(service)
  const unknown = newEmail()
  const responses = await Promise.all(
    [email, unknown].map((address) => post('/auth/forgot-password', { email: address })),
  )
  expect(responses.map(({ status, text }) => [status, text])).toEqual([
    [202, '{"status":"accepted"}'],
    [202, '{"status":"accepted"}'],
  ])
  const token = await receiveLinkToken(receiver, email, 'reset-password')
  expect(receiver.mails().filter(({ to }) => to.includes(unknown))).toEqual([])
  expect((await post('/auth/reset-password', { token, password: 'password1234' })).status).toBe(422)
  const both = await Promise.all([1, 2].map(() => post('/auth/reset-password', { token, password: goodPassword })))
  expect(both.map(({ status }) => status).sort()).toEqual([204, 422])
  expect(both.every(({ text }) => !text.includes('accessToken'))).toBe(true)
  expect((await call('GET', '/v5/me')).status).toBe(401)
  await loggedIn(service, email)
  await receiver.next(({ to, subject }) => to.includes(email) && /password|account/i.test(subject))
})

test('using one of two reset links invalidates the other', async () => {
  const { email } = await newOwner(service)
  await post('/auth/forgot-password', { email })
  const one = await receiveLinkToken(receiver, email, 'reset-password')
  await post('/auth/forgot-password', { email })
  const two = await receiveLinkToken(receiver, email, 'reset-password')
  const reset = await post('/auth/reset-password', { token: two, password: goodPassword })
  expect([reset.status, reset.headers.get('clear-site-data')]).toEqual([204, '"cache", "storage"'])
  expect((await post('/auth/reset-password', { token: one, password: 'another good password' })).status).toBe(422)
})

test('with open sign-up, the mailed link creates an account and an organization; a known address gets a mail that says so', async () => {
  const email = newEmail()
  expect((await post('/auth/sign-up', { email })).status).toBe(202)
  const token = await receiveLinkToken(receiver, email, 'sign-up')
  const person = { token, name: 'Grace', organization: 'Grace & Co', password: goodPassword }
  const nameless = await post('/auth/sign-up/confirm', { ...person, organization: '!!!' })
  expect([nameless.status, nameless.body.details[0].field]).toEqual([422, 'organization'])
  const created = await post('/auth/sign-up/confirm', person)
  expect(created.status).toBe(200)
  const me = await callAs(service, created.body.accessToken)('GET', '/v5/me')
  expect(me.body).toMatchObject({ email, name: 'Grace', organizations: [{ name: 'Grace & Co', role: 'owner' }] })
  expect((await post('/auth/sign-up/confirm', person)).status).toBe(422)
  const again = await post('/auth/sign-up', { email: email.toUpperCase() })
  expect([again.status, again.text]).toEqual([202, '{"status":"accepted"}'])
  const mail = await receiver.next(({ to }) => to.some((one) => one.toLowerCase() === email))
  expect(mail.links.some((link) => link.includes('#sign-up='))).toBe(false)
})

test.each(['invite', 'closed'])('with SIGN_UP=%s, sign-up is rejected', async (mode) => {
  const other = await startTestService({ SIGN_UP: mode })
  expect((await other.anonymous('GET', '/auth/settings')).body).toEqual({ signUp: mode })
  try {
    for (const [path, body] of [
      ['/auth/sign-up', { email: newEmail() }],
      ['/auth/sign-up/confirm', { token: 'ott_x', name: 'A', organization: 'A', password: goodPassword }],
    ] as const) {
      expect((await other.anonymous('POST', path, { body })).status).toBe(403)
    }
  } finally {
    await other.close()
  }
})

test('changing the password requires the current one and ends all other sessions', async () => {
  const owner = await newOwner(service)
  const here = await loggedIn(service, owner.email, owner.password)
  const change = (currentPassword: string, newPassword: string) =>
    here.call('POST', '/v5/me/password', { body: { currentPassword, newPassword } })
  const wrong = await change('not my password at all', goodPassword)
  expect([wrong.status, wrong.body.details[0].field]).toEqual([422, 'currentPassword'])
  const weak = await change(owner.password, owner.email)
  expect([weak.status, weak.body.details[0].field]).toEqual([422, 'newPassword'])
  expect((await change(owner.password, goodPassword)).status).toBe(204)
  expect((await here.call('GET', '/v5/me')).status).toBe(200)
  expect((await owner.call('GET', '/v5/me')).status).toBe(401)
  expect((await logIn(service, owner.email, owner.password)).status).toBe(401)
  await loggedIn(service, owner.email)
})

test('a new address takes effect when its link is opened while logged in, and the old address is notified', async () => {
  const { email, call } = await newOwner(service)
  const [next, taken] = [newEmail(), (await newOwner(service)).email]
  expect((await call('POST', '/v5/me/address', { body: { email: next } })).status).toBe(202)
  const token = await receiveLinkToken(receiver, next, 'verify-address')
  // Access to the mailbox alone does not change the address, and neither does another person’s login.
  expect((await post('/auth/verify-address', { token })).status).toBe(403)
  const otherPerson = await newOwner(service)
  expect((await otherPerson.call('POST', '/v5/me/address/confirm', { body: { token } })).status).toBe(422)
  expect((await call('GET', '/v5/me')).body.email).toBe(email)
  const confirmed = await call('POST', '/v5/me/address/confirm', { body: { token } })
  expect([confirmed.status, confirmed.body]).toEqual([200, { email: next }])
  expect((await call('GET', '/v5/me')).body.email).toBe(next)
  await receiver.next(({ to }) => to.includes(email))
  await call('POST', '/v5/me/address', { body: { email: taken } })
  const takenBody = { token: await receiveLinkToken(receiver, taken, 'verify-address') }
  expect((await call('POST', '/v5/me/address/confirm', { body: takenBody })).status).toBe(409)
  expect((await call('GET', '/v5/me')).body.email).toBe(next)
})

test('the link alone verifies a person’s current address', async () => {
  const { email, call } = await newOwner(service)
  await call('POST', '/v5/me/address', { body: { email } })
  const token = await receiveLinkToken(receiver, email, 'verify-address')
  expect((await post('/auth/verify-address', { token })).body).toEqual({ email })
  expect((await post('/auth/verify-address', { token })).status).toBe(422)
})

test('changing the address, or requesting another change, invalidates earlier links', async () => {
  const { email, call } = await newOwner(service)
  const [mistyped, meant] = [newEmail(), newEmail()]
  await call('POST', '/v5/me/address', { body: { email: mistyped } })
  const wrong = await receiveLinkToken(receiver, mistyped, 'verify-address')
  await call('POST', '/v5/me/address', { body: { email: meant } })
  const right = await receiveLinkToken(receiver, meant, 'verify-address')
  expect((await call('POST', '/v5/me/address/confirm', { body: { token: wrong } })).status).toBe(422)
  await post('/auth/forgot-password', { email })
  const reset = await receiveLinkToken(receiver, email, 'reset-password')
  expect((await call('POST', '/v5/me/address/confirm', { body: { token: right } })).status).toBe(200)
  expect((await post('/auth/reset-password', { token: reset, password: goodPassword })).status).toBe(422)
})

test('a new password removes earlier links and the queued mails that contain them', async () => {
  const serviceWithoutMail = await startTestService()
  try {
    const { email, password, userId, call } = await newOwner(serviceWithoutMail)
    await call('POST', '/v5/me/address', { body: { email: newEmail() } })
    await serviceWithoutMail.anonymous('POST', '/auth/forgot-password', { body: { email } })
    const body = { currentPassword: password, newPassword: goodPassword }
    expect((await call('POST', '/v5/me/password', { body })).status).toBe(204)
    const countLinksAndMails = () =>
      serviceWithoutMail.database.crossTenantQuery<{ links: number; waiting: number }>(
        'log in',
        sql`select (select count(*) from one_time_tokens where user_id = ${decodeId('usr', userId)}::uuid)::integer as links,
          (select count(*) from mails where kind <> 'account-changed' and status <> 'dropped')::integer as waiting`,
      )
    expect(await countLinksAndMails()).toEqual([{ links: 0, waiting: 0 }])
  } finally {
    await serviceWithoutMail.close()
  }
})

test('a sensitive request is rejected five minutes after the last authentication, until the password is given again', async () => {
  const owner = await newOwner(service)
  const { call, sessionId } = await loggedIn(service, owner.email, owner.password)
  const changeAddress = () => call('POST', '/v5/me/address', { body: { email: newEmail() } })
  await ageReauthentication(sessionId, 240)
  expect((await changeAddress()).status).toBe(202)
  await ageReauthentication(sessionId, 301)
  expect((await changeAddress()).body.code).toBe('reauthentication_required')
  expect((await call('POST', '/v5/me/reauthenticate', { body: { password: 'not my password' } })).status).toBe(422)
  expect((await changeAddress()).body.code).toBe('reauthentication_required')
  const reauthenticated = callAfterReauthentication(
    service,
    await call('POST', '/v5/me/reauthenticate', { body: { password: owner.password } }),
  )
  expect((await reauthenticated('POST', '/v5/me/address', { body: { email: newEmail() } })).status).toBe(202)
})

test('a login from a new device sends a mail, one from a known device does not', async () => {
  const { email, password } = await newOwner(service)
  await loggedIn(service, email, password)
  const safari = { 'user-agent': 'Mozilla/5.0 (Macintosh) Version/17 Safari/605.1', ...from('192.0.2.200') }
  await loggedIn(service, email, password, safari)
  const mail = await receiver.next(({ to, text }) => to.includes(email) && text.includes('192.0.2.200'))
  expect(mail.links.filter((link) => link.includes('='))).toEqual([])
  await loggedIn(service, email, password, safari)
  await post('/auth/forgot-password', { email })
  await receiveLinkToken(receiver, email, 'reset-password')
  expect(receiver.mails().filter(({ to, text }) => to.includes(email) && text.includes('192.0.2.200'))).toHaveLength(1)
})

test('account routes reject API keys and headers that have no effect there', async () => {
  const organization = await service.newOrganization()
  expect((await organization.call('GET', '/v5/me/sessions')).status).toBe(403)
  const { call } = await newOwner(service)
  const headers = { 'idempotency-key': 'once' }
  const named = await call('PATCH', '/v5/me', { body: { name: 'Ada' }, headers })
  expect([named.status, named.body.details[0].field]).toEqual([400, 'Idempotency-Key'])
  const foreign = { 'service-organization-id': organization.organizationId }
  expect((await call('GET', '/v5/me/sessions', { headers: foreign })).status).toBe(403)
})

test('using a refresh token twice ends its session and is recorded in the audit log', async () => {
  const { email, password, call } = await newOwner(service)
  const { refreshToken, sessionId } = await loggedIn(service, email, password)
  const next = await post('/auth', { token: refreshToken })
  await post('/auth', { token: next.body.refreshToken })
  expect((await post('/auth', { token: refreshToken })).status).toBe(401)
  const events = await call('GET', '/v5/audit-log?filter.action.equals=session.token-reused')
  expect(events.body).toMatchObject([{ recordId: sessionId, actorKind: 'anonymous' }])
})

test('a session begun by single sign-on ends when the person joins another organization', async () => {
  const person = await newOwner(service)
  const other = await service.newOrganization()
  const [bySignOn, byPassword] = [
    await loggedIn(service, person.email, person.password),
    await loggedIn(service, person.email, person.password),
  ]
  const change = (statement: ReturnType<typeof sql>) => service.database.crossTenantQuery('log in', statement)
  await change(
    sql`update sessions set begun_by = 'single-sign-on' where id = ${decodeId('session', bySignOn.sessionId)}::uuid`,
  )
  expect((await bySignOn.call('GET', '/v5/me')).status).toBe(200)
  const [organizationId = '', userId = ''] = [decodeId('org', other.organizationId), decodeId('usr', person.userId)]
  await service.database.crossTenantTransaction('log in', (db) =>
    addMember(db, { organizationId, userId, role: 'viewer' }),
  )
  expect((await bySignOn.call('GET', '/v5/me')).status).toBe(401)
  expect((await byPassword.call('GET', '/v5/me')).status).toBe(200)
})

test('a session expires after thirty days without use', async () => {
  const { email, password } = await newOwner(service)
  const { call, sessionId, refreshToken } = await loggedIn(service, email, password)
  await service.database.crossTenantQuery(
    'manage an account',
    sql`update sessions set expires_at = now() - interval '1 second'
      where id = ${decodeId('session', sessionId)}::uuid`,
  )
  expect((await call('GET', '/v5/me')).status).toBe(401)
  expect((await call('GET', '/v5/me/sessions')).status).toBe(401)
  expect((await post('/auth', { token: refreshToken })).status).toBe(401)
})

test('successful and failed logins are recorded in the audit log of the person’s organization', async () => {
  const { email, password, organizationId } = await newOwner(service)
  const { call } = await loggedIn(service, email, password)
  await logIn(service, email, 'not the password at all')
  const actions = async () => {
    const { body } = await call('GET', '/v5/audit-log?limit=100')
    return body.map(({ action }: { action: string }) => action)
  }
  await until('the failure is logged', async () => (await actions()).includes('login.failed'))
  expect(await actions()).toEqual(expect.arrayContaining(['login.succeeded', 'login.failed']))
  expect(organizationId).toMatch(/^org_/)
})
