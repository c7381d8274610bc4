import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { openEmbedded } from '../server/src/platform/database/embedded.ts'
import { readId } from '../server/src/platform/resource/ids.ts'
import { fill } from './data.ts'
import { type FloorTask, runFloor } from './floor.ts'
import { type LoadResult, type LoadTask, runLoad } from './load.ts'
import { type BenchOptions, BenchUsageError, help, readOptions } from './options.ts'
import { describe, figuresOf, machine, type Measurement, type Report, type Row, writeReport } from './report.ts'
import { type BenchService, startBenchService } from './service.ts'
import { recordStatements } from './statements.ts'
import { databaseOf, parentOf, processOf, type Program } from './usage.ts'

/** As many connections to the database for service and floor: the service's default. */
const poolSize = 16

/** The benchmark; this same file is the program of its load generator and its floor. Resolves to the exit code. */
export async function main(words: readonly string[], root: string): Promise<number> {
  try {
    const options = readOptions(words)
    if (!options) console.log(help)
    else await Promise.race([measure(options, root), interrupted()])
    return 0
  } catch (error) {
    console.error(error instanceof BenchUsageError ? `${error.message}\n\n${help}` : error)
    return error instanceof BenchUsageError ? 2 : 1
  } finally {
    await cleanUp()
  }
}

const undone: (() => Promise<void>)[] = []

/** Ends what was started, the last first. */
async function cleanUp(): Promise<void> {
  for (let undo = undone.pop(); undo; undo = undone.pop()) await undo().catch((error: unknown) => console.error(error))
}

function interrupted(): Promise<never> {
  return new Promise((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => reject(new Error(signal)))
  })
}

interface Target {
  name: 'service' | 'floor'
  port: number
  program: Program
}

interface Scene {
  targets: readonly [Target, Target]
  database: Program
  /** The requests of each row, as they go over the wire. */
  requests: Record<string, readonly string[]>
}

async function measure(options: BenchOptions, root: string): Promise<void> {
  const say = (line: string) => console.error(line)
  const service = await startBenchService({
    root,
    profile: options.profile && resolve(options.profile),
    atEnd: (undo) => undone.push(undo),
  })
  const embedded = await openEmbedded({ dataFolder: service.dataFolder, purpose: 'rapport bench', log: say })
  undone.push(() => embedded.close())
  const { connection } = embedded
  const [postgres, postmaster] = await examine(connection)
  const program = processOf(service.pid)
  const database = databaseOf(postmaster)
  const idle = { service: program.memory(), database: database.memory() }
  const ids = await fillFor(service, connection, options, say)
  const floor = await startFloor(service, connection, ids[0] ?? '')
  const targets = [{ name: 'service', port: service.port, program }, floor] as const
  const scene: Scene = { targets, database, requests: requestsOf(service, ids) }
  await assertSame(scene)
  const rows = await measureRows(scene, options, say)
  const report: Report = {
    takenAt: new Date().toISOString(),
    machine: machine(postgres),
    options,
    rows,
    memory: {
      serviceAtStart: megabytes(idle.service),
      serviceAtEnd: megabytes(program.memory()),
      databaseAtStart: megabytes(idle.database),
      databaseAtEnd: megabytes(database.memory()),
    },
  }
  console.log(`\n${describe(report)}`)
  if (options.json !== undefined) await writeReport(options.json, report)
}

const megabytes = (bytes: number | undefined) => (bytes === undefined ? null : Math.round(bytes / 1024 ** 2))

/** PostgreSQL's version and its first process, which starts one for each connection. */
async function examine(connection: pg.ClientConfig): Promise<[version: string, postmaster: number]> {
  const client = new pg.Client(connection)
  await client.connect()
  const { rows } = await client.query<{ version: string; pid: number }>(
    `select current_setting('server_version') as version, pg_backend_pid() as pid`,
  )
  const [row] = rows
  const postmaster = row && parentOf(row.pid)
  await client.end()
  return [row?.version ?? '', postmaster ?? 0]
}

async function fillFor(
  { account }: BenchService,
  connection: pg.ClientConfig,
  options: BenchOptions,
  say: typeof console.error,
) {
  const measured = {
    organizationId: uuidOf('org', account.organizationId),
    teamId: uuidOf('tea', account.teamId),
    userId: uuidOf('usr', account.userId),
  }
  return fill({ connection, contacts: options.contacts, organizations: options.organizations, measured, say })
}

function uuidOf(prefix: string, text: string): string {
  const uuid = readId(prefix, text)
  if (uuid === undefined) throw new Error(`${text} is no ${prefix}_ id`)
  return uuid
}

function requestsOf({ account }: BenchService, ids: readonly string[]): Scene['requests'] {
  const request = (path: string) =>
    [
      `GET ${path} HTTP/1.1`,
      'Host: 127.0.0.1',
      `Authorization: Bearer ${account.apiKey}`,
      `Service-Organization-ID: ${account.organizationId}`,
      'Accept: application/json',
    ].join('\r\n') + '\r\n\r\n'
  return {
    'get one': ids.map((id) => request(`/v5/contacts/con_${id.replaceAll('-', '')}`)),
    'first page of 25': [request('/v5/contacts')],
  }
}

async function startFloor(service: BenchService, connection: pg.ClientConfig, contact: string): Promise<Target> {
  const { apiKey, organizationId: organization } = service.account
  const statements = await recordStatements({ connection, apiKey, organization, contact })
  const child = startRole('floor')
  undone.push(() => end(child))
  const task: FloorTask = { connection, connections: poolSize, ...statements }
  child.stdin?.end(JSON.stringify(task))
  const [line] = await firstOf(child)
  return { name: 'floor', port: (JSON.parse(line) as { port: number }).port, program: processOf(child.pid ?? 0) }
}

/** A floor that answers something else would measure something else. */
async function assertSame({ targets, requests }: Scene): Promise<void> {
  for (const [name, [request = '']] of Object.entries(requests)) {
    const [path = '', ...headers] = request
      .replace(/^GET (\S+) HTTP\/1.1\r\n/, '$1\r\n')
      .trim()
      .split('\r\n')
    const sent = Object.fromEntries(headers.map((line) => line.split(': ')))
    const texts = await Promise.all(
      targets.map(async ({ port }) => (await fetch(`http://127.0.0.1:${port}${path}`, { headers: sent })).text()),
    )
    if (texts[0] !== texts[1]) throw new Error(`Service and floor answer differently (${name}):\n${texts.join('\n')}`)
  }
}

async function measureRows(scene: Scene, options: BenchOptions, say: (line: string) => void): Promise<Row[]> {
  const rows: Row[] = []
  for (const name of Object.keys(scene.requests).filter((text) => text.includes(options.row))) {
    for (const connections of options.connections) {
      say(`${name}, ${connections} at a time…`)
      const rounds = { service: [] as Measurement[], floor: [] as Measurement[] }
      for (let round = 0; round < options.rounds; round++) {
        for (const target of scene.targets) {
          rounds[target.name].push(await measureOnce(scene, target, { name, connections, seconds: options.seconds }))
        }
      }
      const [service, floor] = [figuresOf(rounds.service), figuresOf(rounds.floor)]
      rows.push({ name, connections, service, floor, ratio: service.requestsPerSecond / floor.requestsPerSecond })
    }
  }
  return rows
}

async function measureOnce(
  { requests, database }: Scene,
  { port, program, name: target }: Target,
  { name, connections, seconds }: { name: string; connections: number; seconds: number },
): Promise<Measurement> {
  const task: LoadTask = {
    port,
    requests: requests[name] ?? [],
    connections,
    warmUp: Math.min(1, seconds / 3),
    seconds,
  }
  const child = startRole('load')
  const kill = async () => void child.kill('SIGKILL')
  undone.push(kill)
  child.stdin?.end(JSON.stringify(task))
  const times = () => ({ service: program.cpu(), database: database.cpu() })
  let before = times()
  let result: LoadResult | undefined
  let after = before
  for await (const line of linesOf(child)) {
    const message = JSON.parse(line) as { event: string } & LoadResult
    if (message.event === 'begin') before = times()
    else [after, result] = [times(), message]
  }
  undone.splice(undone.indexOf(kill), 1)
  if (!result) throw new Error('The load generator ended without a result.')
  if (result.failures > 0) throw new Error(`${result.failures} answers of the ${target} were not 200 (${name}).`)
  const spent = (key: 'service' | 'database') =>
    before[key] === undefined || after[key] === undefined ? undefined : after[key] - before[key]
  return { ...result, serviceCpu: spent('service'), databaseCpu: spent('database') }
}

const roles = { load: runLoad, floor: runFloor }

function startRole(role: keyof typeof roles): ChildProcess {
  return spawn(process.execPath, [fileURLToPath(import.meta.url), role], { stdio: ['pipe', 'pipe', 'inherit'] })
}

function linesOf(child: ChildProcess): AsyncIterable<string> {
  if (!child.stdout) throw new Error('its output is a pipe')
  return createInterface(child.stdout)
}

async function firstOf(child: ChildProcess): Promise<[string]> {
  if (!child.stdout) throw new Error('its output is a pipe')
  const ended = once(child, 'exit').then(() => {
    throw new Error('The floor did not start.')
  })
  return Promise.race([once(createInterface(child.stdout), 'line') as Promise<[string]>, ended])
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

const role = process.argv[2]
if (process.argv[1] === fileURLToPath(import.meta.url) && (role === 'load' || role === 'floor')) await roles[role]()
