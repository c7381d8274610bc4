import type { ChildProcess } from 'node:child_process'
import { stat, writeFile } from 'node:fs/promises'
import { buffer, text } from 'node:stream/consumers'
import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../database/connect.ts'
import { checkSnapshot } from './read.ts'
import { restoreSnapshot } from './restore.ts'
import { takeSnapshotFile } from './take.ts'
import { migrationsFolder, version } from '../../../release.ts'
import { createBackupFixture } from '../../../../test/backups.ts'
import { waitForExit } from '../../../../test/command-line.ts'
import { startConnectionProxy } from '../../../../test/connection-proxy.ts'
import { query } from '../../../../test/data-directory.ts'
import { createDatabase, type TestDatabase } from '../../../../test/postgres.ts'
import { until } from '../../../../test/processes.ts'

let target: TestDatabase
let fixture: Awaited<ReturnType<typeof createBackupFixture>>

const organization = `insert into organizations (id, name, slug) values (gen_random_uuid(), 'Acme', 'acme-' || gen_random_uuid())`

beforeAll(async () => {
  target = await createDatabase()
  fixture = await createBackupFixture()
  await query(target.connection, organization)
})
afterAll(async () => {
  await fixture.close()
  await target.drop()
})

const takeBackup = (name: string, signal?: AbortSignal) =>
  takeSnapshotFile(name, { connection: target.connection, migrationsFolder, version: version(), signal })

/** Blocks backups on a table lock until the returned function is called. */
async function blockBackups(): Promise<() => Promise<void>> {
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

const exists = async (name: string): Promise<boolean> => (await stat(name).catch(() => undefined)) !== undefined

test('a killed backup leaves only a partial file, which the next one replaces; an interrupted backup leaves no file', async () => {
  const name = fixture.file('killed')
  const release = await blockBackups()
  const killed = fixture.launch(target, 'backup', name)
  const interrupted = fixture.launch(target, 'backup', fixture.file('interrupted'))
  const [exitOfKilled, exitOfInterrupted] = [waitForExit(killed), waitForExit(interrupted)]
  await until('both wait', async () => (await waitingBackups()) === 2, 40_000)
  killed.kill('SIGKILL')
  interrupted.kill('SIGINT')
  await exitOfKilled
  expect(await exitOfInterrupted).toMatchObject({ code: 1, output: '', errors: 'Interrupted: no backup was made.\n' })
  expect(await exists(`${fixture.file('interrupted')}.part`)).toBe(false)
  await release()
  expect([await exists(name), await exists(`${name}.part`)]).toEqual([false, true])
  expect(await fixture.backUp(target, name)).toMatchObject({ code: 0 })
  expect(await exists(`${name}.part`)).toBe(false)
  expect((await checkSnapshot(name)).sums.tables['organizations']?.rows).toBe(1)
  const again = await fixture.backUp(target, name)
  expect(again.code).toBe(1)
  expect(again.errors).toContain('--force')
})

test('of concurrent backups to one file, the last one succeeds and the earlier ones report that they were stopped', async () => {
  const name = fixture.file('both')
  const release = await blockBackups()
  const controller = new AbortController()
  const first = takeBackup(name, controller.signal).catch((error: Error) => error.message)
  await until('the first one waits', async () => (await waitingBackups()) === 1)
  const earlier = takeBackup(name).catch((error: Error) => error.message)
  await until('the earlier one waits', async () => (await waitingBackups()) === 2)
  const later = takeBackup(name)
  await until('the later one waits', async () => (await waitingBackups()) === 3)
  controller.abort()
  expect(await first).toContain('Interrupted')
  expect(await exists(`${name}.part`)).toBe(true)
  await release()
  expect(await earlier).toContain('This backup was stopped')
  expect(await later).toMatchObject({ otherTables: [] })
  expect(await checkSnapshot(name)).toMatchObject({ header: { format: 'rapport backup' } })
  expect(await exists(`${name}.part`)).toBe(false)
})

test('a backup to standard output is complete, and fails if the reader closes early', async () => {
  const [read, closed] = [fixture.launch(target, 'backup', '-'), fixture.launch(target, 'backup', '-')]
  closed.stdout?.destroy()
  const errorOutput = closed.stderr ? text(closed.stderr) : undefined
  const [bytes, code] = await Promise.all([
    read.stdout ? buffer(read.stdout) : undefined,
    exitCodeOf(read),
    exitCodeOf(closed),
  ])
  expect(code).toBe(0)
  const file = fixture.file('piped')
  await writeFile(file, bytes ?? '')
  expect((await checkSnapshot(file)).sums.tables['organizations']?.rows).toBe(1)
  expect(closed.exitCode).toBe(1)
  expect(await errorOutput).toContain('The output is not a complete backup.')
  const both = await fixture.backUp(target, '-', '--json')
  expect(both).toMatchObject({ code: 2, output: '' })
})

const exitCodeOf = (child: ChildProcess) =>
  new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)))

test('a restore that loses its connection during the commit says that its outcome is unknown', async () => {
  const proxy = await startConnectionProxy(target)
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
  const file = fixture.file('whole')
  await takeBackup(file)
  const checked = await checkSnapshot(file)
  const options = { connection: proxy.connection, checked, migrationsFolder, finish: waitAtCommit }
  const restoring = restoreSnapshot(file, options).catch((error: Error) => error.message)
  const committing = `select from pg_stat_activity where query = 'commit' and wait_event_type = 'Lock' and datname = current_database()`
  await until('it waits at the commit', async () => (await query(target.connection, committing)).length === 1, 40_000)
  proxy.dropConnections()
  expect(await restoring).toMatch(/lost at the very end. The database is either unchanged or completely restored/)
  expect(memory).toEqual([{ maintenance_work_mem: '128MB' }])
  await holder.end()
  await proxy.close()
})
