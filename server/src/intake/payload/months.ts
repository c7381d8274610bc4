/** A month, or why there is none. `isShortened`: the text named a day, too. */
export type ReadMonth = { month: string; isShortened: boolean } | { unknown: string } | undefined

const names = [
  'january february march april may june july august september october november december',
  'januar februar märz april mai juni juli august september oktober november dezember',
].map((text) => text.split(' '))
const dayMilliseconds = 24 * 60 * 60 * 1000
/** The time zones of the world reach so far from UTC. */
const maxOffset = 14 * 60 * 60 * 1000

/**
 * Reads a month as senders write it: `2020-01`, `2020/1`, `01/2020`, `Jan 2020`, `März 2020`, a date, a timestamp, or seconds or
 * milliseconds since 1970. Undefined if it is something else.
 */
export function parseMonth(value: string | number): ReadMonth {
  const text = String(value).trim()
  if (/^\d{4}$/.test(text)) return { unknown: 'has no month' }
  if (/^\d{9,13}$/.test(text)) return ofInstant(new Date(Number(text) * (text.length > 10 ? 1 : 1000)))
  return ofParts(text) ?? ofTimestamp(text)
}

/** The year of a date, with or without a day or a time. */
export function parseYear(text: string): { year: number; isShortened: boolean } | undefined {
  const read = parseMonth(text)
  if (!read || 'unknown' in read) return undefined
  return { year: Number(read.month.slice(0, 4)), isShortened: true }
}

function ofParts(text: string): ReadMonth {
  const [, year, month, day] = /^(\d{4})[-/.](\d{1,2})(?:[-/.](\d{1,2}))?$/.exec(text) ?? []
  if (year !== undefined && month !== undefined) return monthOf(year, month, day)
  const [, one, separator, other, ofYear] = /^(\d{1,2})([-/.])(\d{1,2})\2(\d{4})$/.exec(text) ?? []
  if (one !== undefined && other !== undefined && ofYear !== undefined) {
    // With dots, the day is first. Otherwise that depends on the country, unless one of them can only be a day.
    if (separator === '.' || Number(one) > 12 || one === other) return monthOf(ofYear, other, one)
    return Number(other) > 12 ? monthOf(ofYear, one, other) : undefined
  }
  const [, firstMonth, lastYear] = /^(\d{1,2})[-/.](\d{4})$/.exec(text) ?? []
  if (firstMonth !== undefined && lastYear !== undefined) return monthOf(lastYear, firstMonth)
  const [, name = '', nameYear] = /^(\p{L}{3,9})\.?,?[ -](\d{4})$/iu.exec(text) ?? []
  const written = name.toLowerCase()
  const index = Math.max(...names.map((one) => one.findIndex((full) => full.startsWith(written))))
  return nameYear !== undefined && index >= 0 ? monthOf(nameYear, String(index + 1)) : undefined
}

function monthOf(year: string, month: string, day?: string): ReadMonth {
  const padded = `${year}-${month.padStart(2, '0')}`
  const date = `${padded}-${(day ?? '1').padStart(2, '0')}`
  const time = new Date(`${date}T00:00:00Z`)
  if (Number.isNaN(time.getTime()) || !time.toISOString().startsWith(date)) return undefined
  return { month: padded, isShortened: day !== undefined }
}

/** With an offset, or without one, the day is the one that is written. */
function ofTimestamp(text: string): ReadMonth {
  const [, date = '', time, zone = ''] =
    /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?) ?(Z|UTC|[+-]\d{2}:?\d{2})?$/i.exec(text) ?? []
  const written = ofParts(date)
  if (time === undefined || !written) return undefined
  return /^(?:Z|UTC|\+00:?00)$/i.test(zone) ? ofInstant(new Date(`${date}T${time}Z`)) : written
}

/** A time in UTC, of which only midnight is certainly a day: others may be in another month where they were written. */
function ofInstant(instant: Date): ReadMonth {
  const time = instant.getTime()
  if (Number.isNaN(time)) return undefined
  const months = [time - maxOffset, time + maxOffset].map((one) => new Date(one).toISOString().slice(0, 7))
  const isCertain = time % dayMilliseconds === 0 || months[0] === months[1]
  const month = instant.toISOString().slice(0, 7)
  if (!isCertain) return { unknown: 'is in another month in some time zones' }
  return /^\d{4}-/.test(month) ? { month, isShortened: true } : undefined
}
