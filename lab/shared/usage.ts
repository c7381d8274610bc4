import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** Processor time and memory of a measured program; undefined if the system does not report them. */
export interface Program {
  /** Milliseconds of processor time since its start, including children that have exited. */
  cpu(): number | undefined
  /** Current memory in bytes. */
  memory(): number | undefined
}

/** Milliseconds of a tick: Linux always reports hundredths of a second (USER_HZ). */
const tick = 10

/** One process with its threads. */
export const processOf = (pid: number): Program => ({
  cpu: () => {
    const times = cpuTimesOf(pid)
    return times && times.self
  },
  memory: () => memoryOf(pid, 'status', 'VmRSS'),
})

/** A process and its current children that run the same executable, which excludes a database that it started. */
export function programOf(pid: number): Program {
  const program = executableOf(pid)
  const all = [pid, ...childrenOf(pid).filter((child) => executableOf(child) === program)].map(processOf)
  const sumIfKnown = (values: (number | undefined)[]) =>
    values.includes(undefined) ? undefined : sum(values.map((value) => value ?? 0))
  return {
    cpu: () => sumIfKnown(all.map(({ cpu }) => cpu())),
    memory: () => sumIfKnown(all.map(({ memory }) => memory())),
  }
}

/** The executable of a process; undefined if the system does not report it. */
function executableOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/exe`)
  } catch {
    return undefined
  }
}

/** PostgreSQL: the postmaster and its children, one for each connection. */
export const databaseOf = (postmaster: number): Program => ({
  cpu: () => {
    for (;;) {
      const first = cpuTimesOf(postmaster)
      if (!first) return undefined
      const children = childrenOf(postmaster).map((child) => cpuTimesOf(child)?.self ?? 0)
      // The time of an exited child moves to its parent. If that happened during the reads, it may have been missed.
      if (cpuTimesOf(postmaster)?.children === first.children) return first.self + first.children + sum(children)
    }
  },
  // Proportional set sizes, so that shared memory counts once.
  memory: () => {
    if (statFieldsOf(postmaster) === undefined) return undefined
    const shares = [postmaster, ...childrenOf(postmaster)].map((pid) => {
      const share = memoryOf(pid, 'smaps_rollup', 'Pss')
      // A child that has exited or is exiting uses no memory (vsize, the 21st field, is 0). If any other process does
      // not report its share, the sum is unknown.
      return share ?? (Number(statFieldsOf(pid)?.[20] ?? 0) === 0 ? 0 : undefined)
    })
    return shares.includes(undefined) ? undefined : sum(shares.map((share) => share ?? 0))
  },
})

/** The parent of a process; undefined if the system does not report it. */
export function parentOf(pid: number): number | undefined {
  const parent = Number(statFieldsOf(pid)?.[1])
  return parent > 0 ? parent : undefined
}

/** The running children of a process. */
export function childrenOf(parent: number): number[] {
  if (process.platform === 'linux') {
    const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
    return all.map(Number).filter((pid) => parentOf(pid) === parent)
  }
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n')
  const pairs = lines.map((line) => line.trim().split(/\s+/).map(Number))
  return pairs.flatMap(([pid, of]) => (of === parent && pid !== undefined ? [pid] : []))
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

function cpuTimesOf(pid: number): { self: number; children: number } | undefined {
  const fields = statFieldsOf(pid)
  if (!fields) return undefined
  const at = (index: number) => Number(fields[index]) * tick
  return { self: at(11) + at(12), children: at(13) + at(14) }
}

/** `/proc/<pid>/stat` from its third field on (proc_pid_stat(5)): the second one, the name, may contain anything. */
function statFieldsOf(pid: number): string[] | undefined {
  return read(`/proc/${pid}/stat`)
    ?.replace(/^.*\) /s, '')
    .split(' ')
}

function memoryOf(pid: number, file: string, name: string): number | undefined {
  const kilobytes = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(read(`/proc/${pid}/${file}`) ?? '')?.[1]
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
