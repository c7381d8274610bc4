/** What is known of a receiver from its answers. */
export interface Health {
  /** Failures since the last success. */
  failures: number
  /** Milliseconds since 1970; null after a success. */
  failingSince: number | null
  /** Whether the owners know that it fails. */
  isReported: boolean
}

export type Outcome = 'delivered' | 'failed' | 'gone'

/** What follows from an outcome: people get a mail, and nothing more is sent. */
export type Signal = 'failing' | 'disable' | 'recovered'

/** From so many failures on, one delivery a minute is tried. */
export const breakerFailures = 10
export const probeSeconds = 60

const hour = 3_600_000
const maxFailing = 5 * 24 * hour
/** Failures must span this time: a receiver of few events is not judged by two of them. */
const minSpan = 12 * hour
const minFailures = 20

export const healthy: Health = { failures: 0, failingSince: null, isReported: false }

export const isBroken = ({ failures }: Health): boolean => failures >= breakerFailures

/** The health after another outcome at this time. */
export function advance(health: Health, outcome: Outcome, now: number): { health: Health; signal?: Signal } {
  if (outcome === 'delivered') return health.isReported ? { health: healthy, signal: 'recovered' } : { health: healthy }
  const since = health.failingSince ?? now
  const next = { ...health, failures: health.failures + 1, failingSince: since }
  if (outcome === 'gone') return { health: { ...next, isReported: true }, signal: 'disable' }
  const failing = now - since
  if (failing >= Math.max(maxFailing, minSpan) && next.failures >= minFailures)
    return { health: { ...next, isReported: true }, signal: 'disable' }
  const isHalf = failing >= maxFailing / 2 && next.failures >= minFailures / 2
  return isHalf && !health.isReported ? { health: { ...next, isReported: true }, signal: 'failing' } : { health: next }
}
