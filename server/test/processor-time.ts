/** Milliseconds of processor time that `work` takes, which do not depend on the machine's load. */
export function processorTime(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
