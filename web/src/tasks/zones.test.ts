import { expect, test } from 'vitest'
import { dayAfter, dayIn, momentOf, timeIn } from './zones.ts'

test('a day and a time in a zone are one instant, even around a change of summer time', () => {
  for (const [day, time, zone, moment] of [
    ['2026-11-24', '17:30', 'Europe/Berlin', '2026-11-24T16:30:00.000Z'],
    ['2026-03-29', '01:30', 'Europe/Berlin', '2026-03-29T00:30:00.000Z'],
    ['2026-03-29', '03:30', 'Europe/Berlin', '2026-03-29T01:30:00.000Z'],
    ['2026-01-01', '00:00', 'Pacific/Auckland', '2025-12-31T11:00:00.000Z'],
    ['2026-06-30', '23:45', 'Asia/Kathmandu', '2026-06-30T18:00:00.000Z'],
  ] as const) {
    expect(momentOf(day, time, zone).toISOString()).toBe(moment)
    expect([dayIn(zone, new Date(moment)), timeIn(zone, new Date(moment))]).toEqual([day, time])
  }
})

test('a number of days later is a day of the calendar', () => {
  expect([dayAfter('2026-12-31', 1), dayAfter('2026-03-28', 2), dayAfter('2028-03-01', -1)]).toEqual([
    '2027-01-01',
    '2026-03-30',
    '2028-02-29',
  ])
})
