import { createHmac, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { decodeJwt, decodeProtectedHeader, exportJWK, type JWTPayload, SignJWT } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Access, openAccess } from '../../../test/access.ts'
import { newId } from '../resource/ids.ts'
import { deriveKey, unseal } from './secret.ts'
import { findSigningKeys } from './store.ts'
import { accessTokenLifetime, createTokens } from './tokens.ts'

let access: Access
let signing: { id: string; privateKey: KeyObject }
const subject = { userId: newId(), sessionId: newId(), organizationId: newId() }

beforeAll(async () => {
  access = await openAccess()
  await access.tokens.issue(subject)
  const [kept] = await findSigningKeys(access.database)
  if (!kept) throw new Error('no signing key was kept')
  const pem = unseal(deriveKey(access.secret, 'signing key', kept.id), kept.privateKeyEncrypted)
  signing = { id: kept.id, privateKey: createPrivateKey(pem) }
})

afterAll(async () => {
  await access.close()
})

const seconds = () => Math.floor(access.clock.now / 1000)

/** A token like ours, signed with our own key, but for what the test changes; null leaves a claim out. */
async function forge(
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
  key: KeyObject | Uint8Array = signing.privateKey,
): Promise<string> {
  const ours = await access.tokens.issue(subject)
  const payload = { ...decodeJwt(ours), ...claims }
  const wanted = Object.fromEntries(Object.entries(payload).filter(([, value]) => value !== null)) as JWTPayload
  return new SignJWT(wanted).setProtectedHeader({ ...decodeProtectedHeader(ours), alg: 'ES256', ...header }).sign(key)
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

test('a token speaks for its user, session and organization for 24 hours', async () => {
  const token = await access.tokens.issue(subject)
  expect(await access.tokens.verify(token)).toEqual(subject)
  const { iat, exp } = decodeJwt(token)
  expect((exp ?? 0) - (iat ?? 0)).toBe(24 * 60 * 60)
  expect(decodeProtectedHeader(token)).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: signing.id })
})

test('a token unchanged but for nothing is taken, so the refusals below are about what they change', async () => {
  expect(await access.tokens.verify(await forge())).toEqual(subject)
})

test.each<[string, () => Promise<string> | string]>([
  [
    'without a signature (alg none)',
    async () => `${encode({ alg: 'none', typ: 'at+jwt' })}.${(await forge()).split('.')[1]}.`,
  ],
  ['of another type', () => forge({}, { typ: 'JWT' })],
  ['without a type', () => forge({}, { typ: undefined })],
  ['of an unknown key', () => forge({}, { kid: 'another' })],
  ['without a key id', () => forge({}, { kid: undefined })],
  ['for another audience', () => forge({ aud: 'urn:rapport:web' })],
  ['without an audience', () => forge({ aud: null })],
  ['of another issuer', () => forge({ iss: 'urn:rapport:0' })],
  ['without an issuer', () => forge({ iss: null })],
  ['that is expired', () => forge({ exp: seconds() - 60 })],
  ['without an expiry', () => forge({ exp: null })],
  ['not valid yet (nbf)', () => forge({ nbf: seconds() + 60 })],
  ['of the future (iat)', () => forge({ iat: seconds() + 60 })],
  ['older than a day, whatever its expiry', () => forge({ iat: seconds() - accessTokenLifetime - 60 })],
  ['without a session', () => forge({ sid: null })],
  ['whose session is no id', () => forge({ sid: 'session_1' })],
  ['without an organization', () => forge({ org: null })],
  ['whose user is no id', () => forge({ sub: "usr_' or true" })],
  ['with a critical extension', () => forge({}, { crit: ['b64'], b64: true, kid: 'another' })],
  ['that is empty', () => ''],
  ['that is none', () => 'a.b.c'],
])('a token %s is refused', async (_, make) => {
  expect(await access.tokens.verify(await make())).toBeUndefined()
})

test('a changed claim breaks the signature', async () => {
  const [header = '', payload = '', signature = ''] = (await access.tokens.issue(subject)).split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object
  const changed = encode({ ...claims, org: 'org_00000000000000000000000000000000' })
  expect(await access.tokens.verify(`${header}.${changed}.${signature}`)).toBeUndefined()
})

test('a token signed by HS256 with the public key as its secret is refused', async () => {
  const publicKey = createPublicKey(signing.privateKey)
  const [, payload = ''] = (await access.tokens.issue(subject)).split('.')
  for (const key of [
    publicKey.export({ type: 'spki', format: 'pem' }),
    publicKey.export({ type: 'spki', format: 'der' }),
  ]) {
    const head = `${encode({ alg: 'HS256', typ: 'at+jwt', kid: signing.id })}.${payload}`
    const signature = createHmac('sha256', key).update(head).digest('base64url')
    expect(await access.tokens.verify(`${head}.${signature}`)).toBeUndefined()
  }
})

test('a key that the token brings along, or the address of one, is never used', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = { ...(await exportJWK(publicKey)), kid: signing.id, alg: 'ES256' }
  let asked = 0
  const server = createServer((_, response) => {
    asked++
    response.end(JSON.stringify({ keys: [jwk] }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const jku = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`
  try {
    expect(await access.tokens.verify(await forge({}, { jwk, jku }, privateKey))).toBeUndefined()
    expect(await access.tokens.verify(await forge({}, { jku, kid: 'mine' }, privateKey))).toBeUndefined()
    // Our own signature counts, whatever else the header says.
    expect(await access.tokens.verify(await forge({}, { jwk, jku }))).toEqual(subject)
    expect(asked).toBe(0)
  } finally {
    server.close()
  }
})

test('a token that was verified before is refused once its time is over', async () => {
  const token = await access.tokens.issue(subject)
  const began = access.clock.now
  expect(await access.tokens.verify(token)).toEqual(subject)
  try {
    access.clock.now = began + accessTokenLifetime * 1000
    expect(await access.tokens.verify(token)).toEqual(subject)
    access.clock.now += 6000
    expect(await access.tokens.verify(token)).toBeUndefined()
    expect(await access.anotherProcess().tokens.verify(token)).toBeUndefined()
  } finally {
    access.clock.now = began
  }
})

test('processes that start at once make one signing key, and each takes the tokens of the others', async () => {
  const fresh = await openAccess()
  try {
    const processes = Array.from({ length: 8 }, () => createTokens({ database: fresh.database, secret: fresh.secret }))
    const tokens = await Promise.all(processes.map((process) => process.issue(subject)))
    for (const token of tokens) {
      for (const process of processes) expect(await process.verify(token)).toEqual(subject)
    }
    expect(await findSigningKeys(fresh.database)).toHaveLength(1)
    expect(await access.tokens.verify(tokens[0] ?? '')).toBeUndefined()
  } finally {
    await fresh.close()
  }
})

test('the key set holds public keys only', async () => {
  const { keys } = await access.tokens.jwks()
  expect(keys).toHaveLength(1)
  expect(keys[0]).toMatchObject({ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig', kid: signing.id })
  expect(keys[0]).not.toHaveProperty('d')
})
