import { randomUUID } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test as anyTest } from 'vitest'
import { findBinaries } from '../../platform/operations/embedded-postgres/binaries.ts'
import {
  clusterConnection,
  initializeCluster,
  startPostgres,
} from '../../platform/operations/embedded-postgres/cluster.ts'
import { migrate } from '../../platform/database/migrate.ts'
import { migrationsFolder } from '../../release.ts'
import { isDistributed } from '../../../test/engines.ts'
import { startConnectionProxy } from '../../../test/connection-proxy.ts'
import { audit, newFullLead, failureCountsOf, untilFinished } from '../../../test/import-audit.ts'
import { connectBreakpoints, createBreakpoints, type Step } from '../../../test/import-breakpoints.ts'
import { type TestDatabase } from '../../../test/postgres.ts'
import { until } from '../../../test/processes.ts'
import { pusher, type TestImport } from '../../../test/pushes.ts'
import { type Json, startTestService } from '../../../test/service.ts'

/** Breakpoints are triggers, which Citus refuses, and the servers that are killed are single ones. */
const test = anyTest.skipIf(isDistributed())

/** The lease is longer than any test, so rows finish here without waiting for it. */
const environment = { IMPORT_WORKERS: '2', IMPORT_LEASE_SECONDS: '3600' }

type OwnServer = Awaited<ReturnType<typeof startOwnServer>>

/** A separate PostgreSQL server, because the tests kill it. */
async function startOwnServer() {
  const folder = await mkdtemp(join(tmpdir(), 'rapport-import-outage-'))
  // If the tests run as root, the server runs as another user, who must be able to enter this folder.
  await chmod(folder, 0o711)
  const binaries = await findBinaries()
  const [data, socketFolder, logFile] = [join(folder, 'data'), join(folder, 'socket'), join(folder, 'log')]
  await initializeCluster({ binaries, folder: data, sync: false })
  // The cluster is created without fsync, but runs with the default durability settings.
  const settings = { max_connections: 40 }
  const start = () => startPostgres({ binaries, folder: data, socketFolder, logFile, settings })
  let server = await start()
  const connection = clusterConnection(socketFolder)
  await migrate(connection, { folder: migrationsFolder, log: () => undefined })
  const administer = async <Row extends object>(text: string): Promise<Row[]> => {
    const client = new pg.Client(connection)
    await client.connect()
    return (await client.query<Row & pg.QueryResultRow>(text).finally(() => client.end())).rows
  }
  return {
    /** Creates a migrated database. */
    newDatabase: async (name: string) => {
      await administer(`create database ${name} template postgres`)
      return { connection: clusterConnection(socketFolder, name) as TestDatabase['connection'] }
    },
    restart: async () => {
      await server.stop('fast')
      server = await start()
    },
    /** Kills every process of the server at once. */
    killAndStart: async () => {
      const rows = await administer<{ pid: number }>('select pid from pg_stat_activity where pid <> pg_backend_pid()')
      process.kill(server.pid, 'SIGKILL')
      for (const { pid } of rows) {
        try {
          process.kill(pid, 'SIGKILL')
        } catch {
          // The process has ended already.
        }
      }
      await server.exited
      // A process that was just connecting is not in the list. It ends by itself and uses the shared memory until then.
      await until('the killed server has no more processes', async () => {
        try {
          server = await start()
          return true
        } catch (error) {
          if (String(error).includes('pre-existing shared memory block')) return false
          throw error
        }
      })
    },
    terminateConnections: () =>
      administer(`select pg_terminate_backend(pid) from pg_stat_activity
        where backend_type = 'client backend' and pid <> pg_backend_pid()`),
    close: async () => {
      await server.stop('immediate')
      await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

let server: OwnServer
beforeAll(async () => {
  server = await startOwnServer()
})
afterAll(() => server.close())

/** Repeats a push with one key until it is accepted; calls `refused` with the status of each rejection. */
async function sendUntilAccepted(
  push: TestImport['push'],
  lead: Json,
  refused: (status: number) => void,
): Promise<string> {
  const headers = { 'idempotency-key': randomUUID() }
  for (;;) {
    const { status, body } = await push(lead, { headers })
    if (status === 200) return body.id
    refused(status)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** When PostgreSQL is killed: at the start of the step, or once this query returns rows, before the service gets the result. */
const killSteps: readonly (readonly [Step, string | undefined])[] = [
  ['accepting', `select from import_rows where status = 'PENDING'`],
  ['claiming', `select from import_rows where status = 'PROCESSING'`],
  ['writing', undefined],
  ['committing', undefined],
  ['committing', `select where not exists (select from import_rows where status = 'PROCESSING')`],
]

test('after kill -9 of PostgreSQL at any step, every row takes effect once', async () => {
  const database = await server.newDatabase('steps')
  const proxy = await startConnectionProxy(database)
  let breakpoints = await createBreakpoints(database.connection)
  const service = await startTestService(environment, { connection: proxy.connection, drop: async () => undefined })
  try {
    const organization = await service.newOrganization()
    const push = pusher(service, new URL(organization.triggerUrl).pathname)
    const accepted: string[] = []
    const refused: number[] = []
    for (const [step, done] of killSteps) {
      await breakpoints.pauseAt(step)
      const responses = Array.from({ length: 6 }, () =>
        sendUntilAccepted(push, newFullLead(), (status) => refused.push(status)),
      )
      await breakpoints.untilPausedAt(step)
      if (done !== undefined) {
        proxy.dropResponses()
        await breakpoints.resume(step)
        await until(`${step} is done`, async () => (await breakpoints.query(done)).length > 0)
      }
      await server.killAndStart()
      breakpoints = await connectBreakpoints(database.connection)
      await breakpoints.resume(step)
      accepted.push(...(await Promise.all(responses)))
      await untilFinished(service, organization, accepted.length)
      expect(await failureCountsOf(service, organization)).toEqual({ losses: 0, attempts: 0 })
    }
    expect(refused.filter((status) => status !== 503)).toEqual([])
    expect(await audit(service, organization, { accepted })).toEqual({ PROCESSED: accepted.length })
  } finally {
    await service.close()
    await proxy.close()
    await breakpoints.end()
  }
}, 180_000)

test('after kill -9, a restart and lost connections under load, every 200 is one row, every row takes effect once, and processing resumes', async () => {
  const service = await startTestService(environment, {
    ...(await server.newDatabase('load')),
    drop: async () => undefined,
  })
  try {
    const organization = await service.newOrganization()
    const push = pusher(service, new URL(organization.triggerUrl).pathname)
    const leads = Array.from({ length: 800 }, () => newFullLead())
    const accepted = new Set<string>()
    const refused = new Set<number>()
    let next = 0
    const send = async () => {
      for (let lead = leads[next++]; lead; lead = leads[next++])
        accepted.add(await sendUntilAccepted(push, lead, (status) => refused.add(status)))
    }
    const senders = Promise.all(Array.from({ length: 16 }, send))
    const outages = [
      server.terminateConnections,
      server.killAndStart,
      server.terminateConnections,
      server.restart,
      server.terminateConnections,
    ]
    for (const [index, outage] of outages.entries()) {
      await until('some more are accepted', () => accepted.size >= (index + 1) * 100, 60_000)
      await outage()
    }
    await senders
    expect([...refused].filter((status) => status !== 503)).toEqual([])
    await untilFinished(service, organization, leads.length)
    expect(await audit(service, organization, { accepted: [...accepted] })).toEqual({ PROCESSED: leads.length })
    expect(await failureCountsOf(service, organization)).toEqual({ losses: 0, attempts: 0 })
  } finally {
    await service.close()
  }
}, 240_000)
