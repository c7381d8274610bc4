import { linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { identify, isAlive } from './processes.mjs'

/** Folder through which the processes of this checkout coordinate. */
const folderOf = (root) => join(root, '.rapport')

/** Milliseconds for which the lock of another machine or container is valid: its process cannot be checked. */
const foreignLockLifetime = 15 * 60_000

/**
 * Runs `work` while no other process installs into this checkout. The lock of a dead process is released. With
 * `recordPid(pid)`, `work` names a child process: the lock stays held while that process runs, even if the holder is
 * killed.
 */
export async function withInstallLock(root, { log }, work) {
  mkdirSync(folderOf(root), { recursive: true })
  const file = join(folderOf(root), 'install.lock')
  for (let hasLogged = false; !acquire(file, [process.pid]); hasLogged = true) {
    if (!hasLogged) log('Waiting for another process that installs the dependencies…')
    await delay(200)
  }
  try {
    return await work((pid) => writeAtomically(file, [process.pid, pid], renameSync))
  } finally {
    rmSync(file, { force: true })
  }
}

/**
 * Announces, until this process exits, that a service runs from this checkout. A read-only checkout does not need it.
 */
export function announceRunning(root) {
  try {
    const folder = join(folderOf(root), 'running')
    mkdirSync(folder, { recursive: true })
    const file = join(folder, String(process.pid))
    writeAtomically(file, [process.pid], renameSync)
    process.once('exit', () => rmSync(file, { force: true }))
  } catch (error) {
    if (!isReadOnly(error)) throw error
  }
}

/** Ids of the other processes that run the service from this checkout. */
export function runningServices(root) {
  const folder = join(folderOf(root), 'running')
  const names = attempt(() => readdirSync(folder)) ?? []
  return names
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => {
      if (isHeld(join(folder, name))) return true
      attempt(() => rmSync(join(folder, name), { force: true }))
      return false
    })
}

export const isReadOnly = (error) => ['EROFS', 'EACCES', 'EPERM'].includes(error.code)

/** Creates the lock, unless a running process holds it. */
function acquire(file, pids) {
  try {
    writeAtomically(file, pids, linkSync)
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  }
  const inode = attempt(() => statSync(file).ino)
  if (inode === undefined || isHeld(file)) return false
  // If several processes find the same stale lock, one of them moves it away. A process that moved a newer lock by
  // mistake puts it back.
  const moved = `${file}.${process.pid}`
  if (attempt(() => renameSync(file, moved) ?? true)) {
    if (attempt(() => statSync(moved).ino) !== inode) attempt(() => linkSync(moved, file))
    rmSync(moved, { force: true })
  }
  return false
}

function isHeld(file) {
  const lock = attempt(() => JSON.parse(readFileSync(file, 'utf8')))
  if (!lock) return false
  if (lock.host === hostname()) return lock.processes.some(isAlive)
  const changed = attempt(() => statSync(file).mtimeMs)
  return changed !== undefined && Date.now() - changed < foreignLockLifetime
}

/** Writes the file atomically. */
function writeAtomically(file, pids, publish) {
  const temporary = `${file}.${process.pid}.new`
  writeFileSync(temporary, JSON.stringify({ host: hostname(), processes: pids.map(identify).filter(Boolean) }))
  try {
    publish(temporary, file)
  } finally {
    rmSync(temporary, { force: true })
  }
}

function attempt(action) {
  try {
    return action()
  } catch {
    return undefined
  }
}
