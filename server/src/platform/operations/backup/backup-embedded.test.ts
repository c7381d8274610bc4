import { execFile, spawn } from 'node:child_process'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import type pg from 'pg'
import { afterAll, beforeAll, expect, test, type TestContext } from 'vitest'
import { connect } from '../../database/connect.ts'
import { openEmbedded } from '../embedded-postgres/embedded.ts'
import { migrate } from '../../database/migrate.ts'
import { migrationsFolder } from '../../../release.ts'
import { waitForExit, entry, launch, run, runProcess } from '../../../../test/command-line.ts'
import { newDataDirectory, openTask, query, serversIn } from '../../../../test/data-directory.ts'
import { type ProcessStarter, processStarter, until } from '../../../../test/processes.ts'

let processes: ProcessStarter
let fixture: Awaited<ReturnType<typeof startAbandonedServer>>
const cleanUps: (() => unknown)[] = []
beforeAll(async () => {
  processes = await processStarter()
  fixture = await startAbandonedServer({ onTestFinished: (clean) => void cleanUps.push(clean as () => unknown) })
})
afterAll(async () => {
  await processes.close()
  for (const clean of cleanUps) await clean()
})

/** Leaves a database server running by killing its service; the next command takes it over. */
async function startAbandonedServer(context: Pick<TestContext, 'onTestFinished'>) {
  const options = await newDataDirectory(context)
  const service = processes.start(openTask(options))
  const { connection } = await service.outcome
  if (!connection) throw new Error('no connection')
  await migrate(connection, { folder: migrationsFolder, log: () => undefined })
  await query(connection, `insert into organizations (id, name, slug) values (gen_random_uuid(), 'Acme', 'acme')`)
  service.child.kill('SIGKILL')
  await service.exited
  const environment = { DATA_DIR: options.dataFolder, PATH: process.env['PATH'] ?? '' }
  return { ...options, connection, environment, file: join(options.home, 'first.backup') }
}

const waitingForLock = `select from pg_stat_activity where application_name like 'rapport%' and wait_event_type = 'Lock'`

test('Ctrl-C during a backup of the embedded database leaves no server and no file', async () => {
  const { home, connection, environment, file } = fixture
  const holder = await connect(connection)
  await holder.query('begin; lock table users in access exclusive mode')
  const child = launch(['backup', file], { environment })
  const ended = waitForExit(child)
  await until('it waits for the table lock', async () => (await query(connection, waitingForLock)).length === 1, 40_000)
  child.kill('SIGINT')
  const { code, errors } = await ended
  expect({ code, errors }).toEqual({ code: 1, errors: expect.stringContaining('Interrupted: no backup was made.') })
  expect(await serversIn(home)).toEqual([])
  expect((await readdir(home)).filter((name) => name.startsWith('first'))).toEqual([])
  await holder.end()
  expect(await run(['backup', file], { environment })).toMatchObject({ code: 0 })
}, 60_000)

test('on a terminal, a restore asks first: Ctrl-C cancels it, a service started meanwhile prevents it, "yes" runs it', async (context) => {
  if (!(await canCreateTerminals())) return context.skip('needs script of util-linux')
  const { home, connection } = fixture
  const cancelled = await restoreOnTerminal('\u0003')
  expect(cancelled.code).toBe(2)
  expect(cancelled.shown).toContain('contains organizations. The restore replaces all of it.')
  expect(cancelled.shown).toContain('error: Cancelled.')
  expect(await serversIn(home)).toEqual([])
  let service: pg.Client | undefined
  const refused = await restoreOnTerminal('yes\r', async () => {
    service = await connect({ ...connection, application_name: 'rapport' })
  })
  expect(service).toBeDefined()
  expect(refused.shown).toContain('1 connections of services are open')
  expect(refused.code).toBe(1)
  const confirmed = await restoreOnTerminal('yes\r')
  expect(confirmed.shown).toContain('and compared them with the backup')
  expect(confirmed.code).toBe(0)
}, 120_000)

const canCreateTerminals = (): Promise<boolean> =>
  promisify(execFile)('script', ['--version']).then(
    ({ stdout }) => stdout.includes('util-linux'),
    () => false,
  )

/** Runs a restore on a pseudo-terminal and types `keys` at its prompt. */
async function restoreOnTerminal(keys: string, beforeTyping: () => Promise<void> = () => Promise.resolve()) {
  const command = [process.execPath, entry, 'restore', fixture.file].join(' ')
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    env: fixture.environment,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const code = new Promise<number | null>((resolve) => child.once('close', resolve))
  let asked = ''
  child.stdout.on('data', (chunk: Buffer) => {
    const isAsked = asked.includes('Type yes')
    // The prompt may come in several pieces.
    asked += chunk.toString()
    if (!isAsked && asked.includes('Type yes')) void beforeTyping().then(() => child.stdin.write(keys))
  })
  const shown = await text(child.stdout)
  child.stdin.end()
  return { shown, code: await code }
}

test('upgrade-database fails without a database and while a service is running', async (context) => {
  const options = await newDataDirectory(context)
  const environment = { DATA_DIR: options.dataFolder }
  const missing = await run(['upgrade-database'], { environment })
  expect(missing).toMatchObject({ code: 1, output: '' })
  expect(missing.errors).toContain(`There is no database in ${options.dataFolder}`)
  await expect(stat(options.dataFolder)).rejects.toThrow('ENOENT')
  const service = await openEmbedded(options)
  const running = await run(['upgrade-database'], { environment })
  expect(running).toMatchObject({ code: 1, output: '' })
  expect(running.errors).toContain('A service is running on the database')
  await service.close()
  expect(await runProcess(['upgrade-database'], { environment })).toMatchObject({ code: 0 })
}, 60_000)
