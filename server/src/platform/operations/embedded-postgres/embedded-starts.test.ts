import { spawn } from 'node:child_process'
import { chown, writeFile } from 'node:fs/promises'
import { connect as connectTo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import {
  newDataDirectory,
  openTask,
  query,
  startErrorOf,
  serverOf,
  serversIn,
} from '../../../../test/data-directory.ts'
import { type ProcessStarter, processStarter, until } from '../../../../test/processes.ts'
import { serverAccount } from './server-account.ts'
import { prepareDataFolder } from './data-folder.ts'
import { openEmbedded } from './embedded.ts'

let processes: ProcessStarter
beforeAll(async () => {
  processes = await processStarter()
})
afterAll(() => processes.close())

// Concurrent, because most of them wait; each has a separate folder.
vi.setConfig({ testTimeout: 60_000, maxConcurrency: 3 })

test.concurrent('a killed service leaves its server running, and the next start takes it over with its data', async (context) => {
  const options = await newDataDirectory(context)
  const killed = processes.start(openTask(options))
  const { connection } = await killed.outcome
  await query(connection, 'create table kept as select 42 as answer')
  const pid = await serverOf(options)
  killed.child.kill('SIGKILL')
  await killed.exited
  const begin = performance.now()
  const next = await openEmbedded(options)
  expect(performance.now() - begin).toBeLessThan(10_000)
  expect(next.attached).toBe(false)
  expect(await serverOf(options)).toBe(pid)
  expect(await query(next.connection, 'select answer from kept')).toEqual([{ answer: 42 }])
  await next.close()
  await expect(serverOf(options)).rejects.toThrow('no server is running')
})

test.concurrent('after a service and its server are both killed, the next start recovers the data', async (context) => {
  const options = await newDataDirectory(context)
  const killed = processes.start(openTask(options))
  const { connection } = await killed.outcome
  await query(connection, 'create table kept as select 42 as answer')
  process.kill(await serverOf(options), 'SIGKILL')
  killed.child.kill('SIGKILL')
  const next = await openEmbedded(options)
  expect(await query(next.connection, 'select answer from kept')).toEqual([{ answer: 42 }])
  await next.close()
})

test.concurrent('a second service is rejected with the folder and the holder, and a command attaches', async (context) => {
  const options = await newDataDirectory(context)
  const service = await openEmbedded(options)
  const message = await startErrorOf({ ...options, log: () => undefined })
  expect(message).toContain(options.dataFolder)
  expect(message).toContain(`rapport service (process ${process.pid})`)
  const command = await openEmbedded({ ...options, purpose: 'rapport bootstrap' })
  expect(command.attached).toBe(true)
  await query(command.connection, 'create table made_by_command ()')
  await command.close()
  expect(await query(service.connection, `select to_regclass('made_by_command') is not null as made`)).toEqual([
    { made: true },
  ])
  await service.close()
})

test.concurrent('a service waits for a command that uses the database, and so does another command', async (context) => {
  const options = await newDataDirectory(context)
  const command = await openEmbedded({ ...options, purpose: 'rapport migrate' })
  expect(command.attached).toBe(false)
  expect(await startErrorOf({ ...options, purpose: 'rapport bootstrap', wait: 300 })).toContain(
    `in use by rapport migrate (process ${process.pid})`,
  )
  const waiting = openEmbedded(options)
  await until('it waits', () => options.logged.some((line) => line.startsWith('Waiting for rapport migrate')))
  await command.close()
  const service = await waiting
  expect(service.attached).toBe(false)
  expect(await query(service.connection, 'select 1 as one')).toEqual([{ one: 1 }])
  await service.close()
})

test.concurrent('exactly one of several services that start at once on a new folder gets it', async (context) => {
  const options = await newDataDirectory(context)
  const starters = [1, 2, 3].map(() => processes.start(openTask(options)))
  const outcomes = await Promise.all(starters.map(({ outcome }) => outcome))
  const [winner, ...more] = outcomes.filter(({ event }) => event === 'open')
  expect(more).toEqual([])
  expect(await query(winner?.connection, 'select 1 as one')).toEqual([{ one: 1 }])
  const refused = outcomes.filter(({ event }) => event === 'failed')
  expect(refused.map(({ name }) => name)).toEqual(['StartError', 'StartError'])
  for (const { message } of refused) expect(message).toContain('in use by rapport service')
  for (const { child } of starters) child.kill('SIGTERM')
  await Promise.all(starters.map(({ exited }) => exited))
  expect(await serversIn(options.home)).toEqual([])
})

test.concurrent('a recorded process id that now belongs to another program does not prevent a start', async (context) => {
  const options = await newDataDirectory(context)
  await (await openEmbedded(options)).close()
  const { cluster, sockets } = await prepareDataFolder(options.dataFolder, options.rootsFolder)
  const account = serverAccount()
  const other = spawn('sleep', ['60'], { ...account })
  const note = `${other.pid}\n${cluster}\n1790000000\n5432\n${sockets}\n\n  1000001  99999\nready   \n`
  for (const file of [join(cluster, 'postmaster.pid'), join(sockets, '.s.PGSQL.5432.lock')]) {
    await writeFile(file, note, { mode: 0o600 })
    if (account) await chown(file, account.uid, account.gid)
  }
  const service = await openEmbedded(options)
  expect(await query(service.connection, 'select 1 as one')).toEqual([{ one: 1 }])
  await service.close()
  expect(other.exitCode).toBe(null)
  other.kill()
})

test.concurrent('a frozen server causes a clear error instead of an endless wait', async (context) => {
  const options = await newDataDirectory(context)
  const killed = processes.start(openTask(options))
  await killed.outcome
  const pid = await serverOf(options)
  process.kill(pid, 'SIGSTOP')
  killed.child.kill('SIGKILL')
  const words = new RegExp(`process ${pid}\\) but did not respond within 10 s`)
  expect(await startErrorOf(options)).toMatch(words)
  // The socket's backlog is limited.
  const { sockets } = await prepareDataFolder(options.dataFolder, options.rootsFolder)
  let isFull = false
  const callers = Array.from({ length: 1000 }, () =>
    connectTo(join(sockets, '.s.PGSQL.5432')).on('error', (error: NodeJS.ErrnoException) => {
      isFull ||= error.code === 'EAGAIN'
    }),
  )
  if (process.platform === 'linux') await until('the socket is full', () => isFull)
  expect(await startErrorOf(options)).toMatch(words)
  for (const caller of callers) caller.destroy()
  process.kill(pid, 'SIGCONT')
  await (await openEmbedded(options)).close()
})
