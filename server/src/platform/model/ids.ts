import { randomFillSync } from 'node:crypto'
import { v7 } from 'uuid'

/** Random bytes for many ids at once: drawing them for each id would take five times as long as the rest. */
const pool = Buffer.alloc(16 * 256)
let drawn = pool.length
let milliseconds = -Infinity
let sequence = 0

/** A new id: a UUIDv7 (RFC 9562), so that byte order is creation order. */
export function newId(): string {
  const random = drawRandom()
  const now = Date.now()
  if (now > milliseconds) {
    milliseconds = now
    // At most half of the range, so that the ids of the same millisecond never run out.
    sequence = random.readUInt32BE(0) >>> 1
  } else sequence += 1
  return v7({ random, msecs: milliseconds, seq: sequence })
}

/** An id with the given creation time in milliseconds. */
export const newIdAt = (time: number): string => v7({ random: drawRandom(), msecs: time })

function drawRandom(): Buffer {
  if (drawn === pool.length) {
    randomFillSync(pool)
    drawn = 0
  }
  return pool.subarray(drawn, (drawn += 16))
}

/** The id as callers see it: `con_` and the uuid's 32 hex digits. */
export const encodeId = (prefix: string, uuid: string): string => `${prefix}_${uuid.replaceAll('-', '')}`

const remainder = /^[0-9a-f]{32}$/

/** The uuid in `prefix_<32 hex digits>`, or undefined if the text has another form. */
export function decodeId(prefix: string, text: string): string | undefined {
  if (!text.startsWith(`${prefix}_`)) return undefined
  const hex = text.slice(prefix.length + 1)
  if (!remainder.test(hex)) return undefined
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** Does the text have the form of such an id (interface, "Identifier prefixes"), even if it cannot be one of ours? */
export const hasIdForm = (prefix: string, text: string): boolean =>
  text.startsWith(`${prefix}_`) && /^[0-9A-Za-z]{1,64}$/.test(text.slice(prefix.length + 1))
