import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'

/** The service as a user starts it, on a database of its own. */
export interface BenchService {
  pid: number
  port: number
  dataFolder: string
  /** What `rapport bootstrap` printed. */
  account: { organizationId: string; teamId: string; userId: string; apiKey: string }
}

interface Options {
  /** The project's folder. */
  root: string
  profile: string | undefined
  /** Told how to undo each thing as soon as it is done, since an interruption does not wait. */
  atEnd: (undo: () => Promise<void>) => void
}

/** Errors: what the service said when it did not start. */
export async function startBenchService({ root, profile, atEnd }: Options): Promise<BenchService> {
  const folder = await mkdtemp(join(tmpdir(), 'rapport-bench-'))
  atEnd(() => rm(folder, { recursive: true, force: true }))
  // The database of a run as root belongs to another user, who has to come through.
  await chmod(folder, 0o711)
  const dataFolder = join(folder, 'data')
  const log = join(folder, 'log')
  const command = join(root, 'bin/rapport.js')
  const env = { ...process.env, ...settings, DATA_DIR: dataFolder }
  const output = openSync(log, 'a')
  const profiling = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`]
  const child = spawn(process.execPath, [...profiling, command, 'start'], { env, stdio: ['ignore', output, output] })
  closeSync(output)
  atEnd(() => end(child))
  const port = await portOf(child, dataFolder, log)
  const parameters = ['--email', 'bench@example.com', '--organization', 'Bench', '--json']
  const { stdout } = await promisify(execFile)(process.execPath, [command, 'bootstrap', ...parameters], { env })
  const account = JSON.parse(stdout) as BenchService['account']
  return { pid: child.pid ?? 0, port, dataFolder, account }
}

/** The limiter stands in the way as ever, but never says no. Whatever else the environment holds stays outside. */
const settings = {
  PORT: '0',
  HOST: '127.0.0.1',
  DATABASE_URL: '',
  PUBLIC_URL: '',
  AUTH_ORIGIN: '',
  METRICS_PORT: '',
  RATE_LIMIT_PER_MINUTE: '100000000',
  RAPPORT_PASSWORD: 'only for the benchmark',
}

/** The service notes its address for the commands of its data folder. */
async function portOf(child: ChildProcess, dataFolder: string, log: string): Promise<number> {
  for (const deadline = performance.now() + 60_000; performance.now() < deadline; await delay(50)) {
    if (child.exitCode !== null) break
    const note = await readFile(join(dataFolder, 'service.json'), 'utf8').catch(() => undefined)
    const port = note === undefined ? 0 : Number(new URL((JSON.parse(note) as { url: string }).url).port)
    if (port > 0 && (await isReady(port))) return port
  }
  throw new Error(`The service did not start:\n${await readFile(log, 'utf8')}`)
}

const isReady = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  )

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await ended
}
