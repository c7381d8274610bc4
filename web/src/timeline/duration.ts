const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

/** `3 days`: in the largest unit, as people say it. */
export function showDuration(seconds: number, locale: string): string {
  const [unit, size] = units.find((found) => seconds >= found[1]) ?? (['minute', 60] as const)
  const amount = Math.max(1, Math.floor(seconds / size))
  return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(amount)
}
