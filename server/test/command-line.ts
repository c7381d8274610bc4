import { type ChildProcess, spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { TestDatabase } from './postgres.ts'

export const entry = fileURLToPath(new URL('../../bin/rapport.js', import.meta.url))

export interface Ending {
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
export function launch(words: readonly string[], { environment = {}, input = '' }: RunOptions = {}): ChildProcess {
  const env = { PATH: process.env.PATH ?? '', ...environment }
  const child = spawn(process.execPath, [entry, ...words], { env, stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdin.end(input)
  return child
}

/** Runs `rapport` to its end. */
export async function run(words: readonly string[], options?: RunOptions): Promise<Ending> {
  return ending(launch(words, options))
}

/** What a process said in all, and how it ended. */
export async function ending(child: ChildProcess): Promise<Ending> {
  if (!child.stdout || !child.stderr) throw new Error('Its output has to be piped.')
  const code = new Promise<number | null>((resolve) => child.once('close', (exitCode) => resolve(exitCode)))
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await code, output, errors }
}

/** The address of a test's database, as an operator would write it. */
export const urlOf = ({ connection: { host, port, user, database } }: Pick<TestDatabase, 'connection'>): string =>
  `postgres://${user}@/${database}?host=${encodeURIComponent(host)}&port=${port}`
