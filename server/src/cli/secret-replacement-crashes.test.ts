import { createSecretKey, randomBytes } from 'node:crypto'
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { seal, unseal } from '../platform/secret/encryption.ts'
import { deriveKey, fingerprint } from '../platform/secret/secret.ts'
import { connect } from '../platform/database/connect.ts'
import { waitForExit, launch, run, runProcess, databaseUrlOf } from '../../test/command-line.ts'
import { query } from '../../test/data-directory.ts'
import { createDatabase, type TestDatabase } from '../../test/postgres.ts'
import { until } from '../../test/processes.ts'

// The state after a replacement of the secret is killed, rejected or interrupted.
let parentFolder: string
let folder: string
let database: TestDatabase
let environment: Record<string, string>
let count = 0

beforeAll(async () => {
  parentFolder = await mkdtemp(join(tmpdir(), 'rapport-replacing-'))
})
afterAll(() => rm(parentFolder, { recursive: true }))

/** Each test has a database with an owner, a session and signing keys, and a data folder with its secret. */
beforeEach(async () => {
  database = await createDatabase()
  folder = join(parentFolder, String(count++))
  await mkdir(folder)
  environment = { DATABASE_URL: databaseUrlOf(database), DATA_DIR: folder }
  const bootstrapArguments = ['bootstrap', '--email', 'ada@example.com', '--organization', 'Acme', '--password-stdin']
  const bootstrapped = await run(bootstrapArguments, { environment, input: 'a password that is long enough' })
  expect(bootstrapped.code, bootstrapped.errors).toBe(0)
  return () => database.drop()
})

const secretIn = async (name = 'secret'): Promise<string> => (await readFile(join(folder, name), 'utf8')).trim()
const replaceSecret = (...bootstrapArguments: string[]) =>
  run(['secret', 'replace', '--json', ...bootstrapArguments], { environment })
const secretFiles = async () => (await readdir(folder)).filter((name) => name.startsWith('secret')).sort()

/** Checks that the data folder's secret matches the database and decrypts its values; returns the secret. */
async function assertUsable(): Promise<string> {
  const started = await run(['migrate'], { environment })
  expect(started.code, started.errors).toBe(0)
  const text = await secretIn()
  const secret = createSecretKey(Buffer.from(text, 'hex'))
  const keys = await query(
    database.connection,
    'select id, private_key_encrypted as sealed from signing_keys where private_key_encrypted is not null',
  )
  expect(keys.length).toBeGreaterThan(0)
  for (const { id, sealed } of keys)
    expect(unseal(deriveKey(secret, 'signing key', String(id)), sealed as Buffer).toString()).toContain('PRIVATE KEY')
  const fingerprintSql = `select value from instance where name = 'secret_fingerprint'`
  expect(await query(database.connection, fingerprintSql)).toEqual([{ value: fingerprint(secret) }])
  return text
}

/** Kills the command when it waits for a lock of `lockHolder`, then releases the lock. */
async function killWhileWaiting(lockHolder: pg.Client): Promise<void> {
  const child = launch(['secret', 'replace'], { environment })
  const endedSql = waitForExit(child)
  const waitingSql = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  await until('it waits', async () => (await query(database.connection, waitingSql)).length === 1)
  child.kill('SIGKILL')
  await endedSql
  await lockHolder.query('rollback')
  await lockHolder.query('select pg_advisory_unlock_all()')
  const activeSql = `select from pg_stat_activity where datname = current_database() and application_name = 'rapport secret'`
  await until('the server has noticed', async () => (await query(database.connection, activeSql)).length === 0)
}

test.each([
  ['before it has begun', 'begin; lock table instance', ['secret']],
  ['while it encrypts', 'begin; select from signing_keys for update', ['secret', 'secret.next']],
  ['while it ends sessions', 'begin; select from sessions for update', ['secret', 'secret.next']],
])(
  'after a kill %s, the installation keeps its old secret and the next run replaces it',
  async (_, lockSql, files) => {
    const old = await secretIn()
    const lockHolder = await connect(database.connection)
    await lockHolder.query(lockSql)
    await killWhileWaiting(lockHolder)
    await lockHolder.end()
    expect(await secretFiles()).toEqual(files)
    expect(await assertUsable()).toBe(old)
    const endedSql = `select from sessions where ended_at is not null`
    expect(await query(database.connection, endedSql)).toEqual([])
    expect(await replaceSecret()).toMatchObject({ code: 0 })
    expect(await assertUsable()).not.toBe(old)
    expect(await query(database.connection, endedSql)).toHaveLength(1)
  },
  60_000,
)

test('after a kill during the commit, the installation has one of the two secrets and works', async () => {
  const lockHolder = await connect(database.connection)
  await lockHolder.query(`select pg_advisory_lock(42);
    create function wait() returns trigger language plpgsql as 'begin perform pg_advisory_xact_lock(42); return null; end';
    create constraint trigger waits after update on instance deferrable initially deferred
      for each row execute function wait()`)
  const old = await secretIn()
  await killWhileWaiting(lockHolder)
  await lockHolder.end()
  const next = await secretIn('secret.next')
  expect([old, next]).toContain(await assertUsable())
  expect(await replaceSecret()).toMatchObject({ code: 0 })
  await assertUsable()
}, 60_000)

test('after a kill following the commit, the next start uses the new secret', async () => {
  const old = await secretIn()
  const { output } = await replaceSecret()
  const { keptIn } = JSON.parse(output)
  const next = await secretIn()
  for (const hasOldSecret of [false, true]) {
    await rename(join(folder, 'secret'), join(folder, 'secret.next'))
    await cp(keptIn, join(folder, 'secret'))
    if (!hasOldSecret) await rm(keptIn)
    const doctor = JSON.parse((await run(['doctor', '--json'], { environment })).output)
    const message = 'a replacement of the secret was interrupted'
    expect(doctor.findings).toContainEqual(expect.objectContaining({ name: 'secret', state: 'note', message }))
    expect(await assertUsable()).toBe(next)
    expect((await readFile(keptIn, 'utf8')).trim()).toBe(old)
    expect(await secretFiles()).toHaveLength(2)
  }
  // The command does this too, and then has nothing left to do.
  await rename(join(folder, 'secret'), join(folder, 'secret.next'))
  await cp(keptIn, join(folder, 'secret'))
  const file = join(folder, 'another')
  await writeFile(file, randomBytes(32).toString('hex'))
  expect((await replaceSecret('--new-file', file)).errors).toContain('without --new-file to finish it')
  expect(JSON.parse((await replaceSecret()).output)).toMatchObject({ resealed: 0, keptIn })
  expect(await assertUsable()).toBe(next)
}, 60_000)

test('a service with an unfinished replacement and no database reports it', async () => {
  await writeFile(join(folder, 'secret.next'), randomBytes(32).toString('hex'), { mode: 0o600 })
  const unreachableDatabase = { ...environment, DATABASE_URL: `postgres://rapport@/rapport?host=${folder}`, PORT: '0' }
  const started = await runProcess(['start'], { environment: unreachableDatabase })
  expect(started.code).toBe(3)
  expect(started.errors).toContain('Start again when it is available.')
})

test('the secret is not replaced while a service uses the database, with a wrong secret or without a new one', async () => {
  const old = await secretIn()
  const service = await connect({ ...database.connection, application_name: 'rapport' })
  const refused = await replaceSecret()
  expect(refused).toMatchObject({ code: 1, errors: expect.stringContaining('1 connections of services are open') })
  await service.end()
  const withSecret = (SECRET: string, ...bootstrapArguments: string[]) =>
    run(['secret', 'replace', ...bootstrapArguments], { environment: { ...environment, SECRET } })
  expect(await withSecret(old)).toMatchObject({ code: 2, errors: expect.stringContaining('--new-file') })
  const file = join(folder, 'new')
  await writeFile(file, old)
  expect(await replaceSecret('--new-file', file)).toMatchObject({
    code: 2,
    errors: expect.stringContaining('current secret'),
  })
  await writeFile(file, 'short')
  expect(await replaceSecret('--new-file', file)).toMatchObject({
    code: 3,
    errors: expect.stringContaining('too weak'),
  })
  expect(await replaceSecret('--new-file', join(folder, 'none'))).toMatchObject({ code: 2 })
  await writeFile(file, randomBytes(32).toString('hex'))
  const wrong = await withSecret(randomBytes(32).toString('hex'), '--new-file', file)
  expect(wrong).toMatchObject({ code: 1, errors: expect.stringContaining('belongs to a different secret') })
  expect(await secretFiles()).toEqual(['secret'])
  expect(await assertUsable()).toBe(old)
  await rename(join(folder, 'secret'), join(folder, 'away'))
  expect(await replaceSecret()).toMatchObject({
    code: 1,
    errors: expect.stringContaining('Provide the current secret'),
  })
}, 60_000)

test('a value that the current secret cannot decrypt is reported, and the secret is not replaced', async () => {
  const old = await secretIn()
  await query(
    database.connection,
    `insert into mails (id, kind, recipient, recipient_key, body_sealed, status, run_at, ended_at)
      values ('00000000-0000-7000-8000-000000000001', 'new-device', 'a@b.c', 'a@b.c', '\\x00', 'kept', null, now())`,
  )
  const { code, errors } = await replaceSecret()
  expect([code, errors]).toEqual([
    1,
    expect.stringContaining('mails.body_sealed of 00000000-0000-7000-8000-000000000001'),
  ])
  expect(await assertUsable()).toBe(old)
})

test('more values than fit in one batch are each encrypted again once', async () => {
  const secret = createSecretKey(Buffer.from(await secretIn(), 'hex'))
  const ids = Array.from({ length: 1201 }, (_, index) => `00000000-0000-7000-8000-${String(index).padStart(12, '0')}`)
  const client = await connect(database.connection)
  await client.query(
    `insert into mails (id, kind, recipient, recipient_key, body_sealed, status, run_at, ended_at)
      select id, 'new-device', 'a@b.c', 'a@b.c', body, 'kept', null, now() from unnest($1::uuid[], $2::bytea[]) as t (id, body)`,
    [ids, ids.map((id) => seal(deriveKey(secret, 'mail', id), Buffer.from(id)))],
  )
  await client.end()
  expect(JSON.parse((await replaceSecret()).output)).toMatchObject({ resealed: 1203 })
  const next = createSecretKey(Buffer.from(await assertUsable(), 'hex'))
  const rows = await query(database.connection, 'select id, body_sealed as sealed from mails')
  expect(rows).toHaveLength(1201)
  for (const { id, sealed } of rows)
    expect(unseal(deriveKey(next, 'mail', String(id)), sealed as Buffer).toString()).toBe(id)
})

test('the secret of an installation with the embedded database is replaced when no service runs', async () => {
  const embeddedEnvironment = { DATA_DIR: join(folder, 'data') }
  expect(await run(['migrate'], { environment: embeddedEnvironment })).toMatchObject({ code: 0 })
  const before = await readFile(join(folder, 'data/secret'), 'utf8')
  const replaced = await runProcess(['secret', 'replace'], { environment: embeddedEnvironment })
  expect(replaced.code, replaced.errors).toBe(0)
  expect(replaced.output).toContain('The secret was replaced')
  expect(await readFile(join(folder, 'data/secret'), 'utf8')).not.toBe(before)
  expect(await run(['doctor'], { environment: embeddedEnvironment })).toMatchObject({ code: 0 })
  // A running service locks the data folder.
  const service = launch(['start'], { environment: { ...embeddedEnvironment, PORT: '0' } })
  const endedSql = waitForExit(service)
  const serviceFile = join(folder, 'data/service.json')
  await until(
    'the service runs',
    () =>
      readFile(serviceFile).then(
        () => true,
        () => false,
      ),
    40_000,
  )
  const refused = await run(['secret', 'replace'], { environment: embeddedEnvironment })
  expect(refused).toMatchObject({ code: 1, errors: expect.stringContaining('Stop it first.') })
  service.kill('SIGTERM')
  await endedSql
}, 90_000)
