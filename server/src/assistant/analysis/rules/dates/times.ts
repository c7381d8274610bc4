import { hourWords, months, numberOf, shortWeekdays, weekdays, words } from './words.ts'

/** A time of day that words of a sentence name. */
export interface TimeReading {
  /** From midnight; 24 hours are the end of the day. */
  minutes: number
  /** Written with am, pm or in 24 hours, so that "3" cannot be in the afternoon. */
  isExact?: boolean
  /** The minutes at which a part of a day is over, such as noon for "this morning". */
  until?: number
}

export interface TimeRule {
  pattern: RegExp
  read(match: readonly [string, ...(string | undefined)[]]): TimeReading | undefined
}

const half = String.raw`[ap]\.?m(?:\.|(?!\p{L}))`
/** "Um 3 am Montag" does not mean 3 am. */
const notGermanAm = String.raw`(?! +(?:${weekdays}|\d|nächsten|kommenden|ersten|besten|telefon|tag))`
const suffix = String.raw` ?(${half})${notGermanAm}`
const hourWord = String.raw`(\d{1,2}|${hourWords})`
const notNumber = String.raw`(?<![\d.,:/$€#-]|\p{L})`

const follows = [
  String.raw`\s*$`,
  // A day that was read already.
  String.raw`\s*·`,
  String.raw`\s*[.,;:!?)"](?!\d)`,
  String.raw`\s+-\s`,
  String.raw`\s+(?:on|or|and|if|but|tomorrow|today|tonight|sharp|latest|instead|please|pls|works?|would|could|is|was|in the|at|because|so|then|as|with|your|my|our|local|for (?:a|an|the|our|your|my|us|me|this)|to (?:discuss|talk|go|speak|review|see|meet|catch)|this|next|ok|okay|morgen|heute|übermorgen|am|an|auf|bei|im|oder|und|wenn|falls|bitte|passt|geht|ginge|wäre|ist|kurz|nochmal|noch|wieder|erneut|anrufen|zurückrufen|melden|telefonieren|mit|für|hier|statt|los|zeit|frei|zur|zum|${weekdays}|${shortWeekdays.en})(?!\p{L})`,
  String.raw`\s+(?:[\p{L}]{2,15} ){1,2}time(?!\p{L})`,
  String.raw`\s+\(?(?:gmt|utc|[pecm][sd]?t|cest|cet|bst|ist|mez|mesz|jst|aest|aedt|eet)(?!\p{L})`,
].join('|')
const preposition =
  'at|@|around|about|by|before|after|until|till|um|gegen|ab|bis|vor|nach|circa|from|kurz nach|kurz vor'

/** Hours as people write them: 3pm, 15:00, 15 Uhr, half past three, halb vier. */
const clock = (hour: string | undefined, minute: string | undefined, half?: string): TimeReading | undefined => {
  const [hours, minutes] = [numberOf(hour ?? ''), Number(minute ?? '0')]
  if (!(hours <= 24) || minutes > 59) return undefined
  if (half === undefined) {
    const isExact = hours > 12 || hours === 0 || /^0\d/.test(hour ?? '')
    return { minutes: 60 * hours + minutes, isExact }
  }
  if (hours < 1 || hours > 12) return undefined
  return { minutes: 60 * ((hours % 12) + (half.startsWith('p') ? 12 : 0)) + minutes, isExact: true }
}

/** Minutes before or after an hour; "quarter to one" is 12:45. */
const spoken = (hour: string | undefined, offset: number): TimeReading | undefined => {
  const hours = numberOf(hour ?? '')
  if (!(hours >= 1 && hours <= 24)) return undefined
  const minutes = 60 * hours + offset
  return { minutes: minutes < 60 ? minutes + 720 : minutes, isExact: hours > 12 }
}

const minutesOf = (text: string): number =>
  ({ quarter: 15, viertel: 15, 'a quarter': 15, 'twenty-five': 25, 'twenty five': 25, half: 30 })[text] ??
  numberOf(text)

const few = String.raw`a quarter|quarter|twenty[- ]five|twenty|ten|five`
const fewGerman = String.raw`viertel|zwanzig|zehn|fünf`
const past = String.raw`(?:past|after)`

const rangeSeparator = String.raw` ?(?:-|to|and|until|till|bis|und) ?`
const timeText = String.raw`(\d{1,2})(?:[:.](\d\d))?`

/** The first hour of a range has the half of the day of the second, unless that would be later. */
function rangeStart(
  [hour, minute, half]: readonly (string | undefined)[],
  [lastHour, lastHalf]: readonly (string | undefined)[],
): TimeReading | undefined {
  if (half !== undefined || lastHalf === undefined) return clock(hour, minute, half)
  const isBefore = Number(hour) % 12 <= Number(lastHour) % 12
  const other = lastHalf.startsWith('p') ? 'am' : 'pm'
  return clock(hour, minute, isBefore ? lastHalf : other)
}

const rangeRules: readonly TimeRule[] = [
  {
    pattern: new RegExp(
      String.raw`${notNumber}${timeText}(?: ?(${half}))?${rangeSeparator}(\d{1,2})(?:[:.]\d\d)? ?(${half})${notGermanAm}`,
      'gu',
    ),
    read: ([, hour, minute, half, lastHour, lastHalf]) => rangeStart([hour, minute, half], [lastHour, lastHalf]),
  },
  {
    pattern: new RegExp(
      String.raw`${notNumber}${timeText}(?: uhr)?${rangeSeparator}(\d{1,2})(?:[:.]\d\d)? ?(?:uhr|o'?clock|h)(?!\p{L})`,
      'gu',
    ),
    read: ([, hour, minute]) => clock(hour, minute),
  },
  {
    pattern: words(
      String.raw`(?:from|between|von|zwischen) ${hourWord}(?:[:.](\d\d))?${rangeSeparator}${hourWord}(?:[:.]\d\d)?(?=${follows})`,
    ),
    read: ([, hour, minute]) => clock(hour, minute),
  },
]

const writtenRules: readonly TimeRule[] = [
  {
    pattern: new RegExp(
      String.raw`(?<![\d.,/$€#-])(?:(?<=\dt)|(?<!\p{L}))(\d{1,2}):(\d\d)(?::\d\d)?(?:${suffix}|(?![\d:]|\p{L}| ?[ap]m))`,
      'gu',
    ),
    read: ([, hour, minute, half]) => clock(hour, minute, half),
  },
  {
    pattern: new RegExp(String.raw`${notNumber}(\d{1,2})(?:[.:](\d\d))?${suffix}`, 'gu'),
    read: ([, hour, minute, half]) => clock(hour, minute, half),
  },
  {
    pattern: new RegExp(String.raw`${notNumber}(\d{1,2})[.:]?(\d\d)? ?uhr(?: ?(\d\d)(?!\d|\.))?(?!\p{L})`, 'gu'),
    read: ([, hour, minute, later]) => clock(hour, minute ?? later),
  },
  {
    pattern: words(
      String.raw`(?:at|um|gegen|ab|bis|until|before|after|by) (\d{1,2})(?:[.]|h)(\d\d)(?: ?h)?(?=${follows})`,
    ),
    read: ([, hour, minute]) => clock(hour, minute),
  },
  {
    pattern: words(String.raw`(?:at|um|gegen|ab|bis|until|before|after|by) (\d{1,2}) ?h(?:rs)?`),
    read: ([, hour]) => clock(hour, undefined),
  },
  {
    pattern: words(String.raw`${hourWord} (?:o ?'? ?clock|uhr(?: (dreißig|fünfzehn|fünfundvierzig|zehn|zwanzig))?)`),
    read: ([, hour, minute]) => clock(hour, String(minute === undefined ? 0 : numberOf(minute))),
  },
]

const spokenRules: readonly TimeRule[] = [
  {
    pattern: words(String.raw`(?:(fünf|zehn|\d{1,2}) (vor|nach) )?halb ${hourWord}(?! (?:voll|so|tage?|jahr))`),
    read: ([, offset, side, hour]) =>
      spoken(hour, -30 + (offset === undefined ? 0 : minutesOf(offset) * (side === 'vor' ? -1 : 1))),
  },
  {
    pattern: words(String.raw`(dreiviertel|drei viertel|viertel) ${hourWord}(?= uhr|${follows})`),
    read: ([, quarters, hour]) => spoken(hour, quarters === 'viertel' ? -45 : -15),
  },
  {
    pattern: words(
      String.raw`(${fewGerman}|(?<=(?:um|gegen|bis|ab) )\d{1,2})(?: minuten)? (vor|nach) ${hourWord}(?: uhr)?(?=${follows})`,
    ),
    read: ([, count = '', side, hour]) => spoken(hour, minutesOf(count) * (side === 'vor' ? -1 : 1)),
  },
  {
    pattern: words(String.raw`(half|${few})(?: minutes)? ${past} ${hourWord}(?:${suffix})?(?!\d)`),
    read: ([, count = '', hour, half]) => withHalf(spoken(hour, minutesOf(count)), half),
  },
  {
    pattern: words(
      String.raw`(quarter|a quarter|(?<=(?:at|by|around|about|until|before|from|till|·),? )(?:${few}))(?: minutes)? (?:to|till|of|before) ${hourWord}(?:${suffix})?(?=${follows})`,
    ),
    read: ([, count = '', hour, half]) => withHalf(spoken(hour, -minutesOf(count)), half),
  },
  {
    pattern: words(String.raw`(?:at|by|around|about|until|before|from|till) half ${hourWord}(?=${follows})`),
    read: ([, hour]) => spoken(hour, 30),
  },
  {
    pattern: words(
      String.raw`(${hourWords})[ -](thirty|fifteen|forty[ -]five)(?:${suffix})?(?! (?:people|seats|users|percent|euros?|dollars?))`,
    ),
    read: ([, hour, minute = '', half]) =>
      withHalf(spoken(hour, minute.startsWith('th') ? 30 : minute.startsWith('fi') ? 15 : 45), half),
  },
  {
    pattern: words(String.raw`(?:${preposition}) ${hourWord}(?![:./]\d|\. ?(?:${months}))(?=${follows})`),
    read: ([text, hour]) =>
      /^(?:about|from|nach|vor|after|before) (?:one|eins|two|zwei)/.test(text) ? undefined : clock(hour, undefined),
  },
  {
    pattern: new RegExp(
      String.raw`(?<=·,? )(\d{1,2})(?:[.](\d\d))?(?=\s*$|\s*[,;?!]|\.\s*$| (?:or|oder|works|passt|would|is)(?!\p{L}))`,
      'gu',
    ),
    read: ([, hour, minute]) => clock(hour, minute),
  },
]

function withHalf(reading: TimeReading | undefined, half: string | undefined): TimeReading | undefined {
  if (reading === undefined || half === undefined) return reading
  return { minutes: (reading.minutes % 720) + (half.startsWith('p') ? 720 : 0), isExact: true }
}

const part =
  (hours: number, until: number): TimeRule['read'] =>
  () => ({ minutes: 60 * hours, until: 60 * until })
const endOfWork =
  'eod|e\\.o\\.d\\.?|cob|eob|end[ -]of[ -](?:the )?(?:business |working |work )?day|(?:close|end)[ -]of[ -](?:business|play)|end of business|ende des (?:arbeits)?tages|tagesende|feierabend|dienstschluss|geschäftsschluss|büroschluss|arbeitsende'

const namedRules: readonly TimeRule[] = [
  { pattern: words(endOfWork), read: part(17, 24) },
  { pattern: words('(?:12 )?noon|midday|12 mittags'), read: () => ({ minutes: 720, isExact: true }) },
  { pattern: words('midnight|mitternacht'), read: () => ({ minutes: 1440, isExact: true }) },
]

const partRules: readonly TimeRule[] = [
  { pattern: words('nachmittags?|afternoons?'), read: part(14, 18) },
  { pattern: words('abends?|evenings?|(?<=··)night'), read: part(18, 24) },
  { pattern: words('lunch ?time|over lunch|mittags?|mittagszeit'), read: part(12, 14) },
  { pattern: /(?<=·,? )pm(?!\p{L})/gu, read: part(14, 18) },
  { pattern: /(?<=·,? )am(?! +(?:\p{L}|\d|·))/gu, read: part(9, 12) },
  { pattern: words('vormittags?|mornings?|morgens?|früh'), read: part(9, 12) },
]

/** In this order: a time is read before the part of a day that it may contain. */
export const clockRules: readonly TimeRule[] = [...rangeRules, ...writtenRules, ...spokenRules, ...namedRules]
export const partOfDayRules: readonly TimeRule[] = partRules
