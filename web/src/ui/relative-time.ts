export interface RelativeTime {
  /** Negative in the past. */
  value: number
  unit: 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year'
}

const second = 1000
const minute = 60 * second
const hour = 60 * minute

/**
 * How far a time is from now, in the largest unit of which at least one has passed. Nothing is rounded up, as people
 * count. A day, month or year has passed at the same time of day, even if the clocks have changed.
 */
export function relativeTime(time: Date, now: Date): RelativeTime {
  const sign = time > now ? 1 : -1
  const [earlier, later] = time > now ? [now, time] : [time, now]
  const months = monthsBetween(earlier, later)
  const days = daysBetween(earlier, later)
  const elapsed = later.getTime() - earlier.getTime()
  const sizes: readonly (readonly [RelativeTime['unit'], number])[] = [
    ['year', months / 12],
    ['month', months],
    ['week', days / 7],
    ['day', days],
    ['hour', elapsed / hour],
    ['minute', elapsed / minute],
  ]
  const [unit, size] = sizes.find(([, found]) => found >= 1) ?? (['second', elapsed / second] as const)
  return { value: sign * Math.floor(size), unit }
}

/** Whole days by the calendar. */
function daysBetween(earlier: Date, later: Date): number {
  const days = Math.round((startOfDay(later) - startOfDay(earlier)) / (24 * hour))
  return timeOfDay(later) < timeOfDay(earlier) ? days - 1 : days
}

/** Whole months by the calendar. From the last day of a long month, one has passed at the end of a shorter one. */
function monthsBetween(earlier: Date, later: Date): number {
  const months = (later.getFullYear() - earlier.getFullYear()) * 12 + later.getMonth() - earlier.getMonth()
  const lastDay = new Date(later.getFullYear(), later.getMonth() + 1, 0).getDate()
  const days = later.getDate() - Math.min(earlier.getDate(), lastDay)
  return days < 0 || (days === 0 && timeOfDay(later) < timeOfDay(earlier)) ? months - 1 : months
}

const startOfDay = (date: Date): number => Date.UTC(date.getFullYear(), date.getMonth(), date.getDate())

const timeOfDay = (date: Date): number =>
  date.getHours() * hour + date.getMinutes() * minute + date.getSeconds() * second + date.getMilliseconds()

/** `2 days ago`; less than a second is `now`. */
export const showRelativeTime = ({ value, unit }: RelativeTime, locale: string): string =>
  new Intl.RelativeTimeFormat(locale, { numeric: unit === 'second' && value === 0 ? 'auto' : 'always' }).format(
    value,
    unit,
  )
