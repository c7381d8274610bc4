import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { announceService, findService, type RunningService } from './service-file.ts'

const url = 'http://127.0.0.1:4000'
const announcement = { url, ownsDataFolder: false }

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'service-'))
})
afterEach(() => rm(folder, { recursive: true }))

const file = () => join(folder, 'service.json')
const writeNote = (note: RunningService) => writeFile(file(), JSON.stringify(note))

async function deadProcess(): Promise<number> {
  const dead = spawn('true')
  await once(dead, 'exit')
  return dead.pid ?? 0
}

test('a service is found while it runs, but not after a stop or a crash', async () => {
  expect(await findService(folder)).toBeUndefined()
  const withdraw = await announceService(folder, announcement)
  expect(await findService(folder)).toMatchObject({ url, pid: process.pid, host: hostname() })
  expect((await stat(file())).mode & 0o777).toBe(0o600)
  await withdraw?.()
  expect(await findService(folder)).toBeUndefined()

  await writeNote({ url, pid: await deadProcess() })
  expect(await findService(folder)).toBeUndefined()
})

test('the file of another running service is neither replaced nor removed', async () => {
  await writeNote({ url, pid: process.ppid })
  const before = await readFile(file(), 'utf8')
  expect(await announceService(folder, { url: 'http://127.0.0.1:5000', ownsDataFolder: true })).toBeUndefined()
  expect(await readFile(file(), 'utf8')).toBe(before)
  expect(await readdir(folder)).toEqual(['service.json'])

  // Another service has written the file since then, and keeps it.
  await rm(file())
  const withdraw = await announceService(folder, announcement)
  await writeNote({ url, pid: process.ppid })
  await withdraw?.()
  expect(await findService(folder)).toMatchObject({ pid: process.ppid })
})

test('a stale file is replaced: a dead process, a reused process id, a truncated file', async () => {
  for (const text of [
    JSON.stringify({ url, pid: await deadProcess(), host: hostname() }),
    JSON.stringify({ url, pid: process.ppid, started: '1', host: hostname() }),
    '{"url"',
  ]) {
    await writeFile(file(), text)
    expect(await findService(folder)).toBeUndefined()
    const withdraw = await announceService(folder, announcement)
    expect(await findService(folder)).toMatchObject({ url, pid: process.pid })
    await withdraw?.()
    expect(await readdir(folder)).toEqual([])
  }
})

test('the file of another machine is replaced only by the service that owns the database of the folder', async () => {
  await writeNote({ url, pid: await deadProcess(), host: 'elsewhere' })
  expect(await announceService(folder, announcement)).toBeUndefined()
  expect(await announceService(folder, { url, ownsDataFolder: true })).toBeDefined()
  expect(await findService(folder)).toMatchObject({ pid: process.pid })
})
