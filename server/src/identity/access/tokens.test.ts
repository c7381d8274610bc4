import { roleScopes } from '../../app.ts'
import { createHmac, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { decodeJwt, decodeProtectedHeader, exportJWK, type JWTPayload, SignJWT } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Access, openAccess } from '../../../test/access.ts'
import { newId } from '../../platform/model/ids.ts'
import { unseal } from '../../platform/secret/encryption.ts'
import { deriveKey } from '../../platform/secret/secret.ts'
import { findSigningKeys } from './signing-key-store.ts'
import { accessTokenLifetime, createTokens } from './tokens.ts'

let access: Access
let signing: { id: string; privateKey: KeyObject }
const subject = { userId: newId(), sessionId: newId(), organizationId: newId() }

beforeAll(async () => {
  access = await openAccess()
  await access.tokens.issue({ ...subject, role: 'member' })
  const [stored] = await findSigningKeys(access.database)
  if (!stored?.privateKeyEncrypted) throw new Error('no signing key was stored')
  const pem = unseal(deriveKey(access.secret, 'signing key', stored.id), stored.privateKeyEncrypted)
  signing = { id: stored.id, privateKey: createPrivateKey(pem) }
})

afterAll(async () => {
  await access.close()
})

const seconds = () => Math.floor(access.clock.now / 1000)

/** A token like ours, signed with our own key, with the test's changes; null omits a claim. */
async function forge(
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
  key: KeyObject | Uint8Array = signing.privateKey,
): Promise<string> {
  const ours = await access.tokens.issue({ ...subject, role: 'member' })
  const payload = { ...decodeJwt(ours), ...claims }
  const wanted = Object.fromEntries(Object.entries(payload).filter(([, value]) => value !== null)) as JWTPayload
  return new SignJWT(wanted).setProtectedHeader({ ...decodeProtectedHeader(ours), alg: 'ES256', ...header }).sign(key)
}

const nextKeyId = async (): Promise<string | undefined> =>
  (await findSigningKeys(access.database)).find(({ status }) => status === 'next')?.id

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

test('a token is valid for its user, session and organization for 24 hours', async () => {
  const token = await access.tokens.issue({ ...subject, role: 'member' })
  expect(await access.tokens.verify(token)).toEqual(subject)
  const { iat, exp } = decodeJwt(token)
  expect((exp ?? 0) - (iat ?? 0)).toBe(24 * 60 * 60)
  expect(decodeProtectedHeader(token)).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: signing.id })
})

test('an unchanged forged token is accepted, so each rejection below is due to its change', async () => {
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
  ['with the id of the next key, signed by the active one', async () => forge({}, { kid: await nextKeyId() })],
  ['whose key id is not a string', () => forge({}, { kid: [signing.id] as unknown as string })],
  ['without a key id', () => forge({}, { kid: undefined })],
  ['for another audience', () => forge({ aud: 'urn:rapport:web' })],
  ['without an audience', () => forge({ aud: null })],
  ['of another issuer', () => forge({ iss: 'urn:rapport:0' })],
  ['without an issuer', () => forge({ iss: null })],
  ['that has expired', () => forge({ exp: seconds() - 60 })],
  ['without an expiry', () => forge({ exp: null })],
  ['not valid yet (nbf)', () => forge({ nbf: seconds() + 60 })],
  ['issued in the future (iat)', () => forge({ iat: seconds() + 60 })],
  ['older than a day, whatever its expiry', () => forge({ iat: seconds() - accessTokenLifetime - 60 })],
  ['without a time of issue', () => forge({ iat: null })],
  ['without an id', () => forge({ jti: null })],
  ['without a user', () => forge({ sub: null })],
  ['without a session', () => forge({ sid: null })],
  ['whose session id is invalid', () => forge({ sid: 'session_1' })],
  ['whose organization id is invalid', () => forge({ org: 'org_1' })],
  ['whose user id is invalid', () => forge({ sub: "usr_' or true" })],
  ['with a critical extension', () => forge({}, { crit: ['b64'], b64: true, kid: 'another' })],
  ['that is empty', () => ''],
  ['that is not a JWT', () => 'a.b.c'],
])('a token %s is rejected', async (_, make) => {
  expect(await access.tokens.verify(await make())).toBeUndefined()
})

test('a changed claim invalidates the signature', async () => {
  const [header = '', payload = '', signature = ''] = (await access.tokens.issue({ ...subject, role: 'member' })).split(
    '.',
  )
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object
  const changed = encode({ ...claims, org: 'org_00000000000000000000000000000000' })
  expect(await access.tokens.verify(`${header}.${changed}.${signature}`)).toBeUndefined()
})

test.each<[string, (signature: Buffer) => Buffer]>([
  ['cut short by a byte', (signature) => signature.subarray(0, -1)],
  ['cut to a half', (signature) => signature.subarray(0, 32)],
  ['removed', () => Buffer.alloc(0)],
  ['all zeros', () => Buffer.alloc(64)],
  ['a byte longer', (signature) => Buffer.concat([signature, Buffer.alloc(1)])],
  ['changed in one bit', (signature) => Buffer.from(signature.map((byte, at) => (at === 40 ? byte ^ 1 : byte)))],
])('a token whose signature is %s is rejected', async (_, change) => {
  const [header = '', payload = '', signature = ''] = (await access.tokens.issue({ ...subject, role: 'member' })).split(
    '.',
  )
  const changed = change(Buffer.from(signature, 'base64url')).toString('base64url')
  expect(await access.tokens.verify(`${header}.${payload}.${changed}`)).toBeUndefined()
})

test('a token signed by HS256 with the public key as its secret is rejected', async () => {
  const publicKey = createPublicKey(signing.privateKey)
  const [, payload = ''] = (await access.tokens.issue({ ...subject, role: 'member' })).split('.')
  for (const key of [
    publicKey.export({ type: 'spki', format: 'pem' }),
    publicKey.export({ type: 'spki', format: 'der' }),
    JSON.stringify((await access.tokens.jwks()).keys[0]),
  ]) {
    const head = `${encode({ alg: 'HS256', typ: 'at+jwt', kid: signing.id })}.${payload}`
    const signature = createHmac('sha256', key).update(head).digest('base64url')
    expect(await access.tokens.verify(`${head}.${signature}`)).toBeUndefined()
  }
})

test('a key or key URL inside the token is never used', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = { ...(await exportJWK(publicKey)), kid: signing.id, alg: 'ES256' }
  let asked = 0
  const server = createServer((_, response) => {
    asked++
    response.end(JSON.stringify({ keys: [jwk] }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`
  const x5c = [publicKey.export({ type: 'spki', format: 'der' }).toString('base64')]
  try {
    for (const brought of [
      { jwk },
      { jku: address },
      { x5u: address },
      { x5c },
      { jwk, jku: address, x5u: address, x5c },
    ]) {
      for (const kid of [signing.id, 'mine', undefined]) {
        expect(await access.tokens.verify(await forge({}, { ...brought, kid }, privateKey))).toBeUndefined()
      }
      // Our own signature counts, whatever else the header says.
      expect(await access.tokens.verify(await forge({}, brought))).toEqual(subject)
    }
    expect(asked).toBe(0)
  } finally {
    server.close()
  }
})

test('a cached token is rejected once it has expired', async () => {
  const token = await access.tokens.issue({ ...subject, role: 'member' })
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

test('processes that start at once create one signing key and accept each other’s tokens', async () => {
  const fresh = await openAccess()
  try {
    const processes = Array.from({ length: 8 }, () =>
      createTokens({ database: fresh.database, secret: fresh.secret, roleScopes }),
    )
    const tokens = await Promise.all(processes.map((process) => process.issue({ ...subject, role: 'member' })))
    for (const token of tokens) {
      for (const process of processes) expect(await process.verify(token)).toEqual(subject)
    }
    expect((await findSigningKeys(fresh.database)).map(({ status }) => status)).toEqual(['active', 'next'])
    expect(await access.tokens.verify(tokens[0] ?? '')).toBeUndefined()
  } finally {
    await fresh.close()
  }
})

test('the key set contains only public keys', async () => {
  const { keys } = await access.tokens.jwks()
  expect(keys.map(({ kid }) => kid)).toEqual([signing.id, await nextKeyId()])
  for (const key of keys) {
    expect(key).toEqual({
      kid: expect.any(String),
      kty: 'EC',
      crv: 'P-256',
      alg: 'ES256',
      use: 'sig',
      x: expect.any(String),
      y: expect.any(String),
    })
  }
})
