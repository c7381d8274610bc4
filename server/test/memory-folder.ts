import { accessSync, constants, readFileSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

const folder = '/dev/shm'
const gibibyte = 2 ** 30

/**
 * A folder in memory for temporary files, if this machine has one with enough space. Tests create hundreds of databases
 * with some three hundred files each; on a disk, the file system would take longer than PostgreSQL.
 */
export function memoryFolder(): string | undefined {
  try {
    accessSync(folder, constants.W_OK)
    const { bavail, bsize } = statfsSync(folder)
    // Tests run programs from this folder.
    const mount = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .find((line) => line.split(' ')[1] === folder)
    const runsPrograms = mount !== undefined && !/\bnoexec\b/.test(mount)
    return runsPrograms && Math.min(bavail * bsize, process.availableMemory()) > 6 * gibibyte ? folder : undefined
  } catch {
    return undefined
  }
}

/** The folders in which earlier runs may have left temporary files. */
export const temporaryFolders = (): string[] => [...new Set([folder, '/tmp', tmpdir()])].filter(isWritable)

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}
