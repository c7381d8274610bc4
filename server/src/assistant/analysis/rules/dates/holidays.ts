import type { WallTime } from '../../local-time.ts'
import { type DateContext, dateOf, day, nthWeekday, words, workday } from './words.ts'
import type { DayRule } from './day-rule.ts'

interface Holiday {
  names: string
  /** The first and the last day of it in a year. */
  days(year: number): readonly [WallTime, WallTime]
}

const fixed =
  (month: number, first: number, last = first) =>
  (year: number) =>
    [dateOf(year, month - 1, first), dateOf(year, month - 1, last)] as const
const single = (wall: WallTime) => [wall, wall] as const
const fromEaster =
  (first: number, last = first) =>
  (year: number) =>
    [easter(year) + first * day, easter(year) + last * day] as const

const holidays: readonly Holiday[] = [
  { names: 'christmas eve|xmas eve|heiligabend|heilig abend|heiliger abend', days: fixed(12, 24) },
  { names: 'boxing day', days: fixed(12, 26) },
  {
    names:
      'christmas(?: day| break| holidays?)?|xmas|x-mas|weihnachten|weihnachtsfeiertage?n?|weihnachtsferien|weihnachtspause',
    days: fixed(12, 25, 26),
  },
  {
    names: "new year's eve|new years eve|silvester|sylvester",
    days: (year) => [dateOf(year, 11, 31), dateOf(year + 1, 0, 1)],
  },
  { names: "new year's day|new years day|new year's|new years|neujahr|neujahrstag", days: fixed(1, 1) },
  { names: 'epiphany|dreikönige|dreikönig|heilige drei könige|heiligen drei königen', days: fixed(1, 6) },
  { names: "valentine's day|valentines day|valentinstag", days: fixed(2, 14) },
  { names: 'good friday|karfreitag', days: fromEaster(-2) },
  { names: 'easter monday|ostermontag', days: fromEaster(1) },
  { names: 'easter sunday|ostersonntag', days: fromEaster(0) },
  {
    names: 'easter(?: break| holidays?| weekend)?|ostern|osterferien|osterfeiertage?n?|osterwochenende',
    days: fromEaster(-2, 1),
  },
  { names: 'ascension day|ascension|christi himmelfahrt|himmelfahrt|vatertag', days: fromEaster(39) },
  { names: 'pentecost|whitsun|whit monday|pfingsten|pfingstferien|pfingstmontag', days: fromEaster(49, 50) },
  { names: 'corpus christi|fronleichnam', days: fromEaster(60) },
  { names: 'rosenmontag', days: fromEaster(-48) },
  { names: 'carnival|karneval|fasching|fastnacht', days: fromEaster(-52, -46) },
  { names: 'aschermittwoch|ash wednesday', days: fromEaster(-46) },
  { names: 'may day|tag der arbeit|labour day', days: fixed(5, 1) },
  { names: 'memorial day', days: (year) => single(nthWeekday(year, 4, 1, -1)) },
  { names: 'independence day|fourth of july|4th of july', days: fixed(7, 4) },
  { names: 'labor day', days: (year) => single(nthWeekday(year, 8, 1, 1)) },
  { names: 'tag der deutschen einheit|german unity day', days: fixed(10, 3) },
  { names: 'halloween|reformationstag', days: fixed(10, 31) },
  { names: "allerheiligen|all saints'? day|all saints", days: fixed(11, 1) },
  {
    names: 'thanksgiving(?: day| weekend| break)?',
    days: (year) => [nthWeekday(year, 10, 4, 4), nthWeekday(year, 10, 4, 4) + day],
  },
  { names: 'black friday', days: (year) => single(nthWeekday(year, 10, 4, 4) + day) },
  { names: 'cyber monday', days: (year) => single(nthWeekday(year, 10, 4, 4) + 4 * day) },
  { names: 'nikolaus|nikolaustag', days: fixed(12, 6) },
  {
    names: 'erster advent|ersten advent|1\\. advent|first advent',
    days: (year) => single(firstAdvent(year)),
  },
]

/** The fourth Sunday before Christmas. */
const firstAdvent = (year: number): WallTime => {
  const christmas = dateOf(year, 11, 25)
  return christmas - (new Date(christmas).getUTCDay() || 7) * day - 21 * day
}

/** Sunday, by the Gregorian computus. */
function easter(year: number): WallTime {
  const [golden, century] = [year % 19, Math.floor(year / 100)]
  const leaps = Math.floor(century / 4)
  const moon =
    (19 * golden + century - leaps - Math.floor((century - Math.floor((century + 8) / 25) + 1) / 3) + 15) % 30
  const sunday = (32 + 2 * (century % 4) + 2 * Math.floor((year % 100) / 4) - moon - (year % 4)) % 7
  const late = Math.floor((golden + 11 * moon + 22 * sunday) / 451)
  const sum = moon + sunday - 7 * late + 114
  return dateOf(year, Math.floor(sum / 31) - 1, (sum % 31) + 1)
}

/** The next time that it is not over. */
function upcoming({ days }: Holiday, { today }: DateContext): readonly [WallTime, WallTime] {
  const year = new Date(today).getUTCFullYear()
  const [previous, current, next] = [days(year - 1), days(year), days(year + 1)]
  // New Year's Day after "after" may be the one that has just begun.
  return [previous, current].find(([, last]) => last >= today) ?? next
}

const after = 'after|following|past|nach|erst nach'
const before = 'before|ahead of|prior to|by|vor|bis(?: spätestens)? vor|noch vor'
const article = '(?:(?:the|den|dem|der|die) )?'
const isAfter = new RegExp(`^(?:${after})$`)

/** After a holiday is the next working day, before it is the last one. */
const ruleFor = (holiday: Holiday): DayRule => ({
  pattern: words(`(?:(${after}|${before}) ${article})?(?:${holiday.names})`),
  read: ([, relation], context) => {
    const [first, last] = upcoming(holiday, context)
    if (relation === undefined) return { day: first, last }
    if (isAfter.test(relation)) return { day: workday(last + day, 1) }
    return { day: workday(first - day, -1) }
  },
})

const betweenYears = (today: WallTime): WallTime => {
  const year = new Date(today).getUTCFullYear()
  const begin = workday(dateOf(year, 11, 27), 1)
  return Math.max(today, begin)
}

export const holidayRules: readonly DayRule[] = [
  {
    pattern: words(
      "(?:in )?between the years|zwischen den jahren|between (?:christmas|xmas) and new year(?:'?s)?(?: eve)?|zwischen weihnachten und (?:neujahr|silvester)",
    ),
    read: (_, { today }) => ({ day: betweenYears(today), last: dateOf(new Date(today).getUTCFullYear(), 11, 31) }),
  },
  {
    // In the last weeks of a year, "the holidays" end with New Year's Day.
    pattern: words(
      '(?:after|nach) (?:the (?:festive |holiday )?(?:holidays|holiday season|festive season)|den feiertagen|the new year|new year|(?:dem )?jahreswechsel|den ferien|der weihnachtspause)',
    ),
    read: ([text], { today }) => {
      const [year, month] = [new Date(today).getUTCFullYear(), new Date(today).getUTCMonth()]
      const isAny = /year|jahreswechsel|weihnacht/.test(text)
      if (isAny || month >= 10) return { day: workday(dateOf(year + 1, 0, 2), 1) }
      return undefined
    },
  },
  {
    pattern: words('before (?:the )?(?:holidays|new year)|vor den feiertagen|vor (?:dem )?jahreswechsel'),
    read: ([text], { today }) => {
      const [year, month] = [new Date(today).getUTCFullYear(), new Date(today).getUTCMonth()]
      const isNewYear = /year|jahreswechsel/.test(text)
      if (!isNewYear && month < 10) return undefined
      return { day: workday(dateOf(year, 11, isNewYear ? 31 : 24), -1) }
    },
  },
  ...holidays.map(ruleFor),
]
