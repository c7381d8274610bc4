import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { link, mkdir, open, readFile, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Database } from '../database/database.ts'
import { StartError } from '../database/start-error.ts'
import { rememberedFingerprint } from './store.ts'

/** The installation's 32 secret bytes. A `KeyObject` shows nothing of itself when it is logged. */
export type Secret = KeyObject

const length = 32

/** The file in the data folder that keeps a secret made by the service. */
export const secretFile = 'secret'

/**
 * The installation's secret: the one that was given, else the data folder's, which is made at the first start.
 * Given as 32 bytes in hex, base64 or base64url, or as any other text of at least 32 characters (its SHA-256 counts).
 */
export async function loadSecret({
  dataFolder,
  given,
}: {
  dataFolder: string
  given?: string | undefined
}): Promise<Secret> {
  if (given !== undefined) return createSecretKey(readGiven(given.trim()))
  const path = join(dataFolder, secretFile)
  return createSecretKey((await readKept(path)) ?? (await makeKept(dataFolder, path)))
}

/** What a key is derived for: the keys of two purposes tell nothing about each other. */
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

/** 32 bytes for one purpose, and for one `info` within it (HKDF-SHA-256, RFC 5869). */
export const deriveKey = (secret: Secret, purpose: Purpose, info = ''): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, Buffer.alloc(0), `rapport\0${purpose}\0${info}`, length))

/** What the database may know about the secret: enough to recognize it, nothing to rebuild it. */
export const fingerprint = (secret: Secret): string => deriveKey(secret, 'fingerprint').toString('hex').slice(0, 32)

const nonceLength = 12
const tagLength = 16

/** Encrypts under `key` (AES-256-GCM): nonce, tag, then the text. */
export function seal(key: Uint8Array, plain: Uint8Array): Buffer {
  const nonce = randomBytes(nonceLength)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  const text = Buffer.concat([cipher.update(plain), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), text])
}

/** What `seal` took; throws when the key is another one or a byte has changed. */
export function unseal(key: Uint8Array, sealed: Uint8Array): Buffer {
  const nonce = sealed.subarray(0, nonceLength)
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagLength })
  decipher.setAuthTag(sealed.subarray(nonceLength, nonceLength + tagLength))
  return Buffer.concat([decipher.update(sealed.subarray(nonceLength + tagLength)), decipher.final()])
}

/** The database remembers its secret's fingerprint at the first start and refuses another secret from then on. */
export async function assertSecretFits(database: Database, secret: Secret): Promise<void> {
  const own = fingerprint(secret)
  if ((await rememberedFingerprint(database, own)) === own) return
  throw new StartError(
    'This database was set up with another SECRET: what it encrypts and every refresh token would be lost. ' +
      'Start with the SECRET (or the data folder with the secret file) that this database was first started with.',
  )
}

function readGiven(text: string): Buffer {
  const bytes = readBytes(text)
  if (text.length < length || new Set(text).size < 8) {
    throw new StartError(
      'SECRET is too weak: give 32 random bytes in hex or base64 (`openssl rand -hex 32`), or a random text of at least 32 characters.',
    )
  }
  return bytes ?? createHash('sha256').update(text).digest()
}

function readBytes(text: string): Buffer | undefined {
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text, 'hex')
  if (!/^(?:[A-Za-z0-9+/]{43}=?|[A-Za-z0-9_-]{43}=?)$/.test(text)) return undefined
  return Buffer.from(text, 'base64')
}

async function readKept(path: string): Promise<Buffer | undefined> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new StartError(`The secret in ${path} cannot be read (${error.code}).`, { cause: error })
  })
  if (text === undefined) return undefined
  if (!/^[0-9a-f]{64}\s*$/.test(text)) {
    throw new StartError(`${path} does not hold a secret (64 hex digits). Restore it from a backup.`)
  }
  return Buffer.from(text.trim(), 'hex')
}

/** Written whole under another name, then linked: a second starter finds all of it or nothing, and both take one. */
async function makeKept(dataFolder: string, path: string): Promise<Buffer> {
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
  try {
    await mkdir(dataFolder, { recursive: true })
    const file = await open(draft, 'wx', 0o600)
    try {
      await file.writeFile(`${randomBytes(length).toString('hex')}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    await link(draft, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
    await syncFolder(dataFolder)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new StartError(`The secret cannot be kept in ${path} (${code}).`, { cause: error })
  } finally {
    await unlink(draft).catch(() => undefined)
  }
  const kept = await readKept(path)
  if (!kept) throw new StartError(`The secret in ${path} went away while starting.`)
  return kept
}

/** The file's name is durable only once its folder is. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
