import { createRemoteJWKSet, decodeProtectedHeader, generateKeyPair, jwtVerify, SignJWT } from 'jose'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { findSigningKeys } from './signing-key-store.ts'
import { createSigningKeys, rotateSigningKeys } from './signing-keys.ts'
import { createKeyMaintenance } from './signing-keys-maintenance.ts'
import type { Tokens } from './tokens.ts'
import { sql } from '../../platform/model/sql.ts'
import { newId } from '../../platform/model/ids.ts'
import { type Access, openAccess } from '../../../test/access.ts'
import { run, databaseUrlOf } from '../../../test/command-line.ts'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { until } from '../../../test/processes.ts'
import { type ServiceProcess, serviceProcesses, type ServiceProcesses } from '../../../test/service-process.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const identity = { userId: newId(), sessionId: newId(), organizationId: newId() }
const subject = { ...identity, role: 'viewer' } as const
const kidOf = (token: string) => decodeProtectedHeader(token).kid ?? ''

let access: Access
beforeEach(async () => {
  access = await openAccess()
  return () => access.close()
})

const keyContext = () => ({ database: access.database, secret: access.secret, clock: () => access.clock.now })
const statuses = async () => (await findSigningKeys(access.database)).map(({ status }) => status)
const publishedIds = async (tokens: Tokens) => (await tokens.jwks()).keys.map(({ kid }) => kid)

test('each process signs with the active key of the database within a minute', async () => {
  const other = access.anotherProcess().tokens
  const before = kidOf(await access.tokens.issue(subject))
  expect(kidOf(await other.issue(subject))).toBe(before)
  const rotation = await rotateSigningKeys(keyContext())
  expect(rotation).toMatchObject({ rotated: true, retired: before })
  access.clock.now += minute
  for (const tokens of [access.tokens, other]) {
    const after = kidOf(await tokens.issue(subject))
    expect({ rotated: true, retired: before, active: after }).toEqual(rotation)
  }
})

test('every process publishes a key before any process signs with it', async () => {
  const other = access.anotherProcess().tokens
  for (let round = 0; round < 4; round++) {
    const publishedBefore = [await publishedIds(access.tokens), await publishedIds(other)]
    access.clock.now += 20 * minute
    await rotateSigningKeys(keyContext())
    access.clock.now += minute
    const signing = kidOf(await other.issue(subject))
    for (const ids of publishedBefore) expect(ids).toContain(signing)
  }
})

test('two rotations within a day end no session: a retired key is valid until the last token it signed has expired', async () => {
  const first = await access.tokens.issue(subject)
  expect(await rotateSigningKeys(keyContext())).toMatchObject({ rotated: true })
  // This process has not read the new key yet and signs with the retired one for up to a minute.
  access.clock.now += minute - 1
  const lateToken = await access.tokens.issue(subject)
  expect(kidOf(lateToken)).toBe(kidOf(first))
  access.clock.now += hour
  expect(await rotateSigningKeys(keyContext())).toMatchObject({ rotated: true })
  const second = await access.tokens.issue(subject)
  expect(new Set([first, lateToken, second].map(kidOf)).size).toBe(2)
  expect(await statuses()).toEqual(['active', 'next', 'retired', 'retired'])

  access.clock.now += day - hour - 1000
  await rotateSigningKeys(keyContext(), { onlyIfDue: true })
  const restarted = access.anotherProcess().tokens
  for (const token of [lateToken, second]) {
    expect(await access.tokens.verify(token)).toEqual(identity)
    expect(await restarted.verify(token)).toEqual(identity)
  }
  expect(await publishedIds(restarted)).toContain(kidOf(lateToken))

  access.clock.now += 3 * hour
  await rotateSigningKeys(keyContext(), { onlyIfDue: true })
  expect(await statuses()).toEqual(['active', 'next'])
  expect(await publishedIds(access.anotherProcess().tokens)).not.toContain(kidOf(first))
})

test('the private key of a retired key is deleted, and stored ones are encrypted with SECRET', async () => {
  const token = await access.tokens.issue(subject)
  await rotateSigningKeys(keyContext())
  const storedKeys = await findSigningKeys(access.database)
  expect(storedKeys.map(({ status, privateKeyEncrypted }) => [status, privateKeyEncrypted === null])).toEqual([
    ['active', false],
    ['next', false],
    ['retired', true],
  ])
  expect(storedKeys[2]?.id).toBe(kidOf(token))
  const [dump] = await access.database.crossTenantQuery<{ text: string }>(
    'check the database',
    sql`select string_agg(signing_keys::text || coalesce(encode(private_key_encrypted, 'escape'), ''), ' ') as text
      from signing_keys`,
  )
  // The forms of a private key in PKCS #8 and JWK.
  expect(dump?.text).not.toMatch(/PRIVATE KEY|"d"+:|MIGHAgEA/)
  expect(dump?.text).toContain('"kty"')
})

test('a key that other processes may not have read yet does not sign', async () => {
  await access.tokens.issue(subject)
  const start = access.clock.now
  expect(await rotateSigningKeys(keyContext())).toMatchObject({ rotated: true })
  const possibleAt = new Date(start + 15 * minute)
  access.clock.now = possibleAt.getTime() - 1
  expect(await rotateSigningKeys(keyContext())).toEqual({ rotated: false, possibleAt })
  expect(await statuses()).toEqual(['active', 'next', 'retired'])
  access.clock.now += 1
  expect(await rotateSigningKeys(keyContext())).toMatchObject({ rotated: true })
})

test('a database of an older version keeps its key, and the next key waits until all processes have read it', async () => {
  const token = await access.tokens.issue(subject)
  const database = access.database
  // The state of an installation of the previous version after the migration.
  await database.crossTenantQuery('check the database', sql`delete from signing_keys where status = 'next'`)
  access.clock.now += 200 * day
  const { tokens } = access.anotherProcess()
  expect(kidOf(await tokens.issue(subject))).toBe(kidOf(token))
  expect(await statuses()).toEqual(['active', 'next'])
  expect(await rotateSigningKeys(keyContext(), { onlyIfDue: true })).toMatchObject({ rotated: false })
  access.clock.now += 15 * minute
  expect(await rotateSigningKeys(keyContext(), { onlyIfDue: true })).toMatchObject({ rotated: true })
})

test('the service rotates keys automatically after 90 days, once for all processes', async () => {
  await access.tokens.issue(subject)
  const start = access.clock.now
  const rotateEverywhere = () =>
    Promise.all(Array.from({ length: 8 }, () => rotateSigningKeys(keyContext(), { onlyIfDue: true })))
  access.clock.now = start + 90 * day - 1
  expect((await rotateEverywhere()).filter(({ rotated }) => rotated)).toHaveLength(0)
  access.clock.now += 1
  expect((await rotateEverywhere()).filter(({ rotated }) => rotated)).toHaveLength(1)
  expect(await statuses()).toEqual(['active', 'next', 'retired'])
})

test('the key maintenance of the service rotates keys and survives an unavailable database', async () => {
  await access.tokens.issue(subject)
  access.clock.now += 91 * day
  const maintenance = createKeyMaintenance({
    ...keyContext(),
    log: pino({ level: 'silent' }),
    ready: Promise.resolve(),
  })
  await until('the keys are rotated', async () => (await statuses()).includes('retired'))
  await maintenance.close()

  const lines: string[] = []
  const log = pino({ level: 'info' }, { write: (line) => void lines.push(line) })
  const database = Object.assign(Object.create(access.database), {
    crossTenantTransaction: () => Promise.reject(new Error('away')),
  })
  const failing = createKeyMaintenance({ ...keyContext(), database, log, ready: Promise.resolve() })
  await until('the failure is logged', () => lines.length > 0)
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 50, error: 'away' })
  await failing.close()
})

test('unknown key ids make a process read the keys at most once in five seconds', async () => {
  const spy = vi.spyOn(access.database, 'crossTenantQuery')
  const keys = createSigningKeys(keyContext())
  await keys.active()
  expect(spy).toHaveBeenCalledTimes(2)
  spy.mockClear()
  const findUnknown = (count: number) =>
    Promise.all(Array.from({ length: count }, (_, index) => keys.find(`unknown ${index}`)))
  expect(new Set(await findUnknown(100))).toEqual(new Set([undefined]))
  expect(spy).toHaveBeenCalledTimes(0)
  access.clock.now += 5000
  await findUnknown(100)
  await findUnknown(100)
  expect(spy).toHaveBeenCalledTimes(1)
  spy.mockRestore()
})

test('a key that another process has stored is found by its id', async () => {
  const keys = createSigningKeys(keyContext())
  await keys.published()
  await rotateSigningKeys(keyContext())
  const next = (await findSigningKeys(access.database)).find(({ status }) => status === 'next')?.id ?? ''
  access.clock.now += 5000
  expect(await keys.find(next)).toBeDefined()
})

let database: TestDatabase
let processes: ServiceProcesses
const secret = 'the same secret for all of them, of 32 characters and more'

beforeAll(async () => {
  database = await createDatabase()
  processes = await serviceProcesses(database)
})
afterAll(async () => {
  await processes.close()
  await database.drop()
})

test('tokens of every process verify with every published key set across a rotation', async () => {
  const environment = { DATABASE_URL: databaseUrlOf(database), SECRET: secret }
  const runCommand = async (commandLine: string, input?: string) => {
    const { code, output, errors } = await run([...commandLine.split(' '), '--json'], {
      environment,
      ...(input !== undefined && { input }),
    })
    return { code, errors, body: code === 0 ? JSON.parse(output) : undefined }
  }
  const bootstrapped = await runCommand(
    'bootstrap --email owner@example.com --organization Acme --password-stdin',
    'a password that is long enough',
  )
  const services: ServiceProcess[] = await Promise.all([processes.start('one'), processes.start('two')])
  const keySets = services.map(({ url }) => createRemoteJWKSet(new URL(`${url}/.well-known/jwks.json`)))
  let refreshToken: string = bootstrapped.body.refreshToken
  const refresh = async (url: string): Promise<string> => {
    const response = await fetch(`${url}/auth`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token: refreshToken }),
    })
    expect(response.status).toBe(200)
    const body = (await response.json()) as { accessToken: string; refreshToken: string }
    refreshToken = body.refreshToken
    return body.accessToken
  }
  const expectAcceptedEverywhere = async (token: string): Promise<void> => {
    for (const keySet of keySets) await jwtVerify(token, keySet, { typ: 'at+jwt', algorithms: ['ES256'] })
    for (const { url } of services) {
      const response = await fetch(`${url}/v5/me`, { headers: { authorization: `Bearer ${token}` } })
      expect(response.status).toBe(200)
    }
  }

  const first: string = bootstrapped.body.accessToken
  await expectAcceptedEverywhere(first)
  const rotated = await runCommand('keys rotate')
  expect(rotated.body).toEqual({ active: expect.any(String), retired: kidOf(first) })
  // A new process signs with the new key; the running ones accept it at once.
  services.push(await processes.start('three'))
  const second = await refresh(services[2]?.url ?? '')
  expect(kidOf(second)).toBe(rotated.body.active)
  for (const token of [first, second, await refresh(services[0]?.url ?? '')]) await expectAcceptedEverywhere(token)

  const early = await runCommand('keys rotate')
  expect(early).toMatchObject({ code: 1, errors: expect.stringMatching(/^Not rotated: .* after 20\S+Z\./) })
  const listed = await runCommand('keys list')
  expect(listed.body.keys.map(({ status }: { status: string }) => status)).toEqual(['active', 'next', 'retired'])
  expect(JSON.stringify(listed.body)).not.toMatch(/private/i)

  // A foreign signature is rejected, even if it names a valid key.
  const { privateKey } = await generateKeyPair('ES256')
  const forged = new SignJWT({}).setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: kidOf(second) })
  const forgedToken = await forged.setIssuedAt().setExpirationTime('1h').sign(privateKey)
  for (const keySet of keySets) await expect(jwtVerify(forgedToken, keySet)).rejects.toThrow(/signature/)

  const response = await fetch(`${services[0]?.url}/.well-known/jwks.json`)
  expect(response.headers.get('cache-control')).toBe('public, max-age=300')
}, 60_000)
