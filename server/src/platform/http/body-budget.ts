import { ApiError } from '../model/errors.ts'

/** Bytes of all bodies that a process holds at once, unfinished ones and those of requests that are worked on. */
const budgetBytes = 64 * 1024 * 1024

/** The bytes of one request's body. */
export interface HeldBody {
  /** Asks for more bytes. Error: 503, when the budget is used up and nobody else holds more. */
  grow(bytes: number): void
  /** The body has arrived: it is worked on, and no longer refused for the sake of others. */
  finish(): void
  /** Gives everything back. */
  release(): void
}

interface Body {
  bytes: number
  isFinished: boolean
  refuse: (error: ApiError) => void
}

interface Holder {
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
  readonly #holders = new Map<string, Holder>()
  #held = 0

  constructor(limit = budgetBytes) {
    this.#limit = limit
  }

  /** Bytes that are held now. */
  get held(): number {
    return this.#held
  }

  /** Begins a body of the caller; `refuse` is called when it loses its bytes to another one. */
  open(caller: string, refuse: (error: ApiError) => void): HeldBody {
    const body: Body = { bytes: 0, isFinished: false, refuse }
    const holder = this.#holders.get(caller) ?? { bytes: 0, bodies: new Set() }
    this.#holders.set(caller, holder)
    holder.bodies.add(body)
    return {
      grow: (bytes) => {
        if (!holder.bodies.has(body)) throw overloaded()
        while (this.#held + bytes > this.#limit) this.#evict(holder, bytes)
        body.bytes += bytes
        holder.bytes += bytes
        this.#held += bytes
      },
      finish: () => {
        body.isFinished = true
      },
      release: () => {
        this.#release(holder, body)
        if (holder.bodies.size === 0 && this.#holders.get(caller) === holder) this.#holders.delete(caller)
      },
    }
  }

  #evict(asking: Holder, bytes: number): void {
    let [most, latest] = [asking.bytes + bytes, undefined as Body | undefined]
    let from = asking
    for (const holder of this.#holders.values()) {
      if (holder === asking || holder.bytes <= most) continue
      const unfinished = [...holder.bodies].filter(({ isFinished }) => !isFinished).at(-1)
      if (unfinished) [most, latest, from] = [holder.bytes, unfinished, holder]
    }
    if (!latest) throw overloaded()
    this.#release(from, latest)
    latest.refuse(overloaded())
  }

  #release(holder: Holder, body: Body): void {
    if (!holder.bodies.delete(body)) return
    holder.bytes -= body.bytes
    this.#held -= body.bytes
  }
}

const overloaded = (): ApiError =>
  new ApiError(
    'overloaded',
    'Too many request bodies are being received. Try again after the seconds in Retry-After.',
    { headers: { 'retry-after': '1' } },
  )
