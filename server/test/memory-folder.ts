import { accessSync, constants, readFileSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

const folder = '/dev/shm'
const gibibyte = 2 ** 30

/**
 * A folder in memory for what tests make and throw away, if this machine has one with room to spare. They make databases,
 * some three hundred files each, by the hundred: for that the file system of a disk takes more time than PostgreSQL.
 */
export function memoryFolder(): string | undefined {
  try {
    accessSync(folder, constants.W_OK)
    const { bavail, bsize } = statfsSync(folder)
    // Among what is put there are programs.
    const mount = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .find((line) => line.split(' ')[1] === folder)
    const runsPrograms = mount !== undefined && !/\bnoexec\b/.test(mount)
    return runsPrograms && Math.min(bavail * bsize, process.availableMemory()) > 6 * gibibyte ? folder : undefined
  } catch {
    return undefined
  }
}

/** Where runs may have put what they throw away: in memory, in the usual folder, or where somebody's `TMPDIR` says. */
export const temporaryFolders = (): string[] => [...new Set([folder, '/tmp', tmpdir()])].filter(isWritable)

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}
