import { createHmac } from 'node:crypto'
import type { JsonObject, JsonValue } from '../platform/model/json.ts'

/** Bytes above which a message only names its event (Standard Webhooks recommends less than 20 kB). */
export const maxMessageBytes = 20_000

/** An event as it is sent. */
export interface Message {
  id: string
  body: string
}

/** What a large message still contains of its event. */
const thinFields = [
  'id',
  'position',
  'type',
  'resource',
  'kind',
  'recordId',
  'revision',
  'cause',
  'createdAt',
  'isTest',
]

/** `event`: as the feed shows it. `object`: the text of the record as the API shows it; undefined if it no longer exists. */
export function composeMessage(event: JsonObject, object: string | undefined, href: string): Message {
  const start = `{"type":${JSON.stringify(event.type)},"timestamp":${JSON.stringify(event.createdAt)},"data":`
  const whole = `${start}${JSON.stringify(event).slice(0, -1)},"object":${object ?? 'null'}}}`
  const id = String(event.id)
  if (Buffer.byteLength(whole) <= maxMessageBytes) return { id, body: whole }
  const names = thinFields.filter((name) => name in event)
  const thin = Object.fromEntries(names.map((name): [string, JsonValue] => [name, event[name] ?? null]))
  return { id, body: `${start}${JSON.stringify({ ...thin, href })}}` }
}

/** The headers of an attempt (Standard Webhooks 1.0.0): a signature for each secret. `now`: milliseconds since 1970. */
export function signedHeaders(
  { id, body }: Message,
  secrets: readonly Uint8Array[],
  now: number,
): Record<string, string> {
  const timestamp = String(Math.floor(now / 1000))
  const signatures = secrets.map(
    (secret) => `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`,
  )
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}
