/** The tokens that an organization may still use today. The caller stores them; several processes share a budget. */
export interface TokenBudget {
  /** Takes tokens before a call; false if fewer are left. */
  reserve(organizationId: string, tokens: number): Promise<boolean>
  /** Replaces a reservation by what the call used. */
  correct(organizationId: string, tokens: { reserved: number; used: number }): Promise<void>
}

/** A budget in the memory of this process: per organization and UTC day. */
export function memoryTokenBudget(tokensPerDay: number, now: () => Date = () => new Date()): TokenBudget {
  const used = new Map<string, number>()
  let today = ''
  const startDay = () => {
    const day = now().toISOString().slice(0, 10)
    if (day !== today) used.clear()
    today = day
  }
  return {
    async reserve(organizationId, tokens) {
      startDay()
      const total = (used.get(organizationId) ?? 0) + tokens
      if (total > tokensPerDay) return false
      used.set(organizationId, total)
      return true
    },
    async correct(organizationId, { reserved, used: actual }) {
      startDay()
      used.set(organizationId, Math.max(0, (used.get(organizationId) ?? 0) - reserved + actual))
    },
  }
}

/** Stops calls to a server that fails repeatedly, and lets a single one try it again after a pause. */
export class Breaker {
  readonly #maxFailures: number
  readonly #pause: number
  readonly #now: () => number
  #failures = 0
  #retryAt = 0

  constructor({ maxFailures = 5, pause = 60_000, now = Date.now } = {}) {
    this.#maxFailures = maxFailures
    this.#pause = pause
    this.#now = now
  }

  /** May a call be made? After the pause, each yes starts another pause, so that one call tries at a time. */
  allows(): boolean {
    if (this.#failures < this.#maxFailures) return true
    if (this.#now() < this.#retryAt) return false
    this.#retryAt = this.#now() + this.#pause
    return true
  }

  succeeded(): void {
    this.#failures = 0
  }

  failed(): void {
    this.#failures++
    this.#retryAt = this.#now() + this.#pause
  }
}
