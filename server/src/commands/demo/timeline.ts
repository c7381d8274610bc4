import { newIdAt } from '../../platform/model/ids.ts'

const day = 24 * 60 * 60 * 1000
/** The two years before the reference day that a demo tells of. */
const period = 730 * day

/** When things happened. */
export class Timeline {
  /** Milliseconds; nothing happens at it or after. */
  readonly end: number

  constructor(end: number) {
    this.end = end
  }

  /** The moment by which this share of all was there: few at first, more and more later. */
  timeAtShare(share: number): number {
    return Math.floor(this.end - period + (period - 1) * share ** 0.6)
  }

  /** The share of all that was there by this moment. */
  shareAt(time: number): number {
    return Math.max(0, (time - this.end + period) / period) ** (1 / 0.6)
  }

  /** A moment between two, nearer to the second one for a greater share. */
  between(first: number, last: number, share: number): number {
    return Math.floor(first + (last - first) * share)
  }

  /** The month of a moment, counted from the year 0. */
  static monthOf(time: number): number {
    const date = new Date(time)
    return date.getUTCFullYear() * 12 + date.getUTCMonth()
  }
}

/** An id of something that was made at this time, as 32 hex digits. */
export const idAt = (time: number): string => newIdAt(time).replaceAll('-', '')

/** The days that were written before: a thousandth of what is written is new. */
const dateCache = new Map<number, string>()
const twoDigits = Array.from({ length: 60 }, (_, value) => String(value).padStart(2, '0'))
const threeDigits = Array.from({ length: 1000 }, (_, value) => String(value).padStart(3, '0'))

/** As the API writes an instant. Put together, because `toISOString` takes five times as long. */
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

/** As the API writes a month. */
export const formatMonth = (count: number): string =>
  `${Math.floor(count / 12)}-${String((count % 12) + 1).padStart(2, '0')}`
