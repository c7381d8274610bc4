import type { Logger } from 'pino'
import { errorForLog } from '../platform/background/error-for-log.ts'
import { joinLoops, type Loop, startLoop } from '../platform/background/loop.ts'
import type { Database } from '../platform/database/database.ts'
import { isTransient } from '../platform/database/failures.ts'
import type { Actor, Caller } from '../platform/model/caller.ts'
import { PresenceWatch } from '../presence/presence.ts'
import type { NoticedPerson, Notices } from './notices.ts'
import { findRevoked, placeEvents, readFollowed } from './positions-store.ts'

interface FeedOptions {
  database: Database
  log: Logger
  ready: Promise<unknown>
  notices: Notices
}

/** Somebody who waits for events of an organization (uuid) after a position. */
interface Waiting {
  organizationId: string
  after: number
  noticed: Noticed | undefined
  end: (isNoticed: boolean) => void
}

/** A person (uuid) whose state is awaited too, and the number of its last change that is known. */
interface Noticed {
  userId: string
  number: number
}

/** A client with a stream. */
export interface Follower {
  /** Aborted when its credential is no longer valid, or when the service stops. */
  ended: AbortSignal
  leave(): void
}

/** Milliseconds between two polls of the feeds that somebody follows, and of the credentials of streams. */
const lookInterval = 200
const credentialInterval = 1000
const noticeInterval = 500

/** Wakes those who follow the feeds of organizations when there are events: one statement asks for all of them. */
export class Feed {
  readonly notices: Notices
  /** Who has which records open. */
  readonly presence: PresenceWatch
  readonly #database: Database
  readonly #looking: Loop
  readonly #checking: Loop
  readonly #noticing: Loop
  readonly #waiting = new Set<Waiting>()
  readonly #streams = new Map<AbortController, Actor>()
  #isClosed = false

  constructor(options: FeedOptions) {
    const { database, log, ready, notices } = options
    this.presence = new PresenceWatch(options)
    this.#database = database
    this.notices = notices
    const onError = (error: unknown) => {
      if (!isTransient(error)) log.error(errorForLog(error), 'feed: looking for events failed')
    }
    const loop = (interval: number, run: () => Promise<number>) => {
      let hasFailed = false
      const runOnce = async () => {
        try {
          const next = await run()
          hasFailed = false
          return next
        } catch (error) {
          // A lost database session delays nobody longer than until the next poll; an outage is asked about less often.
          if (hasFailed || !isTransient(error)) throw error
          hasFailed = true
          return interval
        }
      }
      return startLoop({ ready, retryMilliseconds: 1000, onError, run: runOnce })
    }
    this.#looking = loop(lookInterval, () => this.#look())
    this.#checking = loop(credentialInterval, () => this.#checkCredentials())
    this.#noticing = loop(noticeInterval, () => this.#notice())
  }

  /** True if the service stops: nobody may wait any longer. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /**
   * Resolves when there are events of the organization (uuid) after this position, after this time, or at the signal: to
   * true if it is because the state of `noticed` has changed.
   */
  async waitFor(
    organizationId: string,
    after: number,
    milliseconds: number,
    { signal, noticed }: { signal?: AbortSignal; noticed?: Noticed | undefined } = {},
  ): Promise<boolean> {
    if (this.#isClosed || signal?.aborted) return false
    return new Promise((resolve) => {
      const end = (isNoticed: boolean) => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', stop)
        this.#waiting.delete(waiting)
        resolve(isNoticed)
      }
      const stop = () => end(false)
      const waiting: Waiting = { organizationId, after, noticed, end }
      const timer = setTimeout(stop, milliseconds)
      signal?.addEventListener('abort', stop)
      this.#waiting.add(waiting)
      if (this.#waiting.size === 1) this.#looking.wake()
      if (noticed) this.#noticing.wake()
    })
  }

  /** Watches over the credential of a client with a stream. */
  follow(caller: Caller): Follower {
    const controller = new AbortController()
    if (this.#isClosed) controller.abort()
    this.#streams.set(controller, caller)
    if (this.#streams.size === 1) this.#checking.wake()
    return {
      ended: controller.signal,
      leave: () => {
        controller.abort()
        this.#streams.delete(controller)
      },
    }
  }

  async #look(): Promise<number> {
    if (this.#waiting.size === 0) return 60_000
    const ids = new Set([...this.#waiting].map(({ organizationId }) => organizationId))
    for (const feed of await readFollowed(this.#database, [...ids])) {
      const placed = feed.isWaiting ? await placeEvents(this.#database, feed.organizationId) : 0
      for (const { organizationId, after, end } of this.#waiting)
        if (organizationId === feed.organizationId && feed.lastPosition + placed > after) end(false)
    }
    return lookInterval
  }

  async #notice(): Promise<number> {
    const people = new Map<string, NoticedPerson>()
    for (const { organizationId, noticed } of this.#waiting)
      if (noticed) people.set(`${organizationId} ${noticed.userId}`, { organizationId, userId: noticed.userId })
    if (people.size === 0) return 60_000
    const found = await this.notices.readNumbers(this.#database, [...people.values()])
    const numbers = new Map(found.map(({ organizationId, userId, number }) => [`${organizationId} ${userId}`, number]))
    for (const { organizationId, noticed, end } of this.#waiting)
      if (noticed && (numbers.get(`${organizationId} ${noticed.userId}`) ?? 0) > noticed.number) end(true)
    return noticeInterval
  }

  async #checkCredentials(): Promise<number> {
    if (this.#streams.size === 0) return 60_000
    const streams = [...this.#streams]
    // Many tabs and programs share a credential.
    const actors = [...new Set(streams.map(([, actor]) => actor))]
    const revoked = await findRevoked(this.#database, actors)
    const now = Date.now()
    for (const [controller, actor] of streams) if (revoked.has(actor) || isExpired(actor, now)) controller.abort()
    return credentialInterval
  }

  /** Ends all waiting and all streams. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const controller of this.#streams.keys()) controller.abort()
    for (const { end } of this.#waiting) end(false)
    await Promise.all([joinLoops([this.#looking, this.#checking, this.#noticing]).close(), this.presence.close()])
  }
}

const isExpired = (actor: Actor, now: number): boolean =>
  'expiresAt' in actor && actor.expiresAt instanceof Date && actor.expiresAt.getTime() <= now
