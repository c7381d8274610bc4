import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/**
 * Id and start time of a process: together they identify it, because process ids are reused.
 * @param {number} pid
 * @returns {{ pid: number, started: string } | undefined} undefined when there is no such process
 */
export function identify(pid) {
  const started = startOf(pid)
  return started === undefined ? undefined : { pid, started }
}

/** Whether this process is still running. */
export function isAlive({ pid, started }) {
  return Number.isInteger(pid) && pid > 0 && startOf(pid) === started
}

function startOf(pid) {
  try {
    if (process.platform === 'linux') {
      // The name in parentheses may contain spaces. The 20th field after it is the start time, in clock ticks since
      // boot.
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ')
      return fields[0] === 'Z' ? undefined : fields[19]
    }
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim() || undefined
  } catch {
    return undefined
  }
}
