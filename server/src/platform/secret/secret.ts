import { createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto'
import { link, lstat, mkdir, readFile, stat, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Database } from '../database/database.ts'
import { StartError } from '../database/start-error.ts'
import { syncFolder } from '../files/durable.ts'
import { sha256 } from './encryption.ts'
import { storedFingerprint } from './secret-store.ts'

/** The installation's 32-byte secret. A `KeyObject` does not show its contents when it is logged. */
export type Secret = KeyObject

const length = 32

/** The file in the data folder with a secret that the service generated. */
export const secretFile = 'secret'

/**
 * The given secret or the data folder's, generated at the first start: 32 bytes in hex, base64 or base64url, or other
 * text of at least 32 characters (its SHA-256 is used).
 */
export async function loadSecret({
  dataFolder,
  given,
}: {
  dataFolder: string
  given?: string | undefined
}): Promise<Secret> {
  if (given !== undefined) return parseSecret(given)
  const path = join(dataFolder, secretFile)
  return (await readSecretFile(path)) ?? createSecretKey(await createSecretFile(dataFolder, path))
}

/** Parses a secret: 32 bytes in hex, base64 or base64url, or any other text of at least 32 characters. */
export const parseSecret = (text: string): Secret => createSecretKey(parseSecretText(text.trim()))

/** Reads a secret file that the service wrote, or undefined. Throws `StartError`. */
export async function readSecretFile(path: string): Promise<Secret | undefined> {
  const bytes = await readSecretBytes(path)
  return bytes && createSecretKey(bytes)
}

export const newSecret = (): Secret => createSecretKey(randomBytes(length))

/** What a key is derived for: keys for different purposes reveal nothing about each other. */
export type Purpose =
  | 'fingerprint'
  | 'refresh token'
  | 'signing key'
  | 'idempotency answer'
  | 'cursor'
  | 'failed login'
  | 'mail'
  | 'totp secret'
  | 'passkey challenge'
  | 'client secret'
  | 'single sign-on'
  | 'refused push'
  | 'webhook secret'
  | 'webhook headers'
  | 'push key'
  | 'push subscription'

/** 32 bytes for one purpose, and for one `info` within it (HKDF-SHA-256, RFC 5869). */
export const deriveKey = (secret: Secret, purpose: Purpose, info = ''): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, Buffer.alloc(0), `rapport\0${purpose}\0${info}`, length))

/** What the database may know about the secret: enough to recognize it, but not to reconstruct it. */
export const fingerprint = (secret: Secret): string => deriveKey(secret, 'fingerprint').toString('hex').slice(0, 32)

/** The database stores its secret's fingerprint at the first start, and rejects any other secret from then on. */
export async function assertSecretMatches(database: Database, secret: Secret): Promise<void> {
  const own = fingerprint(secret)
  if ((await storedFingerprint(database, own)) === own) return
  throw new StartError(
    'This database belongs to a different SECRET. ' +
      'Start with the SECRET (or the data folder with the secret file) with which the database was first started, ' +
      'or with the one that replaced it.',
  )
}

function parseSecretText(text: string): Buffer {
  const bytes = decodeBytes(text)
  if (text.length < length || new Set(text).size < 8) {
    throw new StartError(
      'SECRET is too weak: expected 32 random bytes in hex or base64 (`openssl rand -hex 32`), or a random text of at least 32 characters.',
    )
  }
  return bytes ?? sha256(text)
}

function decodeBytes(text: string): Buffer | undefined {
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text, 'hex')
  if (!/^(?:[A-Za-z0-9+/]{43}=?|[A-Za-z0-9_-]{43}=?)$/.test(text)) return undefined
  return Buffer.from(text, 'base64')
}

async function readSecretBytes(path: string): Promise<Buffer | undefined> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new StartError(`The secret in ${path} cannot be read (${error.code}).`, { cause: error })
  })
  if (text === undefined) return undefined
  if (!/^[0-9a-f]{64}\s*$/.test(text)) {
    throw new StartError(`${path} does not contain a secret (64 hex digits). Restore it from a backup.`)
  }
  await assertPrivate(path)
  return Buffer.from(text.trim(), 'hex')
}

/** Who wrote the secret, or can read it, can make valid credentials. Throws `StartError` if that may be somebody else. */
async function assertPrivate(path: string): Promise<void> {
  const self = process.getuid?.()
  // A link and what it leads to.
  const states = await Promise.all([lstat, stat].map((read) => read(path).catch(() => undefined)))
  for (const found of self === undefined ? [] : states) {
    if (found === undefined) continue
    if (found.uid !== 0 && found.uid !== self) {
      const advice = `Remove it, or give it to user ${self} if you trust it: chown ${self} ${path}`
      throw new StartError(`The secret in ${path} belongs to user ${found.uid}, who may know it. ${advice}`)
    }
    if (!found.isSymbolicLink() && found.mode & 0o007)
      throw new StartError(`Every user can read the secret in ${path}. If nobody did, change that: chmod 600 ${path}`)
  }
}

/** Writes a temporary file and links it: concurrent processes see a complete file and use the same secret. */
async function createSecretFile(dataFolder: string, path: string): Promise<Buffer> {
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
  try {
    await mkdir(dataFolder, { recursive: true })
    await writeFile(draft, `${randomBytes(length).toString('hex')}\n`, { flag: 'wx', mode: 0o600, flush: true })
    await link(draft, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
    await syncFolder(dataFolder)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new StartError(`The secret cannot be written to ${path} (${code}).`, { cause: error })
  } finally {
    await unlink(draft).catch(() => undefined)
  }
  const stored = await readSecretBytes(path)
  if (!stored) throw new StartError(`The secret in ${path} disappeared during the start. Start again.`)
  return stored
}
