import { startOfDay, type WallTime } from '../../local-time.ts'

export const day = 86_400_000

/** Where the dates of a sentence are read. */
export interface DateContext {
  language: 'en' | 'de'
  now: WallTime
  today: WallTime
  /** 5/1 is 1 May in the United States and 5 January elsewhere. */
  isMonthFirst: boolean
}

/** Words as a whole; `#` inserts a digit-free boundary on both sides. */
export const words = (source: string): RegExp =>
  new RegExp(String.raw`(?<![\p{L}\p{N}])(?:${source})(?![\p{L}\p{N}])`, 'gu')

export const months =
  'jan(?:uary|uar)?|jän(?:ner)?|feb(?:ruary|ruar)?|märz|march|mar|apr(?:il)?|may|mai|june?|juni|july?|juli|aug(?:ust)?|sept?(?:ember)?|o[ck]t(?:ober)?|nov(?:ember)?|de[cz](?:ember)?'

const monthStarts = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const germanStarts: Readonly<Record<string, string>> = { jän: 'jan', mär: 'mar', mai: 'may', okt: 'oct', dez: 'dec' }

export function monthIndex(name: string): number {
  const start = name.slice(0, 3)
  return monthStarts.indexOf(germanStarts[start] ?? start)
}

export const weekdays =
  'mon(?:day|tag)|tues(?:day)?|tue|dienstag|wednesday|weds|mittwoch|thur(?:s(?:day)?)?|thu|donnerstag|fri(?:day)?|freitag|satur(?:day)|samstag|sonnabend|sun(?:day)|sonntag'
/** They are also other words, so they need a preposition or a number next to them. */
export const shortWeekdays = { en: 'mon|wed|sat|sun', de: 'mo|di|mi|do|fr|sa|so' }

const weekdayStarts: readonly (readonly string[])[] = [
  ['sun', 'sonnt', 'so'],
  ['mo'],
  ['tu', 'di'],
  ['we', 'mi'],
  ['th', 'do'],
  ['fr'],
  ['sa', 'sonna'],
]

/** 0 is Sunday. */
export const weekdayIndex = (name: string): number =>
  name.startsWith('sonna') ? 6 : weekdayStarts.findIndex((starts) => starts.some((start) => name.startsWith(start)))

const listOfNumbers = [
  'a an one ein eine einer einem einen eines eins',
  'two zwei zwo',
  'three drei',
  'four vier',
  'five fünf',
  'six sechs',
  'seven sieben',
  'eight acht',
  'nine neun',
  'ten zehn',
  'eleven elf',
  'twelve zwölf',
]
const numbers = new Map(listOfNumbers.flatMap((all, index) => all.split(' ').map((word) => [word, index + 1] as const)))
const fractions: Readonly<Record<string, number>> = {
  half: 0.5,
  'half a': 0.5,
  'half an': 0.5,
  'a half': 0.5,
  'ein halbes': 0.5,
  'einem halben': 0.5,
  'einer halben': 0.5,
  anderthalb: 1.5,
  eineinhalb: 1.5,
  'one and a half': 1.5,
  '1 1/2': 1.5,
  zweieinhalb: 2.5,
  'two and a half': 2.5,
  dreieinhalb: 3.5,
  'three and a half': 3.5,
  'a couple of': 2,
  'a couple': 2,
  'couple of': 2,
  fifteen: 15,
  fünfzehn: 15,
  vierzehn: 14,
  fourteen: 14,
  twenty: 20,
  zwanzig: 20,
  thirty: 30,
  dreißig: 30,
  forty: 40,
  'forty-five': 45,
  fünfundvierzig: 45,
  sixty: 60,
  sechzig: 60,
  ninety: 90,
  neunzig: 90,
}

/** The hours of a clock in words. */
export const hourWords = [...numbers.keys()].filter((word) => !/^(?:an?|eine.?|ein)$/.test(word)).join('|')
/** How many of a unit. */
export const amounts = [
  String.raw`\d{1,3}(?:[.,]5)?`,
  ...Object.keys(fractions).sort((one, other) => other.length - one.length),
  ...[...numbers.keys()].sort((one, other) => other.length - one.length),
].join('|')

export const numberOf = (text: string): number => numbers.get(text) ?? fractions[text] ?? Number(text.replace(',', '.'))

export const ordinals = String.raw`first|1st|second|2nd|third|3rd|fourth|4th|last|erste[rnms]?|1\.|zweite[rnms]?|2\.|dritte[rnms]?|3\.|vierte[rnms]?|4\.|letzte[rnms]?`

/** From 1 to 4; -1 for the last one. */
export function ordinalOf(text: string): number {
  if (/^(?:last|letzte)/.test(text)) return -1
  const digit = /^\d/.exec(text)?.[0]
  return digit === undefined
    ? 1 + [/^(?:fi|er)/, /^(?:se|zw)/, /^(?:th|dr)/, /^(?:fo|vi)/].findIndex((one) => one.test(text))
    : Number(digit)
}

export const dateOf = (year: number, month: number, dayOfMonth: number): WallTime => Date.UTC(year, month, dayOfMonth)
const lastOfMonth = (year: number, month: number): number => new Date(dateOf(year, month + 1, 0)).getUTCDate()

/** Undefined if there is no such day. Without a year, the next one. */
export function calendarDay(
  { today }: Pick<DateContext, 'today'>,
  { dayOfMonth, month, year }: { dayOfMonth: number; month: number; year?: string | undefined },
): WallTime | undefined {
  if (month < 0 || month > 11 || dayOfMonth < 1) return undefined
  const current = new Date(today).getUTCFullYear()
  const given = year === undefined ? undefined : Number(year.replaceAll(/\D/g, '').padStart(4, '20'))
  const years = given === undefined ? [current, current + 1, current + 2, current + 3, current + 4] : [given]
  return years
    .filter((one) => dayOfMonth <= lastOfMonth(one, month))
    .map((one) => dateOf(one, month, dayOfMonth))
    .find((found) => given !== undefined || found >= today)
}

export const weekdayOf = (wall: WallTime): number => new Date(wall).getUTCDay()
export const mondayOf = (wall: WallTime): WallTime => startOfDay(wall) - ((weekdayOf(wall) + 6) % 7) * day
export const endOfMonth = (year: number, month: number): WallTime => dateOf(year, month + 1, 0)

/** The first working day from this one on, or the last one up to it. */
export function workday(wall: WallTime, step: 1 | -1): WallTime {
  let found = wall
  while ([0, 6].includes(weekdayOf(found))) found += step * day
  return found
}

/** The nth such weekday of a month; with -1 the last one. */
export function nthWeekday(year: number, month: number, weekday: number, nth: number): WallTime {
  if (nth > 0) {
    const first = dateOf(year, month, 1)
    return first + (((weekday - weekdayOf(first) + 7) % 7) + 7 * (nth - 1)) * day
  }
  const last = endOfMonth(year, month)
  return last - ((weekdayOf(last) - weekday + 7) % 7) * day
}
