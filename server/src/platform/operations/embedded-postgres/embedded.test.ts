import { stat } from 'node:fs/promises'
import type pg from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { newDataDirectory, query, startErrorOf, serverOf } from '../../../../test/data-directory.ts'
import { type ProcessStarter, processStarter, until } from '../../../../test/processes.ts'
import { openEmbedded } from './embedded.ts'
import { isAlive } from './postmaster.ts'

let processes: ProcessStarter
beforeAll(async () => {
  processes = await processStarter()
})
afterAll(() => processes.close())

// Concurrent, because most of them wait; each has a separate folder.
vi.setConfig({ testTimeout: 60_000, maxConcurrency: 3 })

const isAnswering = (connection: pg.ClientConfig) => () =>
  query(connection, 'select').then(
    () => true,
    () => false,
  )

test.concurrent('the first start creates a durable database that listens only on a socket, and the next start finds its data', async (context) => {
  const options = await newDataDirectory(context)
  const first = await openEmbedded({ ...options, settings: { shared_buffers: '16MB' } })
  const [shown] = await query(
    first.connection,
    `select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit,
       current_setting('full_page_writes') as pages, current_setting('listen_addresses') as addresses,
       current_setting('timezone') as zone, current_database() as database`,
  )
  expect(shown).toEqual({ fsync: 'on', commit: 'on', pages: 'on', addresses: '', zone: 'UTC', database: 'rapport' })
  await query(first.connection, 'create table kept as select 42 as answer')
  const pid = await serverOf(options)
  await first.close()
  await until('the server is gone', () => !isAlive(pid))

  const begin = performance.now()
  const second = await openEmbedded(options)
  expect(performance.now() - begin).toBeLessThan(10_000)
  expect(await query(second.connection, 'select answer from kept')).toEqual([{ answer: 42 }])
  await second.close()
  expect((await stat(options.dataFolder)).mode & 0o007).toBe(0)
})

test.concurrent('a running service restarts its server after a kill or a crash and keeps the lock', async (context) => {
  const options = await newDataDirectory(context)
  const service = await openEmbedded(options)
  await query(service.connection, 'create table kept as select 42 as answer')
  const first = await serverOf(options)
  process.kill(first, 'SIGKILL')
  await until('the server is back', async () => options.logged.includes('The database is running again.'))
  expect(await serverOf(options)).not.toBe(first)
  expect(await query(service.connection, 'select answer from kept')).toEqual([{ answer: 42 }])

  options.logged.length = 0
  const [session] = await query(
    service.connection,
    `select pid from pg_stat_activity where application_name like 'rapport service%'`,
  )
  process.kill(Number(session?.pid), 'SIGKILL')
  await until('the lock is back', async () => options.logged.includes('The database is running again.'))
  await until('it answers', isAnswering(service.connection))
  expect(await startErrorOf({ ...options, log: () => undefined })).toContain('in use by rapport service')
  await service.close()
  await expect(serverOf(options)).rejects.toThrow('no server is running')
})
