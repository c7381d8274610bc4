import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

/** Number of processors that this process may use, considering its CPU affinity and the limit of a container. */
export const availableProcessors = (quotaFile = '/sys/fs/cgroup/cpu.max'): number =>
  Math.min(availableParallelism(), quotaOf(quotaFile))

/** CPU limit of a container, rounded up (cgroup v2: quota and period in microseconds). */
function quotaOf(file: string): number {
  try {
    const [quota, period] = readFileSync(file, 'utf8').split(' ').map(Number)
    return quota && period ? Math.max(1, Math.ceil(quota / period)) : Infinity
  } catch {
    return Infinity
  }
}
