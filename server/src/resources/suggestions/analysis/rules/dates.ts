import * as english from 'chrono-node/en'
import * as german from 'chrono-node/de'
import type { Span } from '../analysis.ts'
import { instantOf, startOfDay, startOfWork, type WallTime, wallTimeOf } from '../local-time.ts'
import { monthIndex, months, periodsIn } from './periods.ts'
import { normalized } from './text.ts'

/** A date in a text, with the place of its words. */
export interface FoundDate extends Span {
  instant: Date
  hasTime: boolean
  /** The words before it say that something begins again on it ("back on", "ab"). */
  isReturn: boolean
  /** The day after the last one of a range, such as "from 1 to 3 May". */
  isAfterRange: boolean
}

const hour = 3_600_000
const day = 24 * hour
/** Dates after it are not dates of an action: two years from now. */
export function latestDate(now: Date): Date {
  const latest = new Date(now)
  latest.setUTCFullYear(latest.getUTCFullYear() + 2)
  return latest
}

/** `07.12.`, which chrono-node knows only with a year. */
const germanDay: german.Parser = {
  pattern: () => /(?<![\d.])(\d{1,2})\.\s?(\d{1,2})\.(?!\d)/,
  extract: (_, { 1: dayText, 2: monthText }) => {
    const [dayOfMonth, month] = [Number(dayText), Number(monthText)]
    return dayOfMonth >= 1 && dayOfMonth <= 31 && month >= 1 && month <= 12 ? { day: dayOfMonth, month } : null
  },
}

const monthDayPattern = new RegExp(
  String.raw`(?<!\p{L})(${months})\.? (\d{1,2})(?:st|nd|rd|th)?(?![\d:]|,? 20\d\d|\p{L})`,
  'iu',
)

/** "December 14", which the British configuration of chrono-node takes for December 2014. */
const monthDay: english.Parser = {
  pattern: () => monthDayPattern,
  extract: (_, { 1: name = '', 2: dayText }) => {
    const dayOfMonth = Number(dayText)
    return dayOfMonth >= 1 && dayOfMonth <= 31 ? { day: dayOfMonth, month: monthIndex(name.toLowerCase()) + 1 } : null
  },
}

type Configuration = Pick<english.Chrono, 'parsers' | 'refiners'>

const withParser = (parser: english.Parser, { parsers: others, refiners }: Configuration): english.Chrono =>
  new english.Chrono({ parsers: [parser, ...others], refiners })

const parsers = {
  de: withParser(germanDay, german.createCasualConfiguration()),
  /** 12/01 is 1 December in America, 12 January elsewhere. */
  american: english.casual,
  british: withParser(monthDay, english.configuration.createCasualConfiguration(true)),
}

/** One for each pattern of chrono-node. */
export const dateSearches: readonly ((text: string) => unknown)[] = Object.values(parsers).flatMap(({ parsers: all }) =>
  all.map((parser) => {
    const alone = new english.Chrono({ parsers: [parser], refiners: [] })
    return (text: string) => alone.parse(text)
  }),
)

/** Hours of the parts of a day, in local time. */
const partsOfDay: readonly (readonly [RegExp, number])[] = [
  [/\b(?:afternoon|nachmittags?)\b/, 14],
  [/\b(?:evening|tonight|abends?)\b/, 18],
  [/\b(?:noon|midday|lunchtime|mittags?)\b/, 12],
]

/** Words that are also a date; alone, they are one only after a preposition. */
const ambiguous =
  /^(?:this week|diese[rn]? woche|sat|sun|mar|may|second|now|jetzt|so|mo|mi|do|sa|fr|march|mon|wed|at \d{1,2}|um \d{1,2}|\d{1,2})$/
/** How long something takes, not when it is. */
const duration = /^(?:\d+|an?|half an?|one|eine|zwei|two) ?(?:minutes?|mins?|hours?|hrs?|h|stunden?|minuten?)$/
const beforeDate = /\b(?:on|until|till|by|before|after|next|this|from|am|ab|bis|im|nächsten|kommenden|seit|back) +$/
const returnWords =
  /\b(?:back|return|returning|returns|resume|zurück|wieder|ab|available)(?: [a-zäöü']+){0,4}? *(?:on|at|from|by|am|ab|dem|den|zum|in|the|until|till|-|:|,)? *$/
const endOfRange = /(?:\b(?:through|einschl(?:ießlich|\.)|inklusive|inkl\.?|inclusive)(?: +(?:zum|den|dem|the))? *)$/

/**
 * The future dates in a sentence, in the order of the text. `zone` decides what a day is, and in which order a day and
 * a month are written.
 */
export function datesIn(text: string, language: 'en' | 'de', { now, zone }: { now: Date; zone: string }): FoundDate[] {
  const normal = normalized(text)
  if (!mayContainDate.test(normal)) return []
  const wallNow = wallTimeOf(now, zone)
  const chrono = language === 'de' ? parsers.de : zone.startsWith('America/') ? parsers.american : parsers.british
  const reference = { instant: new Date(wallNow), timezone: 0 }
  const periods = periodsIn(normal, wallNow)
  const isInPeriod = ({ index, text: words }: { index: number; text: string }) =>
    periods.some((one) => index < one.index + one.length && one.index < index + words.length)
  const found = [
    ...periods.map((one) => describe(normal, one.index, one.length, { wall: one.day + startOfWork * hour })),
    ...chrono
      .parse(normal, reference, { forwardDate: true })
      .filter((result) => !isInPeriod(result) && !isAmbiguous(normal, result))
      .map((result) => describe(normal, result.index, result.text.length, wallOf(result, normal, wallNow))),
  ]
  return mergedRanges(found, normal)
    .filter(({ wall }) => wall >= startOfDay(wallNow))
    .map(({ wall, ...one }) => ({ ...one, instant: instantOf(wall, zone) }))
    .filter(({ instant }) => instant <= latestDate(now))
}

/** Most sentences have no date; chrono-node would take a tenth of a millisecond to find that out. */
const mayContainDate =
  /\d|day|tomorrow|tonight|noon|week|month|quarter|year|morning|evening|one|two|three|four|five|six|jan|feb|mar|apr|ma[yi]|mär|jun|jul|aug|sep|o[ck]t|nov|de[cz]|tag|woch|monat|quartal|jahr|morgen|heute|abend|mittag|mittwoch/

type WallDate = Omit<FoundDate, 'instant'> & { wall: WallTime }

function describe(
  normal: string,
  index: number,
  length: number,
  { wall, hasTime = false, isAfterRange = false }: { wall: WallTime; hasTime?: boolean; isAfterRange?: boolean },
): WallDate {
  const before = normal.slice(Math.max(0, index - 60), index)
  const isEnd = !isAfterRange && endOfRange.test(before)
  return {
    start: index,
    end: index + length,
    wall: isEnd ? wall + day : wall,
    hasTime,
    isReturn: returnWords.test(before) && !/\bbis(?: +(?:zum|einschließlich))? *$/.test(before),
    isAfterRange: isAfterRange || isEnd,
  }
}

function isAmbiguous(normal: string, { index, text }: german.ParsedResult): boolean {
  const hasPreposition = beforeDate.test(normal.slice(Math.max(0, index - 16), index))
  const isIn = /\bin +$/.test(normal.slice(0, index))
  return (ambiguous.test(text) && !hasPreposition) || (duration.test(text) && !isIn)
}

function wallOf(
  { start, end, text }: german.ParsedResult,
  normal: string,
  wallNow: WallTime,
): { wall: WallTime; hasTime: boolean; isAfterRange: boolean } {
  // "from 2pm to 4pm" begins at 2; "from 2 to 4 May" ends on the 4th.
  // chrono-node declares the end as optional, but sets it to null.
  const rangeEnd = end && !end.isCertain('hour') ? end : undefined
  const isRange = rangeEnd !== undefined
  const date = rangeEnd ?? start
  const hasTime = date.isCertain('hour') && !isUnit(text)
  const time = hasTime
    ? officeHour(date, text) * hour + (date.get('minute') ?? 0) * 60_000
    : hourOf(text, normal) * hour
  const [year = 0, month = 1, dayOfMonth = 1] = [date.get('year'), date.get('month'), date.get('day')].map(Number)
  const inYear = (chosen: number) => Date.UTC(chosen, month - 1, dayOfMonth) + time
  // A range that has begun was moved to the next year with its beginning.
  const isMoved = isRange && !date.isCertain('year') && inYear(year - 1) >= startOfDay(wallNow)
  const wall = inYear(isMoved ? year - 1 : year)
  return { wall: isRange ? wall + day : wall, hasTime, isAfterRange: isRange }
}

/** "At 3" is in the afternoon, unless it is written as 3 am or 03:00. */
function officeHour(date: german.ParsedResult['start'], text: string): number {
  const found = date.get('hour') ?? 0
  const isExact = /[ap]\.?m\b|\b0\d|hour|stund|minut|morning|früh|night|nacht/.test(text)
  return found >= 1 && found <= 6 && !isExact ? found + 12 : found
}

/** "in 2 weeks" has the time of the note, which nobody means; "in 2 hours" has it for a reason. */
const isUnit = (text: string): boolean =>
  /\b(?:days?|weeks?|months?|years?|tage?n?|wochen?|monate?n?|jahre?n?)\b/.test(text)

function hourOf(text: string, normal: string): number {
  const part = partsOfDay.find(
    ([pattern]) => pattern.test(text) || (/day|tag|morgen|heute|woch/.test(text) && pattern.test(normal)),
  )
  return part?.[1] ?? startOfWork
}

const between =
  /^ *(?:-|to|until|till|through|bis)(?: +(?:zum|den|dem|einschließlich|inklusive|einschl\.|inkl\.|and including))* *$/

/** Two dates with "to" between them are a range, which ends on the second one. */
function mergedRanges(found: readonly WallDate[], normal: string): WallDate[] {
  const sorted = [...found].sort((one, other) => one.start - other.start)
  return sorted.flatMap((one, index) => {
    const [previous, next] = [sorted[index - 1], sorted[index + 1]]
    if (next && between.test(normal.slice(one.end, next.start)) && !one.hasTime) return []
    const isEnd = previous !== undefined && between.test(normal.slice(previous.end, one.start)) && !one.hasTime
    if (!isEnd || one.isAfterRange) return [one]
    return [{ ...one, start: previous.start, wall: one.wall + day, isAfterRange: true }]
  })
}
