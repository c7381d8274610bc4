import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** The programs in lab/bench/roles; scripts/bench.mjs builds them into the same folder as this one. */
export type Role = 'load' | 'floor' | 'driver'

/** Starts one of them and sends it its task. */
export function startRole(role: Role, task: object): ChildProcess {
  const child = spawn(process.execPath, [fileURLToPath(new URL(`bench-${role}.js`, import.meta.url))], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin?.end(JSON.stringify(task))
  return child
}

export function linesOf(child: ChildProcess): AsyncIterable<string> {
  if (!child.stdout) throw new Error('the output must be a pipe')
  return createInterface(child.stdout)
}

/** The first line of its output. Errors: it exits earlier. */
export async function firstLineOf(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('the output must be a pipe')
  const ended = once(child, 'exit').then(() => {
    throw new Error(`${child.spawnargs.at(-1)} did not start.`)
  })
  const [line] = await Promise.race([once(createInterface(child.stdout), 'line') as Promise<[string]>, ended])
  return line
}
