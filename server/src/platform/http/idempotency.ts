import { createCipheriv, createDecipheriv, createHash, hash, hkdfSync, randomBytes } from 'node:crypto'
import { invalidParameters } from './errors.ts'

/** An answer as it is kept to be given again. */
export interface StoredAnswer {
  status: number
  headers: Record<string, string>
  body: string
}

/** The `Idempotency-Key` header, checked: 1 to 255 visible ASCII characters. */
export function checkIdempotencyKey(header: string): string {
  if (!/^[\x21-\x7e]{1,255}$/.test(header))
    throw invalidParameters([
      { field: 'Idempotency-Key', message: 'has to be 1 to 255 visible ASCII characters without spaces' },
    ])
  return header
}

/** What the database keeps of an Idempotency-Key: its SHA-256 (32 bytes). */
export const idempotencyKeyHash = (key: string): Buffer => hash('sha256', key, 'buffer')

/** SHA-256 of all that makes two requests the same; no part can run over into the next. */
export function requestHash(method: string, path: string, body: Uint8Array): Buffer {
  // Neither a method nor a path can hold a line feed.
  return createHash('sha256').update(`${method}\n${path}\n`).update(body).digest()
}

/**
 * Encrypts an answer (AES-256-GCM: nonce, tag, text) under a key that needs both the service's secret and the
 * Idempotency-Key, of which the database knows only a hash: who has the database alone reads nothing, and who has the
 * secret too has to guess the Idempotency-Key.
 */
export function sealAnswer(secretKey: Uint8Array, idempotencyKey: string, answer: StoredAnswer): Buffer {
  const nonce = randomBytes(nonceLength)
  const cipher = createCipheriv(algorithm, answerKey(secretKey, idempotencyKey), nonce)
  const sealed = [cipher.update(JSON.stringify(answer), 'utf8'), cipher.final()]
  return Buffer.concat([nonce, cipher.getAuthTag(), ...sealed])
}

/** The sealed answer; throws when the key is another one or a bit was changed. */
export function openAnswer(secretKey: Uint8Array, idempotencyKey: string, sealed: Uint8Array): StoredAnswer {
  const nonce = sealed.subarray(0, nonceLength)
  const text = sealed.subarray(nonceLength + tagLength)
  const decipher = createDecipheriv(algorithm, answerKey(secretKey, idempotencyKey), nonce, {
    authTagLength: tagLength,
  })
  decipher.setAuthTag(sealed.subarray(nonceLength, nonceLength + tagLength))
  return JSON.parse(decipher.update(text, undefined, 'utf8') + decipher.final('utf8')) as StoredAnswer
}

const algorithm = 'aes-256-gcm'
const nonceLength = 12
const tagLength = 16

const answerKey = (secretKey: Uint8Array, idempotencyKey: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secretKey, idempotencyKey, 'rapport: answer of an Idempotency-Key', 32))
