import type { Logger } from 'pino'
import { errorForLog } from '../background/error-for-log.ts'
import { type Problem, problemOf } from './problems.ts'

/** Milliseconds after which a problem that has not occurred again is over. */
const quietTime = 60_000

/** Logs each problem that needs a person once, as an error, however often it occurs, and when it is over. */
export class ProblemLog {
  readonly #log: Logger
  readonly #active = new Map<string, number>()

  constructor(log: Logger) {
    this.#log = log
  }

  report({ kind, cause, remedy }: Problem, error?: unknown): void {
    const isNew = !this.#active.has(kind)
    this.#active.set(kind, performance.now())
    if (isNew) this.#log.error({ problem: kind, remedy, ...(error !== undefined && errorForLog(error)) }, cause)
  }

  /** Reports the problem that an error shows, except an unavailable database, which may only be restarting. */
  reportError(error: unknown): void {
    const problem = problemOf(error)
    if (problem && problem.kind !== 'unavailable') this.report(problem, error)
  }

  recovered(kinds: readonly string[]): void {
    for (const kind of kinds) if (this.#active.delete(kind)) this.#log.info({ problem: kind }, 'This problem is over.')
  }

  /** Ends the problems that have not occurred for a while. */
  expire(): void {
    const now = performance.now()
    this.recovered([...this.#active].filter(([, at]) => now - at > quietTime).map(([kind]) => kind))
  }
}
