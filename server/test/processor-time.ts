/**
 * Milliseconds of processor time that `work` takes, the fewest of several times: the first one compiles it, and other
 * programs slow it down by taking the caches, although they do not count.
 */
export function processorTime(work: () => void, times = 3): number {
  let fewest = Infinity
  for (let time = 0; time < times; time++) {
    const before = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(before)
    fewest = Math.min(fewest, (user + system) / 1000)
  }
  return fewest
}
