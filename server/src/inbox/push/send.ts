import type { Egress, EgressResponse } from '../../platform/egress/egress.ts'
import { EgressError } from '../../platform/egress/egress-error.ts'
import { parseRetryAfter } from '../../webhooks/schedule.ts'
import { encryptMessage } from './encryption.ts'
import { authorization, type PushKey } from './key.ts'
import type { Target } from './target.ts'

/** What a browser shows. */
export interface Notification {
  title: string
  body: string
  language: string
  /** The page of the application to open. */
  path: string
  /** Replaces a notification with the same one, here and while it waits at the push service: up to 32 letters and digits. */
  tag: string
  isUrgent: boolean
}

/** `gone`: the browser has unsubscribed. `refused`: this message cannot be delivered. `failed`: another attempt may help. */
export type Sent =
  | { outcome: 'sent' }
  | { outcome: 'gone' }
  | { outcome: 'refused'; reason: string; retryAfter: undefined }
  | { outcome: 'failed'; reason: string; retryAfter: number }
  /** Nothing was sent, because too much else is being sent, or the service stops. */
  | { outcome: 'interrupted' }

export interface Sender {
  egress: Egress
  key: PushKey
  contact: string | undefined
  signal: AbortSignal
}

/** Milliseconds for a request. */
const timeout = 10_000
/** Seconds for which the push service keeps it for a browser that is not running. */
const lifetime = 24 * 60 * 60
/** The length of a longer title adds nothing. */
const maxTitle = 200

/** Sends it through the push service of the browser (RFC 8030), which cannot read it. */
export async function send(sender: Sender, target: Target, shown: Notification): Promise<Sent> {
  const { title, body, language, path, tag, isUrgent } = shown
  const message = JSON.stringify({ title: [...title].slice(0, maxTitle).join(''), body, language, path, tag })
  try {
    const response = await sender.egress.request(target.endpoint, {
      method: 'POST',
      headers: {
        authorization: await authorization(sender.key, { ...target, contact: sender.contact, now: Date.now() }),
        'content-type': 'application/octet-stream',
        'content-encoding': 'aes128gcm',
        ttl: String(lifetime),
        topic: tag,
        urgency: isUrgent ? 'high' : 'normal',
      },
      body: encryptMessage(Buffer.from(message), target),
      timeout,
      limit: 1000,
      cutsBody: true,
      signal: sender.signal,
    })
    return judge(response)
  } catch (error) {
    if (sender.signal.aborted) return { outcome: 'interrupted' }
    if (!(error instanceof EgressError)) throw error
    return error.reason === 'busy'
      ? { outcome: 'interrupted' }
      : { outcome: 'failed', reason: error.message, retryAfter: 0 }
  }
}

function judge({ status, rawHeaders }: EgressResponse): Sent {
  if (status >= 200 && status < 300) return { outcome: 'sent' }
  if (status === 404 || status === 410) return { outcome: 'gone' }
  const reason = `the push service answered with status ${status}`
  if (status !== 429 && status < 500) return { outcome: 'refused', reason, retryAfter: undefined }
  const position = rawHeaders.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'retry-after')
  const retryAfter = position === -1 ? undefined : parseRetryAfter(rawHeaders[position + 1], Date.now())
  return { outcome: 'failed', reason, retryAfter: Math.min(retryAfter ?? 0, lifetime) }
}
