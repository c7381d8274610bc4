import type { WallTime } from '../../local-time.ts'
import type { DayReading, DayRule } from './day-rule.ts'
import {
  amounts,
  type DateContext,
  dateOf,
  day,
  mondayOf,
  numberOf,
  shortWeekdays,
  weekdayIndex,
  weekdayOf,
  weekdays,
  words,
} from './words.ts'

const minute = 60_000
const hour = 60 * minute

const clockUnits = 'minutes?|mins?|minuten?|hours?|hrs?|hr|h|std|stunden?'
const dayUnits =
  '(?:business |working )?days?|tage?n?|werktage?n?|arbeitstage?n?|weeks?|wks?|wochen?|months?|monate?n?|years?|jahre?n?|quarters?|quartale?n?'

const about =
  '(?:about |around |approximately |approx\\.? |roughly |ca\\.? |circa |etwa |rund |ungefähr |spätestens |less than |under |no more than |max\\.? |den nächsten |der nächsten |the next )?'
const lead = `(?:in|within|inside|innerhalb von|innerhalb der|innerhalb|binnen|in spätestens|in den nächsten|in the next|within the next) ${about}`
const until = '(?: ?-| to| bis(?: zu)?| or| oder) ?'

/** The end of so many units from now; "half a year" is six months. */
function after({ now, today }: DateContext, count: number, unit: string): DayReading | undefined {
  if (!Number.isFinite(count) || count <= 0) return undefined
  if (/^(?:min)/.test(unit)) return atTime(now + Math.round(count) * minute)
  if (/^(?:h|std|stund)/.test(unit)) return atTime(now + Math.round(count * 60) * minute)
  if (/^(?:business|working|werk|arbeits)/.test(unit)) return { day: workdaysLater(today, Math.ceil(count)) }
  if (/^(?:day|tag)/.test(unit)) return { day: today + Math.round(count) * day }
  if (/^(?:w)/.test(unit)) return { day: today + Math.round(count * 7) * day, kind: 'week' }
  const inMonths = /^(?:month|monat)/.test(unit) ? count : /^(?:quart)/.test(unit) ? count * 3 : count * 12
  return { day: monthsLater(today, Math.floor(inMonths)) + Math.round((inMonths % 1) * 30) * day }
}

const atTime = (wall: WallTime): DayReading => {
  const exact = Math.floor(wall / minute) * minute
  return { day: exact - (exact % day), exact }
}

/** The same day of a later month, or its last one. */
function monthsLater(wall: WallTime, count: number): WallTime {
  const date = new Date(wall)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth() + count]
  return Math.min(dateOf(year, month, date.getUTCDate()), dateOf(year, month + 1, 0))
}

function workdaysLater(wall: WallTime, count: number): WallTime {
  let [found, left] = [wall, count]
  while (left > 0) {
    found += day
    if (![0, 6].includes(weekdayOf(found))) left -= 1
  }
  return found
}

const clockRules: readonly DayRule[] = [
  {
    pattern: words(
      `${lead}(?:(${amounts}) (?:hours?|stunden?)|(\\d{1,2}) ?h) (?:and |und )?(?:(a half|einer halben|eine halbe)|(${amounts}) ?(?:minutes?|mins?|min|minuten))`,
    ),
    read: ([, count, digits, half, minutes], { now }) =>
      atTime(now + numberOf(count ?? digits ?? '') * hour + (half ? 30 : numberOf(minutes ?? '0')) * minute),
  },
  {
    pattern: words(
      `${lead}(?:(an?|one|half an|half a) (?:hour)(?: from now)?|(?:half an?|eine[rn]? halben?) (?:hour|stunde))`,
    ),
    read: ([, count], { now }) => atTime(now + (count === 'an' || count === 'a' || count === 'one' ? 60 : 30) * minute),
  },
  {
    pattern: words(
      `${lead}(?:(?:a |one )?(quarter)(?: of)? an hour|(three quarters) of an hour|(?:einer |der )?(viertelstunde)|(?:einer |der )?(dreiviertelstunde|dreiviertel stunde))`,
    ),
    read: ([, quarter, three, viertel], { now }) =>
      atTime(now + ((quarter ?? viertel) !== undefined && three === undefined ? 15 : 45) * minute),
  },
]

const countRules: readonly DayRule[] = [
  {
    pattern: words('(?:in|within) (?:a|one|the next) fortnight(?:.s time)?|fortnight from now|a fortnight'),
    read: (_, { today }) => ({ day: today + 14 * day, kind: 'week' }),
  },
  {
    pattern: words(`(${weekdays}) (?:in (${amounts}) (?:weeks?|wochen?)|week)`),
    read: ([, name = '', count = '1'], context) => {
      const { day: first } = weekdayAfter(context, name)
      return { day: first + numberOf(count) * 7 * day, kind: 'date' }
    },
  },
  {
    pattern: words(`(${amounts}) (weeks?|days?|months?) (?:from|on|after) (?:(today|now)|(tomorrow)|(${weekdays}))`),
    read: ([, count = '', unit = '', , tomorrow, name], context) => {
      const begin = name === undefined ? context.today + (tomorrow ? day : 0) : weekdayAfter(context, name).day
      const reading = after({ ...context, today: begin }, numberOf(count), unit)
      return reading && { ...reading, kind: 'date' }
    },
  },
  {
    pattern: words(
      `(${amounts}) ?(${clockUnits}|${dayUnits})(?:' time)? (?:from now|hence|ab jetzt|ab heute|from today)`,
    ),
    read: ([, count = '', unit = ''], context) => after(context, numberOf(count), unit),
  },
  {
    pattern: words(
      `(?:heute |today )?(?:${lead}|after ${about}|nach )(?:(?:${amounts})${until})?(${amounts})[ -]?(${clockUnits}|${dayUnits})(?:'s?)?(?: time)?`,
    ),
    read: ([, count = '', unit = ''], context) => after(context, numberOf(count), unit),
  },
  {
    pattern: words(`(?:morgen in|tomorrow in) (${amounts}) (weeks?|wochen?|tagen?)`),
    read: ([, count = '', unit = ''], context) =>
      after({ ...context, today: context.today + day }, numberOf(count), unit),
  },
]

const dayRules: readonly DayRule[] = [
  {
    pattern: words('(?:the )?day after tomorrow|übermorgen'),
    read: (_, { today }) => ({ day: today + 2 * day }),
  },
  {
    pattern: words('tomorrow|tmrw|tmr|tomorow|tommorow|tommorrow|2morrow'),
    read: (_, { today }) => ({ day: today + day }),
  },
  {
    // In the morning is not tomorrow.
    pattern: words(
      `(?<!(?:am|guten|gute|heute|jeden|jedem|diesen|gestern|nächsten|${weekdays}|mo|di|mi|do|fr|sa|so),? )morgen`,
    ),
    read: (_, { today }) => ({ day: today + day }),
  },
  { pattern: words('today|heute|heut|2day'), read: (_, { today }) => ({ day: today }) },
  // The rest of the word is the part of the day.
  { pattern: /(?<!\p{L})to(?=night(?!\p{L}))/gu, read: (_, { today }) => ({ day: today }) },
  {
    pattern:
      /(?<!\p{L})(?:this (?=(?:late |early )?(?:morning|afternoon|evening|noon)(?!\p{L}))|diese[nrm] (?=abend|nachmittag|morgen|vormittag|mittag))/gu,
    read: (_, { today }) => ({ day: today }),
  },
]

/** The next such day; one that is today is that of next week. */
function weekdayAfter({ today }: Pick<DateContext, 'today'>, name: string): DayReading {
  const ahead = (weekdayIndex(name) - weekdayOf(today) + 7) % 7 || 7
  return { day: today + ahead * day, kind: 'weekday' }
}

const nextWeekday =
  '(?:next|this|coming|the coming|the following|nächste[rnms]?|kommende[rnms]?|diese[rnms]?|folgende[rnms]?|dem|den) '

/** "Mo" and "sat" are also words: the words around them tell. */
const shortWeekdayNames = {
  en: new RegExp(
    String.raw`(?<=(?<!\p{L})(?:on|by|until|till|next|this|from|before|after|-|or|and|to|back) |- ?)(${shortWeekdays.en})(?![\p{L}\p{N}])|(?<!\p{L})(${shortWeekdays.en})(?=\.?,? (?:the )?\d|,? (?:morning|afternoon|at|am|pm|\d)| ?- ?(?:${weekdays}|${shortWeekdays.en})(?!\p{L}))`,
    'gu',
  ),
  de: new RegExp(
    String.raw`(?<=(?<!\p{L})(?:am|bis|ab|vom|zum|nächsten|kommenden|diesen|-|oder|auf) |- ?)(${shortWeekdays.de})(?![\p{L}\p{N}])|(?<!\p{L})(${shortWeekdays.de})(?=\.,? ?\d|,? (?:den )?\d{1,2}(?:\.|:\d| uhr)|,? um \d| ?- ?(?:${weekdays}|${shortWeekdays.de})(?!\p{L}))`,
    'gu',
  ),
}

const weekdayRules: readonly DayRule[] = [
  {
    pattern: words(`übernächste[rnms]? (${weekdays})`),
    read: ([, name = ''], context) => ({ day: weekdayAfter(context, name).day + 7 * day, kind: 'date' }),
  },
  {
    pattern: words(`(?:${nextWeekday})?(${weekdays})\\.?(?:'s)?`),
    read: ([text, name = ''], context) => {
      const { today } = context
      const index = weekdayIndex(name)
      if (/^(?:this|diese)/.test(text) && index === weekdayOf(today)) return { day: today, kind: 'weekday' }
      if (!/^(?:next|nächste)/.test(text)) return weekdayAfter(context, name)
      // That of next week, which is not tomorrow.
      return { day: mondayOf(today) + (7 + ((index + 6) % 7)) * day, kind: 'weekday' }
    },
  },
  {
    // "Montagvormittag": the part of the day is read as a time.
    pattern: new RegExp(
      String.raw`(?<!\p{L})(${weekdays})(?=(?:morgen|früh|vormittag|mittag|nachmittag|abend)(?!\p{L}))`,
      'gu',
    ),
    read: ([, name = ''], context) => weekdayAfter(context, name),
  },
  ...(['en', 'de'] as const).map((language): DayRule => ({
    pattern: shortWeekdayNames[language],
    read: ([, name, other], context) =>
      context.language === language ? weekdayAfter(context, name ?? other ?? '') : undefined,
  })),
]

export const durationRules: readonly DayRule[] = [...clockRules, ...countRules]
export const dayNameRules: readonly DayRule[] = [...dayRules, ...weekdayRules]
