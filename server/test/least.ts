/**
 * The least of a few measurements, which ends with the first one of at most `bound`. What else runs on the machine only
 * adds to a time or a count, so a single measurement fails on a busy one.
 */
export async function least(bound: number, measure: () => Promise<number>, times = 5): Promise<number> {
  let found = Infinity
  for (let time = 0; time < times && found > bound; time++) found = Math.min(found, await measure())
  return found
}

/** Milliseconds that `work` takes. */
export async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}
