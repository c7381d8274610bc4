import { instantOf, startOfDay, wallTimeOf } from '../../assistant/analysis/local-time.ts'
import { type WeekDay, weekDays } from '../kinds.ts'

/** When a person wants their digest, by their clock. */
export interface Schedule {
  /** `HH:MM` */
  digestAt: string
  digestDays: readonly WeekDay[]
  timeZone: string
}

/** A moment at which a digest is due. */
export interface Slot {
  /** The day by the person's clock, `YYYY-MM-DD`. */
  day: string
  at: Date
}

const minute = 60_000
const day = 24 * 60 * minute

/**
 * The last moment until now at which a digest was due; undefined without any in the last week. A time that is left out when
 * the clocks are set forward is moved on by it; of one that comes twice, the first counts.
 */
export function lastSlot({ digestAt, digestDays, timeZone }: Schedule, now: Date): Slot | undefined {
  const [hours = 0, minutes = 0] = digestAt.split(':').map(Number)
  const today = startOfDay(wallTimeOf(now, timeZone))
  for (let back = 0; back <= weekDays.length; back++) {
    const start = new Date(today - back * day)
    const at = instantOf(start.getTime() + (hours * 60 + minutes) * minute, timeZone)
    // `getUTCDay` starts the week with Sunday.
    const name = weekDays[(start.getUTCDay() + 6) % 7]
    if (at <= now && name !== undefined && digestDays.includes(name))
      return { day: start.toISOString().slice(0, 10), at }
  }
  return undefined
}
