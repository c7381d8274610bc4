import type { WallTime } from '../../local-time.ts'
import type { DayReading, DayRule } from './day-rule.ts'
import {
  calendarDay,
  type DateContext,
  dateOf,
  day,
  mondayOf,
  monthIndex,
  months,
  ordinalOf,
  weekdayOf,
  words,
} from './words.ts'

type Part = 'start' | 'middle' | 'end'

const startWords = 'beginning|start|early|anfang|first thing'
const middleWords = 'middle|mid|mitte'
const endWords = 'end|late|later|ende|close'
const partWords = `${startWords}|${middleWords}|${endWords}`
const isStart = new RegExp(`^(?:${startWords})$`)
const isMiddle = new RegExp(`^(?:${middleWords})$`)

const partOf = (text: string | undefined): Part | undefined => {
  if (text === undefined) return undefined
  if (isStart.test(text)) return 'start'
  return isMiddle.test(text) ? 'middle' : 'end'
}

const next =
  'next|the next|the coming|coming|the following|following|(?:in der |der |im |des )?nächste[rnms]?|(?:in der |der |im |des )?kommende[rnms]?|(?:in der |der |im |des )?folgende[rnms]?|upcoming'
const current = 'the|this|the current|der|des|dieses|diese[rn]?|laufende[rn]?|des laufenden|der laufenden'
const afterNext = 'the week after next|week after next|(?:in der |der )?übernächste[rn]? woche'

/** Words in front of a period: its part, and which one it is. */
const period = (unit: string): RegExp =>
  words(`(?:(${partWords})(?: of| der| des)?[ -])?(?:(${next})|(${current}))?[ -]?(?:${unit})`)

const dateIn = ({ today }: DateContext) => {
  const now = new Date(today)
  return { year: now.getUTCFullYear(), month: now.getUTCMonth() }
}

/** A week by its Monday: its Wednesday in the middle, its Friday at the end. */
function weekReading(monday: WallTime, part: Part | undefined, { today }: DateContext): DayReading | undefined {
  if (part === 'end') {
    const friday = monday + 4 * day
    return { day: friday >= today ? friday : friday + 7 * day }
  }
  const found = monday + (part === 'middle' ? 2 : 0) * day
  return found >= today ? { day: found, kind: 'week' } : undefined
}

const quarterStart = (year: number, quarter: number): WallTime => dateOf(year, 3 * quarter, 1)
const partOfMonths = (first: WallTime, count: number, part: Part | undefined): WallTime => {
  const begin = new Date(first)
  const [year, month] = [begin.getUTCFullYear(), begin.getUTCMonth()]
  if (part === 'end') return dateOf(year, month + count, 0)
  if (part !== 'middle') return first
  return count === 1 ? dateOf(year, month, 15) : dateOf(year, month + Math.floor(count / 2), count === 3 ? 15 : 1)
}

/** A month, quarter or year, by its beginning. The current one is a date only with a part of it. */
function monthsReading(
  starts: { current: WallTime; next: WallTime },
  count: number,
  { part, isNext }: { part: Part | undefined; isNext: boolean },
  { today }: DateContext,
): DayReading | undefined {
  if (!isNext && part === undefined) return undefined
  const found = partOfMonths(isNext ? starts.next : starts.current, count, part)
  return found >= today ? { day: found } : undefined
}

const weekRules: readonly DayRule[] = [
  {
    pattern: words(`(?:(${partWords})(?: of| der)? )?(?:${afterNext})`),
    read: ([, part], context) => weekReading(mondayOf(context.today) + 14 * day, partOf(part), context),
  },
  {
    pattern: period('week|woche|work week|arbeitswoche'),
    read: ([, part, isNext, isCurrent], context) => {
      const monday = mondayOf(context.today)
      if (isNext !== undefined) return weekReading(monday + 7 * day, partOf(part), context)
      if (part !== undefined) return weekReading(monday, partOf(part), context)
      return /^(?:this|diese)/.test(isCurrent ?? '') ? { day: monday, kind: 'week', isPartial: true } : undefined
    },
  },
  {
    pattern: words('eow|end-of-week|wochenende der woche'),
    read: (_, context) => weekReading(mondayOf(context.today), 'end', context),
  },
  {
    pattern: words('(after|nach) (?:the |this |dem |diesem )?(?:weekend|wochenende)'),
    read: (_, { today }) => ({ day: mondayOf(today) + 7 * day }),
  },
  {
    pattern: words(`(?:(next|nächste[ns]?) )?(?:weekend|wochenende)`),
    read: ([, isNext], { today }) => {
      const saturday = mondayOf(today) + (isNext === undefined || weekdayOf(today) === 0 ? 5 : 12) * day
      return { day: Math.max(saturday, today), last: Math.max(saturday, today) + (saturday < today ? 0 : day) }
    },
  },
  {
    pattern: words(String.raw`(?:kw|cw|kalenderwoche|calendar week) ?(\d{1,2})(?: ?(?:/|of|in)? ?(20\d\d))?`),
    read: ([, number, ofYear], { today }) => {
      const year = new Date(today).getUTCFullYear()
      const weekIn = (one: number) => mondayOf(dateOf(one, 0, 4)) + (Number(number) - 1) * 7 * day
      if (Number(number) < 1 || Number(number) > 53) return undefined
      if (ofYear !== undefined) return { day: weekIn(Number(ofYear)), kind: 'week' }
      const found = weekIn(year) + 6 * day >= today ? weekIn(year) : weekIn(year + 1)
      return { day: Math.max(found, today), kind: 'week' }
    },
  },
]

const monthRules: readonly DayRule[] = [
  {
    pattern: words('the month after next|month after next|(?:im )?übernächsten? monats?'),
    read: (_, context) => ({ day: dateOf(dateIn(context).year, dateIn(context).month + 2, 1) }),
  },
  {
    pattern: period('month|monats?'),
    read: ([, part, isNext], context) => {
      const { year, month } = dateIn(context)
      const starts = { current: dateOf(year, month, 1), next: dateOf(year, month + 1, 1) }
      return monthsReading(starts, 1, { part: partOf(part), isNext: isNext !== undefined }, context)
    },
  },
  {
    pattern: words('eom|monatsende|month[ -]end|end-of-month'),
    read: (_, context) => ({ day: dateOf(dateIn(context).year, dateIn(context).month + 1, 0) }),
  },
  {
    pattern: words(`(by|bis|before|vor) (?:the )?(?:very )?(?:end of|ende(?: des)?) (${months})(?:,? (20\\d\\d))?`),
    read: ([, , name = '', ofYear], context) => {
      const { year, month } = dateIn(context)
      const found = monthIndex(name)
      return { day: dateOf(ofYear === undefined ? year + (found < month ? 1 : 0) : Number(ofYear), found + 1, 0) }
    },
  },
  {
    pattern: words(
      `(?:in|im|until|till|before|after|by|around|from|starting|since|next|bis|ab|vor|nach|seit|auf|für|(?<!(?:talk|speak|spoke|talked|listen|write|wrote|say|said|sent|send|give|gave|reach out|thanks) )to|(?<!thanks )for|this|diesen|in early|(early|mid|late|anfang|mitte|ende|(?:beginning|start|middle|end) of))[ -](?:the )?(${months})(?:,? (20\\d\\d))?(?!\\.? ?\\d)`,
    ),
    read: ([, part = '', name = '', year], context) => {
      const dayOfMonth = { start: 1, middle: 15, end: 25 }[partOf(part.split(' ')[0] || undefined) ?? 'start']
      const found = calendarDay(context, { dayOfMonth, month: monthIndex(name), year })
      return found === undefined ? undefined : { day: found }
    },
  },
]

const longRules: readonly DayRule[] = [
  {
    pattern: period('quarter|quartals?'),
    read: ([, part, isNext], context) => {
      const { year, month } = dateIn(context)
      const quarter = Math.floor(month / 3)
      const starts = { current: quarterStart(year, quarter), next: quarterStart(year, quarter + 1) }
      return monthsReading(starts, 3, { part: partOf(part), isNext: isNext !== undefined }, context)
    },
  },
  {
    pattern: words('eoq|quartalsende|quarter[ -]end'),
    read: (_, context) => ({ day: dateOf(dateIn(context).year, 3 * Math.floor(dateIn(context).month / 3) + 3, 0) }),
  },
  {
    pattern: words(
      `(?:(${partWords})(?: of| des)? )?(?:the )?(?:q([1-4])|(first|second|third|fourth|ersten?|zweiten?|dritten?|vierten?) (?:quarter|quartal)s?)(?: (?:of |in )?(20\\d\\d))?`,
    ),
    read: ([, part, digit, ordinal = '', ofYear], context) => {
      const { year } = dateIn(context)
      const quarter = Number(digit ?? ordinalOf(ordinal)) - 1
      const years = ofYear === undefined ? [year, year + 1] : [Number(ofYear)]
      const found = years.map((one) => partOfMonths(quarterStart(one, quarter), 3, partOf(part)))
      const upcoming = found.find((one) => one >= context.today)
      return upcoming === undefined ? undefined : { day: upcoming }
    },
  },
  {
    pattern: words('the year after next|(?:im )?übernächsten? jahre?s?'),
    read: (_, context) => ({ day: dateOf(dateIn(context).year + 2, 0, 1) }),
  },
  {
    pattern: period('year|jahre?s?'),
    read: ([, part, isNext], context) => {
      const { year } = dateIn(context)
      const starts = { current: dateOf(year, 0, 1), next: dateOf(year + 1, 0, 1) }
      return monthsReading(starts, 12, { part: partOf(part), isNext: isNext !== undefined }, context)
    },
  },
  {
    pattern: words('the new year|im neuen jahr|neuen jahres|new year'),
    read: (_, context) => ({ day: dateOf(dateIn(context).year + 1, 0, 1) }),
  },
  {
    pattern: words("eoy|jahresende|year[ -]end|end-of-year|year's end"),
    read: (_, context) => ({ day: dateOf(dateIn(context).year, 11, 31) }),
  },
  {
    pattern: words(
      `(${partWords})(?: of)?[ -](20\\d\\d)|(?:in|until|till|before|ab|bis|from|vor) (20\\d\\d)(?![\\d:./-])`,
    ),
    read: ([, part, ofYear, plainYear], { today }) => {
      const found = partOfMonths(dateOf(Number(ofYear ?? plainYear), 0, 1), 12, partOf(part))
      return found >= today ? { day: found } : undefined
    },
  },
]

/** A period such as "next quarter", by its first day; "end of next week" by its last one. */
export const periodRules: readonly DayRule[] = [...weekRules, ...monthRules, ...longRules]
