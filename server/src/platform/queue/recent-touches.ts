import { coverageSeconds } from './wakeups-store.ts'

/** Shorter than what the workers observe, because two clocks do not run at exactly the same speed. */
const coverage = coverageSeconds * 1000 * 0.8

/** Remembers when wakeups were touched, because work that is committed shortly afterwards needs no touch. */
export class RecentTouches {
  readonly #clock: () => number
  /** When each touch was sent, oldest first. */
  readonly #sentAt = new Map<string, number>()

  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock
  }

  /** Those that need a touch, which the caller sends now. */
  takeUncovered(kind: string, organizationIds: Iterable<string>): string[] {
    const now = this.#clock()
    for (const [key, sentAt] of this.#sentAt) {
      if (now - sentAt < coverage) break
      this.#sentAt.delete(key)
    }
    const uncovered = [...organizationIds].filter((id) => !this.#sentAt.has(keyOf(kind, id)))
    for (const id of uncovered) this.#sentAt.set(keyOf(kind, id), now)
    return uncovered
  }

  forget(kind: string, organizationIds: readonly string[]): void {
    for (const id of organizationIds) this.#sentAt.delete(keyOf(kind, id))
  }
}

const keyOf = (kind: string, organizationId: string): string => `${kind} ${organizationId}`
