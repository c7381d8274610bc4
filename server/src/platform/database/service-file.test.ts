import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { announceService, findService } from './service-file.ts'

test('a service is found while it runs, and neither after its stop nor after its death', async ({ onTestFinished }) => {
  const folder = await mkdtemp(join(tmpdir(), 'service-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const url = 'http://127.0.0.1:4000'
  expect(await findService(folder)).toBeUndefined()
  const takeBack = await announceService(folder, { url })
  expect(await findService(folder)).toEqual({ url, pid: process.pid })
  expect((await stat(join(folder, 'service.json'))).mode & 0o777).toBe(0o600)
  await takeBack()
  expect(await findService(folder)).toBeUndefined()

  const dead = spawn('true')
  await once(dead, 'exit')
  await writeFile(join(folder, 'service.json'), JSON.stringify({ url, pid: dead.pid }))
  expect(await findService(folder)).toBeUndefined()
})
