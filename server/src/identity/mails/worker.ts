import type { Logger } from 'pino'
import { sha256 } from '../../platform/secret/encryption.ts'
import { markMailed, type OneTimePurpose, consumeOneTimeToken } from '../access/one-time-token-store.ts'
import type { Secret } from '../../platform/secret/secret.ts'
import type { Database, CrossTenantConnection } from '../../platform/database/database.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { startLoop } from '../../platform/background/loop.ts'
import { errorForLog } from '../../platform/background/error-for-log.ts'
import { retryTransient } from '../../platform/queue/retry.ts'
import { doublingDelay, type RetryPolicy } from '../../platform/queue/queue.ts'
import { isTransient } from '../../platform/database/failures.ts'
import { openBody, sealBody, type StoredBody } from './body.ts'
import { type Message, renderBody } from './message.ts'
import {
  type ClaimedMail,
  claimMails,
  endMail,
  lockMail,
  storeComposed,
  markSent,
  markUnsent,
  namesErased,
  type QueuedMail,
} from './queue-store.ts'
import { type OutgoingMail, SendError, type Transport } from './transport.ts'

/** The composed mail, or why it has no recipient. */
export type Composition =
  | {
      message: Message
      /** The account's address, in the account's spelling. */
      recipient: string
      token?: { purpose: OneTimePurpose; text: string }
      /** The organization whose owners can read it, and the person it is about; uuids. */
      organizationId: string | null
      userId: string | null
    }
  | { dropped: string }

export interface MailWorkerOptions {
  database: Database
  secret: Secret
  log: Logger
  /** Without one, mails are composed and stored for the owners to read. */
  transport: Transport | undefined
  /** Looks up the contents and creates the token, in the transaction that stores the result. */
  compose: (db: CrossTenantConnection, mail: QueuedMail) => Promise<Composition>
  /** Resolves once the database is available and migrated. */
  ready: Promise<unknown>
}

export interface MailWorker {
  /** Checks the queue immediately. */
  wake(): void
  /** Claims no more mails and waits for those in progress, but not for an unavailable database. */
  close(): Promise<void>
}

/** Mails in progress at once, so that one slow recipient does not block others. */
const maxConcurrent = 4
/** Longer than sending can take, so that no other process sends the mail meanwhile. */
const leaseSeconds = 120
/** An older body is composed again, with a new token. Each link is valid for at least twice as long. */
const recentSeconds = 15 * 60
/** Milliseconds between two checks of an empty queue. */
const pollInterval = 1000
/** About a day in total: the delays double from the first to the maximum. */
export const retryPolicy: RetryPolicy = { attempts: 16, firstDelaySeconds: 30, maxDelaySeconds: 3 * 60 * 60 }

/** For a mail whose process stopped, or lost the database, on every attempt. */
const givenUp = 'too many attempts were interrupted'

/** Seconds until the next attempt, without jitter; undefined after the last one. */
export const delayAfter = (attempts: number): number | undefined =>
  attempts < retryPolicy.attempts ? doublingDelay(retryPolicy, attempts) : undefined

/**
 * Composes and sends queued mails until it is closed; several processes share the queue. A mail is sent once, unless
 * the mail server accepted it and this could not be recorded before the lease or the worker ended: its response was
 * lost, the process stopped or stalled, or the database was unavailable. It is then sent again, with the same
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
  /** Aborts when the worker is closed. */
  signal: AbortSignal
}

/** A claimed mail with the end of its lease, in the time of `performance.now()`. */
interface LeasedMail extends ClaimedMail {
  leaseEnd: number
}

async function claim(database: Database, count: number): Promise<LeasedMail[]> {
  // Conservative: the database's lease starts later, so it also ends later.
  const leaseEnd = performance.now() + leaseSeconds * 1000
  const claims = await claimMails(database, { count, leaseSeconds })
  return claims.map((mail) => ({ ...mail, leaseEnd }))
}

/** Processes one mail; if its result cannot be recorded, it is retried after the lease. */
async function handle(context: Context, mail: LeasedMail): Promise<void> {
  const { database } = context
  try {
    if (mail.attempts > retryPolicy.attempts) throw new SendError(givenUp, { isFinal: true, detail: undefined })
    const outgoingMail = await prepare(context, mail)
    if (!outgoingMail) return
    await context.transport?.send(outgoingMail)
  } catch (error) {
    // The database is unavailable; the mail itself is fine.
    if (isTransient(error)) return
    await recordOutcome(context, mail, {
      write: () => fail(context, mail, error),
      isTransient,
      failureMessage: 'mail: storing the status failed',
    })
    return
  }
  // Retry after any error: without this record, the mail is sent again.
  const always = () => true
  const failureMessage = 'mail: sent, but the database did not record it; it may be sent again'
  await recordOutcome(context, mail, { write: () => markSent(database, mail), isTransient: always, failureMessage })
}

interface Outcome {
  write: () => Promise<void>
  isTransient: (error: unknown) => boolean
  /** The log message if it could not be recorded. */
  failureMessage: string
}

/** Records the outcome of the mail while its lease lasts; a stop waits for at most one attempt. */
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
  if (failure) log.error({ mail: encodeId('mai', id), ...errorForLog(failure.lastError) }, failureMessage)
}

/** The mail to send now; undefined without a mail server, without a recipient, or if another process has claimed it. */
function prepare(context: Context, claimed: ClaimedMail): Promise<OutgoingMail | undefined> {
  const { database, secret, transport } = context
  return database.crossTenantTransaction('send mails', async (db) => {
    const mail = await lockMail(db, claimed, recentSeconds)
    if (!mail) return undefined
    if (await namesErased(db, mail)) {
      await endMail(db, mail.id, { status: 'dropped', reason: 'it names a person who was erased' })
      return undefined
    }
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
  {
    recipient,
    subject,
    language = 'en',
    text,
    html,
  }: Omit<OutgoingMail, 'reference' | 'language'> & Pick<StoredBody, 'language'>,
  composedAt: number,
): OutgoingMail => ({
  // A mail that is composed again is a different message (RFC 5322 section 3.6.4).
  reference: `${id.replaceAll('-', '')}.${Math.round(composedAt)}`,
  recipient,
  subject,
  language,
  text,
  html,
})

async function fail({ database, log }: Context, mail: ClaimedMail, error: unknown): Promise<void> {
  const isSendError = error instanceof SendError
  const delaySeconds = isSendError && error.isFinal ? undefined : delayAfter(mail.attempts)
  const reason = isSendError ? error.message : 'composing failed'
  await markUnsent(database, mail, { reason, delaySeconds })
  const fields = { mail: encodeId('mai', mail.id), kind: mail.kind, reason, attempts: mail.attempts }
  const cause = isSendError ? { detail: error.detail } : errorForLog(error)
  if (delaySeconds === undefined) log.error({ ...fields, ...cause }, 'mail: not sent; it will not be retried')
  else log.warn({ ...fields, ...cause }, 'mail: not sent yet; it will be retried')
}
