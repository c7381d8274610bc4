import type { Logger } from 'pino'
import { errorForLog } from '../platform/background/error-for-log.ts'
import { joinLoops, type Loop, startLoop } from '../platform/background/loop.ts'
import type { Database } from '../platform/database/database.ts'
import { isTransient } from '../platform/database/failures.ts'
import type { Actor, Caller } from '../platform/model/caller.ts'
import { findRevoked, placeEvents, readFollowed } from './positions-store.ts'

interface FeedOptions {
  database: Database
  log: Logger
  ready: Promise<unknown>
}

/** Somebody who waits for events of an organization (uuid) after a position. */
interface Waiting {
  organizationId: string
  after: number
  end: () => void
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

/** Wakes those who follow the feeds of organizations when there are events: one statement asks for all of them. */
export class Feed {
  readonly #database: Database
  readonly #looking: Loop
  readonly #checking: Loop
  readonly #waiting = new Set<Waiting>()
  readonly #streams = new Map<AbortController, Actor>()
  #isClosed = false

  constructor({ database, log, ready }: FeedOptions) {
    this.#database = database
    const onError = (error: unknown) => {
      if (!isTransient(error)) log.error(errorForLog(error), 'feed: looking for events failed')
    }
    const loop = (run: () => Promise<number>) => startLoop({ ready, retryMilliseconds: 1000, onError, run })
    this.#looking = loop(() => this.#look())
    this.#checking = loop(() => this.#checkCredentials())
  }

  /** True if the service stops: nobody may wait any longer. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Resolves when there are events of the organization (uuid) after this position, after this time, or at the signal. */
  async waitFor(organizationId: string, after: number, milliseconds: number, signal?: AbortSignal): Promise<void> {
    if (this.#isClosed || signal?.aborted) return
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', end)
        this.#waiting.delete(waiting)
        resolve()
      }
      const waiting: Waiting = { organizationId, after, end }
      const timer = setTimeout(end, milliseconds)
      signal?.addEventListener('abort', end)
      this.#waiting.add(waiting)
      if (this.#waiting.size === 1) this.#looking.wake()
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
        if (organizationId === feed.organizationId && feed.lastPosition + placed > after) end()
    }
    return lookInterval
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
    for (const { end } of this.#waiting) end()
    await joinLoops([this.#looking, this.#checking]).close()
  }
}

const isExpired = (actor: Actor, now: number): boolean =>
  'expiresAt' in actor && actor.expiresAt instanceof Date && actor.expiresAt.getTime() <= now
