import type { WallTime } from '../../local-time.ts'
import { inMonth } from './calendar.ts'
import type { DayReading, DayRule } from './day-rule.ts'
import {
  type DateContext,
  monthIndex,
  months,
  nthWeekday,
  ordinalOf,
  ordinals,
  weekdayIndex,
  weekdays,
  words,
} from './words.ts'

const thisMonth =
  '(?:(?:the|this|current) month|des monats|im monat|dieses monats|diesem monat|im laufenden monat|month|monats)'
const nextMonth =
  '(?:next month|the next month|the coming month|(?:des |im )?nächsten monats?|(?:des |im )?kommenden monats?)'
const ofMonth = `(?:,? (?:of|in|im|des|for)(?: the)?)? (?:(${months})(?: (20\\d\\d))?|(${thisMonth})|(${nextMonth}))`

interface Nth {
  weekday: number
  nth: number
  name?: string | undefined
  ofYear?: string | undefined
  isThis: boolean
}

/** The weekday or the week with a number in a month that is named. */
function nthOf({ today }: DateContext, { weekday, nth, name, ofYear, isThis }: Nth): WallTime | undefined {
  const now = new Date(today)
  const [currentYear, currentMonth] = [now.getUTCFullYear(), now.getUTCMonth()]
  if (name !== undefined) {
    const years = ofYear === undefined ? [currentYear, currentYear + 1] : [Number(ofYear)]
    const found = years.map((one) => nthWeekday(one, monthIndex(name), weekday, nth))
    return found.find((one) => one >= today) ?? found.at(-1)
  }
  if (!isThis) return nthWeekday(currentYear, currentMonth + 1, weekday, nth)
  const inThis = nthWeekday(currentYear, currentMonth, weekday, nth)
  return inThis >= today ? inThis : nthWeekday(currentYear, currentMonth + 1, weekday, nth)
}

function readNth(context: DateContext, nth: Nth, kind: 'week' | 'date' = 'date'): DayReading | undefined {
  const found = nthOf(context, nth)
  return found === undefined ? undefined : { day: found, kind }
}

/** "The first Monday of January". */
export const nthRules: readonly DayRule[] = [
  {
    pattern: words(`(${ordinals}) (${weekdays})${ofMonth}`),
    read: ([, ordinal = '', weekday = '', name, ofYear, isThis], context) =>
      readNth(context, {
        weekday: weekdayIndex(weekday),
        nth: ordinalOf(ordinal),
        name,
        ofYear,
        isThis: isThis !== undefined,
      }),
  },
  {
    pattern: words(`(${ordinals}) (?:full |volle[rn]? )?(?:week|woche)${ofMonth}`),
    read: ([, ordinal = '', name, ofYear, isThis], context) =>
      readNth(context, { weekday: 1, nth: ordinalOf(ordinal), name, ofYear, isThis: isThis !== undefined }, 'week'),
  },
  {
    pattern: words(`(${ordinals}) (${months})woche`),
    read: ([, ordinal = '', name], context) =>
      readNth(context, { weekday: 1, nth: ordinalOf(ordinal), name, isThis: false }, 'week'),
  },
  {
    pattern: words(
      `(first|second|erste[rn]?|zweite[rn]?) (?:half(?: of)?|hälfte(?: des)?) (${months})|(first|second|erste[rn]?|zweite[rn]?) (${months})hälfte`,
    ),
    read: ([, one, name, other, otherName], context) =>
      inMonth(context, {
        dayOfMonth: ordinalOf(one ?? other ?? '') === 2 ? '16' : '1',
        month: monthIndex(name ?? otherName ?? ''),
      }),
  },
  {
    pattern: words(`(last|letzte[rnms]?) (?:working )?(?:day|tag|werktag|arbeitstag)${ofMonth}`),
    read: ([, , name, ofYear, isThis], { today }) => {
      const now = new Date(today)
      const current = now.getUTCMonth()
      const month = name === undefined ? current + (isThis === undefined ? 1 : 0) : monthIndex(name)
      const isOver = name !== undefined && month < current
      const year = ofYear === undefined ? now.getUTCFullYear() + (isOver ? 1 : 0) : Number(ofYear)
      return { day: Date.UTC(year, month + 1, 0), kind: 'date' }
    },
  },
]

/** "On the 15th": the next one. */
export const dayOfMonthRules: readonly DayRule[] = [
  {
    pattern: words(
      String.raw`(?:(?<=(?:on|by|until|till|from|before|after|starting|since) )the |(?<=(?:${weekdays}),? )(?:the )?)(\d{1,2})(?:st|nd|rd|th)(?: of (?:the|this) month)?(?= ?$|[.,;:!?)]| (?:at|or|and|to|if|would|works|is|in|please|for|between|from|i|we|with|until|morning|afternoon)(?!\p{L}))`,
    ),
    read: ([, dayOfMonth], context) => nextDayOfMonth(context, Number(dayOfMonth)),
  },
  {
    pattern: words(
      String.raw`(?<=(?<!\p{L})(?:am|bis|ab|zum|vom|dem) )(\d{1,2})\.(?! ?\d| (?:und|oder) \d)(?! (?:mal|tage?|stock|etage|platz|quartal|termin|versuch|teil|punkt|person|januar|kapitel|gespräch|anruf|obergeschoss|og|geburtstag|jubiläum|kunde|halbjahr)(?!\p{L}))`,
    ),
    read: ([, dayOfMonth], context) => nextDayOfMonth(context, Number(dayOfMonth)),
  },
]

/** The next such day: of this month, or of the first one that has it. */
function nextDayOfMonth({ today }: DateContext, dayOfMonth: number): DayReading | undefined {
  if (dayOfMonth < 1 || dayOfMonth > 31) return undefined
  const now = new Date(today)
  const candidates = [0, 1, 2].map((ahead) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead, dayOfMonth))
  const found = candidates.find((one) => one >= today && new Date(one).getUTCDate() === dayOfMonth)
  return found === undefined ? undefined : { day: found, kind: 'date' }
}
