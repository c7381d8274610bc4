import { document } from '../platform/records/declare/object-fields.ts'
import type { JsonValue } from '../platform/model/json.ts'
import type { Normalized } from '../platform/model/normalizers.ts'

const maxHeaders = 20
const token = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/
const visible = /^[\x20-\x7e]{1,2000}$/

/** Headers that the service or the connection sets. */
const ownHeaders = new Set([
  ...['host', 'connection', 'content-length', 'content-type', 'content-encoding', 'transfer-encoding'],
  ...['accept-encoding', 'user-agent', 'upgrade', 'expect', 'te', 'trailer', 'keep-alive'],
  ...['webhook-id', 'webhook-timestamp', 'webhook-signature'],
])

function normalize(value: JsonValue): Normalized {
  const entries = Object.entries(value as Record<string, JsonValue>)
  if (entries.length > maxHeaders) return { error: `expected at most ${maxHeaders} headers` }
  const names = new Set<string>()
  for (const [name, text] of entries) {
    const folded = name.toLowerCase()
    if (!token.test(name)) return { error: 'contains an invalid name of a header' }
    if (ownHeaders.has(folded)) return { error: `must not contain ${folded}, which the service sets` }
    if (names.has(folded)) return { error: `contains ${folded} twice` }
    if (!visible.test(String(text))) return { error: `${folded}: expected 1 to 2000 printable ASCII characters` }
    names.add(folded)
  }
  return { value: Object.fromEntries(entries.map(([name, text]) => [name.toLowerCase(), String(text).trim()])) }
}

/** What a caller sends of the headers; responses contain their names only. */
export const headersField = {
  ...document({
    label: 'Headers',
    description:
      'Headers to send in addition, such as `authorization`, by name. They replace the present ones, are stored encrypted, and are never shown again',
    nullable: false,
    initial: {},
    schema: { type: 'object', additionalProperties: { type: 'string' } },
  }),
  normalize,
}
