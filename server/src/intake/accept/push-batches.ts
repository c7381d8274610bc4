import { ApiError } from '../../platform/model/errors.ts'

/** Tenants with nothing in the queue are forgotten beyond this number. */
const maxUsages = 1000

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

/** What one tenant has in the queue. */
interface Usage {
  items: number
  bytes: number
}

interface Waiting<Item, Result> {
  item: Item
  bytes: number
  usage: Usage
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
  readonly #usages = new Map<string, Usage>()
  #waitingBytes = 0
  #inProgress = 0
  #isScheduled = false
  #lateTimer: NodeJS.Timeout | undefined
  #idleListeners: (() => void)[] = []

  constructor(limits: BatchLimits, send: (items: readonly Item[]) => Promise<(Result | Error)[]>) {
    this.#limits = limits
    this.#send = send
  }

  /**
   * A tenant may fill the queue while no other needs it; then the one with the most in it loses its latest items. Errors:
   * 503 if the queue is full or the item waits too long; errors of `send`.
   */
  add(item: Item, bytes: number, tenant = ''): Promise<Result> {
    const usage = this.#usages.get(tenant) ?? { items: 0, bytes: 0 }
    while (this.#isFull(bytes)) if (!this.#evict(usage, bytes)) return Promise.reject(queueFull())
    return new Promise((resolve, reject) => {
      this.#usages.set(tenant, usage)
      this.#waiting.push({ item, bytes, usage, since: performance.now(), resolve, reject })
      this.#count(usage, 1, bytes)
      this.#schedule()
    })
  }

  #isFull(bytes: number): boolean {
    const { waitingItems, waitingBytes } = this.#limits
    return this.#waiting.length >= waitingItems || this.#waitingBytes + bytes > waitingBytes
  }

  /** False if no other tenant has more in the queue. */
  #evict(asking: Usage, bytes: number): boolean {
    let [largest, most] = [undefined as Usage | undefined, this.#shareOf(asking.items + 1, asking.bytes + bytes)]
    for (const usage of this.#usages.values()) {
      const share = this.#shareOf(usage.items, usage.bytes)
      if (usage !== asking && share > most) [largest, most] = [usage, share]
    }
    const at = largest ? this.#waiting.findLastIndex(({ usage }) => usage === largest) : -1
    const [evicted] = at < 0 ? [] : this.#waiting.splice(at, 1)
    if (!evicted) return false
    this.#count(evicted.usage, -1, -evicted.bytes)
    evicted.reject(queueFull())
    return true
  }

  #shareOf(items: number, bytes: number): number {
    const { waitingItems, waitingBytes } = this.#limits
    return Math.max(items / waitingItems, waitingBytes > 0 ? bytes / waitingBytes : 0)
  }

  /** Counts what enters or leaves the queue. */
  #count(usage: Usage, items: number, bytes: number): void {
    usage.items += items
    usage.bytes += bytes
    this.#waitingBytes += bytes
    if (this.#usages.size > maxUsages) {
      for (const [tenant, one] of this.#usages) if (one.items === 0) this.#usages.delete(tenant)
    }
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
    for (const { usage, bytes: taken } of batch) this.#count(usage, -1, -taken)
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
        if (!late) return
        this.#count(late.usage, -1, -late.bytes)
        late.reject(
          overloaded('The push waited too long for the database. Try again after the seconds in Retry-After.'),
        )
      }
      this.#rejectLate()
    }
    this.#lateTimer = setTimeout(check, first.since + waitMilliseconds - performance.now() + 1).unref()
  }
}

const queueFull = () =>
  overloaded('Too many pushes are waiting for the database. Try again after the seconds in Retry-After.')

const overloaded = (description: string) => new ApiError('overloaded', description, { headers: { 'retry-after': '1' } })
