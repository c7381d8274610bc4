import type { Logger } from 'pino'
import { errorForLog } from '../platform/background/error-for-log.ts'
import { type Loop, startLoop } from '../platform/background/loop.ts'
import type { Database } from '../platform/database/database.ts'
import { isTransient } from '../platform/database/failures.ts'
import { placeEvents, readFollowed } from './positions-store.ts'

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

/** Milliseconds between two looks at the feeds that somebody follows. */
const lookInterval = 200

/** Tells those who follow the feeds of organizations that there are events: one statement asks for all of them. */
export class Feed {
  readonly #database: Database
  readonly #loop: Loop
  readonly #waiting = new Set<Waiting>()
  #isClosed = false

  constructor({ database, log, ready }: FeedOptions) {
    this.#database = database
    this.#loop = startLoop({
      ready,
      retryMilliseconds: 1000,
      onError: (error) => {
        if (!isTransient(error)) log.error(errorForLog(error), 'feed: looking for events failed')
      },
      run: () => this.#look(),
    })
  }

  /** Resolves when there are events of the organization (uuid) after this position, or to nothing new in this time. */
  async waitFor(organizationId: string, after: number, milliseconds: number): Promise<void> {
    if (this.#isClosed) return
    await new Promise<void>((resolve) => {
      const waiting: Waiting = { organizationId, after, end: () => end() }
      const timer = setTimeout(() => end(), milliseconds)
      const end = () => {
        clearTimeout(timer)
        this.#waiting.delete(waiting)
        resolve()
      }
      this.#waiting.add(waiting)
      this.#loop.wake()
    })
  }

  async #look(): Promise<number> {
    if (this.#waiting.size === 0) return 60_000
    const ids = [...new Set([...this.#waiting].map(({ organizationId }) => organizationId))]
    for (const feed of await readFollowed(this.#database, ids)) {
      const placed = feed.isWaiting ? await placeEvents(this.#database, feed.organizationId) : 0
      for (const waiting of this.#waiting) {
        const isOf = waiting.organizationId === feed.organizationId
        if (isOf && feed.lastPosition + placed > waiting.after) waiting.end()
      }
    }
    return lookInterval
  }

  /** Ends all waiting. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const waiting of this.#waiting) waiting.end()
    await this.#loop.close()
  }
}
