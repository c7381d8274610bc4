import type { Logger } from 'pino'
import { type OneTimePurpose, spendOneTimeToken } from '../access/one-time-tokens.ts'
import type { Secret } from '../access/secret.ts'
import type { Database, Spanning } from '../database/database.ts'
import { isConnectionLoss } from '../database/failures.ts'
import { ApiError } from '../http/errors.ts'
import { showId } from '../resource/ids.ts'
import { openBody, sealBody } from './body.ts'
import { type Message, renderBody } from './message.ts'
import {
  type ClaimedMail,
  claimMails,
  endHeld,
  holdMail,
  keepComposed,
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

export interface MailWorkOptions {
  database: Database
  secret: Secret
  log: Logger
  /** Without one, mails are composed and kept for the owners to see. */
  transport: Transport | undefined
  /** Looks up what the mail needs, and makes its token, in the transaction that keeps what comes of it. */
  compose: (spanning: Spanning, mail: QueuedMail) => Promise<Composition>
  /** Resolves once the database is there and has its tables. */
  ready: Promise<unknown>
}

export interface MailWork {
  /** There may be a new mail: looks at once. */
  wake(): void
  /** Takes no more mails and waits for those under way. */
  close(): Promise<void>
}

/** Mails under way at a time: a server that takes its time with one recipient holds up no other. */
const mostAtOnce = 4
/** Longer than a mail can take, so that nobody else begins with it meanwhile. */
const leaseSeconds = 120
/** A body that is older is composed anew, with a new token: every link of ours is good for twice as long at least. */
const recentSeconds = 15 * 60
/** Milliseconds between two looks at an empty queue. */
const pause = 1000
/** About a day in all: the delays double from the first to the longest. */
export const patience = { attempts: 16, firstDelaySeconds: 30, longestDelaySeconds: 3 * 60 * 60 }

/** Of a mail whose process ended, or found no database, each time. */
const givenUp = 'it was begun too often without an end'

/** Seconds until the next attempt after so many, before chance moves it; undefined after the last one. */
export const delayAfter = (attempts: number): number | undefined =>
  attempts < patience.attempts
    ? Math.min(patience.longestDelaySeconds, patience.firstDelaySeconds * 2 ** (attempts - 1))
    : undefined

/**
 * Composes and sends what is in the queue, until it is closed; several processes on one database share the work. A mail is
 * sent once, but for one whose process ends between the sending and the note of it: that one is sent again, with the same
 * Message-ID.
 */
export function createMailWork({ ready, ...context }: MailWorkOptions): MailWork {
  const bell = new Bell()
  const running = ready.then(
    () => run(context, bell),
    () => undefined,
  )
  return {
    wake: () => bell.ring(),
    close: async () => {
      bell.close()
      await running
    },
  }
}

/** Lets the one who sleeps be woken early; a ring before the sleep counts too. */
class Bell {
  isClosed = false
  #isRung = false
  #wake: (() => void) | undefined

  ring(): void {
    this.#isRung = true
    this.#wake?.()
  }

  close(): void {
    this.isClosed = true
    this.ring()
  }

  async sleep(milliseconds: number): Promise<void> {
    if (!this.#isRung) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, milliseconds)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    this.#wake = undefined
    this.#isRung = false
  }
}

type Context = Omit<MailWorkOptions, 'ready'>

async function run(context: Context, bell: Bell): Promise<void> {
  const underWay = new Set<Promise<void>>()
  while (!bell.isClosed) {
    const free = mostAtOnce - underWay.size
    const claims = free > 0 ? await claim(context, free) : []
    for (const mail of claims) {
      const work = handle(context, mail).finally(() => {
        underWay.delete(work)
        bell.ring()
      })
      underWay.add(work)
    }
    if (claims.length < free || free === 0) await bell.sleep(pause)
  }
  await Promise.all(underWay)
}

async function claim({ database, log }: Context, count: number): Promise<ClaimedMail[]> {
  try {
    return await claimMails(database, { count, leaseSeconds })
  } catch (error) {
    if (!isPassing(error)) log.error(reported(error), 'mail: the queue could not be read')
    return []
  }
}

/** Brings one mail as far as it goes; what this process cannot write down is left to the end of the lease. */
async function handle(context: Context, mail: ClaimedMail): Promise<void> {
  const { database, log } = context
  try {
    if (mail.attempts > patience.attempts) throw new SendError(givenUp, { isFinal: true, detail: undefined })
    const ready = await prepare(context, mail)
    if (!ready) return
    await context.transport?.send(ready)
    await untilKept(() => markSent(database, mail))
  } catch (error) {
    // The database is away: nothing is wrong with the mail.
    if (isPassing(error)) return
    await untilKept(() => fail(context, mail, error)).catch((unkept: unknown) =>
      log.error({ mail: showId('mai', mail.id), ...reported(unkept) }, 'mail: its state could not be kept'),
    )
  }
}

/** The mail as it is to go now; undefined when it is not: there is no server, nobody to tell, or another has it. */
function prepare(context: Context, claimed: ClaimedMail): Promise<OutgoingMail | undefined> {
  const { database, secret, transport } = context
  return database.spanningTransaction('send mails', async (spanning) => {
    const mail = await holdMail(spanning, claimed, recentSeconds)
    if (!mail) return undefined
    const kept = mail.bodySealed ? openBody(secret, mail.id, mail.bodySealed) : undefined
    if (kept && mail.isRecent)
      return outgoing(
        mail.id,
        { ...kept, recipient: mail.recipient, subject: mail.subject ?? '' },
        mail.composedAt ?? 0,
      )
    if (kept?.token) await spendOneTimeToken(spanning, kept.token.purpose, kept.token.text)
    const composition = await context.compose(spanning, mail)
    if ('dropped' in composition) {
      await endHeld(spanning, mail.id, { status: 'dropped', reason: composition.dropped })
      return undefined
    }
    const { message, token, ...known } = composition
    const body = { ...renderBody(message), token }
    const composed = { ...known, subject: message.subject, bodySealed: sealBody(secret, mail.id, body) }
    const composedAt = await keepComposed(spanning, mail.id, composed)
    if (transport) return outgoing(mail.id, { ...body, ...composed }, composedAt)
    await endHeld(spanning, mail.id, { status: 'kept' })
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
  const reason = isSendError ? error.message : 'it could not be composed'
  await markUnsent(database, mail, { reason, delaySeconds })
  const told = { mail: showId('mai', mail.id), kind: mail.kind, reason, attempts: mail.attempts }
  const more = isSendError ? { detail: error.detail } : reported(error)
  if (delaySeconds === undefined) log.error({ ...told, ...more }, 'mail: not sent, and not tried again')
  else log.warn({ ...told, ...more }, 'mail: not sent yet; it is tried again')
}

/** A few times within the lease, while the database is away. */
async function untilKept(keep: () => Promise<void>): Promise<void> {
  for (let count = 1; ; count++) {
    try {
      return await keep()
    } catch (error) {
      if (!isPassing(error) || count >= 10) throw error
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
  }
}

const isPassing = (error: unknown): boolean =>
  isConnectionLoss(error) || (error instanceof ApiError && error.status === 503)

/** What PostgreSQL adds to its errors (the row, the value) would bring people into the log. */
function reported(error: unknown): { error: string; stack: string | undefined } {
  return error instanceof Error
    ? { error: error.message, stack: error.stack }
    : { error: String(error), stack: undefined }
}
