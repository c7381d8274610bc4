import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import type { Config } from '../config.ts'
import { problemOfDataFolder, untrustedFolderAdvice } from '../platform/operations/embedded-postgres/data-folder.ts'
import { openFiles } from '../platform/database/watch.ts'
import { runAsOwner } from '../platform/operations/embedded-postgres/owner.ts'
import { explainFileError } from '../platform/files/explain.ts'
import { readFreeSpace } from '../platform/files/free-space.ts'
import { availableProcessors } from '../processes/processors.ts'
import type { Finding } from './finding.ts'

const megabyte = 1024 ** 2

/** Checks Node's version, the processors for PROCESSES, and permissions and free space of the data folder. */
export async function examineMachine(
  { dataFolder, processes }: Config,
  service: number | 'self' = 'self',
): Promise<Finding[]> {
  return [
    { name: 'node', state: 'ok', message: process.versions.node },
    examineProcesses(processes),
    await examineFolder(dataFolder),
    await examineSpace(dataFolder),
    await examineFiles(service),
  ]
}

/** Open files that a service under load needs: its clients and its connections to the database. */
const enoughFiles = 4096

async function examineFiles(pid: number | 'self'): Promise<Finding> {
  const name = 'open files'
  const files = await openFiles(pid)
  if (!files) return { name, state: 'ok', message: 'unknown: only Linux reports them to the same user' }
  const who = pid === 'self' ? 'this process' : `the service (process ${pid})`
  const message = `${who} has ${files.open} of at most ${files.limit} open`
  const isFull = files.open > files.limit * 0.9
  if (!isFull && files.limit >= enoughFiles) return { name, state: 'ok', message }
  const advice =
    'Without one left, it closes further connections. Set LimitNOFILE=65536 (systemd), or `ulimit -n 65536`, and restart it.'
  return { name, state: isFull ? 'wrong' : 'note', message, advice }
}

function examineProcesses(processes: number): Finding {
  const name = 'processes'
  const processors = availableProcessors()
  const message = `PROCESSES is ${processes}, and the service may use ${processors} processors`
  if (processes <= processors) return { name, state: 'ok', message }
  return { name, state: 'note', message, advice: 'More processes than processors use more memory and gain nothing.' }
}

async function examineFolder(folder: string): Promise<Finding> {
  const name = 'data folder'
  try {
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    const problem = await problemOfDataFolder(folder)
    if (problem !== undefined) {
      const advice = await untrustedFolderAdvice(folder, 'rapport doctor')
      return { name, state: 'wrong', message: `${folder}: ${problem}`, advice }
    }
    return { name, state: 'ok', message: folder }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT')
      return { name, state: 'note', message: `${folder} does not exist yet; the first start creates it` }
    const message = `${folder} cannot be read and written by this user (${code})`
    if (code !== 'EACCES') return { name, state: 'wrong', message, advice: adviceFor(error) }
    const owner = (await stat(folder).catch(() => undefined))?.uid
    if (owner === undefined) return { name, state: 'wrong', message, advice: 'Run as the user of the service.' }
    return {
      name,
      state: 'wrong',
      message: `${message}; it belongs to user ${owner}`,
      advice: await runAsOwner(owner, folder, 'rapport doctor'),
    }
  }
}

function adviceFor(error: unknown): string {
  const why = explainFileError(error) ?? 'the system refuses it.'
  return `${why.charAt(0).toUpperCase()}${why.slice(1)}`
}

async function examineSpace(folder: string): Promise<Finding> {
  const name = 'free space'
  const free = Math.floor((await readFreeSpace(folder)) / megabyte)
  const message = `${free} MB on the disk of the data folder`
  if (free >= 1024) return { name, state: 'ok', message }
  const advice = 'Free some space or move DATA_DIR; a full disk stops every write.'
  return { name, state: free < 100 ? 'wrong' : 'note', message, advice }
}
