export interface LocalTime {
  day: string
  time: string
}

/** What clocks show in a time zone (IANA) at an instant in milliseconds since 1970: `17:30:00.000` on `2026-11-27`. */
export function localTimeOf(instant: number, timeZone: string): LocalTime {
  const [day = '', time = ''] = new Date(instant + offsetAt(instant, timeZone)).toISOString().split('T')
  return { day, time: time.slice(0, -1) }
}

/** When clocks in a time zone show this: the first time if they do twice, and later by what they skip if never. */
export function instantOf({ day, time }: LocalTime, timeZone: string): number {
  const shown = Date.parse(`${day}T${time}Z`)
  const before = shown - offsetAt(shown - dayMilliseconds, timeZone)
  if (offsetAt(before, timeZone) === shown - before) return before
  const after = shown - offsetAt(shown + dayMilliseconds, timeZone)
  return offsetAt(after, timeZone) === shown - after ? after : before
}

export const dayMilliseconds = 86_400_000

function offsetAt(instant: number, timeZone: string): number {
  const text = formatOf(timeZone).format(instant)
  const [, sign, hours, minutes, seconds = '0'] = /GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/.exec(text) ?? []
  if (sign === undefined) return 0
  const length = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000
  return sign === '-' ? -length : length
}

const formats = new Map<string, Intl.DateTimeFormat>()

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone)
  if (known) return known
  const made = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset', year: 'numeric' })
  formats.set(timeZone, made)
  return made
}
