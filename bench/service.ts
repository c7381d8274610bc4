import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { end } from '../tools/child.ts'
import { atEnd } from '../tools/cleanup.ts'

/** Where services of one run follow each other on one database. */
export interface Place {
  /** The project's folder. */
  root: string
  folder: string
  dataFolder: string
  /** A folder for CPU profiles. */
  profile: string | undefined
}

/** The service as a user starts it. */
export interface BenchService {
  pid: number
  port: number
  /** Seconds from the start of its process until it was ready. */
  startSeconds: number
  stop(): Promise<void>
}

/** What `rapport bootstrap` printed. */
export interface Account {
  organizationId: string
  teamId: string
  userId: string
  apiKey: string
  importId: string
  triggerUrl: string
}

export async function makePlace(root: string, profile: string | undefined): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'rapport-bench-'))
  atEnd(() => rm(folder, { recursive: true, force: true }))
  // The database of a run as root belongs to another user, who has to come through.
  await chmod(folder, 0o711)
  return { root, folder, dataFolder: join(folder, 'data'), profile }
}

/** Errors: what the service said when it did not start. */
export async function startBenchService(place: Place, more: Record<string, string>): Promise<BenchService> {
  const { folder, profile } = place
  const log = join(folder, 'log')
  const output = openSync(log, 'a')
  const profiling = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`]
  const began = performance.now()
  const child = spawn(process.execPath, [...profiling, commandOf(place), 'start'], {
    env: { ...environment(place), ...more },
    stdio: ['ignore', output, output],
  })
  closeSync(output)
  const stop = atEnd(() => end(child))
  const port = await portOf(child, place.dataFolder, log)
  return { pid: child.pid ?? 0, port, startSeconds: (performance.now() - began) / 1000, stop }
}

/** Makes the organization that is measured; the service runs. */
export async function bootstrap(place: Place): Promise<Account> {
  const parameters = ['--email', 'bench@example.com', '--organization', 'Bench', '--json']
  const { stdout } = await promisify(execFile)(process.execPath, [commandOf(place), 'bootstrap', ...parameters], {
    env: environment(place),
  })
  return JSON.parse(stdout) as Account
}

const commandOf = ({ root }: Place): string => join(root, 'bin/rapport.js')

/** Nothing of the caller's environment but what programs need. The limiter stands in the way, but never says no. */
const environment = ({ dataFolder }: Place): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  PORT: '0',
  DRAIN_MILLISECONDS: '0',
  RATE_LIMIT_PER_MINUTE: '100000000',
  RAPPORT_PASSWORD: 'only for the benchmark',
  DATA_DIR: dataFolder,
})

/** Milliseconds that a start may take on a busy machine, whose database may still be writing what it was filled with. */
const patience = 180_000
/** Characters of the service's log that are shown when it does not start. */
const shownLog = 3000

/** The service notes its address for the commands of its data folder. */
async function portOf(child: ChildProcess, dataFolder: string, log: string): Promise<number> {
  for (const deadline = performance.now() + patience; performance.now() < deadline; await delay(10)) {
    if (child.exitCode !== null) break
    const note = await readFile(join(dataFolder, 'service.json'), 'utf8').catch(() => undefined)
    const port = note === undefined ? 0 : portIn(note, child.pid)
    if (port > 0 && (await isReady(port))) return port
  }
  const why = child.exitCode === null ? `within ${patience / 1000} s` : `(exit code ${child.exitCode})`
  throw new Error(`The service did not start ${why}:\n${(await readFile(log, 'utf8')).slice(-shownLog)}`)
}

/** A note of an earlier service is none. */
function portIn(note: string, pid: number | undefined): number {
  const service = JSON.parse(note) as { url: string; pid: number }
  return service.pid === pid ? Number(new URL(service.url).port) : 0
}

const isReady = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  )
