import { execFile } from 'node:child_process'
import { readFile, readlink, realpath, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { socketPort, stopSignals } from './cluster.ts'

/** The process id in the cluster's postmaster.pid, if it is a running server of this cluster. */
export async function livePostmaster(cluster: string): Promise<number | undefined> {
  const pid = await readPid(join(cluster, 'postmaster.pid'))
  return pid !== undefined && (await isPostmaster(pid, cluster)) ? pid : undefined
}

/**
 * After a crash or in a new container, the recorded process id may belong to another program, and PostgreSQL would
 * refuse to start. The file must stay, because its last line identifies shared memory that a surviving process may
 * still use. With this process's id, PostgreSQL treats it as stale, because it is our child.
 */
export async function neutralizeStalePidFiles(cluster: string, sockets: string): Promise<void> {
  for (const file of [join(cluster, 'postmaster.pid'), join(sockets, `.s.PGSQL.${socketPort}.lock`)]) {
    const pid = await readPid(file)
    if (pid === undefined || !isAlive(pid) || (await isPostmaster(pid, cluster))) continue
    const text = await readFile(file, 'utf8')
    if (Number.parseInt(text, 10) !== pid) continue
    await writeFile(file, text.replace(/^\d+/, String(process.pid)))
  }
}

/** Stops the server gracefully, or immediately after `timeout` ms. False if it is still running. */
export async function stopPostmaster(pid: number, cluster: string, timeout = 60_000): Promise<boolean> {
  process.kill(pid, stopSignals.fast)
  if (await isGone(pid, cluster, timeout)) return true
  process.kill(pid, stopSignals.immediate)
  return isGone(pid, cluster, 10_000)
}

async function isGone(pid: number, cluster: string, timeout: number): Promise<boolean> {
  const deadline = performance.now() + timeout
  while (await isPostmaster(pid, cluster)) {
    if (performance.now() > deadline) return false
    await delay(20)
  }
  return true
}

async function readPid(file: string): Promise<number | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '')
  const pid = Number.parseInt(text, 10)
  return pid > 0 ? pid : undefined
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** A server's working directory is its cluster's folder; a zombie has none. */
async function isPostmaster(pid: number, cluster: string): Promise<boolean> {
  if (!isAlive(pid)) return false
  if (process.platform === 'linux') {
    try {
      const [workingDirectory, program] = await Promise.all([
        readlink(`/proc/${pid}/cwd`),
        readlink(`/proc/${pid}/exe`),
      ])
      return workingDirectory === (await realpath(cluster)) && basename(program).startsWith('postgres')
    } catch {
      return false
    }
  }
  const { stdout } = await promisify(execFile)('ps', ['-p', String(pid), '-o', 'command=']).catch(() => ({
    stdout: '',
  }))
  return stdout.includes('postgres') && stdout.includes(cluster)
}
