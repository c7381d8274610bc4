import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** Processor time and memory of one of the measured programs; undefined where the system does not tell. */
export interface Program {
  /** Milliseconds of processor time since it began, its ended children included. */
  cpu(): number | undefined
  /** Bytes of memory now. */
  memory(): number | undefined
}

/** Linux counts in hundredths of a second, whatever the kernel's own clock (USER_HZ). */
const tick = 10

/** One process with its threads. */
export const processOf = (pid: number): Program => ({
  cpu: () => {
    const times = cpuTimesOf(pid)
    return times && times.self
  },
  memory: () => memoryOf(pid, 'status', 'VmRSS'),
})

/** A process and those of its present children that run the same program: not a database that it started. */
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

/** The file that a process runs; undefined where the system does not tell. */
function executableOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/exe`)
  } catch {
    return undefined
  }
}

/** PostgreSQL: its first process and those that it started, one for each connection. */
export const databaseOf = (postmaster: number): Program => ({
  cpu: () => {
    for (;;) {
      const first = cpuTimesOf(postmaster)
      if (!first) return undefined
      const children = childrenOf(postmaster).map((child) => cpuTimesOf(child)?.self ?? 0)
      // What an ended child has spent becomes its parent's: if that happened meanwhile, it was seen on neither side.
      if (cpuTimesOf(postmaster)?.children === first.children) return first.self + first.children + sum(children)
    }
  },
  // The share of each process: what they have in common counts once.
  memory: () => {
    if (statFieldsOf(postmaster) === undefined) return undefined
    const shares = [postmaster, ...childrenOf(postmaster)].map((pid) => {
      const share = memoryOf(pid, 'smaps_rollup', 'Pss')
      // A child that has ended since the list was made, or is about to, has none; another that does not tell leaves the sum
      // unknown. The 21st of these fields is the size of its address space.
      return share ?? (Number(statFieldsOf(pid)?.[20] ?? 0) === 0 ? 0 : undefined)
    })
    return shares.includes(undefined) ? undefined : sum(shares.map((share) => share ?? 0))
  },
})

/** The process that started another one; undefined where the system does not tell. */
export function parentOf(pid: number): number | undefined {
  const parent = Number(statFieldsOf(pid)?.[1])
  return parent > 0 ? parent : undefined
}

/** The processes that a process has started and that live. */
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

/** `/proc/<pid>/stat` from its third field on (proc_pid_stat(5)): the second, the name, may hold anything. */
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
