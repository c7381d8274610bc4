import type { DayReading, DayRule } from './day-rule.ts'
import { calendarDay, type DateContext, day, monthIndex, months, ordinalOf, weekdays, words } from './words.ts'

const digits = String.raw`(\d{1,2})`
const suffix = String.raw`(?:st|nd|rd|th|\.)?`
const year = String.raw`(?:,? ((?:20)\d\d|'\d\d)(?![\d:.]| ?(?:uhr|am|pm|h)(?!\p{L})))?`
const noDigit = String.raw`(?<![\d.,:/-])`
const to = String.raw` ?(?:-|to|until|till|through|bis|und|and) ?`

/** Not the verb: "5 may be enough". */
const notVerb = String.raw`(?! (?:i|we|you|be|not|have|also|he|she|they|need|want)(?!\p{L}))`

export const inMonth = (
  context: DateContext,
  given: { dayOfMonth: string | undefined; month: number; year?: string | undefined; lastDay?: string | undefined },
): DayReading | undefined => {
  const { month, year: ofYear, lastDay } = given
  const last = lastDay && calendarDay(context, { dayOfMonth: Number(lastDay), month, year: ofYear })
  const first = calendarDay(last ? { today: last - 31 * day } : context, {
    dayOfMonth: Number(given.dayOfMonth),
    month,
    year: ofYear,
  })
  if (first === undefined) return undefined
  return last ? { day: first, last, kind: 'date' } : { day: first, kind: 'date' }
}

const numericDate = (one: string | undefined, two: string | undefined, context: DateContext, ofYear?: string) => {
  const [left, right] = [Number(one), Number(two)]
  const isMonthFirst = right > 12 || (context.isMonthFirst && left <= 12)
  const [dayOfMonth, month] = isMonthFirst ? [two, left] : [one, right]
  return inMonth(context, { dayOfMonth, month: month - 1, year: ofYear })
}

/** Numbers with a slash are often fractions. */
const beforeSlash = String.raw`(?<=^|[(,;:-] ?|(?<!\p{L})(?:on|by|until|till|from|to|before|after|for|about|around|of|since|back|and|or|through|starting|begins?|due|is|am|bis|ab|vom|zum|dem|den|der|vor|nach|und|oder|${weekdays}|mon|wed|sat|sun|mo|di|mi|do|fr|sa|so),? )`

const numericRules: readonly DayRule[] = [
  {
    pattern: new RegExp(String.raw`${noDigit}(20\d\d)[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)`, 'gu'),
    read: ([, ofYear, month, dayOfMonth], context) =>
      inMonth(context, { dayOfMonth, month: Number(month) - 1, year: ofYear }),
  },
  {
    pattern: new RegExp(
      String.raw`${noDigit}${digits}\.?(?: ?- ?| bis )${digits}\. ?${digits}\.(?: ?(20\d\d|\d\d)(?![\d:]| ?uhr))?`,
      'gu',
    ),
    read: ([, dayOfMonth, lastDay, month, ofYear], context) =>
      inMonth(context, { dayOfMonth, lastDay, month: Number(month) - 1, year: ofYear }),
  },
  {
    pattern: new RegExp(
      String.raw`${noDigit}${digits}\. ?${digits}\.(?: ?(20\d\d|\d\d)(?![\d:]|\.\d| ?(?:uhr|h(?!\p{L}))))?(?!\d)`,
      'gu',
    ),
    read: ([, dayOfMonth, month, ofYear], context) =>
      inMonth(context, { dayOfMonth, month: Number(month) - 1, year: ofYear }),
  },
  {
    pattern: new RegExp(
      String.raw`(?<=(?<!\p{L})(?:am|bis|ab|vom|zum|dem|den) )${digits}\.${digits}(?![\d.,]*\d| ?(?:uhr|h|€|eur|%|prozent|m|kg|gb)(?!\p{L}))`,
      'gu',
    ),
    read: ([, dayOfMonth, month], context) => inMonth(context, { dayOfMonth, month: Number(month) - 1 }),
  },
  {
    pattern: new RegExp(String.raw`${noDigit}(\d{1,2})([/-])(\d{1,2})\2(20\d\d|\d\d)(?![\d/-])`, 'gu'),
    read: ([, one, , two, ofYear], context) => numericDate(one, two, context, ofYear),
  },
  {
    pattern: new RegExp(
      String.raw`${beforeSlash}(\d{1,2})/(\d{1,2})(?![\d/%]|[.,]\d| ?(?:of|hours?|inch|"|prices?|cups?|days?|stars?|stunden?|tage?|seats?|pages?|points?|people|customers?|would|uhr|mm|cm)(?!\p{L}))`,
      'gu',
    ),
    read: ([, one, two], context) => numericDate(one, two, context),
  },
]

const rulesWithMonth: readonly DayRule[] = [
  {
    pattern: words(`${digits}${suffix}${to}${digits}${suffix} (?:of )?(${months})\\.?${notVerb}${year}`),
    read: ([, dayOfMonth, lastDay, name = '', ofYear], context) =>
      inMonth(context, { dayOfMonth, lastDay, month: monthIndex(name), year: ofYear }),
  },
  {
    pattern: words(
      `(${months})\\.? (?:the )?${digits}${suffix}${to}${digits}(?:st|nd|rd|th)?(?!:|\\.\\d| ?(?:am|pm))${year}`,
    ),
    read: ([, name = '', dayOfMonth, lastDay, ofYear], context) =>
      inMonth(context, { dayOfMonth, lastDay, month: monthIndex(name), year: ofYear }),
  },
  {
    pattern: words(`(?<![\\d.,:/-])${digits}${suffix}[ -]?(?:of )?(?:the )?(${months})\\.?${notVerb}${year}`),
    read: ([, dayOfMonth, name = '', ofYear], context) =>
      inMonth(context, { dayOfMonth, month: monthIndex(name), year: ofYear }),
  },
  {
    pattern: words(
      `(${months})\\.? (?:the )?${digits}(?:st|nd|rd|th|\\.)?(?![:.]\\d| ?(?:am|pm|uhr|o'?clock|%|people|seats|users|€|eur))${year}`,
    ),
    read: ([, name = '', dayOfMonth, ofYear], context) =>
      inMonth(context, { dayOfMonth, month: monthIndex(name), year: ofYear }),
  },
  {
    pattern: words(`(first|second|third|fourth|fifth|ersten|zweiten|dritten|vierten|fünften) (?:of )?(${months})`),
    read: ([, ordinal = '', name = ''], context) => {
      const isFifth = /^f(?:if|ünf)/.test(ordinal)
      const dayOfMonth = isFifth ? '5' : String(ordinalOf(ordinal))
      return inMonth(context, { dayOfMonth, month: monthIndex(name) })
    },
  },
]

export const calendarRules: readonly DayRule[] = [...numericRules, ...rulesWithMonth]
