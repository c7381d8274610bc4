import { expect, test } from 'vitest'
import { daysLike, repeatOf, ruleOf } from './repeat.ts'

test.each([
  ['FREQ=DAILY', 'day'],
  ['FREQ=DAILY;INTERVAL=3;COUNT=5', 'day'],
  ['FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR', 'weekdays'],
  ['FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH;UNTIL=20271231', 'week'],
  ['FREQ=MONTHLY;BYMONTHDAY=30', 'month'],
  ['FREQ=MONTHLY;BYMONTHDAY=15', 'month'],
  ['FREQ=MONTHLY;INTERVAL=3;BYDAY=-1MO', 'month'],
  ['FREQ=YEARLY;BYMONTH=11;BYMONTHDAY=30', 'year'],
  ['FREQ=MONTHLY', 'rule'],
  ['FREQ=WEEKLY;BYDAY=MO;WKST=SU', 'rule'],
  ['FREQ=DAILY;UNTIL=20271231T100000Z', 'rule'],
  ['FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=-1', 'rule'],
])('the form shows %s as %s, and writes the same', (rule, unit) => {
  const due = '2026-11-30'
  const repeat = repeatOf(rule, due)
  expect([repeat.unit, ruleOf(repeat, due)]).toEqual([unit, rule])
})

test('a rule like its due date follows another due date, and another one stays', () => {
  const moved = (rule: string, due: string) => ruleOf(repeatOf(rule, '2026-11-30'), due)
  expect(moved('FREQ=WEEKLY;BYDAY=MO', '2026-12-01')).toBe('FREQ=WEEKLY;BYDAY=TU')
  expect(moved('FREQ=WEEKLY;BYDAY=MO,TH', '2026-12-01')).toBe('FREQ=WEEKLY;BYDAY=MO,TH')
  expect(moved('FREQ=MONTHLY;BYMONTHDAY=30', '2026-12-01')).toBe('FREQ=MONTHLY;BYMONTHDAY=1')
  expect(moved('FREQ=MONTHLY;BYDAY=-1MO', '2026-12-01')).toBe('FREQ=MONTHLY;BYMONTHDAY=1')
  expect(moved('FREQ=MONTHLY;BYMONTHDAY=15', '2026-12-01')).toBe('FREQ=MONTHLY;BYMONTHDAY=15')
})

test('a due date suggests its day, its weekday in the month, and the last one', () => {
  expect(daysLike('2026-11-16', 'month')).toEqual({ date: 'BYMONTHDAY=16', nth: 'BYDAY=3MO' })
  expect(daysLike('2026-11-30', 'month')).toEqual({
    date: 'BYMONTHDAY=30',
    last: 'BYDAY=-1MO',
    lastDay: 'BYMONTHDAY=-1',
  })
  expect(daysLike('2026-02-22', 'month')).toMatchObject({ nth: 'BYDAY=4SU', last: 'BYDAY=-1SU' })
  expect(daysLike('2026-11-16', 'year')).toEqual({ date: 'BYMONTH=11;BYMONTHDAY=16' })
})
