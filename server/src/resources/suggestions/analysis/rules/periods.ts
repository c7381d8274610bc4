import { startOfDay, type WallTime } from '../local-time.ts'

/** A period such as "next quarter", by its first day. chrono-node counts from today or does not know it. */
export interface Period {
  index: number
  length: number
  day: WallTime
}

interface PeriodRule {
  pattern: RegExp
  day(now: Date, match: RegExpExecArray): WallTime
}

const quarterWords: Readonly<Record<string, number>> = {
  first: 1,
  second: 2,
  third: 3,
  fourth: 4,
  ersten: 1,
  zweiten: 2,
  dritten: 3,
  vierten: 4,
  erste: 1,
  zweite: 2,
  dritte: 3,
  vierte: 4,
}

export const months =
  'jan(?:uary|uar)?|jän(?:ner)?|feb(?:ruary|ruar)?|märz|march|mar|apr(?:il)?|may|mai|june?|juni|july?|juli|aug(?:ust)?|sept?(?:ember)?|o[ck]t(?:ober)?|nov(?:ember)?|de[cz](?:ember)?'

const monthStarts = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const germanStarts: Readonly<Record<string, string>> = { jän: 'jan', mär: 'mar', mai: 'may', okt: 'oct', dez: 'dec' }

export function monthIndex(name: string): number {
  const start = name.slice(0, 3)
  return monthStarts.indexOf(germanStarts[start] ?? start)
}

const partDays: Readonly<Record<string, number>> = { mid: 15, middle: 15, mitte: 15, late: 25, end: 25, ende: 25 }

const nextWord = '(?:next|the coming|the following|nächste[rnms]?|kommende[rnms]?|folgende[rnms]?)'

const rules: readonly PeriodRule[] = [
  {
    pattern: new RegExp(String.raw`\b${nextWord.replace('nächste', '(?:im )?nächste')} (?:week|woche)\b`, 'g'),
    day: (now) => startOfDay(now.getTime()) + ((8 - now.getUTCDay()) % 7 || 7) * 86_400_000,
  },
  {
    pattern: new RegExp(String.raw`\b${nextWord} (?:month|monats?)\b`, 'g'),
    day: (now) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1),
  },
  {
    pattern: new RegExp(String.raw`\b${nextWord} (?:quarter|quartals?)\b`, 'g'),
    day: (now) => Date.UTC(now.getUTCFullYear(), 3 * Math.floor(now.getUTCMonth() / 3) + 3, 1),
  },
  {
    pattern: new RegExp(String.raw`\b(?:${nextWord}|the new|im neuen|new) (?:year|jahr(?:es)?)\b`, 'g'),
    day: (now) => Date.UTC(now.getUTCFullYear() + 1, 0, 1),
  },
  {
    pattern:
      /\b(?:q([1-4])|(first|second|third|fourth|ersten?|zweiten?|dritten?|vierten?) (?:quarter|quartal))(?: (?:of |in )?(20\d\d))?\b/g,
    day: (now, [, digit, ordinal = '', year]) =>
      upcoming(now, { month: 3 * (Number(digit ?? quarterWords[ordinal]) - 1), day: 1, year }),
  },
  {
    pattern: new RegExp(
      String.raw`\b(?:in|im|until|till|before|after|by|around|from|starting|since|next|bis|ab|vor|nach|seit|auf|für|to|for|this|diesen|(early|mid|late|anfang|mitte|ende|(?:beginning|middle|end) of))[ -](${months})(?:,? (20\d\d))?(?!\p{L}|\.? ?\d)`,
      'gu',
    ),
    day: (now, [, part = '', name = '', year]) =>
      upcoming(now, { month: monthIndex(name), day: partDays[part.split(' ')[0] ?? ''] ?? 1, year }),
  },
]

/** The first such day that is not over. */
function upcoming(now: Date, { month, day, year }: { month: number; day: number; year: string | undefined }): WallTime {
  if (year !== undefined) return Date.UTC(Number(year), month, day)
  const thisYear = Date.UTC(now.getUTCFullYear(), month, day)
  return thisYear >= startOfDay(now.getTime()) ? thisYear : Date.UTC(now.getUTCFullYear() + 1, month, day)
}

/** The periods in a sentence in normal form. */
export const periodsIn = (normal: string, now: WallTime): Period[] =>
  rules.flatMap(({ pattern, day }) =>
    [...normal.matchAll(pattern)].map((match) => ({
      index: match.index,
      length: match[0].length,
      day: day(new Date(now), match),
    })),
  )
