import { ApiError } from '../../model/errors.ts'

/** Maximum bytes of all request bodies in a process, both incomplete ones and those being processed. */
const budgetBytes = 64 * 1024 * 1024

export interface BodyReservation {
  /** Reserves more bytes. Throws 503 if the budget is used up and no other caller uses more. */
  reserve(bytes: number): void
  /** The body is complete: it is no longer evicted in favor of others. */
  finish(): void
  release(): void
}

interface Body {
  bytes: number
  isFinished: boolean
  onEvicted: (error: ApiError) => void
}

interface CallerUsage {
  bytes: number
  /** In order of arrival. */
  bodies: Set<Body>
}

/** Shared by all connections. If it is used up, the caller that uses the most loses its latest incomplete body. */
export class BodyBudget {
  readonly #limit: number
  readonly #usages = new Map<string, CallerUsage>()
  #usedBytes = 0

  constructor(limit = budgetBytes) {
    this.#limit = limit
  }

  get usedBytes(): number {
    return this.#usedBytes
  }

  /** Starts a body of this caller; `onEvicted` is called if it loses its bytes to another caller. */
  open(caller: string, onEvicted: (error: ApiError) => void): BodyReservation {
    const body: Body = { bytes: 0, isFinished: false, onEvicted }
    const usage = this.#usages.get(caller) ?? { bytes: 0, bodies: new Set() }
    this.#usages.set(caller, usage)
    usage.bodies.add(body)
    return {
      reserve: (bytes) => {
        if (!usage.bodies.has(body)) throw overloaded()
        while (this.#usedBytes + bytes > this.#limit) this.#evict(usage, bytes)
        body.bytes += bytes
        usage.bytes += bytes
        this.#usedBytes += bytes
      },
      finish: () => {
        body.isFinished = true
      },
      release: () => {
        this.#release(usage, body)
        if (usage.bodies.size === 0 && this.#usages.get(caller) === usage) this.#usages.delete(caller)
      },
    }
  }

  #evict(asking: CallerUsage, bytes: number): void {
    let [largest, latest] = [asking.bytes + bytes, undefined as Body | undefined]
    let from = asking
    for (const usage of this.#usages.values()) {
      if (usage === asking || usage.bytes <= largest) continue
      const unfinished = [...usage.bodies].filter(({ isFinished }) => !isFinished).at(-1)
      if (unfinished) [largest, latest, from] = [usage.bytes, unfinished, usage]
    }
    if (!latest) throw overloaded()
    this.#release(from, latest)
    latest.onEvicted(overloaded())
  }

  #release(usage: CallerUsage, body: Body): void {
    if (!usage.bodies.delete(body)) return
    usage.bytes -= body.bytes
    this.#usedBytes -= body.bytes
  }
}

const overloaded = (): ApiError =>
  new ApiError(
    'overloaded',
    'Too many request bodies are being received. Try again after the seconds in Retry-After.',
    { headers: { 'retry-after': '1' } },
  )
