import type { Egress, EgressResponse } from '../platform/egress/egress.ts'
import { EgressError } from '../platform/egress/egress-error.ts'
import { shownAnswer } from './delivery.ts'
import type { Attempt, Result } from './dispatch-store.ts'
import type { Outcome } from './health.ts'
import { nextDelay, parseRetryAfter } from './schedule.ts'

/** Milliseconds for a whole attempt. */
const timeout = 15_000

/** The end of an attempt. */
export interface Tried {
  result: Result
  /** Undefined if the receiver is not to blame. */
  outcome: Outcome | undefined
  /** Seconds for which the receiver wants no other event either. */
  pauseSeconds: number
}

export interface Sending {
  id: string
  tries: number
  /** A test has one attempt. */
  isTest: boolean
  url: string
  headers: Readonly<Record<string, string>>
  body: string
  /** Connections stay open for other attempts of the same webhook. */
  webhookId: string
}

/**
 * Sends it and judges the answer: only 2xx is a success. If the receiver closes a connection that was kept open, it is sent
 * again at once on a new one, which counts as another attempt: the first one may have arrived. `signal`: the service stops,
 * and the attempt does not count.
 */
export async function attempt(egress: Egress, sending: Sending, signal: AbortSignal): Promise<Tried> {
  const { url, headers, body, webhookId } = sending
  const made: Attempt[] = []
  for (;;) {
    const at = new Date().toISOString()
    const start = performance.now()
    const end = (outcome: Pick<Attempt, 'status' | 'answer' | 'error'>): readonly Attempt[] => [
      ...made,
      { at, milliseconds: Math.round(performance.now() - start), ...outcome },
    ]
    try {
      const response = await egress.request(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body,
        timeout,
        limit: shownAnswer,
        cutsBody: true,
        signal,
        group: made.length === 0 ? webhookId : undefined,
      })
      return judge(sending, response, end)
    } catch (error) {
      if (signal.aborted || !(error instanceof EgressError)) return withoutAttempt(sending, 0)
      const failed = { status: null, answer: null, error: error.message }
      if (error.reason === 'closed') made.push(...end(failed))
      // Too many others are in progress here.
      else if (error.reason === 'busy') return withoutAttempt(sending, 1)
      else return failure(sending, end(failed), { outcome: 'failed' })
    }
  }
}

/** A failure without a request: what is not signed must not be sent. */
export const unsigned = (sending: Pick<Sending, 'id' | 'tries' | 'isTest'>): Tried => {
  const error = 'the webhook has no secret that can be read; rotate it'
  const made = { at: new Date().toISOString(), milliseconds: 0, status: null, answer: null, error }
  return failure(sending, [made], { outcome: 'failed' })
}

/** It is given back as it was. */
export const withoutAttempt = ({ id, tries }: Pick<Sending, 'id' | 'tries'>, delay: number): Tried => ({
  result: { id, status: tries > 1 ? 'retrying' : 'pending', error: null, delay, attempts: [] },
  outcome: undefined,
  pauseSeconds: 0,
})

/** It cannot be sent, whatever the receiver does. */
export const skipped = (id: string, error: string): Tried => ({
  result: { id, status: 'skipped', error, delay: null, attempts: [] },
  outcome: undefined,
  pauseSeconds: 0,
})

function judge(
  sending: Sending,
  { status, rawHeaders, body }: EgressResponse,
  end: (outcome: Pick<Attempt, 'status' | 'answer' | 'error'>) => readonly Attempt[],
): Tried {
  const answer = textOf(body)
  if (status >= 200 && status < 300) {
    const attempts = end({ status, answer, error: null })
    const result: Result = { id: sending.id, status: 'delivered', attempts, error: null, delay: null }
    return { result, outcome: 'delivered', pauseSeconds: 0 }
  }
  const retryAfter = parseRetryAfter(headerOf(rawHeaders, 'retry-after'), Date.now())
  const failed = end({ status, answer, error: `the receiver answered with status ${status}` })
  return failure(sending, failed, { outcome: status === 410 ? 'gone' : 'failed', retryAfter, status })
}

/** Receivers that are overloaded get nothing else meanwhile, for at most this many seconds. */
const maxPause = 3600

function failure(
  { id, tries, isTest }: Pick<Sending, 'id' | 'tries' | 'isTest'>,
  attempts: readonly Attempt[],
  { outcome, retryAfter = 0, status }: { outcome: Outcome; retryAfter?: number | undefined; status?: number },
): Tried {
  const delay = isTest || outcome === 'gone' ? undefined : nextDelay(tries, retryAfter)
  const isPaused = status === 429 || status === 503
  return {
    result: {
      id,
      status: delay === undefined ? 'failed' : 'retrying',
      attempts,
      error: attempts.at(-1)?.error ?? null,
      delay: delay ?? null,
    },
    outcome,
    pauseSeconds: isPaused ? Math.min(retryAfter, maxPause) : 0,
  }
}

/** As much as is shown, without what the database cannot store. */
const textOf = (body: Buffer): string => body.toString('utf8').replaceAll('\0', '�')

function headerOf(raw: readonly string[], wanted: string): string | undefined {
  const index = raw.findIndex((name, position) => position % 2 === 0 && name.toLowerCase() === wanted)
  return index === -1 ? undefined : raw[index + 1]
}
