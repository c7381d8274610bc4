import { ApiError } from '../../../platform/model/errors.ts'

export interface BatchLimits {
  /** Limits of entry batch. */
  items: number
  bytes: number
  /** Maximum number of concurrent batches. */
  maxConcurrent: number
  /** Limits of the queue. */
  waitingItems: number
  waitingBytes: number
  waitMilliseconds: number
}

/** All lookups share one statement at a time, so that many pushes cannot use up the connections that store them. */
export const lookupLimits: BatchLimits = {
  items: 500,
  bytes: 0,
  maxConcurrent: 1,
  waitingItems: 5000,
  waitingBytes: 0,
  waitMilliseconds: 2000,
}

interface Waiting<Item, Result> {
  item: Item
  bytes: number
  /** When it was added, in milliseconds of `performance.now`. */
  since: number
  resolve(result: Result): void
  reject(error: unknown): void
}

/**
 * Sends items that arrive at about the same time in entry batch. `send` resolves to a result or an error for each item.
 */
export class Batches<Item, Result> {
  readonly #limits: BatchLimits
  readonly #send: (items: readonly Item[]) => Promise<(Result | Error)[]>
  readonly #waiting: Waiting<Item, Result>[] = []
  #waitingBytes = 0
  #inProgress = 0
  #isScheduled = false
  #lateTimer: NodeJS.Timeout | undefined
  #idleListeners: (() => void)[] = []

  constructor(limits: BatchLimits, send: (items: readonly Item[]) => Promise<(Result | Error)[]>) {
    this.#limits = limits
    this.#send = send
  }

  /** Errors: 503 if the queue is full or the item waits too long; errors of `send`. */
  add(item: Item, bytes: number): Promise<Result> {
    const { waitingItems, waitingBytes } = this.#limits
    if (this.#waiting.length >= waitingItems || this.#waitingBytes + bytes > waitingBytes) {
      return Promise.reject(
        overloaded('Too many pushes are waiting for the database. Try again after the seconds in Retry-After.'),
      )
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, bytes, since: performance.now(), resolve, reject })
      this.#waitingBytes += bytes
      this.#schedule()
    })
  }

  /** Resolves when the queue is empty and no batch is in progress. */
  async idle(): Promise<void> {
    if (this.#waiting.length === 0 && this.#inProgress === 0) return
    await new Promise<void>((resolve) => this.#idleListeners.push(resolve))
  }

  /** Deferred, so that other items of this event-loop turn join the batch. */
  #schedule(): void {
    if (this.#inProgress >= this.#limits.maxConcurrent) this.#rejectLate()
    else if (!this.#isScheduled) {
      this.#isScheduled = true
      setImmediate(() => {
        this.#isScheduled = false
        this.#start()
      })
    }
  }

  #start(): void {
    const batch = this.#takeBatch()
    if (batch.length === 0) return
    this.#inProgress += 1
    void this.#sendBatch(batch).finally(() => {
      this.#inProgress -= 1
      if (this.#waiting.length > 0) this.#start()
      else if (this.#inProgress === 0) this.#idleListeners.splice(0).forEach((resolve) => resolve())
    })
    if (this.#waiting.length > 0) this.#schedule()
  }

  #takeBatch(): Waiting<Item, Result>[] {
    const { items, bytes: maxBytes } = this.#limits
    let bytes = 0
    const count = this.#waiting.findIndex((entry, index) => index === items || (bytes += entry.bytes) > maxBytes)
    const batch = this.#waiting.splice(0, count < 0 ? this.#waiting.length : Math.max(count, 1))
    for (const entry of batch) this.#waitingBytes -= entry.bytes
    return batch
  }

  /**
   * An error that is not about the state of the service (`ApiError`) is caused by an item: the halves of the batch are
   * sent again until that item is alone.
   */
  async #sendBatch(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#send(batch.map(({ item }) => item))
      batch.forEach(({ resolve, reject }, index) => {
        const result = results[index]
        if (result instanceof Error) reject(result)
        else resolve(result as Result)
      })
    } catch (error) {
      if (error instanceof ApiError || batch.length === 1) batch.forEach(({ reject }) => reject(error))
      else {
        const middle = batch.length >> 1
        await this.#sendBatch(batch.slice(0, middle))
        await this.#sendBatch(batch.slice(middle))
      }
    }
  }

  /** Rejects items that wait too long while all concurrent batches are busy. */
  #rejectLate(): void {
    const [first] = this.#waiting
    if (!first || this.#lateTimer) return
    const { waitMilliseconds } = this.#limits
    const check = () => {
      this.#lateTimer = undefined
      const now = performance.now()
      while (this.#waiting[0] && now - this.#waiting[0].since >= waitMilliseconds) {
        const late = this.#waiting.shift()
        this.#waitingBytes -= late?.bytes ?? 0
        late?.reject(
          overloaded('The push waited too long for the database. Try again after the seconds in Retry-After.'),
        )
      }
      this.#rejectLate()
    }
    this.#lateTimer = setTimeout(check, first.since + waitMilliseconds - performance.now() + 1).unref()
  }
}

const overloaded = (description: string) => new ApiError('overloaded', description, { headers: { 'retry-after': '1' } })
