/** The quantile for this share; undefined without values. */
export function quantile(values: readonly number[], share: number): number | undefined {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
}
