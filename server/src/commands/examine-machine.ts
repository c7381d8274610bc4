import { constants } from 'node:fs'
import { access, stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Config } from '../config.ts'
import type { Finding } from './doctor.ts'

const megabyte = 1024 ** 2

/** Node's version, and the data folder's rights and room. */
export async function examineMachine({ dataFolder }: Config): Promise<Finding[]> {
  return [
    { name: 'node', state: 'ok', message: process.versions.node },
    await examineFolder(dataFolder),
    await examineSpace(dataFolder),
  ]
}

async function examineFolder(folder: string): Promise<Finding> {
  const name = 'data folder'
  try {
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    return { name, state: 'ok', message: folder }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT')
      return { name, state: 'note', message: `${folder} is not there yet; the first start makes it` }
    const owner = (await stat(folder).catch(() => undefined))?.uid
    return {
      name,
      state: 'wrong',
      message: `${folder} cannot be read and written by this user (${code}; it belongs to user ${owner ?? 'unknown'})`,
      advice: 'Run as its owner, give it over with chown, or set DATA_DIR to another folder.',
    }
  }
}

async function examineSpace(folder: string): Promise<Finding> {
  const name = 'free space'
  const { bavail, bsize } = await statfs(await existingFolder(folder))
  const free = Math.floor((bavail * bsize) / megabyte)
  const message = `${free} MB where the data folder is`
  if (free >= 1024) return { name, state: 'ok', message }
  const advice = 'Free some space or move DATA_DIR; a full disk stops every write.'
  return { name, state: free < 100 ? 'wrong' : 'note', message, advice }
}

async function existingFolder(folder: string): Promise<string> {
  const found = await stat(folder).catch(() => undefined)
  return found || dirname(folder) === folder ? folder : existingFolder(dirname(folder))
}
