import { ApiError } from '../model/errors.ts'

/** Bytes of all bodies that a process holds at once, unfinished ones and those of requests that are worked on. */
const budgetBytes = 64 * 1024 * 1024

/** The bytes of one request's body. */
export interface BodyReservation {
  /** Asks for more bytes. Error: 503, when the budget is used up and nobody else holds more. */
  reserve(bytes: number): void
  /** The body has arrived: it is worked on, and no longer refused for the sake of others. */
  finish(): void
  /** Gives everything back. */
  release(): void
}

interface Body {
  bytes: number
  isFinished: boolean
  onEvicted: (error: ApiError) => void
}

interface CallerUsage {
  bytes: number
  /** In the order in which they came. */
  bodies: Set<Body>
}

/**
 * One budget for the bodies of all connections. While it is used up, the caller (a credential, an import or an address)
 * that holds most loses its latest unfinished body: whoever holds little is served, whatever others do.
 */
export class BodyBudget {
  readonly #limit: number
  readonly #holders = new Map<string, CallerUsage>()
  #held = 0

  constructor(limit = budgetBytes) {
    this.#limit = limit
  }

  /** Bytes that are held now. */
  get usedBytes(): number {
    return this.#held
  }

  /** Begins a body of the caller; `refuse` is called when it loses its bytes to another one. */
  open(caller: string, onEvicted: (error: ApiError) => void): BodyReservation {
    const body: Body = { bytes: 0, isFinished: false, onEvicted }
    const usage = this.#holders.get(caller) ?? { bytes: 0, bodies: new Set() }
    this.#holders.set(caller, usage)
    usage.bodies.add(body)
    return {
      reserve: (bytes) => {
        if (!usage.bodies.has(body)) throw overloaded()
        while (this.#held + bytes > this.#limit) this.#evict(usage, bytes)
        body.bytes += bytes
        usage.bytes += bytes
        this.#held += bytes
      },
      finish: () => {
        body.isFinished = true
      },
      release: () => {
        this.#release(usage, body)
        if (usage.bodies.size === 0 && this.#holders.get(caller) === usage) this.#holders.delete(caller)
      },
    }
  }

  #evict(asking: CallerUsage, bytes: number): void {
    let [largest, latest] = [asking.bytes + bytes, undefined as Body | undefined]
    let from = asking
    for (const usage of this.#holders.values()) {
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
    this.#held -= body.bytes
  }
}

const overloaded = (): ApiError =>
  new ApiError(
    'overloaded',
    'Too many request bodies are being received. Try again after the seconds in Retry-After.',
    { headers: { 'retry-after': '1' } },
  )
