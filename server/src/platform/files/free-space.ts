import { stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Free bytes on the disk of a folder, which need not exist yet. */
export async function readFreeSpace(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(await existingFolder(folder))
  return bavail * bsize
}

async function existingFolder(folder: string): Promise<string> {
  const found = await stat(folder).catch(() => undefined)
  return found || dirname(folder) === folder ? folder : existingFolder(dirname(folder))
}
