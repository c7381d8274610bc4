import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { announceRunning, runningServices, withInstallLock } from './lock.mjs'
import { identify } from './processes.mjs'

let root
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rapport-lock-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const log = () => undefined
const lockFile = () => join(root, '.rapport/install.lock')
const writeLock = (process, host = hostname()) => {
  mkdirSync(join(root, '.rapport'), { recursive: true })
  writeFileSync(lockFile(), JSON.stringify({ host, processes: [process] }))
}

/** A process that takes the lock, notes when it entered and left, and exits. */
function contender() {
  const module = fileURLToPath(new URL('lock.mjs', import.meta.url))
  const code = `
    import { appendFileSync } from 'node:fs'
    const { withInstallLock } = await import(${JSON.stringify(module)})
    const note = (word) => appendFileSync(${JSON.stringify(join(root, 'notes'))}, word + ' ' + process.pid + '\\n')
    await withInstallLock(${JSON.stringify(root)}, { log() {} }, async () => {
      note('in')
      await new Promise((resolve) => setTimeout(resolve, 30))
      note('out')
    })`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: 'inherit' })
  return new Promise((resolve) => child.once('exit', resolve))
}

test('one process at a time holds the lock, even after a dead process left it behind', async () => {
  writeLock({ pid: 2 ** 22 - 1, started: '1' })
  expect(await Promise.all(Array.from({ length: 6 }, contender))).toEqual([0, 0, 0, 0, 0, 0])
  const notes = readFileSync(join(root, 'notes'), 'utf8').trim().split('\n')
  expect(notes).toHaveLength(12)
  for (let index = 0; index < notes.length; index += 2) {
    expect(notes[index + 1]).toBe(notes[index].replace('in', 'out'))
  }
  expect(existsSync(lockFile())).toBe(false)
})

test('a reused process id does not hold the lock', async () => {
  writeLock({ pid: process.pid, started: 'another start' })
  expect(await withInstallLock(root, { log }, async () => 'done')).toBe('done')
})

test('the child of a killed holder holds the lock until it exits', async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
  await new Promise((resolve) => child.once('spawn', resolve))
  writeLock(identify(child.pid))
  let entered = false
  let ended
  await new Promise((logged) => {
    ended = withInstallLock(root, { log: logged }, async () => {
      entered = true
    })
  })
  expect(entered).toBe(false)
  child.kill('SIGKILL')
  await ended
  expect(entered).toBe(true)
})

test('the lock of another machine expires', async () => {
  writeLock({ pid: 1, started: '1' }, 'elsewhere')
  const long = Date.now() / 1000 - 3600
  utimesSync(lockFile(), long, long)
  expect(await withInstallLock(root, { log }, async () => 'done')).toBe('done')
})

test('the lock is released when the work fails', async () => {
  const failing = withInstallLock(root, { log }, async () => {
    throw new Error('no network')
  })
  await expect(failing).rejects.toThrow('no network')
  expect(existsSync(lockFile())).toBe(false)
})

test('other running services are listed until they exit', async () => {
  announceRunning(root)
  expect(runningServices(root)).toEqual([])
  const module = fileURLToPath(new URL('lock.mjs', import.meta.url))
  const code = `const { announceRunning } = await import(${JSON.stringify(module)}); announceRunning(${JSON.stringify(root)}); console.log('announced'); setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code])
  await new Promise((resolve) => child.stdout.once('data', resolve))
  expect(runningServices(root)).toEqual([String(child.pid)])
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
  expect(runningServices(root)).toEqual([])
})
