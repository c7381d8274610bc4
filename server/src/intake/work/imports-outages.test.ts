import { expect, test as anyTest } from 'vitest'
import { isDistributed } from '../../../test/engines.ts'
import { startConnectionProxy } from '../../../test/connection-proxy.ts'
import { audit, newFullLead, failureCountsOf, untilFinished } from '../../../test/import-audit.ts'
import { createBreakpoints, type Step } from '../../../test/import-breakpoints.ts'
import { createDatabase } from '../../../test/postgres.ts'
import { until } from '../../../test/processes.ts'
import { pusher } from '../../../test/pushes.ts'
import { startTestService } from '../../../test/service.ts'
import { casesToTry } from '../../../test/suite.ts'

/** Breakpoints are triggers, which Citus refuses, and the servers that are killed are single ones. */
const test = anyTest.skipIf(isDistributed())

/** The lease is longer than any test, so rows finish here without waiting for it. */
const environment = { IMPORT_WORKERS: '2', IMPORT_LEASE_SECONDS: '3600' }

/** Without `finishing`: a connection lost there has the same effect as at `committing`. */
const lossSteps: readonly Step[] = ['accepting', 'claiming', 'writing', 'committing']

/** A service whose connections to the database can be cut and paused. */
async function startThroughProxy() {
  const testDatabase = await createDatabase()
  const proxy = await startConnectionProxy(testDatabase)
  const breakpoints = await createBreakpoints(testDatabase.connection)
  const service = await startTestService(environment, { connection: proxy.connection, drop: async () => undefined })
  const close = async () => {
    await service.close()
    await proxy.close()
    await breakpoints.end()
    await testDatabase.drop()
  }
  return { service, proxy, breakpoints, close }
}

test('a process whose connection is lost at any step finishes its rows without waiting for the lease', async () => {
  const { service, proxy, breakpoints, close } = await startThroughProxy()
  try {
    const organization = await service.newOrganization()
    const push = pusher(service, new URL(organization.triggerUrl).pathname)
    const accepted: string[] = []
    const disconnects = [
      async () => proxy.dropConnections(),
      (pid: number) => breakpoints.query('select pg_terminate_backend($1)', [pid]),
    ]
    for (const [turn, step] of lossSteps.entries()) {
      for (const disconnect of casesToTry(disconnects, () => step, turn)) {
        await breakpoints.pauseAt(step)
        const responses = Array.from({ length: 6 }, () => push(newFullLead()))
        const { pid } = await breakpoints.untilPausedAt(step)
        await disconnect(pid)
        await breakpoints.resume(step)
        for (const { status, body } of await Promise.all(responses)) {
          expect(status).toBe(200)
          accepted.push(body.id)
        }
        await untilFinished(service, organization, accepted.length)
        expect(await failureCountsOf(service, organization)).toEqual({ losses: 0, attempts: 0 })
      }
    }
    expect(await audit(service, organization, { accepted })).toEqual({ PROCESSED: accepted.length })
  } finally {
    await close()
  }
}, 180_000)

const waitingForLock = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`

test('rows of a claim that commits long after its connection was lost do not wait for the lease', async () => {
  const { service, proxy, breakpoints, close } = await startThroughProxy()
  try {
    const organization = await service.newOrganization()
    await breakpoints.pauseAt('claiming')
    const { body } = await pusher(service, new URL(organization.triggerUrl).pathname)(newFullLead())
    await breakpoints.untilPausedAt('claiming')
    proxy.dropConnections()
    const isWaiting = async () => (await breakpoints.query(waitingForLock)).length > 0
    await until('the worker waits for the end of its claim', isWaiting)
    await breakpoints.resume('claiming')
    await untilFinished(service, organization, 1)
    expect(await audit(service, organization, { accepted: [body.id] })).toEqual({ PROCESSED: 1 })
    expect(await failureCountsOf(service, organization)).toEqual({ losses: 0, attempts: 0 })
  } finally {
    await close()
  }
}, 60_000)
