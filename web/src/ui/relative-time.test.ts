import { afterAll, expect, test } from 'vitest'
import { relativeTime, showRelativeTime } from './relative-time.ts'

const { TZ } = process.env
process.env.TZ = 'Europe/Berlin'
afterAll(() => {
  if (TZ === undefined) delete process.env.TZ
  else process.env.TZ = TZ
})

/** The displayed time, the current time, and the text. */
const table: readonly (readonly [string, string, string, string])[] = [
  ['2026-11-26T14:00:00', '2026-11-26T14:00:00', 'now', 'jetzt'],
  ['2026-11-26T13:59:48', '2026-11-26T14:00:00', '12 seconds ago', 'vor 12 Sekunden'],
  ['2026-11-26T13:58:01', '2026-11-26T14:00:00', '1 minute ago', 'vor 1 Minute'],
  ['2026-11-26T13:00:01', '2026-11-26T14:00:00', '59 minutes ago', 'vor 59 Minuten'],
  ['2026-11-26T12:01:00', '2026-11-26T14:00:00', '1 hour ago', 'vor 1 Stunde'],
  ['2026-11-25T14:00:01', '2026-11-26T14:00:00', '23 hours ago', 'vor 23 Stunden'],
  ['2026-11-25T14:00:00', '2026-11-26T14:00:00', '1 day ago', 'vor 1 Tag'],
  // 2.6 days are not rounded to 3.
  ['2026-11-23T23:36:00', '2026-11-26T14:00:00', '2 days ago', 'vor 2 Tagen'],
  ['2026-11-19T14:01:00', '2026-11-26T14:00:00', '6 days ago', 'vor 6 Tagen'],
  ['2026-11-19T14:00:00', '2026-11-26T14:00:00', '1 week ago', 'vor 1 Woche'],
  ['2026-11-06T14:00:00', '2026-11-26T14:00:00', '2 weeks ago', 'vor 2 Wochen'],
  ['2026-10-27T14:00:00', '2026-11-26T14:00:00', '4 weeks ago', 'vor 4 Wochen'],
  ['2026-10-26T14:00:00', '2026-11-26T14:00:00', '1 month ago', 'vor 1 Monat'],
  ['2026-01-31T09:00:00', '2026-02-28T09:00:00', '1 month ago', 'vor 1 Monat'],
  ['2025-11-27T14:00:00', '2026-11-26T14:00:00', '11 months ago', 'vor 11 Monaten'],
  ['2025-11-26T14:00:00', '2026-11-26T14:00:00', '1 year ago', 'vor 1 Jahr'],
  ['2024-02-29T10:00:00', '2026-11-26T14:00:00', '2 years ago', 'vor 2 Jahren'],
  ['2026-11-29T04:24:00', '2026-11-26T14:00:00', 'in 2 days', 'in 2 Tagen'],
  ['2026-11-26T14:59:00', '2026-11-26T14:00:00', 'in 59 minutes', 'in 59 Minuten'],
  // The clocks changed in between: these days have 25 and 23 hours.
  ['2026-10-24T12:00:00', '2026-10-25T12:00:00', '1 day ago', 'vor 1 Tag'],
  ['2026-10-24T12:00:00', '2026-10-25T11:30:00', '24 hours ago', 'vor 24 Stunden'],
  ['2026-03-28T12:00:00', '2026-03-29T12:00:00', '1 day ago', 'vor 1 Tag'],
]

test.each(table)('%s at %s: “%s”, “%s”', (time, now, english, german) => {
  const found = relativeTime(new Date(time), new Date(now))
  expect([showRelativeTime(found, 'en'), showRelativeTime(found, 'de')]).toEqual([english, german])
})
