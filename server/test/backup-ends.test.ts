import type { ChildProcess } from 'node:child_process'
import { stat, writeFile } from 'node:fs/promises'
import { buffer, text } from 'node:stream/consumers'
import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../src/platform/database/connect.ts'
import { checkSnapshot } from '../src/platform/backup/read.ts'
import { restoreSnapshot } from '../src/platform/backup/restore.ts'
import { takeSnapshotFile } from '../src/platform/backup/take.ts'
import { migrationsFolder, version } from '../src/release.ts'
import { backupPlace } from './backups.ts'
import { ending } from './command-line.ts'
import { cuttable } from './cuttable.ts'
import { query } from './data-place.ts'
import { createDatabase, type TestDatabase } from './postgres.ts'
import { until } from './processes.ts'

// How a backup or a restore can end before its time.
let target: TestDatabase
let place: Awaited<ReturnType<typeof backupPlace>>

const organization = `insert into organizations (id, name, slug) values (gen_random_uuid(), 'Acme', 'acme-' || gen_random_uuid())`

beforeAll(async () => {
  target = await createDatabase()
  place = await backupPlace()
  await query(target.connection, organization)
})
afterAll(async () => {
  await place.close()
  await target.drop()
})

const takeInto = (name: string, signal?: AbortSignal) =>
  takeSnapshotFile(name, { connection: target.connection, migrationsFolder, version: version(), signal })

/** Lets a backup wait at its work until the answer is called. */
async function holdUp(): Promise<() => Promise<void>> {
  const holder = await connect(target.connection)
  await holder.query('begin; lock table users in access exclusive mode')
  return () => holder.end()
}

const waitingBackups = async (): Promise<number> =>
  (
    await query(
      target.connection,
      `select from pg_stat_activity where application_name = 'rapport backup' and wait_event_type = 'Lock'
         and datname = current_database()`,
    )
  ).length

const isThere = async (name: string): Promise<boolean> => (await stat(name).catch(() => undefined)) !== undefined

test('a backup that is killed leaves no file under its name, and the next one is not in its way; one that is interrupted leaves none', async () => {
  const name = place.file('killed')
  const release = await holdUp()
  const killed = place.launch(target, 'backup', name)
  const interrupted = place.launch(target, 'backup', place.file('interrupted'))
  const [endOfKilled, endOfInterrupted] = [ending(killed), ending(interrupted)]
  await until('they wait', async () => (await waitingBackups()) === 2, 40_000)
  killed.kill('SIGKILL')
  interrupted.kill('SIGINT')
  await endOfKilled
  expect(await endOfInterrupted).toMatchObject({ code: 1, output: '', errors: 'Interrupted: no backup was made.\n' })
  expect(await isThere(`${place.file('interrupted')}.part`)).toBe(false)
  await release()
  expect([await isThere(name), await isThere(`${name}.part`)]).toEqual([false, true])
  expect(await place.backUp(target, name)).toMatchObject({ code: 0 })
  expect(await isThere(`${name}.part`)).toBe(false)
  expect((await checkSnapshot(name)).sums.tables['organizations']?.rows).toBe(1)
  const again = await place.backUp(target, name)
  expect(again.code).toBe(1)
  expect(again.errors).toContain('--force')
})

test('of backups to one name the latest one is made, whatever becomes of the earlier ones, which are told so', async () => {
  const name = place.file('both')
  const release = await holdUp()
  const controller = new AbortController()
  const first = takeInto(name, controller.signal).catch((error: Error) => error.message)
  await until('the first one waits', async () => (await waitingBackups()) === 1)
  const earlier = takeInto(name).catch((error: Error) => error.message)
  await until('the earlier one waits', async () => (await waitingBackups()) === 2)
  const later = takeInto(name)
  await until('the later one waits', async () => (await waitingBackups()) === 3)
  controller.abort()
  expect(await first).toContain('Interrupted')
  expect(await isThere(`${name}.part`)).toBe(true)
  await release()
  expect(await earlier).toContain('This backup was stopped')
  expect(await later).toMatchObject({ others: [] })
  expect(await checkSnapshot(name)).toMatchObject({ header: { format: 'rapport backup' } })
  expect(await isThere(`${name}.part`)).toBe(false)
})

test('a backup goes to standard output as a whole, and fails when nobody reads it to its end', async () => {
  const [read, closed] = [place.launch(target, 'backup', '-'), place.launch(target, 'backup', '-')]
  closed.stdout?.destroy()
  const complaints = closed.stderr ? text(closed.stderr) : undefined
  const [bytes, code] = await Promise.all([read.stdout ? buffer(read.stdout) : undefined, exitOf(read), exitOf(closed)])
  expect(code).toBe(0)
  const file = place.file('piped')
  await writeFile(file, bytes ?? '')
  expect((await checkSnapshot(file)).sums.tables['organizations']?.rows).toBe(1)
  expect(closed.exitCode).toBe(1)
  expect(await complaints).toContain('The output is not a complete backup.')
  const both = await place.backUp(target, '-', '--json')
  expect(both).toMatchObject({ code: 2, output: '' })
})

const exitOf = (child: ChildProcess) =>
  new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)))

test('a restore whose connection is lost while it commits says that it may be there', async () => {
  const way = await cuttable(target)
  const holder = await connect(target.connection)
  await holder.query('select pg_advisory_lock(42)')
  let memory: unknown[] = []
  const waitAtCommit = async (client: pg.Client) => {
    memory = (await client.query('show maintenance_work_mem')).rows
    await client.query(
      `create function wait() returns trigger language plpgsql as 'begin perform pg_advisory_xact_lock(42); return null; end';
         create constraint trigger waits after insert on organizations deferrable initially deferred
           for each row execute function wait(); ${organization}`,
    )
  }
  const file = place.file('whole')
  await takeInto(file)
  const checked = await checkSnapshot(file)
  const options = { connection: way.connection, checked, migrationsFolder, finish: waitAtCommit }
  const restoring = restoreSnapshot(file, options).catch((error: Error) => error.message)
  const committing = `select from pg_stat_activity where query = 'commit' and wait_event_type = 'Lock' and datname = current_database()`
  await until('it commits', async () => (await query(target.connection, committing)).length === 1, 40_000)
  way.cut()
  expect(await restoring).toMatch(/lost at the very end. The database is either unchanged or completely restored/)
  expect(memory).toEqual([{ maintenance_work_mem: '128MB' }])
  await holder.end()
  await way.close()
})
