import { createHmac, timingSafeEqual } from 'node:crypto'

/** A position that survives the deletion of its record: the sort keys as text (null if there are none) and the id. */
export interface Position<Value = string> {
  keys: readonly Value[] | null
  id: Value
}

/** What a cursor is bound to; in another list, order or organization it is rejected. */
export interface CursorScope {
  key: Buffer
  organizationId: string
  /** The list: its resource and its parent. */
  list: string
  orderBy: string
}

const prefix = 'cur_'

export function writeCursor(scope: CursorScope, position: Position): string {
  const payload = Buffer.from(JSON.stringify([scope.orderBy, position.keys, position.id]))
  return `${prefix}${Buffer.concat([signature(scope, payload), payload]).toString('base64url')}`
}

export const isCursor = (text: string): boolean => text.startsWith(prefix)

/** Parses an opaque cursor. `otherOrder`: issued for the returned `orderBy`; `unknown`: for another list. */
export function parseCursor(
  scope: CursorScope,
  text: string,
): { position: Position } | { error: 'malformed' | 'unknown' } | { error: 'otherOrder'; orderBy: string } {
  const bytes = Buffer.from(text.slice(prefix.length), 'base64url')
  if (!/^cur_[A-Za-z0-9_-]{40,3000}$/.test(text) || bytes.length < 24) return { error: 'malformed' }
  const payload = bytes.subarray(signatureBytes)
  if (!timingSafeEqual(bytes.subarray(0, signatureBytes), signature(scope, payload))) return { error: 'unknown' }
  const [orderBy, keys, id] = JSON.parse(payload.toString()) as [string, string[] | null, string]
  return orderBy === scope.orderBy ? { position: { keys, id } } : { error: 'otherOrder', orderBy }
}

const signatureBytes = 16

function signature(scope: CursorScope, payload: Buffer): Buffer {
  const mac = createHmac('sha256', scope.key).update(`${scope.organizationId}\n${scope.list}\n`).update(payload)
  return mac.digest().subarray(0, signatureBytes)
}
