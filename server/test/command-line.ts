import { type ChildProcess, spawn } from 'node:child_process'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { vi } from 'vitest'
import { main } from '../src/main.ts'
import type { TestDatabase } from './postgres.ts'
import { recording } from './recorded-statements.ts'

export const entry = fileURLToPath(new URL('../../bin/rapport.js', import.meta.url))

export interface ProcessResult {
  code: number | null
  output: string
  errors: string
}

export interface RunOptions {
  environment?: Record<string, string>
  /** The content of standard input. */
  input?: string
  /** Another release's entry. */
  program?: string
}

/** Starts `rapport` in a new process with only the given settings. */
export function launch(
  args: readonly string[],
  { environment = {}, input = '', program = entry }: RunOptions = {},
): ChildProcess {
  // Another release has statements of its own.
  const env = { ...settings(environment), ...(program === entry && recording) }
  const child = spawn(process.execPath, [program, ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdin.end(input)
  return child
}

/** Runs `rapport` in a new process, for tests of signals, pipes, the entry point and `start`. */
export const runProcess = (args: readonly string[], options?: RunOptions): Promise<ProcessResult> =>
  waitForExit(launch(args, options))

/**
 * Runs a command of `rapport` in this process with only the given settings. This takes a tenth of the processor time of a
 * new process, which loads the whole bundle. Commands run one at a time, since they share the settings and streams.
 */
export function run(args: readonly string[], options: RunOptions = {}): Promise<ProcessResult> {
  if (args.join() === 'start') throw new Error('A service needs a separate process: use runProcess() or launch().')
  const result = lastCommand.then(() => runInProcess(args, options))
  lastCommand = result.catch(() => undefined)
  return result
}
let lastCommand: Promise<unknown> = Promise.resolve()

async function runInProcess(
  args: readonly string[],
  { environment = {}, input = '' }: RunOptions,
): Promise<ProcessResult> {
  const { env } = process
  const stdin = Object.getOwnPropertyDescriptor(process, 'stdin') ?? {}
  const captured = { stdout: '', stderr: '' }
  const spies = (['stdout', 'stderr'] as const).map((stream) =>
    vi.spyOn(process[stream], 'write').mockImplementation((chunk) => {
      captured[stream] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
      return true
    }),
  )
  process.env = settings(environment)
  Object.defineProperty(process, 'stdin', { value: Readable.from([Buffer.from(input)]), configurable: true })
  try {
    const code = await main(args)
    return { code, output: captured.stdout, errors: captured.stderr }
  } finally {
    process.env = env
    Object.defineProperty(process, 'stdin', stdin)
    for (const writer of spies) writer.mockRestore()
  }
}

function settings(environment: Record<string, string>): Record<string, string> {
  // The tests' PostgreSQL runs without fsync, on purpose.
  const durability = environment.DATABASE_URL === undefined ? {} : { DATABASE_DURABILITY: 'assumed' }
  return { PATH: process.env.PATH ?? '', ...durability, ...environment }
}

/** Waits until a process exits; returns its output and exit code. */
export async function waitForExit(child: ChildProcess): Promise<ProcessResult> {
  if (!child.stdout || !child.stderr) throw new Error('The output of the process must be piped.')
  const code = new Promise<number | null>((resolve) => child.once('close', (exitCode) => resolve(exitCode)))
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await code, output, errors }
}

/** The connection URL of a test's database, as an operator would write it. */
export const databaseUrlOf = ({
  connection: { host, port, user, database },
}: Pick<TestDatabase, 'connection'>): string =>
  `postgres://${user}@/${database}?host=${encodeURIComponent(host)}&port=${port}`
