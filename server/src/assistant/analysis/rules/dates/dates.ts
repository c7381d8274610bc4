import type { Span } from '../../analysis.ts'
import { instantOf, startOfDay, startOfWork, type WallTime, wallTimeOf } from '../../local-time.ts'
import { normalized } from '../text.ts'
import { calendarRules } from './calendar.ts'
import { isAbsent, isExcluded, isPast, joinsList } from './context.ts'
import type { DayReading, DayRule } from './day-rule.ts'
import { withoutOtherWords } from './excluded.ts'
import { holidayRules } from './holidays.ts'
import { dayOfMonthRules, nthRules } from './ordinals.ts'
import { periodRules } from './periods.ts'
import { dayNameRules, durationRules } from './relative.ts'
import { clockRules, partOfDayRules, type TimeReading } from './times.ts'
import { type DateContext, day, mondayOf, weekdayOf } from './words.ts'
import { isMonthFirst, zoneAfter } from './zones.ts'

/** A date in a text, with the place of its words. */
export interface FoundDate extends Span {
  instant: Date
  hasTime: boolean
  /** The words before it say that something begins again on it ("back on", "ab"). */
  isReturn: boolean
  /** The day after the last one of a range, such as "from 1 to 3 May". */
  afterRange?: Date
  /** Somebody is absent on this day. */
  isAbsence: boolean
}

const hour = 3_600_000
/** Dates after it are not dates of an action: two years from now. */
export function latestDate(now: Date): Date {
  const latest = new Date(now)
  latest.setUTCFullYear(latest.getUTCFullYear() + 2)
  return latest
}

const dayRules: readonly DayRule[] = [
  ...holidayRules,
  ...nthRules,
  ...calendarRules,
  ...dayOfMonthRules,
  ...durationRules,
  ...periodRules,
  ...dayNameRules,
]

interface Found<Reading> extends Span {
  reading: Reading
}
type FoundDay = Found<DayReading>
type FoundTime = Found<TimeReading> & { isPart: boolean; zone?: string | number | undefined }

const returnWords =
  /\b(?:back|return|returning|returns|resumes?|reopens?|zurück|wieder|ab|available)(?: [a-zäöü']+){0,4}? *(?:on|at|from|by|am|ab|dem|den|zum|in|the|until|till|-|:|,)? *$/
const endOfRange = /(?:\b(?:through|einschl(?:ießlich|\.)|inklusive|inkl\.?|inclusive)(?: +(?:zum|den|dem|the))? *)$/

/** The future dates in a sentence, in the order of the text. `zone` decides what a day is, and the order of 5/1. */
export function datesIn(text: string, language: 'en' | 'de', { now, zone }: { now: Date; zone: string }): FoundDate[] {
  const normal = normalized(text).replaceAll(/(?<=\d)\t/g, ' ')
  if (!mayContainDate.test(normal)) return []
  const wallNow = wallTimeOf(now, zone)
  const context = {
    language,
    now: wallNow,
    today: startOfDay(wallNow),
    isMonthFirst: language === 'en' && isMonthFirst(zone),
  }
  const searched = withoutOtherWords(text, normal)
  const days = readAll(searched, dayRules, context)
  const times = readTimes(days.rest, normal)
  return datesOf(withoutOthers(mergedDays(days.found, normal, context), normal), times, {
    normal,
    context,
    hasDays: days.found.length > 0,
  }).flatMap((one) => {
    const { wall, zone: named, last, ...found } = one
    const instant = instantIn(wall, named ?? zone)
    // The clock on the wall shows no seconds.
    const isOver = instant < now && wall < wallNow - 60_000
    if (isOver || instant > latestDate(now)) return []
    return [{ ...found, instant, ...(last !== undefined && { afterRange: morningAfter(last, zone) }) }]
  })
}

const morningAfter = (last: WallTime, zone: string): Date => instantOf(last + day + startOfWork * hour, zone)

/** A zone is a name, or minutes ahead of UTC. */
const instantIn = (wall: WallTime, zone: string | number): Date =>
  typeof zone === 'number' ? new Date(wall - zone * 60_000) : instantOf(wall, zone)

/** Most sentences have no date. */
const mayContainDate =
  /\d|day|tomorrow|tmr|tonight|noon|week|month|quarter|year|morning|evening|hour|minute|one|two|three|four|five|six|jan|jän|feb|mar|apr|ma[yi]|mär|jun|jul|aug|sep|o[ck]t|nov|de[cz]|tag|woch|monat|quartal|jahr|morgen|heut|abend|mittag|mitternacht|mittwoch|stund|christ|xmas|weihnacht|easter|oster|pfingst|advent|silvester|thanksgiving|halloween|karneval|fasching|whitsun|pentecost|epiphany|midnight|eo[dwmqy]\b|cob\b|close of|end of|between the|halb|half|viertel|vormittag|(?:on|am|bis|ab|by|next) (?:mo|di|mi|do|fr|sa|so|mon|wed|sun|sat|tue|thu|fri)\b|um |gegen |feierabend|schluss|fortnight|\b(?:mon|tues?|weds?|thur?s?|fri)\b/

interface Rule<Reading> {
  pattern: RegExp
  read(match: readonly [string, ...(string | undefined)[]], context: DateContext): Reading | undefined
}

const filler = '·'

/** What the rules find, the earlier ones first, and the text without it. */
function readAll<Reading>(text: string, rules: readonly Rule<Reading>[], context: DateContext) {
  const found: Found<Reading>[] = []
  let rest = text
  for (const { pattern, read } of rules) {
    if (!pattern.test(rest)) continue
    pattern.lastIndex = 0
    rest = rest.replaceAll(pattern, (...given) => {
      const words = given[0] as string
      const offsetAt = given.findIndex((one, index) => index > 0 && typeof one === 'number')
      const groups = given.slice(0, offsetAt) as [string, ...(string | undefined)[]]
      const reading = read(groups, context)
      if (reading === undefined) return words
      const start = given[offsetAt] as number
      found.push({ start, end: start + words.length, reading })
      return filler.repeat(words.length)
    })
    pattern.lastIndex = 0
  }
  return { found: found.sort((one, other) => one.start - other.start), rest }
}

function readTimes(rest: string, normal: string): FoundTime[] {
  const anything = { language: 'en', now: 0, today: 0, isMonthFirst: false } as const
  const clock = readAll<TimeReading>(rest, clockRules, anything)
  const parts = readAll<TimeReading>(clock.rest, partOfDayRules, anything)
  const times = clock.found.map((one): FoundTime => {
    const zone = zoneAfter(normal.slice(one.end, one.end + 50))
    const isPart = one.reading.until !== undefined
    return zone ? { ...one, isPart, end: one.end + zone.length, zone: zone.zone } : { ...one, isPart }
  })
  const inDay = parts.found.map((one): FoundTime => ({ ...one, isPart: true }))
  return [...times, ...inDay].sort((one, other) => one.start - other.start)
}

const between =
  /^\.? *(?:-|to|until|till|through|thru|bis|and|und)(?: +(?:on|am|zum|den|dem|the|einschließlich|inklusive|einschl\.|inkl\.|and including))* *$/
const isBetween = /(?<!\p{L})(?:between|zwischen)(?: +(?:the|den|dem))* *$/u
const sameDay = /^\.? ?[,(]? ?(?:den|dem|the|der|on|am)? ?$/
const ofWeek =
  /^,? ?(?:ideally|preferably|maybe|perhaps|am besten|vielleicht|say|z\.b\.|e\.g\.|gerne|possibly)? ?(?:of|in|on|am|the|der|in der)? ?(?:the )?$/

/** A weekday next to its date or its week, and two days with "to" between them, are one. */
function mergedDays(found: readonly FoundDay[], normal: string, context: DateContext): FoundDay[] {
  const merged: FoundDay[] = []
  for (const one of found) {
    const previous = merged.at(-1)
    const gap = previous && normal.slice(previous.end, one.start)
    const joined = previous && gap !== undefined ? joinedDays(previous, one, { gap, normal, context }) : undefined
    if (joined) merged[merged.length - 1] = joined
    else merged.push(one)
  }
  return merged.filter(({ reading }) => reading.isPartial !== true)
}

function joinedDays(
  one: FoundDay,
  other: FoundDay,
  { gap, normal, context }: { gap: string; normal: string; context: DateContext },
): FoundDay | undefined {
  const kinds = `${one.reading.kind} ${other.reading.kind}`
  const span = { start: one.start, end: other.end }
  const week = [one, other].find(({ reading }) => reading.kind === 'week')
  const weekday = [one, other].find(({ reading }) => reading.kind === 'weekday')
  if (week && weekday && ofWeek.test(gap)) {
    const inWeek = mondayOf(week.reading.day) + ((weekdayOf(weekday.reading.day) + 6) % 7) * day
    return { ...span, reading: { day: inWeek >= context.today ? inWeek : inWeek + 7 * day, kind: 'date' } }
  }
  if (weekday && sameDay.test(gap) && kinds !== 'weekday weekday' && !week) {
    return { ...span, reading: (weekday === one ? other : one).reading }
  }
  if (moves.test(normal)) return undefined
  const isRange = /and|und/.test(gap) ? isBetween.test(normal.slice(0, one.start)) : true
  if (!isRange || !between.test(gap) || one.reading.last !== undefined || one.reading.exact !== undefined)
    return undefined
  return { ...span, reading: rangeOf(one.reading, other.reading) }
}

/** The next Monday may be after the next Friday, and the next 23 November after the next 4 December. */
function rangeOf(first: DayReading, second: DayReading): DayReading {
  const last = second.last ?? second.day
  if (first.day <= last) return { ...first, last }
  if (second.kind === 'weekday' && first.kind === 'weekday') return { ...first, last: last + 7 * day }
  const date = new Date(first.day)
  const before = Date.UTC(date.getUTCFullYear() - 1, date.getUTCMonth(), date.getUTCDate())
  return { ...first, day: first.kind === 'weekday' ? first.day - 7 * day : before, last }
}

/** "Moved from Monday to Friday" is not a range. */
const moves =
  /(?<!\p{L})(?:moved?|moving|postponed?|reschedul\p{L}+|shift(?:ed)?|push(?:ed)?|verschoben|verlegt|verschieben|verlegen)(?!\p{L})/u

interface Previous {
  day: FoundDay
  isNoDate: boolean
}

function withoutOthers(days: readonly FoundDay[], normal: string): FoundDay[] {
  let previous: Previous | undefined
  return days.filter((one) => {
    previous = { day: one, isNoDate: isNoDate(one, previous, normal) }
    return !previous.isNoDate
  })
}

/** Does the text exclude the day, or report what happened on it? */
function isNoDate({ start, end, reading }: FoundDay, previous: Previous | undefined, normal: string): boolean {
  const [before, after] = [normal.slice(Math.max(0, start - 120), start), normal.slice(end, end + 120)]
  // "Not before January" names January.
  const hasLimit = /^(?:before|until|till|after|from|starting|vor|bis|nach|ab|seit)(?!\p{L})/u.test(
    normal.slice(start, end),
  )
  if (isExcluded(hasLimit ? '' : before, after)) return true
  if (moves.test(normal) && /(?<!\p{L})(?:from|von|vom)(?: the| dem)? *$/u.test(before)) return true
  const isDated = /20\d\d/.test(normal.slice(start, end))
  if (!isDated && reading.exact === undefined && isPast(before, after)) return true
  return (
    previous?.isNoDate === true &&
    joinsList.test(normal.slice(previous.day.end, start)) &&
    !/(?<!\p{L})(?:but|or|sondern)/u.test(before.slice(-20))
  )
}

interface Sentence {
  normal: string
  context: DateContext
  hasDays: boolean
}

type WallDate = Omit<FoundDate, 'instant' | 'afterRange'> & {
  wall: WallTime
  zone?: string | number | undefined
  last?: WallTime
}

function datesOf(days: readonly FoundDay[], times: readonly FoundTime[], sentence: Sentence): WallDate[] {
  const clocks = withoutRangeEnds(withParts(times), sentence.normal).filter((time) => !isExcludedTime(time, sentence))
  const owners = clocks.map((time) => ({ time, owner: nearestDay(time, days, sentence.normal) }))
  const timesOfDays = timesOf(days, owners, sentence.normal)
  const alone = owners.filter(({ owner, time }) => owner === undefined && mayStandAlone(time, sentence))
  return [
    ...days.flatMap((one) => wallDate(one, timesOfDays.get(one), sentence) ?? []),
    ...alone.flatMap(({ time }) => wallDate(undefined, time, sentence) ?? []),
  ].sort((one, other) => one.start - other.start)
}

interface OwnedTime {
  time: FoundTime
  owner: FoundDay | undefined
}

/** A day has its own time, or that of the next one in a list. */
function timesOf(days: readonly FoundDay[], owned: readonly OwnedTime[], normal: string): Map<FoundDay, FoundTime> {
  const times = new Map<FoundDay, FoundTime>()
  for (const { time, owner } of [...owned].sort((left, right) => rank(left.time) - rank(right.time)))
    if (owner && !times.has(owner)) times.set(owner, time)
  let next: FoundDay | undefined
  for (const one of [...days].reverse()) {
    const listed = next && joinsList.test(normal.slice(one.end, next.start)) ? times.get(next) : undefined
    if (listed && !times.has(one)) times.set(one, listed)
    next = one
  }
  return times
}

/** A time before a part of a day. */
const rank = ({ isPart }: FoundTime): number => (isPart ? 1 : 0)

/** "Three in the afternoon": the part says which half of the day it is. */
function withParts(times: readonly FoundTime[]): FoundTime[] {
  const isNear = (one: Span, other: Span) => one.start - other.end < 30 && other.start - one.end < 30
  return times.map((time) => {
    const inPart = times.find((one) => one.isPart && isNear(one, time))
    if (time.isPart || time.reading.isExact || !inPart) return time
    const { minutes } = time.reading
    const isLate = inPart.reading.minutes >= 840 && minutes < 720
    return { ...time, reading: { minutes: isLate ? minutes + 720 : minutes, isExact: true } }
  })
}

/** Of "14:00 - 15:00", the first one counts. */
const withoutRangeEnds = (times: readonly FoundTime[], normal: string): FoundTime[] =>
  times.filter((time, index) => {
    const previous = times[index - 1]
    return !previous || previous.isPart || time.isPart || !between.test(normal.slice(previous.end, time.start))
  })

const isExcludedTime = ({ start, end }: FoundTime, { normal }: Sentence): boolean =>
  isExcluded(normal.slice(Math.max(0, start - 60), start), normal.slice(end, end + 60)) ||
  /(?:not|nicht|instead of|rather than|statt|anstatt|außer|except) (?:at |um |for )?(?:at|um)?$/.test(
    normal.slice(Math.max(0, start - 30), start + 3).trimEnd(),
  )

function nearestDay(time: FoundTime, days: readonly FoundDay[], normal: string): FoundDay | undefined {
  const gapOf = (one: FoundDay) => {
    const [from, to] = one.start < time.start ? [one.end, time.start] : [time.end, one.start]
    return normal.slice(Math.min(from, to), to)
  }
  return [...days]
    .filter((one) => one.reading.exact === undefined && gapOf(one).length < 60 && !/[;!?]/.test(gapOf(one)))
    .sort((one, other) => gapOf(one).length - gapOf(other).length)[0]
}

/** "In the afternoon" may be any day; "the afternoon session" is not a time at all. */
const mayStandAlone = ({ isPart, start, reading }: FoundTime, { normal, hasDays }: Sentence): boolean =>
  !hasDays &&
  (!isPart ||
    reading.minutes === 1020 ||
    /(?:in the|this|am|by|gegen|bis) (?:late |early |späten |frühen )?$/.test(normal.slice(0, start)))

function wallDate(found: FoundDay | undefined, time: FoundTime | undefined, sentence: Sentence): WallDate | undefined {
  const { normal, context } = sentence
  const { today, now } = context
  const start = Math.min(found?.start ?? Number.POSITIVE_INFINITY, time?.start ?? Number.POSITIVE_INFINITY)
  const end = Math.max(found?.end ?? 0, time?.end ?? 0)
  const at = found?.start ?? start
  const before = normal.slice(Math.max(0, at - 60), at)
  const isEnd = found !== undefined && endOfRange.test(before)
  const given = found?.reading
  // The range ended before yesterday.
  if (given?.last !== undefined && given.last + day < today) return undefined
  const first = given && given.last !== undefined && given.day < today ? today : (given?.day ?? today)
  const minutes = time && officeMinutes(time.reading)
  const wall =
    given?.exact ??
    wallOf({ day: first, minutes, until: time?.reading.until, isAnyDay: !given }, { today, now, zone: time?.zone })
  if (wall === undefined) return undefined
  const last = given?.last ?? (isEnd ? given?.day : undefined)
  const isAbsence = found !== undefined && isAbsent(before)
  return {
    start,
    end,
    wall,
    hasTime: given?.exact !== undefined || (time !== undefined && !time.isPart) || time?.reading.minutes === 1020,
    isReturn: returnWords.test(before) && !/\bbis(?: +(?:zum|einschließlich))? *$/.test(before),
    isAbsence,
    ...(time?.zone !== undefined && given?.exact === undefined && { zone: time.zone }),
    ...((last ?? (isAbsence ? given?.day : undefined)) !== undefined && { last: last ?? given?.day ?? 0 }),
  }
}

/** "At 3" is in the afternoon, unless it is written as 3 am or 03:00. */
const officeMinutes = ({ minutes, isExact }: TimeReading): number =>
  !isExact && minutes >= 60 && minutes < 420 ? minutes + 720 : minutes

interface Moment {
  day: WallTime
  minutes: number | undefined
  until: number | undefined
  isAnyDay: boolean
}

/** Never in the past: what is left of today begins with the next full hour. */
function wallOf(
  { day: given, minutes, until, isAnyDay }: Moment,
  { today, now, zone }: { today: WallTime; now: WallTime; zone: string | number | undefined },
): WallTime | undefined {
  const wall = given + (minutes === undefined ? startOfWork * hour : minutes * 60_000)
  if (given > today || wall >= now || zone !== undefined) return wall >= today ? wall : undefined
  if (given < today) return undefined
  const isClock = minutes !== undefined && until === undefined
  const isOver = until !== undefined && now >= today + until * 60_000
  if (isClock || isOver) return isAnyDay ? wall + day : undefined
  return Math.min(Math.ceil(now / hour) * hour, today + day - 60_000)
}
