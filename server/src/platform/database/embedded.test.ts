import { execFileSync, spawn } from 'node:child_process'
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test, type TestContext } from 'vitest'
import { type ProcessStarter, processStarter, until } from '../../../test/processes.ts'
import { canEnter } from './binaries.ts'
import { connect } from './cluster.ts'
import { prepareDataFolder } from './data-folder.ts'
import { type EmbeddedOptions, openEmbedded } from './embedded.ts'
import { livePostmaster } from './postmaster.ts'
import { StartError } from './start-error.ts'

const isRoot = process.getuid?.() === 0
const project = fileURLToPath(new URL('../../../..', import.meta.url))
/** Nothing here has to survive a power cut, only killed processes. */
const settings = { fsync: 'off', shared_buffers: '16MB' }

let processes: ProcessStarter
beforeAll(async () => {
  processes = await processStarter()
})
afterAll(() => processes.close())

async function serversBelow(folder: string): Promise<number[]> {
  const names = await readdir(folder, { recursive: true }).catch(() => [])
  const clusters = names.filter((name) => name.endsWith('postmaster.pid')).map((name) => join(folder, name, '..'))
  return (await Promise.all(clusters.map(livePostmaster))).filter((pid) => pid !== undefined)
}

/** A folder that anyone may enter, and in it a data folder that is yet to be made. */
async function place({ onTestFinished }: TestContext): Promise<EmbeddedOptions & { logged: string[]; home: string }> {
  const home = await mkdtemp(join(tmpdir(), 'embedded-'))
  await chmod(home, 0o755)
  onTestFinished(async () => {
    for (const pid of await serversBelow(home)) process.kill(pid, 'SIGKILL')
    await rm(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  })
  const logged: string[] = []
  return {
    dataFolder: join(home, 'data'),
    rootsFolder: join(home, 'roots'),
    purpose: 'service',
    log: (message) => logged.push(message),
    settings,
    logged,
    home,
  }
}

const task = ({ dataFolder, rootsFolder = '', purpose }: EmbeddedOptions) =>
  ({ kind: 'open', dataFolder, rootsFolder, purpose, settings }) as const

async function query(connection: pg.ClientConfig | undefined, text: string): Promise<Record<string, unknown>[]> {
  if (!connection) throw new Error('no connection')
  const client = await connect(connection)
  return (await client.query(text).finally(() => client.end())).rows
}

const isAnswering = (connection: pg.ClientConfig) => async () =>
  query(connection, 'select').then(
    () => true,
    () => false,
  )

async function server({ dataFolder, rootsFolder = '' }: EmbeddedOptions): Promise<number> {
  const { cluster } = await prepareDataFolder(dataFolder, rootsFolder)
  const pid = await livePostmaster(cluster)
  if (pid === undefined) throw new Error('no server runs')
  return pid
}

const refusal = async (options: EmbeddedOptions): Promise<string> => {
  const error = await openEmbedded(options).then(
    (embedded) => embedded.close().then(() => undefined),
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(StartError)
  return (error as StartError).message
}

// Side by side, because most of them wait; each has a folder of its own.
describe.concurrent('the embedded database', { timeout: 60_000 }, () => {
  test('the first start makes a durable database on a socket alone, and the next one finds what was written', async (context) => {
    const options = await place(context)
    const first = await openEmbedded({ ...options, settings: { shared_buffers: '16MB' } })
    const [shown] = await query(
      first.connection,
      `select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit,
       current_setting('full_page_writes') as pages, current_setting('listen_addresses') as addresses,
       current_setting('timezone') as zone, current_database() as database`,
    )
    expect(shown).toEqual({ fsync: 'on', commit: 'on', pages: 'on', addresses: '', zone: 'UTC', database: 'rapport' })
    await query(first.connection, 'create table kept as select 42 as answer')
    const pid = await server(options)
    await first.close()
    expect(() => process.kill(pid, 0)).toThrow(/ESRCH/)

    const begin = performance.now()
    const second = await openEmbedded(options)
    expect(performance.now() - begin).toBeLessThan(5000)
    expect(await query(second.connection, 'select answer from kept')).toEqual([{ answer: 42 }])
    await second.close()
    expect((await stat(options.dataFolder)).mode & 0o007).toBe(0)
  })

  test('a service that is killed leaves its server running, and the next start takes that over with its data', async (context) => {
    const options = await place(context)
    const killed = processes.start(task(options))
    const { connection } = await killed.outcome
    await query(connection, 'create table kept as select 42 as answer')
    const pid = await server(options)
    killed.child.kill('SIGKILL')
    await killed.exited
    const begin = performance.now()
    const next = await openEmbedded(options)
    expect(performance.now() - begin).toBeLessThan(5000)
    expect(next.attached).toBe(false)
    expect(await server(options)).toBe(pid)
    expect(await query(next.connection, 'select answer from kept')).toEqual([{ answer: 42 }])
    await next.close()
    await expect(server(options)).rejects.toThrow('no server runs')
  })

  test('a service killed together with its server is started over with its data', async (context) => {
    const options = await place(context)
    const killed = processes.start(task(options))
    const { connection } = await killed.outcome
    await query(connection, 'create table kept as select 42 as answer')
    process.kill(await server(options), 'SIGKILL')
    killed.child.kill('SIGKILL')
    const next = await openEmbedded(options)
    expect(await query(next.connection, 'select answer from kept')).toEqual([{ answer: 42 }])
    await next.close()
  })

  test('a living service brings its server back, killed or crashed, and still holds it', async (context) => {
    const options = await place(context)
    const service = await openEmbedded(options)
    await query(service.connection, 'create table kept as select 42 as answer')
    const first = await server(options)
    process.kill(first, 'SIGKILL')
    await until('the server is back', async () => options.logged.includes('The database is back.'))
    expect(await server(options)).not.toBe(first)
    expect(await query(service.connection, 'select answer from kept')).toEqual([{ answer: 42 }])

    options.logged.length = 0
    const [session] = await query(
      service.connection,
      `select pid from pg_stat_activity where application_name like 'rapport service%'`,
    )
    process.kill(Number(session?.pid), 'SIGKILL')
    await until('the lock is back', async () => options.logged.includes('The database is back.'))
    await until('it answers', isAnswering(service.connection))
    expect(await refusal({ ...options, log: () => undefined })).toContain('in use by rapport service')
    await service.close()
    await expect(server(options)).rejects.toThrow('no server runs')
  })

  test('a second service is refused with the folder and the holder, and a command attaches', async (context) => {
    const options = await place(context)
    const service = await openEmbedded(options)
    const message = await refusal({ ...options, log: () => undefined })
    expect(message).toContain(options.dataFolder)
    expect(message).toContain(`rapport service (process ${process.pid})`)
    const command = await openEmbedded({ ...options, purpose: 'rapport bootstrap' })
    expect(command.attached).toBe(true)
    await query(command.connection, 'create table made_by_command ()')
    await command.close()
    expect(await query(service.connection, `select to_regclass('made_by_command') is not null as made`)).toEqual([
      { made: true },
    ])
    await service.close()
  })

  test('a service waits for a command that holds the database, and a command for a command', async (context) => {
    const options = await place(context)
    const command = await openEmbedded({ ...options, purpose: 'rapport migrate' })
    expect(command.attached).toBe(false)
    expect(await refusal({ ...options, purpose: 'rapport bootstrap', wait: 300 })).toContain(
      `in use by rapport migrate (process ${process.pid})`,
    )
    const waiting = openEmbedded(options)
    await until('it waits', () => options.logged.some((line) => line.startsWith('Waiting for rapport migrate')))
    await command.close()
    const service = await waiting
    expect(service.attached).toBe(false)
    expect(await query(service.connection, 'select 1 as one')).toEqual([{ one: 1 }])
    await service.close()
  })

  test('of services that start at once on a new folder exactly one gets it', async (context) => {
    const options = await place(context)
    const starters = [1, 2, 3].map(() => processes.start(task(options)))
    const outcomes = await Promise.all(starters.map(({ outcome }) => outcome))
    const [winner, ...more] = outcomes.filter(({ event }) => event === 'open')
    expect(more).toEqual([])
    expect(await query(winner?.connection, 'select 1 as one')).toEqual([{ one: 1 }])
    const refused = outcomes.filter(({ event }) => event === 'failed')
    expect(refused.map(({ name }) => name)).toEqual(['StartError', 'StartError'])
    for (const { message } of refused) expect(message).toContain('in use by rapport service')
    for (const { child } of starters) child.kill('SIGTERM')
    await Promise.all(starters.map(({ exited }) => exited))
    expect(await serversBelow(options.home)).toEqual([])
  })

  test('a noted process id that now belongs to another program does not keep the database from starting', async (context) => {
    const options = await place(context)
    await (await openEmbedded(options)).close()
    const { cluster, sockets } = await prepareDataFolder(options.dataFolder, options.rootsFolder ?? '')
    const other = spawn('sleep', ['60'], isRoot ? { uid: 65534, gid: 65534 } : {})
    const note = `${other.pid}\n${cluster}\n1790000000\n5432\n${sockets}\n\n  1000001  99999\nready   \n`
    for (const file of [join(cluster, 'postmaster.pid'), join(sockets, '.s.PGSQL.5432.lock')]) {
      await writeFile(file, note, { mode: 0o600 })
      if (isRoot) await chown(file, 65534, 65534)
    }
    const service = await openEmbedded(options)
    expect(await query(service.connection, 'select 1 as one')).toEqual([{ one: 1 }])
    await service.close()
    expect(other.exitCode).toBe(null)
    other.kill()
  })

  test('a frozen server gives a clear error instead of a wait without end', async (context) => {
    const options = await place(context)
    const killed = processes.start(task(options))
    await killed.outcome
    const pid = await server(options)
    process.kill(pid, 'SIGSTOP')
    killed.child.kill('SIGKILL')
    expect(await refusal(options)).toMatch(new RegExp(`process ${pid}\\) but did not answer within 10 s`))
    process.kill(pid, 'SIGCONT')
    await (await openEmbedded(options)).close()
  })

  test('a cluster of another major version is refused and not touched', async (context) => {
    const options = await place(context)
    await (await openEmbedded(options)).close()
    const { cluster } = await prepareDataFolder(options.dataFolder, options.rootsFolder ?? '')
    await writeFile(join(cluster, 'PG_VERSION'), '15\n')
    const before = await readdir(cluster)
    expect(await refusal(options)).toMatch(/made by PostgreSQL 15, and this Rapport brings PostgreSQL 18/)
    expect(await readdir(cluster)).toEqual(before)
  })

  test('a data folder that is a file, or lies below one, or has too long a name is refused in words', async (context) => {
    const options = await place(context)
    const file = join(options.home, 'file')
    await writeFile(file, 'precious')
    expect(await refusal({ ...options, dataFolder: file })).toContain('is a file')
    expect(await refusal({ ...options, dataFolder: join(file, 'data') })).toContain('is a file, not a folder')
    expect(await refusal({ ...options, dataFolder: join(options.home, 'x'.repeat(300)) })).toContain('too long')
    expect(await readFile(file, 'utf8')).toBe('precious')
  })

  test('a data folder whose path is too long for a socket works', async (context) => {
    const options = await place(context)
    const dataFolder = join(options.home, 'd'.repeat(60), 'e'.repeat(60))
    const embedded = await openEmbedded({ ...options, dataFolder })
    expect(await query(embedded.connection, 'select 1 as one')).toEqual([{ one: 1 }])
    expect(Buffer.byteLength(String(embedded.connection.host))).toBeLessThan(90)
    await embedded.close()
    await rm(String(embedded.connection.host), { recursive: true })
  })

  test.runIf(isRoot)('root keeps the cluster elsewhere when the data folder is closed to others', async (context) => {
    const options = await place(context)
    const closed = join(options.home, 'closed')
    await mkdir(closed, { mode: 0o700 })
    const dataFolder = join(closed, 'data')
    const first = await openEmbedded({ ...options, dataFolder })
    await query(first.connection, 'create table kept as select 42 as answer')
    await first.close()
    expect(await readdir(dataFolder)).toEqual(expect.arrayContaining(['postgres.location', 'postgres.log']))
    const second = await openEmbedded({ ...options, dataFolder })
    expect(await query(second.connection, 'select answer from kept')).toEqual([{ answer: 42 }])
    await second.close()

    const { cluster } = await prepareDataFolder(dataFolder, options.rootsFolder ?? '')
    expect(cluster.startsWith(`${options.rootsFolder}/`)).toBe(true)
    await rm(cluster, { recursive: true })
    expect(await refusal({ ...options, dataFolder })).toContain('nothing is there')
  })

  test.runIf(isRoot)('a folder of one user is refused to root, and that of root to a user', async (context) => {
    const options = await place(context)
    await (await openEmbedded(options)).close()
    const { cluster } = await prepareDataFolder(options.dataFolder, options.rootsFolder ?? '')
    const user = { uid: 12345, gid: 12345 }
    const other = processes.start(task(options), user)
    expect(await other.outcome).toMatchObject({
      name: 'StartError',
      message: expect.stringContaining('belongs to user 0'),
    })
    await chown(cluster, user.uid, user.gid)
    expect(await refusal(options)).toContain('belongs to user 12345')
  })

  test.runIf(isRoot)('a service of a user without rights works the same', async (context) => {
    if (!(await canEnter(project))) context.skip('the project lies in a folder that other users cannot enter')
    const options = await place(context)
    // The account "daemon": PostgreSQL asks for one that has a name.
    const user = { uid: 1, gid: 1 }
    await chown(options.home, user.uid, user.gid)
    const service = processes.start(task(options), user)
    const { connection, event } = await service.outcome
    expect(event).toBe('open')
    expect(await query(connection, 'select 1 as one')).toEqual([{ one: 1 }])
    expect((await stat(options.dataFolder)).mode & 0o777).toBe(0o700)
    expect((await stat(options.dataFolder)).uid).toBe(user.uid)
    service.child.kill('SIGTERM')
    await service.exited
    expect(service.told.at(-1)?.event).toBe('closed')
  })

  test.runIf(isRoot)('a full disk is told in words and harms nothing', async (context) => {
    const options = await place(context)
    await mkdir(options.dataFolder)
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=20m,mode=755', 'tmpfs', options.dataFolder], { stdio: 'pipe' })
    } catch {
      context.skip('this machine does not let root mount a file system')
    }
    try {
      expect(await refusal(options)).toMatch(/No space left on device|disk is full/)
      expect((await readdir(options.dataFolder)).filter((name) => name.startsWith('postgres.new'))).toEqual([])
    } finally {
      execFileSync('umount', [options.dataFolder])
    }
  })
})
