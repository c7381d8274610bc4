const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

/** The largest unit of a duration and its number, for a sentence that declines it: `seit 2 Tagen`. */
export function durationOf(seconds: number): { unit: 'day' | 'hour' | 'minute'; count: number } {
  const [unit, size] = units.find((found) => seconds >= found[1]) ?? (['minute', 60] as const)
  return { unit, count: Math.max(1, Math.floor(seconds / size)) }
}
