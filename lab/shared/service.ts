import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync } from 'node:fs'
import { chmod, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { openEmbedded } from '../../server/src/platform/operations/embedded-postgres/embedded.ts'
import { terminate } from './child.ts'
import { addCleanup } from './cleanup.ts'

/** A temporary folder for services and their data. */
export interface Workspace {
  /** The project's folder. */
  root: string
  folder: string
  /** Settings of every service that starts here. */
  settings: Readonly<Record<string, string>>
  remove(): Promise<void>
}

/** How a service is started; `environment` contains settings as a user would set them. */
export interface ServiceOptions {
  port: number
  dataFolder: string
  environment?: Record<string, string>
  /** Command-line options of Node. */
  nodeArguments?: readonly string[]
}

/** A running service process. */
export interface ServiceProcess {
  pid: number
  port: number
  url: string
  signal(signal: NodeJS.Signals): void
  /** Resolves when it has exited for any reason. */
  exited: Promise<void>
  /** Sends SIGTERM and waits until it has exited. */
  stop(): Promise<void>
  /** Everything that it has logged. */
  log(): Promise<string>
}

/** The output of `rapport bootstrap`. */
export interface Account {
  organizationId: string
  teamId: string
  userId: string
  sessionId: string
  apiKey: string
  accessToken: string
  refreshToken: string
  importId: string
  triggerUrl: string
}

/** The password of every account that `bootstrap` creates here. */
export const password = 'only for these measurements'

/** Milliseconds. A busy machine may still be writing the imported data to disk. */
const startTimeout = 180_000

/** Creates the folder; it is removed at the end of the command. */
export async function createWorkspace(
  root: string,
  name: string,
  settings: Workspace['settings'] = {},
): Promise<Workspace> {
  // Synchronous, so that no interruption comes between creating the folder and registering its cleanup.
  const folder = mkdtempSync(join(tmpdir(), `rapport-${name}-`))
  const remove = addCleanup(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }))
  // When run as root, the database runs as another user, which needs access through this folder.
  await chmod(folder, 0o711)
  return { root, folder, settings, remove }
}

/** Starts the service and waits until it is ready. Errors: contains the end of its log if it did not start. */
export async function startService(workspace: Workspace, options: ServiceOptions): Promise<ServiceProcess> {
  const service = launchService(workspace, options)
  let hasExited = false
  void service.exited.then(() => (hasExited = true))
  for (const deadline = performance.now() + startTimeout; performance.now() < deadline && !hasExited; await delay(10)) {
    if (await isReady(service.url)) return service
  }
  throw new Error(`The service did not start:\n${(await service.log()).slice(-3000)}`)
}

function launchService(workspace: Workspace, options: ServiceOptions): ServiceProcess {
  const { port, nodeArguments = [] } = options
  const log = join(workspace.folder, `service-${port}.log`)
  const output = openSync(log, 'a')
  const child = spawn(process.execPath, [...nodeArguments, cliPath(workspace), 'start'], {
    env: environmentOf(workspace, options),
    stdio: ['ignore', output, output],
  })
  closeSync(output)
  const exited = once(child, 'exit').then(() => undefined)
  return {
    pid: child.pid ?? 0,
    port,
    url: `http://127.0.0.1:${port}`,
    signal: (signal) => void child.kill(signal),
    exited,
    stop: addCleanup(() => terminateEvenIfStopped(child)),
    log: () => readFile(log, 'utf8'),
  }
}

/** Runs a command of the service with `--json` and returns the parsed output. */
export async function runRapport<Output>(
  workspace: Workspace,
  options: ServiceOptions,
  args: readonly string[],
): Promise<Output> {
  const { stdout } = await promisify(execFile)(process.execPath, [cliPath(workspace), ...args, '--json'], {
    env: environmentOf(workspace, options),
  })
  return JSON.parse(stdout) as Output
}

/** Creates an organization with its owner; the service must be running. */
export const bootstrap = (workspace: Workspace, options: ServiceOptions, name: string): Promise<Account> =>
  runRapport(workspace, options, ['bootstrap', '--email', `${name.toLowerCase()}@example.com`, '--organization', name])

/** Connects to the embedded database of a data folder until the end of the command, or until `close`. */
export async function connectEmbedded(dataFolder: string, log: (line: string) => void = () => undefined) {
  const embedded = await openEmbedded({ dataFolder, purpose: 'rapport lab', log })
  const closeEmbedded = addCleanup(() => embedded.close())
  const { connection } = embedded
  const client = new pg.Client(connection)
  await client.connect()
  const closeClient = addCleanup(() => client.end())
  return {
    connection,
    client,
    close: async () => {
      await closeClient()
      await closeEmbedded()
    },
  }
}

export const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5000) }).then(
    ({ ok }) => ok,
    () => false,
  )

async function terminateEvenIfStopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGCONT')
  const timeout = setTimeout(() => child.kill('SIGKILL'), 40_000)
  await terminate(child).finally(() => clearTimeout(timeout))
}

const cliPath = ({ root }: Workspace): string => join(root, 'bin/rapport.js')

/** Passes only PATH and HOME of the caller's environment. The rate limiter runs, but its limit is never reached. */
const environmentOf = (
  { settings }: Workspace,
  { port, dataFolder, environment }: ServiceOptions,
): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  PORT: String(port),
  DATA_DIR: dataFolder,
  RATE_LIMIT_PER_MINUTE: '100000000',
  DRAIN_MILLISECONDS: '0',
  RAPPORT_PASSWORD: password,
  ...settings,
  ...environment,
})
