import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { end } from '../tools/child.ts'
import { atEnd } from '../tools/cleanup.ts'

/** A temporary folder in which a scenario happens. */
export interface Place {
  /** The project's folder. */
  root: string
  folder: string
  remove(): Promise<void>
}

/** How a service is started; `environment` as a user would set it. */
export interface ServiceOptions {
  port: number
  dataFolder: string
  environment?: Record<string, string>
  /** Options of Node. */
  nodeOptions?: string
}

/** A service as a process of its own. */
export interface ServiceProcess {
  pid: number
  url: string
  signal(signal: NodeJS.Signals): void
  /** Resolves when it has ended, for whatever reason. */
  exited: Promise<void>
  /** Asks it to end, and waits until it has. */
  stop(): Promise<void>
}

/** What `rapport bootstrap` printed. */
export interface Account {
  organizationId: string
  apiKey: string
  importId: string
  triggerUrl: string
  accessToken: string
  refreshToken: string
}

export async function makePlace(root: string): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'rapport-faults-'))
  // The database of a run as root belongs to another user, who has to come through.
  await chmod(folder, 0o711)
  return { root, folder, remove: atEnd(() => rm(folder, { recursive: true, force: true, maxRetries: 10 })) }
}

/** A port of this machine that nobody has; the same service is to have it after each start. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

/** Starts the service; it may not be ready yet. */
export function launchService({ root, folder }: Place, options: ServiceOptions): ServiceProcess {
  const output = openSync(join(folder, `service-${options.port}.log`), 'a')
  const child = spawn(process.execPath, [join(root, 'bin/rapport.js'), 'start'], {
    env: environmentOf(options),
    stdio: ['ignore', output, output],
  })
  closeSync(output)
  const exited = once(child, 'exit').then(() => undefined)
  return {
    pid: child.pid ?? 0,
    url: `http://127.0.0.1:${options.port}`,
    signal: (signal) => void child.kill(signal),
    exited,
    stop: atEnd(() => endFrozenToo(child)),
  }
}

/** Starts the service and waits until it is ready. Errors: what it said when it did not start. */
export async function startService(place: Place, options: ServiceOptions): Promise<ServiceProcess> {
  const service = launchService(place, options)
  let isOver = false
  void service.exited.then(() => (isOver = true))
  for (const deadline = performance.now() + 60_000; performance.now() < deadline && !isOver; await delay(10)) {
    if (await isReady(service.url)) return service
  }
  const log = await readFile(join(place.folder, `service-${options.port}.log`), 'utf8')
  throw new Error(`The service did not start:\n${log.slice(-3000)}`)
}

/** Makes the organization; the service runs. */
export async function bootstrap({ root }: Place, options: ServiceOptions): Promise<Account> {
  const words = ['bootstrap', '--email', 'faults@example.com', '--organization', 'Faults', '--json']
  const { stdout } = await promisify(execFile)(process.execPath, [join(root, 'bin/rapport.js'), ...words], {
    env: { ...environmentOf(options), RAPPORT_PASSWORD: 'only for the faults' },
  })
  return JSON.parse(stdout) as Account
}

export const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5000) }).then(
    ({ ok }) => ok,
    () => false,
  )

async function endFrozenToo(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGCONT')
  const patience = setTimeout(() => child.kill('SIGKILL'), 40_000)
  await end(child).finally(() => clearTimeout(patience))
}

/** Nothing of the caller's environment but what programs need. The limiter stands in the way, but never says no. */
const environmentOf = ({ port, dataFolder, environment, nodeOptions }: ServiceOptions): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  PORT: String(port),
  DATA_DIR: dataFolder,
  RATE_LIMIT_PER_MINUTE: '100000000',
  DRAIN_MILLISECONDS: '0',
  LOG_LEVEL: 'warn',
  IMPORT_LEASE_SECONDS: '5',
  ...environment,
  ...(nodeOptions !== undefined && { NODE_OPTIONS: nodeOptions }),
})
