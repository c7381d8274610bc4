import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lawTimes, runsOf, seed } from '../../../test/seed.ts'
import { instantOf, localTimeOf } from '../../platform/model/local-time.ts'
import { nextDay, nextOccurrence, recurrenceRule } from './recurrence.ts'
import { formatRule, parseRule } from './recurrence-rule.ts'

const weekday = fc.constantFrom('MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU')
const list = (item: fc.Arbitrary<string | number>) =>
  fc.array(item, { minLength: 1, maxLength: 3 }).map((items) => items.join(','))
const part = (name: string, value: fc.Arbitrary<string | number>) =>
  fc.option(value, { nil: undefined }).map((one) => (one === undefined ? '' : `;${name}=${one}`))
const interval = part('INTERVAL', fc.integer({ min: 1, max: 12 }))
const ordinal = fc.constantFrom('', '1', '2', '5', '-1')

/** Rules that people make, and odd ones that are valid. */
const rule = fc
  .oneof(
    fc.tuple(fc.constant('FREQ=DAILY'), interval, part('BYDAY', list(weekday))),
    fc.tuple(fc.constant('FREQ=WEEKLY'), interval, part('BYDAY', list(weekday)), part('WKST', weekday)),
    fc.tuple(
      fc.constant('FREQ=MONTHLY'),
      interval,
      fc.oneof(
        part('BYMONTHDAY', list(fc.constantFrom(1, 15, 28, 30, 31, -1))),
        part('BYDAY', list(fc.tuple(ordinal, weekday).map((both) => both.join('')))),
      ),
    ),
    fc.tuple(
      fc.constant('FREQ=YEARLY'),
      interval,
      part('BYMONTH', list(fc.integer({ min: 1, max: 12 }))),
      part('BYDAY', list(weekday)),
    ),
  )
  .map((parts) => parts.join(''))

const day = fc
  .date({ min: new Date('2020-01-01'), max: new Date('2060-12-31'), noInvalidDate: true })
  .map((date) => date.toISOString().slice(0, 10))
const zone = fc.constantFrom('Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'America/Santiago', 'UTC')
const time = fc
  .tuple(fc.integer({ min: 0, max: 23 }), fc.constantFrom('00', '15', '30'))
  .map(([hour, minute]) => `${String(hour).padStart(2, '0')}:${minute}:00.000`)

const options = { seed, numRuns: runsOf(400), endOnFailure: true }
const milliseconds = 60_000 * lawTimes

test(
  'the next day is after the last one, not before the earliest, and the first such day of the series',
  () => {
    fc.assert(
      fc.property(rule, day, fc.integer({ min: 0, max: 2000 }), (text, last, days) => {
        const from = new Date(Date.parse(last) + days * 86_400_000).toISOString().slice(0, 10)
        const found = nextDay(parseRule(text), { last, from })
        if (found === undefined) return
        expect(found > last && found >= from).toBe(true)
        // The same by steps of one: nothing is skipped.
        let step: string | undefined = last
        for (let count = 0; step !== undefined && (count === 0 || step < from) && count < 3000; count++)
          step = nextDay(parseRule(text), { last, from: count === 0 ? last : after(step) })
        expect(step).toBe(found)
      }),
      options,
    )
  },
  milliseconds,
)

const after = (one: string): string => new Date(Date.parse(one) + 86_400_000).toISOString().slice(0, 10)

test(
  'each task of a series is after the last one, and at the same time of the day',
  () => {
    fc.assert(
      fc.property(rule, day, time, zone, (text, first, clock, timeZone) => {
        let due = { dueDate: null, dueAt: isoOf(first, clock, timeZone), timeZone, time: null as string | null }
        for (let count = 0; count < 20; count++) {
          const next = nextOccurrence(text, due, Date.parse(due.dueAt) - 1)
          if (next?.dueAt === null || next === undefined) return
          expect(next.dueAt > due.dueAt).toBe(true)
          const shown = localTimeOf(Date.parse(next.dueAt), timeZone)
          const wanted = localTimeOf(Date.parse(isoOf(first, clock, timeZone)), timeZone).time
          // Only on a day whose clocks skip the time, it is later.
          if (shown.time !== wanted)
            expect(instantOf({ day: shown.day, time: wanted }, timeZone)).toBe(Date.parse(next.dueAt))
          due = { ...due, dueAt: next.dueAt, time: next.time }
        }
      }),
      options,
    )
  },
  milliseconds,
)

const isoOf = (one: string, clock: string, timeZone: string): string =>
  new Date(instantOf({ day: one, time: clock }, timeZone)).toISOString()

test(
  'a rule that is stored reads as the same rule',
  () => {
    fc.assert(
      fc.property(rule, (text) => {
        const stored = formatRule(parseRule(text))
        expect(formatRule(parseRule(stored))).toBe(stored)
        expect(recurrenceRule(stored)).toEqual({ value: stored })
      }),
      options,
    )
  },
  milliseconds,
)

test(
  'any text is a rule or has a problem, at once',
  () => {
    const piece = fc.constantFrom(
      'FREQ=',
      'DAILY',
      'YEARLY',
      ';',
      'BYDAY=',
      'MO',
      '-1',
      '999999',
      'COUNT=',
      '=',
      ',',
      'BYMONTH=2',
    )
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(piece, { maxLength: 12 }).map((all) => all.join('')),
        ),
        (text) => {
          const result = recurrenceRule(text)
          expect('value' in result || result.error.length > 0).toBe(true)
        },
      ),
      options,
    )
  },
  milliseconds,
)
