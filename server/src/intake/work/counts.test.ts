import { afterAll, beforeAll, expect, test } from 'vitest'
import { countsOf, newFullLead, untilFinished } from '../../../test/import-audit.ts'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'
import {
  type Json,
  startTestService,
  type TestOrganization,
  type TestService,
  withoutBackground,
} from '../../../test/service.ts'
import { sql } from '../../platform/model/sql.ts'
import { PurgeRounds } from '../../platform/operations/maintenance/maintenance.ts'
import { retentionPolicies } from '../../retention-policies.ts'
import { rowStatuses } from '../imports/resource.ts'

let database: TestDatabase
let service: TestService
let organization: TestOrganization
beforeAll(async () => {
  database = await createDatabase()
  // Without purges of its own, next to which those of the test would do nothing.
  service = await startTestService(withoutBackground, database)
  organization = await service.newOrganization()
})
afterAll(() => service.close())

const path = () => `/v5/imports/${organization.importId}`
const push = async (body: Json) => {
  const { status } = await organization.call('POST', new URL(organization.triggerUrl).pathname, { body })
  expect(status).toBe(200)
}

async function expectRightCounts(): Promise<void> {
  const counts = await countsOf(service, organization)
  const shown = (await organization.call('GET', path())).body.stats.counts
  expect(shown).toEqual(Object.fromEntries(rowStatuses.map((status) => [status, counts[status] ?? 0])))
}

/** Runs with workers, which are stopped at the end. */
async function processed(count: number): Promise<void> {
  const workers = await startTestService({ IMPORT_WORKERS: '2' }, { ...database, drop: async () => undefined })
  await untilFinished(service, organization, count)
  await workers.close()
}

test('the counts of an import follow pushes, work, cancelling, retries and purging', async () => {
  for (let count = 0; count < 5; count++) await push(newFullLead())
  await expectRightCounts()
  await processed(5)
  await expectRightCounts()

  for (let count = 0; count < 3; count++) await push(newFullLead())
  await organization.call('POST', `${path()}/rows/cancel`)
  expect(await countsOf(service, organization)).toEqual({ PROCESSED: 5, CANCELLED: 3 })
  await expectRightCounts()

  const [row] = (await organization.call('GET', `${path()}/rows?filter.status.equals=CANCELLED`)).body
  await organization.call('POST', `${path()}/rows/${row.id}/retry`)
  expect(await countsOf(service, organization)).toEqual({ PROCESSED: 5, CANCELLED: 2, PENDING: 1 })
  await expectRightCounts()
  await organization.call('POST', `${path()}/rows/retry`)
  expect(await countsOf(service, organization)).toEqual({ PROCESSED: 5, PENDING: 3 })
  await expectRightCounts()
  await processed(8)

  await service.database.crossTenantQuery(
    'check the database',
    sql`update import_rows set finished_at = now() - interval '100 days' where id in (select id from import_rows limit 6)`,
  )
  await new PurgeRounds({
    database: service.database,
    log: { error: (error: unknown) => expect.unreachable(JSON.stringify(error)) } as never,
    retentionPolicies: retentionPolicies({ importRowsDays: 90, auditLogDays: 0, historyDays: 0, eventDays: 30 }),
    purged: () => undefined,
  }).run()
  expect(await countsOf(service, organization)).toEqual({ PROCESSED: 2 })
  await expectRightCounts()
})
