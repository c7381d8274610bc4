import type { Logger } from 'pino'
import { errorForLog } from '../../platform/background/error-for-log.ts'
import { type Loop, startLoop } from '../../platform/background/loop.ts'
import type { Database } from '../../platform/database/database.ts'
import { isTransient } from '../../platform/database/failures.ts'
import type { Egress } from '../../platform/egress/egress.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { doublingDelay, type RetryPolicy } from '../../platform/queue/queue.ts'
import { retryTransient } from '../../platform/queue/retry.ts'
import type { Secret } from '../../platform/secret/secret.ts'
import { readKey } from './key.ts'
import { type ClaimedMessage, claimMessages, dropSubscription, endMessage, postponeMessages } from './messages-store.ts'
import { type Notification, send, type Sent } from './send.ts'
import { openTarget, type Target } from './target.ts'

export interface PushWorkerOptions {
  database: Database
  secret: Secret
  log: Logger
  egress: Egress
  /** Where operators of push services reach the operator of this service. */
  contact: string | undefined
  /** What to show; undefined if the person has read it meanwhile, or may no longer see it. */
  compose: (message: ClaimedMessage) => Promise<Notification | undefined>
  ready: Promise<unknown>
}

/** Messages in progress at once; `egress` must allow as many. */
export const maxConcurrent = 16
/** Longer than a message can take, so that no other process sends it meanwhile. */
const leaseSeconds = 60
/** Milliseconds between two checks of an empty queue. */
const pollInterval = 1000
/** Seven hours in total. What is older concerns nobody at once; the inbox still has it. */
export const retryPolicy: RetryPolicy = { attempts: 10, firstDelaySeconds: 10, maxDelaySeconds: 2 * 60 * 60 }

/**
 * Sends notifications until it is closed; several processes share the queue. A message is sent again if this process stops
 * before it has recorded that: it has the same tag, so that the browser shows it once.
 */
export function startPushWorker({ ready, ...options }: PushWorkerOptions): Loop {
  const { database, log } = options
  const inProgress = new Set<Promise<void>>()
  const stopping = new AbortController()
  const loop = startLoop({
    ready,
    retryMilliseconds: pollInterval,
    onError: (error) => {
      if (!isTransient(error)) log.error(errorForLog(error), 'push: reading the queue failed')
    },
    run: async () => {
      const free = maxConcurrent - inProgress.size
      const claimed = free > 0 ? await claimMessages(database, { count: free, leaseSeconds }) : []
      for (const message of claimed) {
        const work = handle({ ...options, signal: stopping.signal }, message).finally(() => {
          inProgress.delete(work)
          loop.wake()
        })
        inProgress.add(work)
      }
      return claimed.length < free || free === 0 ? pollInterval : 0
    },
  })
  return {
    wake: () => loop.wake(),
    close: async () => {
      stopping.abort()
      await loop.close()
      await Promise.all(inProgress)
    },
  }
}

type Context = Omit<PushWorkerOptions, 'ready'> & { signal: AbortSignal }

/** Sends one message and records the result; if that fails, it is sent again after the lease. */
async function handle(context: Context, message: ClaimedMessage): Promise<void> {
  const { database, log, signal } = context
  try {
    const deadline = performance.now() + leaseSeconds * 1000
    const sent = await sendTo(context, message)
    const failure = await retryTransient({ signal, deadline, isTransient }, () => record(database, log, message, sent))
    if (failure) throw failure.lastError
  } catch (error) {
    if (!isTransient(error)) log.error({ ...fieldsOf(message), ...errorForLog(error) }, 'push: sending failed')
  }
}

async function sendTo(context: Context, message: ClaimedMessage): Promise<Sent | 'outdated'> {
  const { database, secret, egress, contact, signal, compose } = context
  if (!message.isSessionActive) return { outcome: 'gone' }
  const key = await database.crossTenantTransaction('send notifications', (db) => readKey(db, secret))
  const target = openOrNothing(secret, message)
  // The secret that encrypted them was lost: the browser subscribes again, to another key.
  if (!key || !target) return { outcome: 'gone' }
  const notification = message.isAllowed ? await compose(message) : undefined
  return notification ? send({ egress, contact, signal, key }, target, notification) : 'outdated'
}

function openOrNothing(secret: Secret, { subscriptionId, targetSealed }: ClaimedMessage): Target | undefined {
  try {
    return openTarget(secret, subscriptionId, targetSealed)
  } catch {
    return undefined
  }
}

async function record(
  database: Database,
  log: Logger,
  message: ClaimedMessage,
  sent: Sent | 'outdated',
): Promise<void> {
  if (sent === 'outdated') return endMessage(database, message, { isSent: false })
  if (sent.outcome === 'sent') return endMessage(database, message, { isSent: true })
  if (sent.outcome === 'gone') return dropSubscription(database, message.subscriptionId)
  if (sent.outcome === 'interrupted') return postponeMessages(database, message, 1)
  const { reason, retryAfter } = sent
  if (retryAfter === undefined || message.attempts >= retryPolicy.attempts) {
    log.warn({ ...fieldsOf(message), reason }, 'push: not sent; it will not be retried')
    return endMessage(database, message, { isSent: false })
  }
  // With jitter, so that all messages do not return at the same time.
  const delay = doublingDelay(retryPolicy, message.attempts) * (0.75 + Math.random() / 2)
  await postponeMessages(database, message, Math.max(delay, retryAfter))
}

const fieldsOf = ({ organizationId, entryId, subscriptionId, attempts }: ClaimedMessage) => ({
  organization: encodeId('org', organizationId),
  entry: encodeId('ibx', entryId),
  subscription: encodeId('psb', subscriptionId),
  attempts,
})
