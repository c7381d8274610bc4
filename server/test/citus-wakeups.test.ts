import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isDistributed } from './engines.ts'
import { audit, newFullLead, untilFinished } from './import-audit.ts'
import { createDatabase, type TestDatabase } from './postgres.ts'
import { type ServiceProcess, type ServiceProcesses, serviceProcesses } from './service-process.ts'
import { startTestService, type TestOrganization, type TestService } from './service.ts'

let database: TestDatabase
let auditor: TestService
let organizations: TestOrganization[]
let processes: ServiceProcesses
let client: pg.Client

const onCitus = test.skipIf(!isDistributed())
beforeAll(async () => {
  if (!isDistributed()) return
  database = await createDatabase()
  client = new pg.Client(database.connection)
  await client.connect()
  auditor = await startTestService({}, { ...database, drop: async () => undefined })
  organizations = [await auditor.newOrganization(), await auditor.newOrganization(), await auditor.newOrganization()]
  processes = await serviceProcesses(database)
})
afterAll(async () => {
  if (!isDistributed()) return
  await processes.close()
  await auditor.close()
  await client.end()
  await database.drop()
})

/** Pushes to all organizations; returns the ids of the accepted rows by organization. */
const pushTo = (service: ServiceProcess) =>
  Promise.all(
    organizations.map(async ({ triggerUrl }) => {
      const path = new URL(triggerUrl).pathname
      const responses = await Promise.all(Array.from({ length: 20 }, () => service.push(path, newFullLead())))
      return responses.filter((response) => response?.status === 200).map((response) => response?.body.id as string)
    }),
  )

onCitus(
  'work of processes that are killed is done by another one after the lease or the next sweep',
  async () => {
    const lease = { IMPORT_LEASE_SECONDS: '2' }
    const survivor = await processes.start('survivor', lease)
    const accepted = organizations.map((): string[] => [])
    for (let count = 0; count < 4; count++) {
      const victim = await processes.start(`victim ${count}`, lease)
      const ids = await pushTo(victim)
      victim.signal('SIGKILL')
      await victim.ended
      ids.forEach((some, index) => accepted[index]?.push(...some))
    }
    // As after a crash of the coordinator, which empties the table.
    await client.query('truncate wakeups')
    for (const [index, organization] of organizations.entries()) {
      const own = accepted[index] ?? []
      expect(own.length).toBeGreaterThan(20)
      await untilFinished(auditor, organization, own.length, 75_000)
      expect(await audit(auditor, organization, { accepted: own })).toEqual({ PROCESSED: own.length })
    }
    // A push to another process wakes the survivor.
    const [last] = await pushTo(survivor)
    await untilFinished(auditor, organizations[0] as TestOrganization, (accepted[0]?.length ?? 0) + (last?.length ?? 0))
  },
  180_000,
)
