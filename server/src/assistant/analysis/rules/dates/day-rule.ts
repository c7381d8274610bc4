import type { WallTime } from '../../local-time.ts'
import type { DateContext } from './words.ts'

/** The day that words of a sentence name. */
export interface DayReading {
  day: WallTime
  /** The last one, of several days. */
  last?: WallTime | undefined
  /** A weekday says which day of an adjacent week it is, and a date overrules it. */
  kind?: 'weekday' | 'week' | 'date'
  /** The time of "in two hours". */
  exact?: WallTime
  /** "This week" is a date only together with a weekday. */
  isPartial?: boolean
}

export interface DayRule {
  pattern: RegExp
  /** Undefined if the words turn out not to be a date. */
  read(match: readonly [string, ...(string | undefined)[]], context: DateContext): DayReading | undefined
}
