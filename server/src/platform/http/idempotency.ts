import { createHash, hkdfSync } from 'node:crypto'
import type { JsonObject, JsonValue } from '../model/fields.ts'
import { invalidParameters } from '../model/errors.ts'
import { seal, unseal } from '../secret/encryption.ts'

/** An answer as it is kept to be given again. */
export interface StoredResponse {
  status: number
  headers: Record<string, string>
  body: string
}

/** The `Idempotency-Key` header, checked: 1 to 255 visible ASCII characters. */
export function checkIdempotencyKey(header: string): string {
  if (!/^[\x21-\x7e]{1,255}$/.test(header))
    throw invalidParameters([
      { field: 'Idempotency-Key', message: 'expected 1 to 255 visible ASCII characters without spaces' },
    ])
  return header
}

/**
 * SHA-256 of all that makes two requests the same: method, path with its query, and the value of the body, whatever its
 * spacing, its order of names and its notation of numbers and strings.
 */
export function requestHash(method: string, path: string, body: JsonValue): Buffer {
  // Neither a method nor a path can hold a line feed.
  return createHash('sha256')
    .update(`${method}\n${path}\n`)
    .update(JSON.stringify(withSortedKeys(body)))
    .digest()
}

/** The value with the names of each object sorted. Rebuilt, because a replacer of `JSON.stringify` takes four times as long. */
function withSortedKeys(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(withSortedKeys)
  const sorted: JsonObject = {}
  for (const name of Object.keys(value).sort()) sorted[name] = withSortedKeys(value[name] ?? null)
  return sorted
}

/**
 * Encrypts an answer under a key that needs both the service's secret and the
 * Idempotency-Key, of which the database knows only a hash: who has the database alone reads nothing, and who has the
 * secret too has to guess the Idempotency-Key.
 */
export const sealResponse = (secretKey: Uint8Array, idempotencyKey: string, response: StoredResponse): Buffer =>
  seal(responseKey(secretKey, idempotencyKey), Buffer.from(JSON.stringify(response)))

/** The sealed answer; throws when the key is another one or a bit was changed. */
export const openResponse = (secretKey: Uint8Array, idempotencyKey: string, sealed: Uint8Array): StoredResponse =>
  JSON.parse(unseal(responseKey(secretKey, idempotencyKey), sealed).toString()) as StoredResponse

const responseKey = (secretKey: Uint8Array, idempotencyKey: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secretKey, idempotencyKey, 'rapport: answer of an Idempotency-Key', 32))
