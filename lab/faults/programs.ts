import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { childrenOf } from '../shared/usage.ts'
import { livePostmaster } from '../../server/src/platform/operations/embedded-postgres/postmaster.ts'

/** The processes of the database in a data folder, the postmaster first; empty if it is not running. */
export async function databaseProcesses(dataFolder: string): Promise<number[]> {
  return serverProcesses(join(await realpath(dataFolder), 'postgres'))
}

/** The PostgreSQL processes of a cluster. */
export async function serverProcesses(cluster: string): Promise<number[]> {
  const postmaster = await livePostmaster(cluster)
  return postmaster === undefined ? [] : [postmaster, ...childrenOf(postmaster)]
}

/** Sends a signal to processes of this run; ignores those that have exited. */
export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}
