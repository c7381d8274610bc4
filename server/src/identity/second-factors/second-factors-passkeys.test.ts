import { createSecretKey, generateKeyPairSync, randomBytes, sign, X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Sql, sql } from '../../platform/model/sql.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { createChallenge, verifyChallenge } from './challenges.ts'
import {
  type Attestation,
  Authenticator,
  type AttestedData,
  type ResponseOverrides,
} from '../../../test/authenticator.ts'
import { makeCertificate } from '../../../test/certificate.ts'
import { completeByTotp, enrolApp, newPerson, type Person } from '../../../test/second-factors.ts'
import { callAfterReauthentication, backdateReauthentication, callAs, untilServed } from '../../../test/people.ts'
import { requestText, sendRaw } from '../../../test/raw-http.ts'
import { expectRefusal } from '../../../test/refusals.ts'
import { type Json, startTestService, type TestResponse, type TestService } from '../../../test/service.ts'

let service: TestService
/** The origin of the service's pages. */
const origin = 'https://crm.example.com'

beforeAll(async () => {
  service = await startTestService({ PUBLIC_URL: origin })
})
afterAll(() => service.close())

const execute = (statement: Sql): Promise<Json[]> => service.database.crossTenantQuery('check the database', statement)
const post = (path: string, body?: Json, headers = {}) => service.anonymous('POST', path, { body, headers })

/** Registers a passkey in the person's session. */
async function addPasskey(
  person: Pick<Person, 'call'>,
  authenticator: Authenticator,
  overrides: ResponseOverrides = {},
  name = 'Laptop',
) {
  const options = await person.call('POST', '/v5/me/passkeys/options')
  if (options.status !== 200) throw new Error(options.text)
  const credential = authenticator.create(options.body, overrides)
  return person.call('POST', '/v5/me/passkeys', { body: { name, credential } })
}

/** Creates a person with a passkey. */
async function newPasskeyPerson(hasCounter = true) {
  const person = await newPerson(service)
  const authenticator = new Authenticator(origin, { hasCounter })
  const added = await addPasskey(person, authenticator)
  expect(added.status).toBe(201)
  return { person, authenticator, added: added.body }
}

const options = async (): Promise<Json> => (await post('/auth/passkeys/options')).body
const logInWithPasskey = (credential: Json) => post('/auth/passkeys', { credential })

test('a passkey logs in without an address and password and counts as a second factor', async () => {
  const { person, authenticator, added } = await newPasskeyPerson()
  const id = expect.stringMatching(/^psk_/)
  expect(added.passkey).toMatchObject({ id, name: 'Laptop', isSynced: false, lastUsedAt: null })
  expect(added.recoveryCodes).toHaveLength(10)
  const loginOptions = await options()
  expect(loginOptions).toMatchObject({ rpId: 'crm.example.com', userVerification: 'required' })
  expect(loginOptions.allowCredentials ?? []).toEqual([])
  const completed = await logInWithPasskey(authenticator.get(loginOptions))
  expect(completed.body).toMatchObject({ status: 'complete', userId: person.organization.userId })
  await execute(sql`update organizations set requires_second_factor = true
    where id = ${decodeId('org', person.organization.organizationId)}::uuid`)
  const call = callAs(service, completed.body.accessToken)
  expect((await call('GET', '/v5/contacts')).status).toBe(200)
  // A login with a passkey is also a recent authentication.
  expect((await call('POST', '/v5/me/passkeys/options')).status).toBe(200)
  const [listed] = (await call('GET', '/v5/me/second-factors')).body.passkeys
  expect(listed.lastUsedAt).toEqual(expect.any(String))
})

test('passkey creation requires a resident key and user verification, and rejects a registered passkey', async () => {
  const { person, authenticator } = await newPasskeyPerson()
  const { body } = await person.call('POST', '/v5/me/passkeys/options')
  expect(body).toMatchObject({
    rp: { id: 'crm.example.com', name: 'Rapport' },
    user: { name: person.email, id: Buffer.from(person.userId.replaceAll('-', ''), 'hex').toString('base64url') },
    attestation: 'none',
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
  })
  expect(body.excludeCredentials).toHaveLength(1)
  const repeated = { name: 'Again', credential: authenticator.create(body) }
  const again = await person.call('POST', '/v5/me/passkeys', { body: repeated })
  expect(expectRefusal(again, 422, 'invalid_field_value').details).toEqual([
    { field: 'credential', message: 'is already registered' },
  ])
})

test('a passkey completes a login with the correct password, only for its own person', async () => {
  const { person, authenticator } = await newPasskeyPerson()
  const other = await newPasskeyPerson()
  const beginStep = async () => {
    const pendingToken = await person.beginLogin()
    return { pendingToken, given: (await post('/auth/login/passkey/options', { pendingToken })).body }
  }
  const first = await beginStep()
  expect(first.given.allowCredentials).toHaveLength(1)
  const theirCredential = other.authenticator.get(first.given)
  const theirs = await post('/auth/login/passkey', { pendingToken: first.pendingToken, credential: theirCredential })
  expectRefusal(theirs, 401, 'invalid_credentials')
  const second = await beginStep()
  // A challenge is valid neither for another login nor for a login without a password.
  const { pendingToken } = second
  for (const loginOptions of [first.given, await options()]) {
    const credential = authenticator.get(loginOptions)
    expectRefusal(await post('/auth/login/passkey', { pendingToken, credential }), 401, 'invalid_credentials')
  }
  expectRefusal(await logInWithPasskey(authenticator.get(second.given)), 401, 'invalid_credentials')
  const completed = await post('/auth/login/passkey', { pendingToken, credential: authenticator.get(second.given) })
  expect(completed.body).toMatchObject({ status: 'complete', userId: person.organization.userId })
  expectRefusal(await post('/auth/login/passkey/options', { pendingToken }), 401, 'invalid_credentials')
})

const otherKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
const invalidOverrides: [string, ResponseOverrides][] = [
  ['of a page of another origin', { origin: 'https://crm.example.com.evil.test' }],
  ['of a page without https', { origin: 'http://crm.example.com' }],
  ['of another port', { origin: 'https://crm.example.com:8443' }],
  ['of a page in a frame of another site', { crossOrigin: true }],
  ['of a subdomain', { origin: 'https://evil.crm.example.com' }],
  ['for another relying party', { rpId: 'evil.test' }],
  ['for the parent domain', { rpId: 'example.com' }],
  ['without verification of the user', { unverified: true }],
  ['without anyone there', { absent: true, unverified: true }],
  ['to a challenge that nobody gave', { challenge: randomBytes(54).toString('base64url') }],
  ['to an empty challenge', { challenge: '' }],
]

test.each<[string, ResponseOverrides]>([
  ...invalidOverrides,
  ['of a registration', { type: 'webauthn.create' }],
  ['signed with another key', { key: otherKey }],
  ['that names another person', { userHandle: Buffer.alloc(16).toString('base64url') }],
])('a login response %s is rejected', async (_, overrides) => {
  const { authenticator } = await newPasskeyPerson()
  const refused = await logInWithPasskey(authenticator.get(await options(), overrides))
  expectRefusal(refused, 401, 'invalid_credentials')
  // An unmodified response of the same authenticator succeeds.
  expect((await logInWithPasskey(authenticator.get(await options()))).status).toBe(200)
  // The user handle is optional, because the credential id identifies the person.
  expect((await logInWithPasskey(authenticator.get(await options(), { userHandle: null }))).status).toBe(200)
})

test.each<[string, ResponseOverrides]>([...invalidOverrides, ['of a login', { type: 'webauthn.get' }]])(
  'a registration response %s is rejected',
  async (_, overrides) => {
    const person = await newPerson(service)
    const refused = await addPasskey(person, new Authenticator(origin), overrides)
    expect(expectRefusal(refused, 422, 'invalid_field_value').details).toMatchObject([{ field: 'credential' }])
    expect((await person.call('GET', '/v5/me/second-factors')).body.passkeys).toEqual([])
  },
)

test('a repeated response and a second response to the same challenge are rejected', async () => {
  const { authenticator } = await newPasskeyPerson()
  const loginOptions = await options()
  const credential = authenticator.get(loginOptions)
  expect((await logInWithPasskey(credential)).status).toBe(200)
  expectRefusal(await logInWithPasskey(credential), 401, 'invalid_credentials')
  expectRefusal(await logInWithPasskey(authenticator.get(loginOptions)), 401, 'invalid_credentials')
})

test('of fifty concurrent logins with one response, one succeeds, with and without a counter', async () => {
  for (const hasCounter of [true, false]) {
    const { authenticator } = await newPasskeyPerson(hasCounter)
    const credential = authenticator.get(await options())
    const send = () => untilServed(() => logInWithPasskey(credential))
    const responses = await Promise.all(Array.from({ length: 50 }, send))
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(responses.filter(({ status }) => ![200, 401, 429].includes(status)).map(({ text }) => text)).toEqual([])
  }
})

test('a counter that does not increase is rejected as a possible copy; authenticators without a counter are accepted', async () => {
  const { authenticator } = await newPasskeyPerson()
  expect((await logInWithPasskey(authenticator.get(await options(), { counter: 10 }))).status).toBe(200)
  for (const counter of [10, 9, 1, 0]) {
    expectRefusal(await logInWithPasskey(authenticator.get(await options(), { counter })), 401, 'invalid_credentials')
  }
  expect((await logInWithPasskey(authenticator.get(await options(), { counter: 11 }))).status).toBe(200)
  const withoutCounter = await newPasskeyPerson(false)
  for (let count = 0; count < 2; count++) {
    expect((await logInWithPasskey(withoutCounter.authenticator.get(await options()))).status).toBe(200)
  }
})

test('a registration is valid once and only in the session that requested it', async () => {
  const person = await newPerson(service)
  const requestOptions = (await person.call('POST', '/v5/me/passkeys/options')).body
  const otherService = callAs(service, (await person.logIn()).body.accessToken)
  const credential = new Authenticator(origin).create(requestOptions)
  expectRefusal(await otherService('POST', '/v5/me/passkeys', { body: { name: 'x', credential } }), 422)
  expect((await person.call('POST', '/v5/me/passkeys', { body: { name: 'x', credential } })).status).toBe(201)
  const other = new Authenticator(origin).create(requestOptions)
  expectRefusal(await person.call('POST', '/v5/me/passkeys', { body: { name: 'x', credential: other } }), 422)
})

/** Attests like older security keys (FIDO U2F, section 4.3), with a certificate of the manufacturer. */
function attestU2f({ authData, clientDataHash, credentialId, keys }: AttestedData): Attestation {
  const { certificate, key } = makeCertificate('maker.example.com')
  const { x = '', y = '' } = keys.publicKey.export({ format: 'jwk' })
  const point = Buffer.concat([Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')])
  const signed = Buffer.concat([Buffer.of(0), authData.subarray(0, 32), clientDataHash, credentialId, point])
  return {
    format: 'fido-u2f',
    statement: new Map<string, unknown>([
      ['sig', Uint8Array.from(sign('sha256', signed, key))],
      ['x5c', [Uint8Array.from(new X509Certificate(certificate).raw)]],
    ]),
  }
}

/** Attests with the passkey's own signature and optional certificates. */
const attestPacked =
  (x5c?: Uint8Array[]) =>
  ({ authData, clientDataHash, keys }: AttestedData): Attestation => {
    const signature = sign('sha256', Buffer.concat([authData, clientDataHash]), keys.privateKey)
    const statement = new Map<string, unknown>([
      ['alg', -7],
      ['sig', Uint8Array.from(signature)],
    ])
    if (x5c) statement.set('x5c', x5c)
    return { format: 'packed', statement }
  }

test('an attestation with certificates is rejected, because checking one could request the addresses in it', async () => {
  const person = await newPerson(service)
  expect((await addPasskey(person, new Authenticator(origin), { attest: attestPacked() })).status).toBe(201)
  const certificate = Uint8Array.from(new X509Certificate(makeCertificate('maker.example.com').certificate).raw)
  for (const attest of [attestU2f, attestPacked([certificate]), attestPacked([])]) {
    expectRefusal(await addPasskey(person, new Authenticator(origin), { attest }), 422, 'invalid_field_value')
  }
})

test('a malformed credential is rejected like a wrong one', async () => {
  const { person, authenticator } = await newPasskeyPerson()
  const good = authenticator.get(await options())
  const garbage = [
    { ...good, id: 'AAAA', rawId: 'AAAA' },
    { ...good, rawId: 'AAAA' },
    { ...good, response: { ...good.response, clientDataJSON: 'AAAA' } },
    { ...good, response: { ...good.response, clientDataJSON: Buffer.from('null').toString('base64url') } },
    { ...good, response: { ...good.response, authenticatorData: 'AAAA' } },
    { ...good, response: { ...good.response, signature: 'AAAA' } },
  ]
  for (const credential of garbage) expectRefusal(await logInWithPasskey(credential), 401, 'invalid_credentials')
  const { body } = await person.call('POST', '/v5/me/passkeys/options')
  const created = new Authenticator(origin).create(body)
  for (const attestationObject of ['AAAA', 'oA', Buffer.from('text').toString('base64url')]) {
    const credential = { ...created, response: { ...created.response, attestationObject } }
    expectRefusal(await person.call('POST', '/v5/me/passkeys', { body: { name: 'x', credential } }), 422)
  }
  for (const credential of [null, 'x', 7, [], {}, { id: 'AAAA' }, { ...good, type: 'other' }, { ...good, id: 'a b' }]) {
    expectRefusal(await logInWithPasskey(credential), 422)
  }
})

test('a passkey re-authenticates only the session that requested it', async () => {
  const { person, authenticator } = await newPasskeyPerson()
  const other = await newPasskeyPerson()
  await backdateReauthentication(service, person, 360)
  const reauthenticate = (credential: Json) =>
    person.call('POST', '/v5/me/reauthenticate/passkey', { body: { credential } })
  expectRefusal(await person.call('POST', '/v5/me/passkeys/options'), 403, 'reauthentication_required')
  const requestOptions = (await person.call('POST', '/v5/me/reauthenticate/passkey/options')).body
  expectRefusal(await reauthenticate(other.authenticator.get(requestOptions)), 422)
  expectRefusal(await reauthenticate(authenticator.get(await options())), 422)
  expectRefusal(await reauthenticate(authenticator.get(requestOptions, { unverified: true })), 422)
  expectRefusal(await person.call('POST', '/v5/me/passkeys/options'), 403, 'reauthentication_required')
  const call = callAfterReauthentication(service, await reauthenticate(authenticator.get(requestOptions)))
  expect((await call('POST', '/v5/me/passkeys/options')).status).toBe(200)
})

test('only their person can rename and remove passkeys; removing the last factor deletes the recovery codes', async () => {
  const { person, authenticator, added } = await newPasskeyPerson()
  const path = `/v5/me/passkeys/${added.passkey.id}`
  const otherPerson = await newPerson(service)
  expectRefusal(await otherPerson.call('PATCH', path, { body: { name: 'mine' } }), 404, 'not_found')
  expectRefusal(await otherPerson.call('DELETE', path), 404, 'not_found')
  expect((await person.call('PATCH', path, { body: { name: 'Phone' } })).status).toBe(204)
  const second = await addPasskey(person, new Authenticator(origin), {}, 'Key')
  expect(second.body.recoveryCodes).toBeNull()
  const factors = async () => (await person.call('GET', '/v5/me/second-factors')).body
  expect((await factors()).passkeys.map(({ name }: Json) => name)).toEqual(['Phone', 'Key'])
  expect((await person.call('DELETE', path)).status).toBe(204)
  expectRefusal(await person.call('DELETE', path), 404, 'not_found')
  expectRefusal(await logInWithPasskey(authenticator.get(await options())), 401, 'invalid_credentials')
  expect((await factors()).recoveryCodes).toEqual({ remaining: 10 })
  expect((await person.call('DELETE', `/v5/me/passkeys/${second.body.passkey.id}`)).status).toBe(204)
  expect(await factors()).toEqual({ totp: null, passkeys: [], recoveryCodes: { remaining: 0 } })
  expect((await person.logIn()).body.status).toBe('complete')
  const mails = await execute(sql`select facts->>'what' as what from mails
    where user_id = ${person.userId}::uuid and kind = 'account-changed' order by id`)
  expect(mails.map(({ what }) => what)).toEqual([
    'passkey-added',
    'passkey-added',
    'passkey-removed',
    'passkey-removed',
  ])
})

test('a person has at most twenty passkeys', async () => {
  const { person } = await newPasskeyPerson()
  for (let count = 1; count < 20; count++)
    expect((await addPasskey(person, new Authenticator(origin))).status).toBe(201)
  expectRefusal(await addPasskey(person, new Authenticator(origin)), 423, 'resource_locked')
})

test('a person with an app and a passkey can use either, and keeps the other when one is removed', async () => {
  const { person, authenticator, added } = await newPasskeyPerson()
  const { app, recoveryCodes } = await enrolApp(person)
  expect(recoveryCodes).toBeNull()
  const beginStep = await person.logIn()
  expect([...beginStep.body.factors].sort()).toEqual(['passkey', 'recovery-code', 'totp'])
  const { pendingToken } = beginStep.body
  expect((await completeByTotp(service, pendingToken, app.code())).status).toBe(200)
  expect((await logInWithPasskey(authenticator.get(await options()))).status).toBe(200)
  expect((await person.call('DELETE', `/v5/me/passkeys/${added.passkey.id}`)).status).toBe(204)
  expect([...(await person.logIn()).body.factors].sort()).toEqual(['recovery-code', 'totp'])
})

test('a login with a cookie is accepted only from the service’s own pages', async () => {
  const { authenticator } = await newPasskeyPerson()
  const withCookie = async (headers: Record<string, string>): Promise<TestResponse<Json>> =>
    post('/auth/passkeys', { credential: authenticator.get(await options()), cookie: true }, headers)
  expectRefusal(await withCookie({}), 403, 'insufficient_permissions')
  expectRefusal(await withCookie({ origin: 'https://evil.test' }), 403, 'insufficient_permissions')
  const completed = await withCookie({ origin })
  expect(completed.status).toBe(200)
  expect(completed.body).not.toHaveProperty('refreshToken')
  expect(completed.headers.getSetCookie().join()).toMatch(
    /__Host-rapport=rft_[^;]+; Path=\/; .*HttpOnly; SameSite=Strict; Secure/,
  )
})

test('unanswered challenges are not stored', async () => {
  const count = async () => (await execute(sql`select count(*)::int as count from spent_challenges`))[0].count
  const before = await count()
  await Promise.all(Array.from({ length: 50 }, options))
  expect(await count()).toBe(before)
})

test('a challenge is valid for five minutes, for its own purpose and under its own secret', () => {
  const secret = createSecretKey(randomBytes(32))
  const now = Date.now()
  const use = { for: 'proof', sessionId: 'a' } as const
  const text = Buffer.from(createChallenge(secret, use, now)).toString('base64url')
  expect(verifyChallenge(secret, use, text, now + 300_000 - 1)).toEqual({
    hash: expect.any(Buffer),
    expiresAt: new Date(now + 300_000),
  })
  expect(verifyChallenge(secret, use, text, now + 300_000)).toBeUndefined()
  expect(verifyChallenge(createSecretKey(randomBytes(32)), use, text, now)).toBeUndefined()
  for (const other of [
    { for: 'proof', sessionId: 'b' },
    { for: 'registration', sessionId: 'a' },
    { for: 'second step', pendingId: 'a' },
    { for: 'login' },
  ] as const) {
    expect(verifyChallenge(secret, other, text, now)).toBeUndefined()
  }
  const bytes = Buffer.from(text, 'base64url')
  for (let index = 0; index < bytes.length; index++) {
    const changed = Buffer.from(bytes)
    changed[index] = (changed[index] ?? 0) ^ 1
    expect(verifyChallenge(secret, use, changed.toString('base64url'), now)).toBeUndefined()
  }
  for (const other of ['', text.slice(0, -1), `${text}A`, `${text}=`, text.replace(/^./, '*')]) {
    expect(verifyChallenge(secret, use, other, now)).toBeUndefined()
  }
})

test('without PUBLIC_URL, passkeys work only on localhost, because the caller chooses the Host header', async () => {
  const local = await startTestService()
  try {
    const requestOptionsFor = (host: string) =>
      sendRaw(local.url, requestText('POST', '/auth/passkeys/options', { headers: { host, 'content-length': '0' } }))
    for (const host of ['localhost:4000', 'localhost', 'rapport.localhost:4000']) {
      const { status, body } = await requestOptionsFor(host)
      expect([status, JSON.parse(body).rpId]).toEqual([200, host.split(':')[0]])
    }
    for (const host of ['127.0.0.1:4000', '[::1]:4000', 'evil.test', 'localhost.evil.test', 'evillocalhost']) {
      expectRefusal(await requestOptionsFor(host), 403, 'insufficient_permissions')
    }
  } finally {
    await local.close()
  }
  for (const address of ['http://crm.example.com', 'https://192.0.2.1']) {
    const otherService = await startTestService({ PUBLIC_URL: address })
    try {
      expectRefusal(await otherService.anonymous('POST', '/auth/passkeys/options'), 403, 'insufficient_permissions')
    } finally {
      await otherService.close()
    }
  }
})
