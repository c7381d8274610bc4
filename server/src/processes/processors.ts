import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

/** Processors that this process may use: the machine's, less those that its affinity or a container's limit rules out. */
export const availableProcessors = (quotaFile = '/sys/fs/cgroup/cpu.max'): number =>
  Math.min(availableParallelism(), quotaOf(quotaFile))

/** The limit of a container in processors, rounded up (cgroup v2: microseconds of processor time, and of each period). */
function quotaOf(file: string): number {
  try {
    const [quota, period] = readFileSync(file, 'utf8').split(' ').map(Number)
    return quota && period ? Math.max(1, Math.ceil(quota / period)) : Infinity
  } catch {
    return Infinity
  }
}
