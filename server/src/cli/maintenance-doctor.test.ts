import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { examineDatabase } from './examine-database.ts'
import { checkTransactions } from './examine-maintenance.ts'
import { parseConfig } from '../config.ts'
import { run, databaseUrlOf } from '../../test/command-line.ts'
import { createEmptyDatabase, type TestDatabase } from '../../test/postgres.ts'
import { recordLastBackup } from '../platform/operations/backup/last-backup.ts'
import { ago, createMaintenanceFixture, type MaintenanceFixture } from '../../test/maintenance-fixture.ts'
import type { Finding } from './finding.ts'

let fixture: MaintenanceFixture
let database: TestDatabase
let folder: string
const organization_id = randomUUID()
const [team_id, import_id] = [randomUUID(), randomUUID()]
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rapport-doctor-'))
  fixture = await createMaintenanceFixture()
  database = { connection: fixture.connection as TestDatabase['connection'], drop: () => Promise.resolve() }
  await fixture.insert('organizations', [{ id: organization_id, name: 'Any', slug: organization_id }])
  await fixture.insert('teams', [{ organization_id, id: team_id, name: 'Home', is_default: true }])
  await fixture.insert('imports', [{ organization_id, id: import_id, name: 'Any', team_id }])
})
afterAll(async () => {
  await fixture.close()
  await rm(folder, { recursive: true })
})

const environment = (testDatabase: TestDatabase = database) => ({
  DATABASE_URL: databaseUrlOf(testDatabase),
  DATA_DIR: folder,
  SECRET: 'a secret that is long enough for a test',
})

async function findFinding(name: string, testDatabase?: TestDatabase): Promise<Finding | undefined> {
  const findings = await examineDatabase(parseConfig(environment(testDatabase)))
  return findings.find((one) => one.name === name)
}

async function addRow(row: Record<string, unknown>): Promise<void> {
  await fixture.insert('import_rows', [{ organization_id, id: randomUUID(), import_id, payload: {}, ...row }])
}

test('a healthy database reports each finding with its value', async () => {
  expect(await findFinding('transactions')).toMatchObject({ state: 'ok' })
  expect(await findFinding('imports')).toEqual({ name: 'imports', state: 'ok', message: '0 rows waiting; 0 dead' })
  expect(await findFinding('retention')).toMatchObject({
    state: 'ok',
    message: expect.stringContaining('no data is stored'),
  })
  expect(await findFinding('tables')).toMatchObject({
    state: 'ok',
    message: expect.stringMatching(/^\d+ (MB|kB) in total/),
  })
  const letters = await findFinding('letters')
  expect(letters).toMatchObject({
    state: 'ok',
    message: expect.stringMatching(/^ctype C\.UTF-?8: [1-9].* folds to elωж$/i),
  })
})

test('a long-running transaction is reported with the statement that ends it', async () => {
  const idleClient = new pg.Client({ ...fixture.connection, application_name: 'report' })
  idleClient.on('error', () => undefined)
  await idleClient.connect()
  await idleClient.query('begin')
  const { rows } = await idleClient.query<{ pid: number }>('select pg_backend_pid() as pid')
  const pid = rows[0]?.pid
  expect(await findFinding('transactions')).toMatchObject({ state: 'ok' })
  // The same transaction, checked with a clock that is an hour ahead.
  const later = clientAhead(fixture.client, '61 minutes')
  const found = await checkTransactions(later)
  expect(found).toMatchObject({ name: 'transactions', state: 'wrong' })
  expect(found.message).toMatch(new RegExp(`${pid} \\(report, idle in transaction, 61 minutes\\)`))
  expect(found.advice).toContain(`select pg_terminate_backend(${pid});`)
  await fixture.client.query(`select pg_terminate_backend(${pid})`)
  await expect.poll(() => checkTransactions(later), { timeout: 20_000 }).toMatchObject({ state: 'ok' })
})

/** The client with a later `now()`, because a test cannot wait until a transaction is old. */
function clientAhead(client: pg.Client, time: string): pg.Client {
  const query = (text: string, values: unknown[]) =>
    client.query(text.replaceAll('now()', `(clock_timestamp() + interval '${time}')`), values)
  return { query } as unknown as pg.Client
}

test('overdue rows are reported, first as a note and then as wrong', async () => {
  await addRow({ run_at: new Date().toISOString() })
  expect(await findFinding('imports')).toMatchObject({ state: 'ok', message: expect.stringMatching(/^1 rows waiting/) })
  await fixture.client.query(`update import_rows set run_at = now() - interval '5 minutes'`)
  const note = await findFinding('imports')
  expect(note).toMatchObject({ state: 'note', message: '1 rows waiting, the oldest overdue by 5 minutes; 0 dead' })
  expect(note?.advice).toContain('IMPORT_WORKERS')
  await fixture.client.query(`update import_rows set run_at = now() - interval '3 hours'`)
  expect(await findFinding('imports')).toMatchObject({ state: 'wrong', message: expect.stringContaining('3 hours') })
  // A row that is due later is not overdue.
  await fixture.client.query(`update import_rows set run_at = now() + interval '1 hour'`)
  expect(await findFinding('imports')).toMatchObject({ state: 'ok', message: '1 rows waiting; 0 dead' })
  await fixture.client.query('delete from import_rows')
})

test('dead rows are reported with the filter that finds them', async () => {
  await addRow({ status: 'DEAD', run_at: null, finished_at: ago(1) })
  await fixture.insert('import_row_counts', [{ organization_id, import_id, status: 'DEAD', change: 1 }])
  const found = await findFinding('imports')
  expect(found).toMatchObject({ state: 'note', message: '0 rows waiting; 1 dead' })
  expect(found?.advice).toContain('status=DEAD')
  await fixture.client.query('delete from import_rows; delete from import_row_counts')
})

test('overdue data is reported by kind and age', async () => {
  const add = (days: number) =>
    fixture.insert('campaigns', [{ organization_id, id: randomUUID(), name: 'Any', deleted_at: ago(days) }])
  await add(30.2)
  expect(await findFinding('retention')).toMatchObject({
    state: 'ok',
    message: 'overdue for purging: 1 of campaigns for 5 hours',
  })
  await add(33)
  expect(await findFinding('retention')).toMatchObject({
    state: 'note',
    message: 'overdue for purging: 2 of campaigns for 3 days',
    advice: expect.stringContaining('purges automatically'),
  })
  await add(39)
  await addRow({ status: 'INVALID', run_at: null, finished_at: ago(91) })
  expect(await findFinding('retention')).toMatchObject({
    state: 'wrong',
    message: 'overdue for purging: 3 of campaigns for 9 days, 1 of rows for 24 hours',
  })
  await fixture.round()
  expect(await findFinding('retention')).toMatchObject({
    state: 'ok',
    message: expect.stringContaining('no data is stored'),
  })
})

test('a table of mostly dead rows is reported until it is vacuumed', async () => {
  await fixture.client.query(`insert into root_contacts (organization_id, id)
    select '${organization_id}', gen_random_uuid() from generate_series(1, 60000)`)
  await fixture.client.query('delete from root_contacts')
  // Otherwise the connection reports its statistics later, when it is idle.
  await fixture.client.query('select pg_stat_force_next_flush()')
  await expect
    .poll(() => findFinding('tables'), { timeout: 20_000 })
    .toMatchObject({
      state: 'note',
      message: expect.stringMatching(/root_contacts 60,000 of 60,000, never cleaned up/),
    })
  const { output, code } = await run(['doctor'], { environment: environment() })
  expect(output).toMatch(
    /note {3}tables: .*root_contacts 60,000 of 60,000[^\n]*\n {7}→ .*vacuum \(analyze\) root_contacts;/,
  )
  expect(code).toBe(0)
  await fixture.client.query('vacuum root_contacts')
  await fixture.client.query('select pg_stat_force_next_flush()')
  await expect.poll(() => findFinding('tables'), { timeout: 20_000 }).toMatchObject({ state: 'ok' })
})

test('a database that knows only ASCII letters is reported as wrong with its ctype', async () => {
  const { connection, drop } = await createEmptyDatabase()
  const admin = new pg.Client({ ...connection, database: 'postgres' })
  await admin.connect()
  await admin.query(`drop database ${connection.database}`)
  await admin.query(
    `create database ${connection.database} template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C' locale_provider libc`,
  )
  await admin.end()
  const client = new pg.Client(connection)
  await client.connect()
  await client.query('create extension pg_trgm')
  const { rows } = await fixture.client.query<{ source: string }>(
    `select pg_get_functiondef('fold'::regproc) as source`,
  )
  await client.query(rows[0]?.source ?? '')
  await client.end()
  const letters = await findFinding('letters', { connection, drop })
  expect(letters).toMatchObject({ state: 'wrong', message: expect.stringMatching(/^ctype C: 0 trigrams/) })
  expect(letters?.advice).toContain(`locale 'C.UTF-8'`)
  await drop()
})

test('a latest backup of two days ago is wrong, and one of last night is not', async () => {
  const takenAt = (days: number) => new Date(Date.now() - days * 24 * 3_600_000).toISOString()
  expect(await findFinding('backup')).toMatchObject({
    state: 'note',
    message: expect.stringContaining('not backed up'),
  })
  await recordLastBackup(fixture.connection, { takenAt: takenAt(1.2), folder: '/var/backups/rapport' })
  expect(await findFinding('backup')).toMatchObject({ state: 'ok' })
  await recordLastBackup(fixture.connection, { takenAt: takenAt(2.1), folder: '/var/backups/rapport' })
  expect(await findFinding('backup')).toMatchObject({
    state: 'wrong',
    message: expect.stringMatching(/^the latest is of \S+, in \/var\/backups\/rapport$/),
    advice: expect.stringMatching(/^It is 2 days old\. See why the job that runs `rapport backup` fails/),
  })
})
