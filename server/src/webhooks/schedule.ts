const minute = 60
const hour = 60 * minute

/** Seconds before each attempt, from the end of the one before: ten attempts over about 76 hours (Standard Webhooks). */
const delays = [0, 5, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour]

export const maxAttempts = delays.length

/** The longest time for which a receiver can put an event off with `Retry-After`. */
const maxRetryAfter = 24 * hour

/**
 * Seconds until the next attempt after this one, counted from 1, up to 20 % earlier or later; undefined if it was the last.
 * `retryAfter`: what the receiver asked for. `random`: from 0 to 1.
 */
export function nextDelay(attempt: number, retryAfter = 0, random = Math.random()): number | undefined {
  const delay = delays[attempt]
  return delay === undefined ? undefined : Math.max(delay * (0.8 + 0.4 * random), Math.min(retryAfter, maxRetryAfter))
}

/** Seconds in a `Retry-After` header: a number, or a date (RFC 9110); undefined if it is neither. */
export function parseRetryAfter(value: string | undefined, now: number): number | undefined {
  const text = value?.trim()
  if (text === undefined || text === '') return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text)
  const time = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(time) ? undefined : Math.max(0, (time - now) / 1000)
}
