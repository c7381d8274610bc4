import { join } from 'node:path'
import { freePort } from '../../lab/shared/free-port.ts'
import { waitForExit, type ProcessResult, launch } from './command-line.ts'
import { until } from './processes.ts'

export interface StartContext {
  folder: string
  cleanUps: (() => Promise<unknown>)[]
}

export interface StartedService {
  url: string
  pid: number
  /** The output so far. */
  printed(): string
  signal(name: NodeJS.Signals): void
  ended: Promise<ProcessResult>
}

/** Starts the service on a free port with a data folder in `folder`; resolves when it listens. `cleanUps` stops it. */
export async function startIn(
  { folder, cleanUps }: StartContext,
  environment: Record<string, string>,
): Promise<StartedService> {
  const port = environment['PORT'] ?? String(await freePort())
  const child = launch(['start'], { environment: { PORT: port, DATA_DIR: join(folder, 'data'), ...environment } })
  let printed = ''
  child.stdout?.on('data', (data: Buffer) => (printed += data.toString()))
  const ended = waitForExit(child)
  let hasEnded = false
  void ended.then(() => {
    hasEnded = true
  })
  cleanUps.push(async () => {
    child.kill('SIGTERM')
    await ended
  })
  const url = `http://127.0.0.1:${port}`
  await until('the service listens', async () => hasEnded || (await statusOf(`${url}/healthz`)) === 200, 20_000)
  return { url, pid: child.pid ?? 0, printed: () => printed, signal: (name) => void child.kill(name), ended }
}

/** The status of a response, or 0. */
export const statusOf = async (url: string): Promise<number> =>
  fetch(url).then(
    ({ status }) => status,
    () => 0,
  )
