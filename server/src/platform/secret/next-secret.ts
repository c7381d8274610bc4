import { link, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder, writeDurably } from '../files/durable.ts'
import { fingerprint, readSecretFile, type Secret, secretFile } from './secret.ts'

/** In the data folder while the secret is being replaced: the one that is to come. It counts once the database has it. */
export const nextSecretFile = 'secret.next'

/** Where a secret stays that was replaced: backups from before need it. */
export const replacedSecretFile = (secret: Secret): string =>
  `${secretFile}.replaced-${fingerprint(secret).slice(0, 8)}`

export const findNextSecret = (dataFolder: string): Promise<Secret | undefined> =>
  readSecretFile(join(dataFolder, nextSecretFile))

/** Stores the secret that is to come. On return it survives a crash. */
export async function storeNextSecret(dataFolder: string, secret: Secret): Promise<void> {
  await writeDurably(join(dataFolder, nextSecretFile), `${secret.export().toString('hex')}\n`)
}

/**
 * Puts the next secret in the place of the present one, which is kept. Each step may follow a crash or be taken by two
 * processes at once. Returns the path of the one that is kept.
 */
export async function activateNextSecret(dataFolder: string, present: Secret): Promise<string> {
  const path = join(dataFolder, secretFile)
  const replacedPath = join(dataFolder, replacedSecretFile(present))
  await link(path, replacedPath).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  await rename(join(dataFolder, nextSecretFile), path).catch((error: NodeJS.ErrnoException) => {
    // Another process did it.
    if (error.code !== 'ENOENT') throw error
  })
  await syncFolder(dataFolder)
  return replacedPath
}
