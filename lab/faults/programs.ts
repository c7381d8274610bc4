import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { childrenOf } from '../shared/usage.ts'
import { livePostmaster } from '../../server/src/platform/embedded-postgres/postmaster.ts'

/** The processes of the database of a data folder, the first one first; none where none runs. */
export async function databaseProcesses(dataFolder: string): Promise<number[]> {
  return serverProcesses(join(await realpath(dataFolder), 'postgres'))
}

/** The processes of the server of a cluster. */
export async function serverProcesses(cluster: string): Promise<number[]> {
  const postmaster = await livePostmaster(cluster)
  return postmaster === undefined ? [] : [postmaster, ...childrenOf(postmaster)]
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
