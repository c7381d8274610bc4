import { afterAll, beforeAll, expect, test } from 'vitest'
import { Browser } from './browser.ts'
import { AuthenticatorApp } from './second-factors.ts'
import { startIdentityProvider } from './identity-provider.ts'
import { type MailReceiver, startMailReceiver } from './mail-receiver.ts'
import { callAs, goodPassword, receiveLinkToken, loggedIn, newEmail, newOwner, setUpToken } from './people.ts'
import { until } from './processes.ts'
import { subscribeElsewhere } from './push-receiver.ts'
import { startTestService, type TestService } from './service.ts'
import { followLink, followToCallback, logInMember, newMember, createSsoFixture } from './single-sign-on-fixture.ts'
import { dump } from './dump.ts'

let receiver: MailReceiver
let serviceWithMail: TestService
let serviceWithoutMail: TestService
beforeAll(async () => {
  receiver = await startMailReceiver()
  ;[serviceWithMail, serviceWithoutMail] = await Promise.all([
    startTestService({ SMTP_URL: receiver.url, MAIL_FROM: 'Rapport <crm@example.com>', SIGN_UP: 'open' }),
    startTestService({ SIGN_UP: 'open' }),
  ])
})
afterAll(async () => {
  await Promise.all([serviceWithMail.close(), serviceWithoutMail.close()])
  await receiver.close()
})

/** Secrets that the service has issued, by kind. */
type Issued = Record<string, string>

/** Issues every kind of secret that one owner can get, and sets some that people choose. */
async function issueAll(service: TestService): Promise<Issued> {
  const organization = await service.newOrganization()
  const owner = await newOwner(service)
  const { accessToken, refreshToken, call } = await loggedIn(service, owner.email, owner.password)
  const cookie = await service.anonymous('POST', '/auth/login', {
    body: { email: owner.email, password: owner.password, cookie: true },
    headers: { origin: service.url },
  })
  const cookies = cookie.headers.getSetCookie().map((line) => line.split(';')[0]?.split('=')[1] ?? '')
  const rotated = await service.anonymous('POST', '/auth', { body: { token: refreshToken } })
  const key = await call('POST', '/v5/api-keys', {
    body: { name: 'Test', scopes: ['urn:service:contact:*:read'] },
    headers: { 'idempotency-key': 'the-key-of-the-key' },
  })
  expect(key.status, key.text).toBe(201)
  const created = await call('POST', '/v5/imports', { body: { name: 'Test' } })
  const totp = await call('POST', '/v5/me/totp')
  const app = new AuthenticatorApp(totp.body.uri)
  const factors = await call('POST', '/v5/me/totp/confirm', { body: { code: app.code() } })
  expect(factors.status, factors.text).toBe(200)
  const pending = await service.anonymous('POST', '/auth/login', {
    body: { email: owner.email, password: owner.password },
  })
  const clientSecret = 'the provider gave us this one'
  const connection = await call('POST', '/v5/sso-connections', {
    body: { name: 'Test', issuer: 'https://login.example.com', clientId: 'rapport', clientSecret },
  })
  expect(connection.status, connection.text).toBe(201)
  const rotatedKey = await call('POST', `/v5/api-keys/${key.body.id}/rotate`, { body: {} })
  expect(rotatedKey.status, rotatedKey.text).toBe(200)
  const rotatedImport = await call('POST', `/v5/imports/${created.body.id}/rotate`, { body: {} })
  expect(rotatedImport.status, rotatedImport.text).toBe(200)
  const header = 'the receiver wants to see this'
  const webhook = await call('POST', '/v5/webhooks', {
    body: { url: 'https://example.com', events: ['*'], scopes: ['contact:list:read'], headers: { 'x-secret': header } },
  })
  expect(webhook.status, webhook.text).toBe(201)
  const browser = await subscribeElsewhere(call)
  await service.anonymous('POST', '/auth/forgot-password', { body: { email: owner.email } })
  await service.anonymous('POST', '/auth/sign-up', { body: { email: newEmail() } })
  return {
    'bootstrap’s API key': organization.apiKey,
    'bootstrap’s access token': organization.accessToken,
    'bootstrap’s refresh token': organization.refreshToken,
    'access token': accessToken,
    'refresh token': refreshToken,
    'rotated access token': rotated.body.accessToken,
    'rotated refresh token': rotated.body.refreshToken,
    'refresh cookie': cookies[0] ?? '',
    'device cookie': cookies[1] ?? '',
    'API key': key.body.apiKey,
    'rotated API key': rotatedKey.body.apiKey,
    'rotated trigger URL': rotatedImport.body.triggerUrl.split('/').at(-1),
    'Idempotency-Key': 'the-key-of-the-key',
    'trigger URL': created.body.triggerUrl.split('/').at(-1),
    password: owner.password,
    'secret of the authenticator app': totp.body.secret,
    'recovery code': factors.body.recoveryCodes[0],
    'token of a login half done': pending.body.pendingToken,
    'client secret': clientSecret,
    'secret of a webhook': webhook.body.secret.slice('whsec_'.length),
    'header of a webhook': header,
    'endpoint of a browser': browser.endpoint,
    'secret of a browser': browser.auth,
  }
}

/** The secrets that the database contains unencrypted, as text or as bytes that PostgreSQL prints in hexadecimal. */
async function findStored(service: TestService, issued: Issued): Promise<string[]> {
  const all = Object.values(await dump(service.database))
    .flat()
    .join('\n')
  expect(all.length).toBeGreaterThan(1000)
  const forms = (value: string) => [value, Buffer.from(value).toString('hex'), Buffer.from(value).toString('base64')]
  return Object.entries(issued)
    .filter(([name, value]) => {
      expect(value.length, name).toBeGreaterThan(8)
      // Some tokens start with an identifier, so the secret part is searched for alone.
      return [value, value.slice(-32)].flatMap(forms).some((form) => all.includes(form))
    })
    .map(([name]) => name)
}

test('a database dump contains no issued token, key, link, cookie or password', async () => {
  const issued = await issueAll(serviceWithMail)
  const email = newEmail()
  await serviceWithMail.anonymous('POST', '/auth/sign-up', { body: { email } })
  const signUp = await receiveLinkToken(receiver, email, 'sign-up')
  expect(await findStored(serviceWithMail, { ...issued, 'sign-up link': signUp })).toEqual([])
  const person = { token: signUp, name: 'Grace', organization: 'Grace & Co', password: goodPassword }
  const created = await serviceWithMail.anonymous('POST', '/auth/sign-up/confirm', { body: person })
  expect(created.status).toBe(200)
  await serviceWithMail.anonymous('POST', '/auth/forgot-password', { body: { email } })
  const reset = await receiveLinkToken(receiver, email, 'reset-password')
  const invited = newEmail()
  expect(
    (
      await callAs(serviceWithMail, created.body.accessToken)('POST', '/v5/invitations', {
        body: { email: invited, role: 'member' },
      })
    ).status,
  ).toBe(201)
  const invitation = await receiveLinkToken(receiver, invited, 'invitation')
  const laterSecrets = {
    'invitation link': invitation,
    'reset link': reset,
    'refresh token': created.body.refreshToken,
    password: goodPassword,
  }
  expect(await findStored(serviceWithMail, laterSecrets)).toEqual([])
})

test('a database dump contains no link of a mail in the outbox', async () => {
  const owner = await newOwner(serviceWithoutMail)
  await owner.call('POST', '/v5/me/address', { body: { email: owner.email } })
  const listStored = () => owner.call('GET', '/v5/mails?filter.status.equals=kept')
  await until('the mail is in the outbox', async () => (await listStored()).body.length > 0)
  const [mail] = (await listStored()).body
  const { body: content } = await owner.call('GET', `/v5/mails/${mail.id}/content`)
  const token = /verify-address=(\S+)/.exec(content.text)?.[1] ?? ''
  expect(token).toMatch(/^ott_/)
  expect(await findStored(serviceWithoutMail, { 'verification link': token })).toEqual([])
  // The token is valid; it is rejected only because the mail was not sent.
  const verified = await serviceWithoutMail.anonymous('POST', '/auth/verify-address', { body: { token } })
  expect(verified.text).toContain('was not sent by mail')
})

test('a database dump contains no set-up link', async () => {
  const empty = await startTestService()
  try {
    const link = await setUpToken(empty)
    expect(await findStored(empty, { 'set-up link': link ?? '' })).toEqual([])
  } finally {
    await empty.close()
  }
})

test('a database dump contains no secret that single sign-on gives to a browser', async () => {
  const provider = await startIdentityProvider()
  const service = await startTestService({ EGRESS_ALLOW: new URL(provider.issuer).host })
  try {
    const fixture = await createSsoFixture(service, provider)
    const member = await newMember(service, [fixture.organization.organizationId])
    const browser = new Browser()
    const callback = await followToCallback(fixture, browser)
    const browserSecrets = {
      state: callback.searchParams.get('state') ?? '',
      cookie: browser.cookie(new URL(service.url).host, 'rapport-sso') ?? '',
      'link of an identity': await followLink(fixture, await logInMember(service, member)),
    }
    expect(await findStored(service, browserSecrets)).toEqual([])
  } finally {
    await service.close()
    await provider.close()
  }
})

test('the search through a dump finds a stored value', async () => {
  const owner = await newOwner(serviceWithoutMail)
  expect(await findStored(serviceWithoutMail, { address: owner.email })).toEqual(['address'])
})

test('no log line contains an issued secret', async () => {
  const issued = await issueAll(serviceWithMail)
  const lines = serviceWithMail.logged.join('\n')
  expect(lines.length).toBeGreaterThan(1000)
  expect(Object.entries(issued).filter(([, value]) => lines.includes(value.slice(-32)))).toEqual([])
})
