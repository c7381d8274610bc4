import fc from 'fast-check'
import { expect, test } from 'vitest'
import { wallTimeOf } from '../../assistant/analysis/local-time.ts'
import { weekDays } from '../kinds.ts'
import { lastSlot, type Schedule } from './slot.ts'

const hour = 3_600_000
const daily = { digestDays: weekDays }
const slotAt = (schedule: Schedule, now: string) => {
  const slot = lastSlot(schedule, new Date(now))
  return slot && `${slot.day} ${slot.at.toISOString()}`
}

test.each([
  // Berlin sets its clocks forward at 2 on 29 March 2026, and back at 3 on 25 October.
  ['08:00', 'Europe/Berlin', '2026-03-28T07:00:00Z', '2026-03-28 2026-03-28T07:00:00.000Z'],
  ['08:00', 'Europe/Berlin', '2026-03-29T05:59:59Z', '2026-03-28 2026-03-28T07:00:00.000Z'],
  ['08:00', 'Europe/Berlin', '2026-03-29T06:00:00Z', '2026-03-29 2026-03-29T06:00:00.000Z'],
  ['02:30', 'Europe/Berlin', '2026-03-29T01:29:59Z', '2026-03-28 2026-03-28T01:30:00.000Z'],
  ['02:30', 'Europe/Berlin', '2026-03-29T01:30:00Z', '2026-03-29 2026-03-29T01:30:00.000Z'],
  ['02:30', 'Europe/Berlin', '2026-10-25T00:29:59Z', '2026-10-24 2026-10-24T00:30:00.000Z'],
  ['02:30', 'Europe/Berlin', '2026-10-25T00:30:00Z', '2026-10-25 2026-10-25T00:30:00.000Z'],
  ['02:30', 'Europe/Berlin', '2026-10-25T01:30:00Z', '2026-10-25 2026-10-25T00:30:00.000Z'],
  ['00:00', 'America/New_York', '2026-07-01T03:59:59Z', '2026-06-30 2026-06-30T04:00:00.000Z'],
  ['00:00', 'Pacific/Auckland', '2026-06-30T12:00:00Z', '2026-07-01 2026-06-30T12:00:00.000Z'],
  // Apia had no 30 December 2011.
  ['08:00', 'Pacific/Apia', '2011-12-30T18:00:00Z', '2011-12-31 2011-12-30T18:00:00.000Z'],
])('the last digest at %s in %s before %s was due at %s', (digestAt, timeZone, now, expected) => {
  expect(slotAt({ ...daily, digestAt, timeZone }, now)).toBe(expected)
})

test('a digest is due on the chosen days only, and never without any', () => {
  const schedule = { digestAt: '08:00', timeZone: 'UTC' }
  const monday = { ...schedule, digestDays: ['monday'] as const }
  expect(slotAt(monday, '2026-11-29T23:00:00Z')).toBe('2026-11-23 2026-11-23T08:00:00.000Z')
  expect(slotAt(monday, '2026-11-30T07:59:59Z')).toBe('2026-11-23 2026-11-23T08:00:00.000Z')
  expect(slotAt(monday, '2026-11-30T08:00:00Z')).toBe('2026-11-30 2026-11-30T08:00:00.000Z')
  expect(slotAt({ ...schedule, digestDays: [] }, '2026-11-30T08:00:00Z')).toBeUndefined()
})

test('as time passes, each chosen day has one slot, at its time, and slots never go back', () => {
  const zones = ['Europe/Berlin', 'America/New_York', 'Pacific/Auckland', 'Asia/Kathmandu', 'America/Sao_Paulo', 'UTC']
  const time = fc
    .tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }))
    .map((parts) => parts.map((part) => String(part).padStart(2, '0')).join(':'))
  const schedule = fc.record({
    digestAt: time,
    timeZone: fc.constantFrom(...zones),
    digestDays: fc.subarray([...weekDays], { minLength: 1 }),
  })
  const start = fc.date({ min: new Date('2024-01-01'), max: new Date('2027-01-01'), noInvalidDate: true })
  fc.assert(
    fc.property(schedule, start, (given, from) => {
      const slots = new Map<string, number>()
      let last = -Infinity
      // Ten days in steps that meet each hour, also around changes of the clocks.
      for (let step = 0; step < 10 * 24; step++) {
        const now = new Date(from.getTime() + step * hour)
        const slot = lastSlot(given, now)
        if (!slot) throw new Error('a chosen day is in each week')
        const at = slot.at.getTime()
        expect(at).toBeLessThanOrEqual(now.getTime())
        expect(at).toBeGreaterThanOrEqual(last)
        expect(slots.get(slot.day) ?? at).toBe(at)
        slots.set(slot.day, at)
        last = at
        const wall = new Date(wallTimeOf(slot.at, given.timeZone)).toISOString()
        expect(wall.slice(0, 10)).toBe(slot.day)
        // Later by an hour if the clocks are set forward then.
        expect([given.digestAt, later(given.digestAt)]).toContain(wall.slice(11, 16))
      }
      expect(slots.size).toBeGreaterThan(given.digestDays.length)
    }),
    { numRuns: 40 },
  )
})

const later = (time: string): string =>
  new Date(Date.parse(`2026-01-01T${time}:00Z`) + hour).toISOString().slice(11, 16)
