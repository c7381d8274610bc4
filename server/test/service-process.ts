import type { ChildProcess } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { waitForExit, type ProcessResult, launch, databaseUrlOf } from './command-line.ts'
import type { TestDatabase } from './postgres.ts'
import { until } from './processes.ts'
import type { Json } from './service.ts'

/** A service in a separate process, on a test's database. */
export interface ServiceProcess {
  /** The application name of its connections. */
  name: string
  url: string
  pid: number
  signal(signal: NodeJS.Signals): void
  /** The exit of the process. */
  ended: Promise<ProcessResult>
  /** Pushes to the path of a trigger URL; undefined if there was no response. */
  push(path: string, body: unknown, headers?: Record<string, string>): Promise<PushResponse | undefined>
}

export interface PushResponse {
  status: number
  headers: Headers
  body: Json
}

export interface ServiceProcesses {
  start(name: string, environment?: Record<string, string>): Promise<ServiceProcess>
  /** Ends the running processes. */
  close(): Promise<void>
}

/** The SECRET of all of them. */
export const sharedSecret = 'the same secret for all of them, of 32 characters and more'

/** Starts services that share the database, with `rapport start`. */
export async function serviceProcesses(database: TestDatabase): Promise<ServiceProcesses> {
  const parentFolder = await mkdtemp(join(tmpdir(), 'rapport-services-'))
  const running = new Set<ChildProcess>()
  let count = 0
  return {
    async start(name, environment = {}) {
      const folder = join(parentFolder, String(count++))
      await mkdir(folder)
      const child = launch(['start'], {
        environment: {
          PORT: '0',
          DATA_DIR: folder,
          DATABASE_URL: `${databaseUrlOf(database)}&application_name=${encodeURIComponent(name)}`,
          SECRET: sharedSecret,
          RATE_LIMIT_PER_MINUTE: '100000000',
          IMPORT_WORKERS: '1',
          REASONING_CONCURRENCY: '0',
          DRAIN_MILLISECONDS: '0',
          ...environment,
        },
      })
      running.add(child)
      let printed = ''
      child.stdout?.on('data', (data: Buffer) => (printed += data.toString()))
      const ended = waitForExit(child).finally(() => running.delete(child))
      const url = await waitForUrl(folder, ended)
      // Until then, the service may still create a set-up link, which revokes earlier ones.
      await until('the service has printed its addresses', () => printed.includes('Rapport listens on'))
      return { name, url, pid: child.pid ?? 0, ended, signal: (signal) => void child.kill(signal), push: pusherTo(url) }
    },
    async close() {
      for (const child of running) child.kill('SIGKILL')
      await until('all processes have ended', () => running.size === 0)
      await rm(parentFolder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

async function waitForUrl(folder: string, ended: Promise<ProcessResult>): Promise<string> {
  let exit: ProcessResult | undefined
  ended.then(
    (result) => (exit = result),
    () => undefined,
  )
  let url = ''
  await until(
    'the service is ready',
    async () => {
      if (exit) throw new Error(`The service ended: ${JSON.stringify(exit)}`)
      url = await readFile(join(folder, 'service.json'), 'utf8').then(
        (text) => (JSON.parse(text) as { url: string }).url,
        () => '',
      )
      return url !== '' && (await fetch(`${url}/readyz`).catch(() => undefined))?.status === 200
    },
    60_000,
  )
  return url
}

const pusherTo =
  (url: string): ServiceProcess['push'] =>
  async (path, body, headers = {}) => {
    try {
      const response = await fetch(`${url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      })
      return { status: response.status, headers: response.headers, body: await response.json() }
    } catch {
      return undefined
    }
  }
