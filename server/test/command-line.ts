import { type ChildProcess, spawn } from 'node:child_process'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { vi } from 'vitest'
import { main } from '../src/main.ts'
import type { TestDatabase } from './postgres.ts'

export const entry = fileURLToPath(new URL('../../bin/rapport.js', import.meta.url))

export interface ProcessResult {
  code: number | null
  output: string
  errors: string
}

export interface RunOptions {
  environment?: Record<string, string>
  /** What standard input holds. */
  input?: string
}

/** Starts `rapport` as a process of its own, with the given settings alone. */
export function launch(args: readonly string[], { environment = {}, input = '' }: RunOptions = {}): ChildProcess {
  const env = settings(environment)
  const child = spawn(process.execPath, [entry, ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdin.end(input)
  return child
}

/** Runs `rapport` as a process of its own, to its end: what a test needs for signals, pipes, the entry and `start`. */
export const runProcess = (args: readonly string[], options?: RunOptions): Promise<ProcessResult> =>
  waitForExit(launch(args, options))

/**
 * Runs a command of `rapport` in this process, with the given settings alone. A tenth of the processor time of a process
 * of its own, which loads the whole bundle. Commands take turns, since settings and streams belong to the process.
 */
export function run(args: readonly string[], options: RunOptions = {}): Promise<ProcessResult> {
  if (args.join() === 'start') throw new Error('A service needs a process of its own: runProcess() or launch().')
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
  // The tests' own PostgreSQL writes nothing to the disk in time, on purpose.
  const durability = environment.DATABASE_URL === undefined ? {} : { DATABASE_DURABILITY: 'assumed' }
  return { PATH: process.env.PATH ?? '', ...durability, ...environment }
}

/** What a process said in all, and how it ended. */
export async function waitForExit(child: ChildProcess): Promise<ProcessResult> {
  if (!child.stdout || !child.stderr) throw new Error('Its output has to be piped.')
  const code = new Promise<number | null>((resolve) => child.once('close', (exitCode) => resolve(exitCode)))
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await code, output, errors }
}

/** The address of a test's database, as an operator would write it. */
export const databaseUrlOf = ({
  connection: { host, port, user, database },
}: Pick<TestDatabase, 'connection'>): string =>
  `postgres://${user}@/${database}?host=${encodeURIComponent(host)}&port=${port}`
