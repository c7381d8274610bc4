import { createHash, hkdfSync } from 'node:crypto'
import { invalidParameters } from '../../model/errors.ts'
import { seal, unseal } from '../../secret/encryption.ts'
import type { JsonObject, JsonValue } from '../../model/json.ts'

export interface StoredResponse {
  status: number
  headers: Record<string, string>
  body: string
}

export const isIdempotencyKey = (header: string): boolean => /^[\x21-\x7e]{1,255}$/.test(header)

/** Validates the `Idempotency-Key` header: 1 to 255 visible ASCII characters. */
export function checkIdempotencyKey(header: string): string {
  if (!isIdempotencyKey(header))
    throw invalidParameters([
      { field: 'Idempotency-Key', message: 'expected 1 to 255 visible ASCII characters without spaces' },
    ])
  return header
}

/** SHA-256 of the method, the path with its query, and the body's value in any notation and order of properties. */
export function requestHash(method: string, path: string, body: JsonValue): Buffer {
  // Neither a method nor a path can contain a line feed.
  return createHash('sha256')
    .update(`${method}\n${path}\n`)
    .update(JSON.stringify(withSortedKeys(body)))
    .digest()
}

/** Sorts the properties of each object. A replacer for `JSON.stringify` would take four times as long. */
function withSortedKeys(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(withSortedKeys)
  const sorted: JsonObject = {}
  for (const name of Object.keys(value).sort()) sorted[name] = withSortedKeys(value[name] ?? null)
  return sorted
}

/** The key needs the Idempotency-Key too: a leak of the database and the secret does not reveal the response. */
export const sealResponse = (secretKey: Uint8Array, idempotencyKey: string, response: StoredResponse): Buffer =>
  seal(responseKey(secretKey, idempotencyKey), Buffer.from(JSON.stringify(response)))

/** Decrypts a response; throws if the key is wrong or the data was changed. */
export const openResponse = (secretKey: Uint8Array, idempotencyKey: string, sealed: Uint8Array): StoredResponse =>
  JSON.parse(unseal(responseKey(secretKey, idempotencyKey), sealed).toString()) as StoredResponse

const responseKey = (secretKey: Uint8Array, idempotencyKey: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secretKey, idempotencyKey, 'rapport: answer of an Idempotency-Key', 32))
