import { link, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder, writeDurably } from '../files/durable.ts'
import { fingerprint, readSecretFile, type Secret, secretFile } from './secret.ts'

/** The next secret while it is being replaced; in effect once the database has its fingerprint. */
export const nextSecretFile = 'secret.next'

/** The file name of a replaced secret: earlier backups need it. */
export const replacedSecretFile = (secret: Secret): string =>
  `${secretFile}.replaced-${fingerprint(secret).slice(0, 8)}`

export const findNextSecret = (dataFolder: string): Promise<Secret | undefined> =>
  readSecretFile(join(dataFolder, nextSecretFile))

export async function storeNextSecret(dataFolder: string, secret: Secret): Promise<void> {
  await writeDurably(join(dataFolder, nextSecretFile), `${secret.export().toString('hex')}\n`)
}

/** Replaces the secret with the next one and returns the path of the old one. Each step can be repeated. */
export async function activateNextSecret(dataFolder: string, present: Secret): Promise<string> {
  const path = join(dataFolder, secretFile)
  const replacedPath = join(dataFolder, replacedSecretFile(present))
  await link(path, replacedPath).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  await rename(join(dataFolder, nextSecretFile), path).catch((error: NodeJS.ErrnoException) => {
    // Another process has done it.
    if (error.code !== 'ENOENT') throw error
  })
  await syncFolder(dataFolder)
  return replacedPath
}
