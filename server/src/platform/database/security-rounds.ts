/** The last minor release of each major version that is known here, all of one round. */
const knownRound = { date: Date.UTC(2026, 4, 14), minors: { 15: 18, 16: 14, 17: 10, 18: 4 } as Record<number, number> }

/** PostgreSQL releases security fixes on the second Thursday of these months (0 is January), and earlier if urgent. */
const roundMonths = [1, 4, 7, 10]
const day = 24 * 60 * 60 * 1000

export interface VersionAge {
  /** Since the round of the version. */
  days: number
  /** The later rounds, such as `August 2026`. */
  missed: string[]
}

/** How old this version is; undefined if it is newer than what this release knows. */
export function ageOf(version: string, now: Date): VersionAge | undefined {
  const [, major = '', minor = ''] = /^(\d+)\.(\d+)/.exec(version) ?? []
  const known = knownRound.minors[Number(major)]
  if (known === undefined || Number(minor) > known) return undefined
  const missed: string[] = []
  for (let year = new Date(knownRound.date).getUTCFullYear(); year <= now.getUTCFullYear(); year++) {
    for (const month of roundMonths) {
      const round = secondThursday(year, month)
      if (round > knownRound.date && round <= now.getTime()) missed.push(monthName(round))
    }
  }
  return { days: Math.floor((now.getTime() - knownRound.date) / day), missed }
}

function secondThursday(year: number, month: number): number {
  const first = Date.UTC(year, month, 1)
  const untilThursday = (4 - new Date(first).getUTCDay() + 7) % 7
  return first + (untilThursday + 7) * day
}

const monthName = (time: number): string =>
  new Date(time).toLocaleString('en', { month: 'long', year: 'numeric', timeZone: 'UTC' })

/** A sentence about an outdated version; undefined if no round is missing. */
export function describeAge(version: string, now: Date): string | undefined {
  const age = ageOf(version, now)
  if (!age || age.missed.length === 0) return undefined
  const rounds = age.missed.length === 1 ? 'the round' : `${age.missed.length} rounds`
  return `PostgreSQL ${version} is at least ${age.days} days old and lacks ${rounds} of security releases: ${age.missed.join(', ')}`
}
