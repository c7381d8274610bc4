import type { Logger } from 'pino'
import { sha256 } from '../../platform/secret/encryption.ts'
import { markMailed, type OneTimePurpose, consumeOneTimeToken } from '../access/one-time-token-store.ts'
import type { Secret } from '../../platform/secret/secret.ts'
import type { Database, CrossTenantConnection } from '../../platform/database/database.ts'
import { showId } from '../../platform/model/ids.ts'
import { startLoop } from '../../platform/background/loop.ts'
import { errorForLog } from '../../platform/background/error-for-log.ts'
import { retryTransient } from '../../platform/background/retry.ts'
import { isTransient } from '../../platform/database/failures.ts'
import { openBody, sealBody } from './body.ts'
import { type Message, renderBody } from './message.ts'
import {
  type ClaimedMail,
  claimMails,
  endMail,
  lockMail,
  storeComposed,
  markSent,
  markUnsent,
  type QueuedMail,
} from './queue-store.ts'
import { type OutgoingMail, SendError, type Transport } from './transport.ts'

/** What a mail is to say, or why there is nobody to say it to. */
export type Composition =
  | {
      message: Message
      /** Where it goes: the address that the account has, whatever spelling of it was typed. */
      recipient: string
      token?: { purpose: OneTimePurpose; text: string }
      /** Whose owners may see it, and whom it is about; uuids. */
      organizationId: string | null
      userId: string | null
    }
  | { dropped: string }

export interface MailWorkerOptions {
  database: Database
  secret: Secret
  log: Logger
  /** Without one, mails are composed and kept for the owners to see. */
  transport: Transport | undefined
  /** Looks up what the mail needs, and makes its token, in the transaction that keeps what comes of it. */
  compose: (db: CrossTenantConnection, mail: QueuedMail) => Promise<Composition>
  /** Resolves once the database is there and has its tables. */
  ready: Promise<unknown>
}

export interface MailWorker {
  /** There may be a new mail: looks at once. */
  wake(): void
  /** Takes no more mails and waits for those under way, but for no database that is away. */
  close(): Promise<void>
}

/** Mails under way at a time: a server that takes its time with one recipient holds up no other. */
const maxConcurrent = 4
/** Longer than a mail can take, so that nobody else begins with it meanwhile. */
const leaseSeconds = 120
/** A body that is older is composed anew, with a new token: every link of ours is good for twice as long at least. */
const recentSeconds = 15 * 60
/** Milliseconds between two looks at an empty queue. */
const pollInterval = 1000
/** About a day in all: the delays double from the first to the longest. */
export const retryPolicy = { attempts: 16, firstDelaySeconds: 30, maxDelaySeconds: 3 * 60 * 60 }

/** Of a mail whose process ended, or found no database, each time. */
const givenUp = 'too many attempts were interrupted'

/** Seconds until the next attempt after so many, before chance moves it; undefined after the last one. */
export const delayAfter = (attempts: number): number | undefined =>
  attempts < retryPolicy.attempts
    ? Math.min(retryPolicy.maxDelaySeconds, retryPolicy.firstDelaySeconds * 2 ** (attempts - 1))
    : undefined

/**
 * Composes and sends what is in the queue, until it is closed; several processes on one database share the work. A mail is
 * sent once, unless the mail server took it and that could not be noted: its answer was lost, the process ended or stood
 * still, or the database was away, until the end of the lease or as the work was closed. It is sent again then, with the same
 * Message-ID while it is recent.
 */
export function createMailWorker({ ready, ...options }: MailWorkerOptions): MailWorker {
  const { database, log } = options
  const inProgress = new Set<Promise<void>>()
  const loop = startLoop({
    ready,
    retryMilliseconds: pollInterval,
    onError: (error) => {
      if (!isTransient(error)) log.error(errorForLog(error), 'mail: reading the queue failed')
    },
    run: async (signal) => {
      const freeSlots = maxConcurrent - inProgress.size
      const claims = freeSlots > 0 ? await claim(database, freeSlots) : []
      for (const mail of claims) {
        const work = handle({ ...options, signal }, mail).finally(() => {
          inProgress.delete(work)
          loop.wake()
        })
        inProgress.add(work)
      }
      return claims.length < freeSlots || freeSlots === 0 ? pollInterval : 0
    },
  })
  return {
    wake: () => loop.wake(),
    close: async () => {
      await loop.close()
      await Promise.all(inProgress)
    },
  }
}

interface Context extends Omit<MailWorkerOptions, 'ready'> {
  /** Aborts when the work is closed. */
  signal: AbortSignal
}

/** A mail that this process has until then, as `performance.now()` tells the time. */
interface LeasedMail extends ClaimedMail {
  leaseEnd: number
}

async function claim(database: Database, count: number): Promise<LeasedMail[]> {
  // By the database's clock the lease begins later, so it ends later too.
  const leaseEnd = performance.now() + leaseSeconds * 1000
  const claims = await claimMails(database, { count, leaseSeconds })
  return claims.map((mail) => ({ ...mail, leaseEnd }))
}

/** Brings one mail as far as it goes; what this process cannot write down is left to the end of the lease. */
async function handle(context: Context, mail: LeasedMail): Promise<void> {
  const { database } = context
  try {
    if (mail.attempts > retryPolicy.attempts) throw new SendError(givenUp, { isFinal: true, detail: undefined })
    const ready = await prepare(context, mail)
    if (!ready) return
    await context.transport?.send(ready)
  } catch (error) {
    // The database is away: nothing is wrong with the mail.
    if (isTransient(error)) return
    await recordOutcome(context, mail, {
      write: () => fail(context, mail, error),
      isTransient,
      failureMessage: 'mail: storing the status failed',
    })
    return
  }
  // Whatever hinders it: a mail without this note is sent again.
  const always = () => true
  const failureMessage = 'mail: sent, but the database did not record it; it may be sent again'
  await recordOutcome(context, mail, { write: () => markSent(database, mail), isTransient: always, failureMessage })
}

interface Outcome {
  write: () => Promise<void>
  isTransient: (error: unknown) => boolean
  /** What the log says when it could not be written. */
  failureMessage: string
}

/** Writes down what became of the mail, while this process has it; a stop waits for one attempt at most. */
async function recordOutcome(
  { signal, log }: Context,
  { id, leaseEnd }: LeasedMail,
  { write, failureMessage, ...retryOptions }: Outcome,
): Promise<void> {
  const failure = await retryTransient({ signal, deadline: leaseEnd, ...retryOptions }, write).catch(
    (error: unknown) => ({
      lastError: error,
    }),
  )
  if (failure) log.error({ mail: showId('mai', id), ...errorForLog(failure.lastError) }, failureMessage)
}

/** The mail as it is to go now; undefined when it is not: there is no server, nobody to tell, or another has it. */
function prepare(context: Context, claimed: ClaimedMail): Promise<OutgoingMail | undefined> {
  const { database, secret, transport } = context
  return database.crossTenantTransaction('send mails', async (db) => {
    const mail = await lockMail(db, claimed, recentSeconds)
    if (!mail) return undefined
    const stored = mail.bodySealed ? openBody(secret, mail.id, mail.bodySealed) : undefined
    if (stored && mail.isRecent && transport)
      return outgoing(
        mail.id,
        { ...stored, recipient: mail.recipient, subject: mail.subject ?? '' },
        mail.composedAt ?? 0,
      )
    if (stored?.token) await consumeOneTimeToken(db, stored.token.purpose, stored.token.text)
    const composition = await context.compose(db, mail)
    if ('dropped' in composition) {
      await endMail(db, mail.id, { status: 'dropped', reason: composition.dropped })
      return undefined
    }
    const { message, token, ...addressing } = composition
    const body = { ...renderBody(message), token }
    const bodySealed = sealBody(secret, mail.id, body)
    const hash = token ? sha256(token.text) : null
    const composed = { ...addressing, subject: message.subject, bodySealed, tokenHash: hash }
    const composedAt = await storeComposed(db, mail.id, composed)
    if (transport) {
      if (token) await markMailed(db, token.text)
      return outgoing(mail.id, { ...body, ...composed }, composedAt)
    }
    await endMail(db, mail.id, { status: 'kept' })
    return undefined
  })
}

const outgoing = (
  id: string,
  { recipient, subject, text, html }: Omit<OutgoingMail, 'reference'>,
  composedAt: number,
): OutgoingMail => ({
  // What is composed anew is another message (RFC 5322 section 3.6.4).
  reference: `${id.replaceAll('-', '')}.${Math.round(composedAt)}`,
  recipient,
  subject,
  text,
  html,
})

async function fail({ database, log }: Context, mail: ClaimedMail, error: unknown): Promise<void> {
  const isSendError = error instanceof SendError
  const delaySeconds = isSendError && error.isFinal ? undefined : delayAfter(mail.attempts)
  const reason = isSendError ? error.message : 'composing failed'
  await markUnsent(database, mail, { reason, delaySeconds })
  const fields = { mail: showId('mai', mail.id), kind: mail.kind, reason, attempts: mail.attempts }
  const cause = isSendError ? { detail: error.detail } : errorForLog(error)
  if (delaySeconds === undefined) log.error({ ...fields, ...cause }, 'mail: not sent; it will not be retried')
  else log.warn({ ...fields, ...cause }, 'mail: not sent yet; it will be retried')
}
