import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type pg from 'pg'
import type { EmbeddedOptions } from '../src/platform/database/embedded.ts'

/** What another process shall do with a database. */
export type DatabaseTask =
  ({ kind: 'open' } & Omit<EmbeddedOptions, 'log'>) | { kind: 'migrate'; connection: pg.ClientConfig; folder: string }

export interface Told {
  event: 'log' | 'open' | 'closed' | 'migrated' | 'failed'
  message?: string
  name?: string
  attached?: boolean
  connection?: pg.ClientConfig
  applied?: string[]
}

export interface DatabaseProcess {
  readonly child: ChildProcess
  readonly told: Told[]
  /** The first line that says how the task went. */
  readonly outcome: Promise<Told>
  readonly exited: Promise<void>
}

export interface ProcessStarter {
  start(task: DatabaseTask, account?: { uid: number; gid: number }): DatabaseProcess
  /** Ends what still runs. */
  close(): Promise<void>
}

const project = fileURLToPath(new URL('../..', import.meta.url))

/** Real processes for tests of what happens between processes. */
export async function processStarter(): Promise<ProcessStarter> {
  // Inside the project, so that the bundle finds the packages.
  const cache = join(project, 'node_modules/.cache')
  await mkdir(cache, { recursive: true, mode: 0o755 })
  const bundle = join(cache, `database-process-${randomBytes(6).toString('hex')}.mjs`)
  await build({
    entryPoints: [fileURLToPath(new URL('database-process.ts', import.meta.url))],
    outfile: bundle,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'error',
  })
  const running = new Set<ChildProcess>()
  return {
    start: (task, account) => {
      const child = spawn(process.execPath, [bundle], { ...account, cwd: '/', stdio: ['pipe', 'pipe', 'inherit'] })
      running.add(child)
      child.once('exit', () => running.delete(child))
      child.stdin.end(JSON.stringify(task))
      return follow(child)
    },
    close: async () => {
      for (const child of running) child.kill('SIGKILL')
      await rm(bundle, { force: true })
    },
  }
}

function follow(child: ChildProcess): DatabaseProcess {
  const told: Told[] = []
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const outcome = new Promise<Told>((resolve, reject) => {
    if (child.stdout) {
      createInterface(child.stdout).on('line', (line) => {
        const message = JSON.parse(line) as Told
        told.push(message)
        if (message.event !== 'log') resolve(message)
      })
    }
    child.once('close', () => reject(new Error(`It ended without an outcome: ${JSON.stringify(told)}`)))
  })
  outcome.catch(() => undefined)
  return { child, told, outcome, exited }
}

/** Asks again until the answer is true; fails loudly when it never is. */
export async function until(what: string, ask: () => Promise<boolean> | boolean, patience = 15_000): Promise<void> {
  const deadline = performance.now() + patience
  while (!(await ask())) {
    if (performance.now() > deadline) throw new Error(`Not within ${patience} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
