/** A local date and time as if the zone were UTC: its UTC fields are what a clock on the wall shows. */
export type WallTime = number

const formatters = new Map<string, Intl.DateTimeFormat>()

function formatterOf(zone: string): Intl.DateTimeFormat {
  const known = formatters.get(zone)
  if (known) return known
  const parts = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const
  const options = { ...parts, second: 'numeric', hourCycle: 'h23', era: 'short' } as const
  const created = new Intl.DateTimeFormat('en', { ...options, timeZone: isKnown(zone) ? zone : 'UTC' })
  formatters.set(zone, created)
  return created
}

/** This version of Node may lack a zone that the service knows. */
function isKnown(zone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

export function wallTimeOf(instant: Date, zone: string): WallTime {
  const parts = formatterOf(zone).formatToParts(instant)
  const value = (type: string) => Number(parts.find((part) => part.type === type)?.value)
  return Date.UTC(value('year'), value('month') - 1, value('day'), value('hour'), value('minute'), value('second'))
}

/** The instant of a local time. Of two (clocks set back) the first; in a gap (clocks set forward), moved on by it. */
export function instantOf(wall: WallTime, zone: string): Date {
  const offsetAt = (time: number) => wallTimeOf(new Date(time), zone) - time
  const day = 86_400_000
  const [before, after] = [wall - offsetAt(wall - day), wall - offsetAt(wall + day)]
  const isRight = (time: number) => wallTimeOf(new Date(time), zone) === wall
  return new Date([Math.min(before, after), Math.max(before, after)].find(isRight) ?? before)
}

export const startOfDay = (wall: WallTime): WallTime => {
  const date = new Date(wall)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate())
}

/** The hour of dates without a time. */
export const startOfWork = 9

export const atWorkTime = (wall: WallTime): WallTime => startOfDay(wall) + startOfWork * 3_600_000
