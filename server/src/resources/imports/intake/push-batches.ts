import { ApiError } from '../../../platform/model/errors.ts'

export interface BatchLimits {
  /** Of one batch. */
  items: number
  bytes: number
  /** Batches under way at once. */
  maxConcurrent: number
  /** Of what waits. */
  waitingItems: number
  waitingBytes: number
  waitMilliseconds: number
}

interface Waiting<Item, Result> {
  item: Item
  bytes: number
  /** When it came, in milliseconds of `performance.now`. */
  since: number
  resolve(result: Result): void
  reject(error: unknown): void
}

/** Sends what comes at about the same time together. `send` resolves to a result for each item, or an error of its own. */
export class Batches<Item, Result> {
  readonly #limits: BatchLimits
  readonly #send: (items: readonly Item[]) => Promise<(Result | Error)[]>
  readonly #waiting: Waiting<Item, Result>[] = []
  #waitingBytes = 0
  #underWay = 0
  #isScheduled = false
  #lateness: NodeJS.Timeout | undefined
  #whenIdle: (() => void)[] = []

  constructor(limits: BatchLimits, send: (items: readonly Item[]) => Promise<(Result | Error)[]>) {
    this.#limits = limits
    this.#send = send
  }

  /** Errors: 503 when too much waits already, or when its own turn does not come in time; what `send` says. */
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

  /** Resolves when nothing waits and nothing is under way. */
  async idle(): Promise<void> {
    if (this.#waiting.length === 0 && this.#underWay === 0) return
    await new Promise<void>((resolve) => this.#whenIdle.push(resolve))
  }

  /** Not at once: what else this turn of the event loop brings goes along. */
  #schedule(): void {
    if (this.#underWay >= this.#limits.maxConcurrent) this.#watchLateness()
    else if (!this.#isScheduled) {
      this.#isScheduled = true
      setImmediate(() => {
        this.#isScheduled = false
        this.#start()
      })
    }
  }

  #start(): void {
    const batch = this.#take()
    if (batch.length === 0) return
    this.#underWay += 1
    void this.#settle(batch).finally(() => {
      this.#underWay -= 1
      if (this.#waiting.length > 0) this.#start()
      else if (this.#underWay === 0) this.#whenIdle.splice(0).forEach((resolve) => resolve())
    })
    if (this.#waiting.length > 0) this.#schedule()
  }

  #take(): Waiting<Item, Result>[] {
    const { items, bytes: maxBytes } = this.#limits
    let bytes = 0
    const count = this.#waiting.findIndex((one, index) => index === items || (bytes += one.bytes) > maxBytes)
    const batch = this.#waiting.splice(0, count < 0 ? this.#waiting.length : Math.max(count, 1))
    for (const one of batch) this.#waitingBytes -= one.bytes
    return batch
  }

  /**
   * What fails for a reason that is not the service's state fails because of an item: halves of the batch are sent again
   * until that one stands alone.
   */
  async #settle(batch: readonly Waiting<Item, Result>[]): Promise<void> {
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
        await this.#settle(batch.slice(0, middle))
        await this.#settle(batch.slice(middle))
      }
    }
  }

  /** Refuses what waits too long, while all that may be under way does not come back. */
  #watchLateness(): void {
    const [first] = this.#waiting
    if (!first || this.#lateness) return
    const { waitMilliseconds } = this.#limits
    const check = () => {
      this.#lateness = undefined
      const now = performance.now()
      while (this.#waiting[0] && now - this.#waiting[0].since >= waitMilliseconds) {
        const late = this.#waiting.shift()
        this.#waitingBytes -= late?.bytes ?? 0
        late?.reject(
          overloaded('The push waited too long for the database. Try again after the seconds in Retry-After.'),
        )
      }
      this.#watchLateness()
    }
    this.#lateness = setTimeout(check, first.since + waitMilliseconds - performance.now() + 1).unref()
  }
}

const overloaded = (description: string) => new ApiError('overloaded', description, { headers: { 'retry-after': '1' } })
