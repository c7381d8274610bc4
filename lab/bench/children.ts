import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** The programs of lab/bench/roles, which scripts/bench.mjs puts beside this one. */
export type Role = 'load' | 'floor' | 'driver'

/** Starts one of them, and hands it its task. */
export function startRole(role: Role, task: object): ChildProcess {
  const child = spawn(process.execPath, [fileURLToPath(new URL(`bench-${role}.js`, import.meta.url))], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin?.end(JSON.stringify(task))
  return child
}

export function linesOf(child: ChildProcess): AsyncIterable<string> {
  if (!child.stdout) throw new Error('its output is a pipe')
  return createInterface(child.stdout)
}

/** The first line that it says. Errors: it ends before. */
export async function firstLineOf(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('its output is a pipe')
  const ended = once(child, 'exit').then(() => {
    throw new Error(`${child.spawnargs.at(-1)} did not start.`)
  })
  const [line] = await Promise.race([once(createInterface(child.stdout), 'line') as Promise<[string]>, ended])
  return line
}
