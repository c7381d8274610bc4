import { linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { identify, isAlive } from './processes.mjs'

/** Where this checkout keeps what its processes tell each other. */
const folderOf = (root) => join(root, '.rapport')

/** Another machine's process (a shared folder, a container) cannot be asked; its lock counts for this long. */
const foreignPatience = 15 * 60_000

/**
 * Runs `work` while no other process installs into this checkout. A holder that died gives the lock up.
 * `work` gets `note(pid)`, with which it names a child that has to be waited for even when the holder is killed.
 */
export async function withInstallLock(root, { say }, work) {
  mkdirSync(folderOf(root), { recursive: true })
  const file = join(folderOf(root), 'install.lock')
  for (let told = false; !claim(file, [process.pid]); told = true) {
    if (!told) say('Waiting for another process that installs the dependencies…')
    await delay(200)
  }
  try {
    return await work((pid) => writeWhole(file, [process.pid, pid], renameSync))
  } finally {
    rmSync(file, { force: true })
  }
}

/** Says, until this process ends, that a service runs from this checkout; a read-only checkout needs no saying. */
export function announceRunning(root) {
  try {
    const folder = join(folderOf(root), 'running')
    mkdirSync(folder, { recursive: true })
    const file = join(folder, String(process.pid))
    writeWhole(file, [process.pid], renameSync)
    process.once('exit', () => rmSync(file, { force: true }))
  } catch (error) {
    if (!isReadOnly(error)) throw error
  }
}

/** The numbers of the processes that run the service from this checkout, this one left out. */
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

/** Makes the lock unless a living process holds it. */
function claim(file, pids) {
  try {
    writeWhole(file, pids, linkSync)
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  }
  const seen = attempt(() => statSync(file).ino)
  if (seen === undefined || isHeld(file)) return false
  // Of several that find the same dead lock one moves it away; whoever moved a newer one by mistake puts it back.
  const moved = `${file}.${process.pid}`
  if (attempt(() => renameSync(file, moved) ?? true)) {
    if (attempt(() => statSync(moved).ino) !== seen) attempt(() => linkSync(moved, file))
    rmSync(moved, { force: true })
  }
  return false
}

function isHeld(file) {
  const lock = attempt(() => JSON.parse(readFileSync(file, 'utf8')))
  if (!lock) return false
  if (lock.host === hostname()) return lock.processes.some(isAlive)
  const changed = attempt(() => statSync(file).mtimeMs)
  return changed !== undefined && Date.now() - changed < foreignPatience
}

/** The file appears with its content or not at all. */
function writeWhole(file, pids, place) {
  const making = `${file}.${process.pid}.new`
  writeFileSync(making, JSON.stringify({ host: hostname(), processes: pids.map(identify).filter(Boolean) }))
  try {
    place(making, file)
  } finally {
    rmSync(making, { force: true })
  }
}

function attempt(action) {
  try {
    return action()
  } catch {
    return undefined
  }
}
