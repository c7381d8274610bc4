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

const say = () => undefined
const lockFile = () => join(root, '.rapport/install.lock')
const holdFor = (process, host = hostname()) => {
  mkdirSync(join(root, '.rapport'), { recursive: true })
  writeFileSync(lockFile(), JSON.stringify({ host, processes: [process] }))
}

/** A process of its own that takes the lock, notes when it came and went, and ends. */
function contender() {
  const module = fileURLToPath(new URL('lock.mjs', import.meta.url))
  const code = `
    import { appendFileSync } from 'node:fs'
    const { withInstallLock } = await import(${JSON.stringify(module)})
    const note = (word) => appendFileSync(${JSON.stringify(join(root, 'notes'))}, word + ' ' + process.pid + '\\n')
    await withInstallLock(${JSON.stringify(root)}, { say() {} }, async () => {
      note('in')
      await new Promise((resolve) => setTimeout(resolve, 30))
      note('out')
    })`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: 'inherit' })
  return new Promise((resolve) => child.once('exit', resolve))
}

test('of several processes that contend, one at a time is inside, even when a dead one left its lock', async () => {
  holdFor({ pid: 2 ** 22 - 1, started: '1' })
  expect(await Promise.all(Array.from({ length: 6 }, contender))).toEqual([0, 0, 0, 0, 0, 0])
  const notes = readFileSync(join(root, 'notes'), 'utf8').trim().split('\n')
  expect(notes).toHaveLength(12)
  for (let index = 0; index < notes.length; index += 2) {
    expect(notes[index + 1]).toBe(notes[index].replace('in', 'out'))
  }
  expect(existsSync(lockFile())).toBe(false)
})

test('a process number that was given out again does not keep the lock', async () => {
  holdFor({ pid: process.pid, started: 'another start' })
  expect(await withInstallLock(root, { say }, async () => 'done')).toBe('done')
})

test('a living child of a killed holder keeps the lock until it ends', async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
  await new Promise((resolve) => child.once('spawn', resolve))
  holdFor(identify(child.pid))
  let entered = false
  let ended
  await new Promise((told) => {
    ended = withInstallLock(root, { say: told }, async () => {
      entered = true
    })
  })
  expect(entered).toBe(false)
  child.kill('SIGKILL')
  await ended
  expect(entered).toBe(true)
})

test('the lock of another machine counts, but not for ever', async () => {
  holdFor({ pid: 1, started: '1' }, 'elsewhere')
  const long = Date.now() / 1000 - 3600
  utimesSync(lockFile(), long, long)
  expect(await withInstallLock(root, { say }, async () => 'done')).toBe('done')
})

test('the lock is free again when the work fails', async () => {
  const failing = withInstallLock(root, { say }, async () => {
    throw new Error('no network')
  })
  await expect(failing).rejects.toThrow('no network')
  expect(existsSync(lockFile())).toBe(false)
})

test('a running service is known while it lives, this process aside', async () => {
  announceRunning(root)
  expect(runningServices(root)).toEqual([])
  const module = fileURLToPath(new URL('lock.mjs', import.meta.url))
  const code = `const { announceRunning } = await import(${JSON.stringify(module)}); announceRunning(${JSON.stringify(root)}); setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code])
  await expect.poll(() => runningServices(root)).toEqual([String(child.pid)])
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
  expect(runningServices(root)).toEqual([])
})
