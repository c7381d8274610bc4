import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { parentOf } from '../bench/usage.ts'
import { livePostmaster } from '../server/src/platform/database/postmaster.ts'

/** The processes of the database of a data folder, the first one first; none where none runs. */
export async function databaseProcesses(dataFolder: string): Promise<number[]> {
  return serverProcesses(join(await realpath(dataFolder), 'postgres'))
}

/** The processes of the server of a cluster. */
export async function serverProcesses(cluster: string): Promise<number[]> {
  const postmaster = await livePostmaster(cluster)
  return postmaster === undefined ? [] : [postmaster, ...childrenOf(postmaster)]
}

function childrenOf(parent: number): number[] {
  if (process.platform === 'linux') {
    const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
    return all.map(Number).filter((pid) => parentOf(pid) === parent)
  }
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n')
  const pairs = lines.map((line) => line.trim().split(/\s+/).map(Number))
  return pairs.flatMap(([pid, of]) => (of === parent && pid !== undefined ? [pid] : []))
}

/** Sends a signal to processes of ours; one that has ended since is no error. */
export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}
