import { newIdAt } from '../../platform/model/ids.ts'

const day = 24 * 60 * 60 * 1000
/** Length of the two years before the reference day. */
const period = 730 * day

/** Distributes events over the period. */
export class Timeline {
  /** Milliseconds. All events are before it. */
  readonly end: number

  constructor(end: number) {
    this.end = end
  }

  /** The time by which this share of all records existed: growth accelerates. */
  timeAtShare(share: number): number {
    return Math.floor(this.end - period + (period - 1) * share ** 0.6)
  }

  /** The share of all records that existed at this time. */
  shareAt(time: number): number {
    return Math.max(0, (time - this.end + period) / period) ** (1 / 0.6)
  }

  /** A time between two, linear in `share`. */
  between(first: number, last: number, share: number): number {
    return Math.floor(first + (last - first) * share)
  }

  /** The month of a time, counted from year 0. */
  static monthOf(time: number): number {
    const date = new Date(time)
    return date.getUTCFullYear() * 12 + date.getUTCMonth()
  }
}

/** An id with this creation time, as 32 hex digits. */
export const idAt = (time: number): string => newIdAt(time).replaceAll('-', '')

/** Cache: only one in a thousand instants is on a new day. */
const dateCache = new Map<number, string>()
const twoDigits = Array.from({ length: 60 }, (_, value) => String(value).padStart(2, '0'))
const threeDigits = Array.from({ length: 1000 }, (_, value) => String(value).padStart(3, '0'))

/** Formats an instant like the API. Assembled from parts, because `toISOString` takes five times as long. */
export function formatInstant(time: number): string {
  const number = Math.floor(time / day)
  let date = dateCache.get(number)
  if (date === undefined) {
    date = new Date(number * day).toISOString().slice(0, 11)
    dateCache.set(number, date)
  }
  const rest = time - number * day
  const seconds = Math.floor(rest / 1000)
  const minutes = Math.floor(seconds / 60)
  return `${date}${twoDigits[Math.floor(minutes / 60)]}:${twoDigits[minutes % 60]}:${twoDigits[seconds % 60]}.${threeDigits[rest % 1000]}Z`
}

/** Formats a month like the API. */
export const formatMonth = (count: number): string =>
  `${Math.floor(count / 12)}-${String((count % 12) + 1).padStart(2, '0')}`
