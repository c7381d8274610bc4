import { expect, test } from 'vitest'
import { instantOf, localTimeOf } from '../../platform/model/local-time.ts'
import { nextOccurrence, recurrenceRule } from './recurrence.ts'

const onDay = (dueDate: string) => ({ dueDate, dueAt: null, timeZone: 'Europe/Berlin', time: null })
const at = (dueAt: string) => ({ dueDate: null, dueAt, timeZone: 'Europe/Berlin', time: null })
const past = 0

test.each([
  ['FREQ=DAILY', '2026-12-31', '2027-01-01'],
  ['FREQ=DAILY;INTERVAL=10', '2026-02-25', '2026-03-07'],
  ['FREQ=WEEKLY', '2026-11-27', '2026-12-04'],
  ['FREQ=WEEKLY;BYDAY=MO,TH', '2026-11-26', '2026-11-30'],
  ['FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH', '2026-11-26', '2026-12-07'],
  // RFC 5545: the week begins on Sunday there.
  ['FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=MO', '1997-08-05', '1997-08-10'],
  ['FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=SU', '1997-08-05', '1997-08-17'],
  ['FREQ=MONTHLY', '2026-01-31', '2026-03-31'],
  ['FREQ=MONTHLY;BYMONTHDAY=-1', '2026-01-31', '2026-02-28'],
  ['FREQ=MONTHLY;BYDAY=-1FR', '2026-11-27', '2026-12-25'],
  ['FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1', '2026-11-30', '2026-12-31'],
  ['FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13', '1998-11-13', '1999-08-13'],
  ['FREQ=MONTHLY;INTERVAL=3;BYMONTHDAY=1', '2026-11-01', '2027-02-01'],
  ['FREQ=YEARLY', '2024-02-29', '2028-02-29'],
  ['FREQ=YEARLY;BYMONTH=3;BYDAY=TH', '1997-03-27', '1998-03-05'],
  ['FREQ=YEARLY;BYDAY=20MO', '1997-05-19', '1998-05-18'],
  ['FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8', '1996-11-05', '2000-11-07'],
])('%s after %s is %s', (rule, dueDate, next) => {
  expect(nextOccurrence(rule, onDay(dueDate), past)).toMatchObject({ dueDate: next, dueAt: null })
})

test('a time of the day stays the same across summer time, and returns after a day that skips it', () => {
  const winter = nextOccurrence('FREQ=DAILY', at('2026-03-28T08:00:00.000Z'), past)
  expect(winter?.dueAt).toBe('2026-03-29T07:00:00.000Z')
  const skipped = nextOccurrence('FREQ=DAILY', at('2026-03-28T01:30:00.000Z'), past)
  // 02:30 does not exist on that day.
  expect(skipped).toMatchObject({ dueAt: '2026-03-29T01:30:00.000Z', time: '02:30:00.000' })
  const back = nextOccurrence('FREQ=DAILY', { ...at(skipped?.dueAt ?? ''), time: skipped?.time ?? null }, past)
  expect(back?.dueAt).toBe('2026-03-30T00:30:00.000Z')
  // 02:30 is there twice.
  expect(instantOf({ day: '2026-10-25', time: '02:30:00.000' }, 'Europe/Berlin')).toBe(Date.parse('2026-10-25T00:30Z'))
  expect(localTimeOf(Date.parse('1890-01-01T00:00Z'), 'Europe/Berlin').time).toBe('00:53:28.000')
})

test('what was missed is not made up for', () => {
  const now = Date.parse('2026-11-27T10:00:00Z')
  expect(nextOccurrence('FREQ=DAILY', onDay('2026-11-01'), now)?.dueDate).toBe('2026-11-27')
  expect(nextOccurrence('FREQ=DAILY', onDay('2026-11-27'), now)?.dueDate).toBe('2026-11-28')
  expect(nextOccurrence('FREQ=DAILY', onDay('2027-11-27'), now)?.dueDate).toBe('2027-11-28')
  expect(nextOccurrence('FREQ=DAILY', at('2026-11-01T09:00:00.000Z'), now)?.dueAt).toBe('2026-11-28T09:00:00.000Z')
  expect(nextOccurrence('FREQ=DAILY', at('2026-11-01T11:00:00.000Z'), now)?.dueAt).toBe('2026-11-27T11:00:00.000Z')
  expect(nextOccurrence('FREQ=DAILY', onDay('0001-01-01'), now)?.dueDate).toBe('2026-11-27')
})

test('a series ends with COUNT, with UNTIL, or with the calendar', () => {
  expect(nextOccurrence('FREQ=DAILY;COUNT=2', onDay('2026-11-27'), past)?.recurrence).toBe('FREQ=DAILY;COUNT=1')
  expect(nextOccurrence('FREQ=DAILY;COUNT=1', onDay('2026-11-27'), past)).toBeUndefined()
  expect(nextOccurrence('FREQ=DAILY;UNTIL=20261128', onDay('2026-11-27'), past)?.dueDate).toBe('2026-11-28')
  expect(nextOccurrence('FREQ=DAILY;UNTIL=20261127', onDay('2026-11-27'), past)).toBeUndefined()
  const until = (text: string) =>
    nextOccurrence(`FREQ=DAILY;UNTIL=${text}`, at('2026-11-27T23:30:00.000Z'), past)?.dueAt
  // In Berlin, it is the 29th.
  expect([until('20261128'), until('20261129')]).toEqual([undefined, '2026-11-28T23:30:00.000Z'])
  expect([until('20261128T232959Z'), until('20261128T233000Z')]).toEqual([undefined, undefined])
  expect(until('20261129T000000Z')).toBe('2026-11-28T23:30:00.000Z')
  expect(nextOccurrence('FREQ=YEARLY', onDay('9999-06-01'), past)).toBeUndefined()
  expect(nextOccurrence('FREQ=YEARLY;INTERVAL=2;BYMONTH=2;BYMONTHDAY=29', onDay('2027-01-01'), past)).toBeUndefined()
})

test.each([
  ['rrule:freq=weekly;byday=th,mo,mo', 'FREQ=WEEKLY;BYDAY=MO,TH'],
  ['FREQ=MONTHLY;INTERVAL=01;BYMONTHDAY=15,1;WKST=MO;', 'FREQ=MONTHLY;BYMONTHDAY=1,15'],
  ['COUNT=5;FREQ=YEARLY;BYDAY=+1MO;BYMONTH=3', 'FREQ=YEARLY;BYMONTH=3;BYDAY=1MO;COUNT=5'],
])('%s is stored as %s', (text, stored) => {
  expect(recurrenceRule(text)).toEqual({ value: stored })
})

test.each([
  ['every monday', 'expected an RRULE of RFC 5545, such as "FREQ=WEEKLY;BYDAY=MO"'],
  ['BYDAY=MO', 'FREQ: expected DAILY, WEEKLY, MONTHLY or YEARLY'],
  ['FREQ=SECONDLY', 'FREQ: expected DAILY, WEEKLY, MONTHLY or YEARLY'],
  [
    'FREQ=DAILY;BYHOUR=9',
    'BYHOUR is not supported; expected FREQ, INTERVAL, BYMONTH, BYMONTHDAY, BYDAY, BYSETPOS, COUNT, UNTIL, WKST',
  ],
  ['FREQ=DAILY;FREQ=WEEKLY', 'FREQ: expected only once'],
  ['FREQ=DAILY;INTERVAL=0', 'INTERVAL: expected a number from 1 to 999'],
  ['FREQ=DAILY;COUNT=1000', 'COUNT: expected a number from 1 to 999'],
  ['FREQ=DAILY;COUNT=2;UNTIL=20261231', 'COUNT cannot be combined with UNTIL'],
  ['FREQ=DAILY;UNTIL=20260230', 'UNTIL: expected a day or an instant in UTC, such as 20261231 or 20261231T160000Z'],
  ['FREQ=WEEKLY;BYMONTHDAY=1', 'BYMONTHDAY cannot be combined with FREQ=WEEKLY'],
  ['FREQ=WEEKLY;BYDAY=1MO', 'BYDAY: only months and years have a first or last weekday'],
  ['FREQ=MONTHLY;BYDAY=6MO', 'BYDAY: a month has at most five of each weekday'],
  ['FREQ=MONTHLY;BYDAY=XX', 'BYDAY: expected MO, TU, WE, TH, FR, SA, SU'],
  ['FREQ=MONTHLY;BYMONTHDAY=32', 'BYMONTHDAY: expected numbers from 1 to 31, or negative ones'],
  ['FREQ=MONTHLY;BYMONTH=-1', 'BYMONTH: expected numbers from 1 to 12'],
  ['FREQ=MONTHLY;BYSETPOS=1', 'BYSETPOS: expected BYDAY, BYMONTHDAY or BYMONTH, too'],
  ['FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30', 'has no day: the calendar has none'],
])('%s is refused: %s', (text, error) => {
  expect(recurrenceRule(text)).toEqual({ error })
})
