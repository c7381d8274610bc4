import { pause } from '../platform/background/loop.ts'
import type { Database, Transaction } from '../platform/database/database.ts'
import type { Egress } from '../platform/egress/egress.ts'
import { isTransient } from '../platform/database/failures.ts'
import { serviceActor } from '../platform/model/caller.ts'
import { retryTransient } from '../platform/queue/retry.ts'
import type { Secret } from '../platform/secret/secret.ts'
import { attempt, skipped, type Tried, unsigned, withoutAttempt } from './attempt.ts'
import {
  type ClaimedDelivery,
  claimDeliveries,
  type Exchange,
  type Lease,
  leaseSeconds,
  release,
  renew,
  storeHealth,
  storeResults,
  type Target,
} from './dispatch-store.ts'
import { advance, breakerFailures, type Health, isBroken, type Outcome, probeSeconds, type Signal } from './health.ts'
import { type Message, signedHeaders } from './message.ts'
import type { Messages } from './messages.ts'
import { openHeaders, openSecret } from './secrets-store.ts'

/** Attempts in progress for one webhook. */
export const maxConcurrent = 4
/** Deliveries that are claimed at once, so that a quick receiver does not wait for the database. */
const batchSize = 32
/** Milliseconds after which results are stored and more is claimed, however few: the lease is renewed then. */
const maxSilence = 2000
/** Milliseconds after which the webhook is given back, so that others get their turn. */
const maxDuration = 15_000

const notStored = 'the event is no longer stored'

export interface SessionContext {
  database: Database
  secret: Secret
  egress: Egress
  messages: Messages
  /** Reports it to people, and disables the webhook if it must be. */
  report: (transaction: Transaction, lease: Lease, report: Report) => Promise<void>
  /** Aborts when the service stops: nothing more is sent. */
  stopping: AbortSignal
  /** Aborts a moment later: attempts in progress end. */
  ending: AbortSignal
}

interface Prepared extends ClaimedDelivery {
  message: Message
}

/** The keys of the secrets, and the values of the headers. */
interface Opened {
  /** What they were decrypted from. */
  source: string
  keys: readonly Buffer[]
  headers: Readonly<Record<string, string>>
}

/** What a transaction has stored and claimed. */
interface Exchanged {
  target: Target
  health: Health
  claimed: readonly ClaimedDelivery[]
  /** True if the webhook was given back. */
  isIdle: boolean
}

/** Sends what is due for one webhook, at most four at a time, until nothing is. Only one process does so at a time. */
export class Session {
  readonly #context: SessionContext
  readonly #lease: Lease
  readonly #started = performance.now()
  #exchanged = 0
  readonly #waiting: Prepared[] = []
  /** Those of them (uuids) that were composed just now. */
  readonly #fresh = new Set<string>()
  #isRefreshing = false
  readonly #inProgress = new Set<Promise<void>>()
  #tried: Tried[] = []
  #target: Target | undefined
  #opened: Opened | undefined
  #failures = 0
  #pauseSeconds = 0

  constructor(context: SessionContext, lease: Lease) {
    this.#context = context
    this.#lease = lease
  }

  async run(): Promise<void> {
    for (;;) {
      const isOpen = await this.#exchange()
      if (!isOpen) return
      this.#start()
      this.#fresh.clear()
      const waiting = new AbortController()
      // Attempts that hang must not keep the others of the four from what becomes due meanwhile.
      const silence = pause(maxSilence, waiting.signal).then(() => 'silent')
      // A quick receiver fills several results into one transaction.
      while (this.#inProgress.size > 0) {
        const ended = await Promise.race([...this.#inProgress, silence])
        if (ended === 'silent' || this.#hasResults) break
      }
      waiting.abort()
    }
  }

  /** Are there enough results for a transaction, or nothing else to do? */
  get #hasResults(): boolean {
    const isBusy = this.#waiting.length > batchSize / 2 && this.#tried.length < batchSize / 2
    return !isBusy || this.#isEnding || performance.now() - this.#exchanged > maxSilence
  }

  get #isEnding(): boolean {
    const isOver = performance.now() - this.#started > maxDuration
    const isEnabled = this.#target?.isEnabled ?? true
    return this.#context.stopping.aborted || isOver || !isEnabled || this.#pauseSeconds > 0
  }

  get #isBroken(): boolean {
    return this.#failures >= breakerFailures
  }

  get #limit(): number {
    return this.#isBroken ? 1 : maxConcurrent
  }

  #start(): void {
    if (this.#isEnding) {
      for (const { id, tries } of this.#waiting.splice(0)) this.#tried.push(withoutAttempt({ id, tries }, 0))
      return
    }
    // One look at a time: what may be sent meanwhile shares the next one.
    if (!this.#target || this.#isRefreshing) return
    const [target, next] = [this.#target, this.#waiting.splice(0, Math.max(0, this.#limit - this.#inProgress.size))]
    const isFresh = next.every(({ id }) => this.#fresh.has(id))
    const refreshed = isFresh ? undefined : this.#refresh(next)
    for (const delivery of next) {
      const sent = refreshed
        ? refreshed.then((found) => this.#sendFound(delivery, found, target))
        : this.#send(delivery, target)
      const sending = sent.finally(() => {
        this.#inProgress.delete(sending)
        this.#start()
      })
      this.#inProgress.add(sending)
    }
  }

  /** What these say by now, because an erased person must not be sent; undefined if the database does not answer. */
  async #refresh(next: readonly Prepared[]): Promise<ReadonlyMap<string, Message> | undefined> {
    this.#isRefreshing = true
    try {
      return await this.#context.messages.refresh(this.#lease.organizationId, next)
    } catch (error) {
      if (!isTransient(error)) throw error
      return undefined
    } finally {
      this.#isRefreshing = false
      this.#start()
    }
  }

  async #sendFound(delivery: Prepared, found: ReadonlyMap<string, Message> | undefined, target: Target): Promise<void> {
    const message = found?.get(delivery.id)
    // The look takes time: the service may stop meanwhile, or the receiver say that it is gone.
    if (this.#isEnding) this.#tried.push(withoutAttempt(delivery, 0))
    else if (message) await this.#send({ ...delivery, message }, target)
    else this.#tried.push(found ? skipped(delivery.id, notStored) : withoutAttempt(delivery, 1))
  }

  async #send({ message, ...delivery }: Prepared, target: Target): Promise<void> {
    const headers = this.#headersOf(message, target)
    const { webhookId } = this.#lease
    const sending = { ...delivery, webhookId, url: target.url, headers: headers ?? {}, body: message.body }
    const tried = headers ? await attempt(this.#context.egress, sending, this.#context.ending) : unsigned(delivery)
    this.#tried.push(tried)
    this.#pauseSeconds = Math.max(this.#pauseSeconds, tried.pauseSeconds, this.#pauseAfter(tried.outcome))
  }

  /** Undefined if the message cannot be signed, or without a secret. */
  #headersOf(message: Message, target: Target): Record<string, string> | undefined {
    if (target.secrets.length === 0) return undefined
    try {
      const { keys, headers } = this.#open(target)
      return { ...headers, ...signedHeaders(message, keys, Date.now()) }
    } catch {
      return undefined
    }
  }

  /** Decrypts what signs and completes each request, again only after it has changed: that takes longer than to sign. */
  #open({ secrets, headersSealed: sealed }: Target): Opened {
    const source = JSON.stringify([secrets, sealed])
    if (this.#opened?.source === source) return this.#opened
    const { secret } = this.#context
    const keys = secrets.map((one) => openSecret(secret, one))
    this.#opened = { source, keys, headers: openHeaders(secret, { webhookId: this.#lease.webhookId, sealed }) }
    return this.#opened
  }

  /** Seconds without attempts: results that are not stored yet count too. */
  #pauseAfter(outcome: Outcome | undefined): number {
    if (outcome === undefined) return 0
    this.#failures = outcome === 'delivered' ? 0 : this.#failures + 1
    return this.#isBroken || outcome === 'gone' ? probeSeconds : 0
  }

  /** Stores results and claims more. Resolves to false once the webhook was given back. */
  async #exchange(): Promise<boolean> {
    const tried = this.#tried.splice(0)
    const { database, stopping: signal } = this.#context
    const actor = serviceActor('maintenance', this.#lease.organizationId)
    let done: Exchanged | undefined
    const deadline = performance.now() + leaseSeconds * 1000
    const failure = await retryTransient({ signal, deadline, isTransient }, async () => {
      done = await database.transaction(actor, (transaction) => this.#exchangeIn(transaction, tried))
    })
    if (failure) throw failure.lastError
    if (!done) return false
    if (this.#exchanged === 0) this.#failures = done.health.failures
    this.#exchanged = performance.now()
    this.#target = done.target
    await this.#prepare(done.claimed)
    return !done.isIdle
  }

  async #exchangeIn(transaction: Transaction, tried: readonly Tried[]): Promise<Exchanged | undefined> {
    const exchange = await renew(transaction, this.#lease)
    if (!exchange) return undefined
    const { target } = exchange
    const results = tried.map(({ result }) => result)
    await storeResults(transaction, this.#lease, { results, now: exchange.now })
    const { health, reports } = judge(exchange, tried)
    const outcomes = tried.flatMap(({ outcome }) => outcome ?? [])
    const deliveredAt = outcomes.includes('delivered') ? exchange.now : undefined
    if (outcomes.length > 0) await storeHealth(transaction, this.#lease, health, deliveredAt)
    for (const report of reports) await this.#context.report(transaction, this.#lease, report)
    const pending = this.#waiting.length + this.#inProgress.size + this.#tried.length
    const room = isBroken(health) ? 1 - pending : batchSize - this.#waiting.length
    const mayClaim = target.isEnabled && !this.#isEnding && reports.length === 0
    const claiming = { count: room, ordered: target.ordered }
    const claimed = mayClaim ? await claimDeliveries(transaction, this.#lease, claiming) : []
    const isIdle = claimed.length + this.#waiting.length + this.#inProgress.size + this.#tried.length === 0
    const releasing = { isEnabled: target.isEnabled, afterSeconds: this.#pauseSeconds }
    if (isIdle) await release(transaction, this.#lease, releasing)
    return { target, health, claimed, isIdle }
  }

  async #prepare(claimed: readonly ClaimedDelivery[]): Promise<void> {
    if (claimed.length === 0) return
    const composed = await this.#context.messages.compose(this.#lease.organizationId, claimed)
    claimed.forEach((delivery, index) => {
      const message = composed[index]?.message
      if (message) {
        this.#waiting.push({ ...delivery, message })
        this.#fresh.add(delivery.id)
      } else this.#tried.push(skipped(delivery.id, notStored))
    })
  }
}

/** What people learn about a webhook. */
export interface Report {
  signal: Signal
  /** Whether the receiver does not exist any more. */
  isGone: boolean
  target: Target
}

function judge({ health, now, target }: Exchange, results: readonly Tried[]) {
  const reports: Report[] = []
  const last = results.reduce((current, { outcome }) => {
    if (outcome === undefined) return current
    const next = advance(current, outcome, now)
    if (next.signal) reports.push({ signal: next.signal, isGone: outcome === 'gone', target })
    return next.health
  }, health)
  return { health: last, reports }
}
