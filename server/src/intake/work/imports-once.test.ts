import pg from 'pg'
import { expect, test } from 'vitest'
import { serviceActor } from '../../platform/model/caller.ts'
import { sql } from '../../platform/model/sql.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { processClaim } from './batch.ts'
import type { Finding } from '../imports/resource.ts'
import { claimRows } from './work-store.ts'
import { audit, errorsOf, expectFilledOnce, untilFinished } from '../../../test/import-audit.ts'
import { storedData, expectedData } from '../../../test/imported-data.ts'
import { randomOf, type SampleLead, sampleLeads, shuffled } from '../../../test/import-payloads.ts'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { pusher } from '../../../test/pushes.ts'
import { seed } from '../../../test/seed.ts'
import { startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'

/** The number of different leads; `IMPORT_LEADS=10000` for the full size. Each is pushed three times. */
const leadCount = Number(process.env.IMPORT_LEADS ?? 300)
/** How many of them are also processed one by one. */
const sequentialCount = process.env.IMPORT_LEADS ? leadCount : 80
const senders = 16
/** Milliseconds for the whole test on a busy machine. */
const timeout = 120_000 + leadCount * 300
const tags = ['fair']

/** Runs a service on a separate database; returns the database, so that the test can read its statistics. */
async function withService(
  environment: Record<string, string>,
  use: (service: TestService, organization: TestOrganization) => Promise<void>,
): Promise<TestDatabase> {
  const testDatabase = await createDatabase()
  const service = await startTestService(environment, { ...testDatabase, drop: async () => undefined })
  try {
    const organization = await service.newOrganization()
    await organization.call('PATCH', `/v5/imports/${organization.importId}`, { body: { tags } })
    await use(service, organization)
  } finally {
    await service.close()
  }
  return testDatabase
}

/** Pushes the leads with `count` concurrent senders; returns the ids of the rows in any order. */
async function pushAll(
  service: TestService,
  { triggerUrl }: TestOrganization,
  leads: readonly SampleLead[],
  count: number,
): Promise<string[]> {
  const push = pusher(service, new URL(triggerUrl).pathname)
  const accepted: string[] = []
  let next = 0
  const send = async () => {
    for (let lead = leads[next++]; lead; lead = leads[next++]) {
      const { status, body } = await push(lead.payload)
      expect(status).toBe(200)
      accepted.push(body.id)
    }
  }
  await Promise.all(Array.from({ length: count }, send))
  return accepted
}

const organizationOf = ({ organizationId }: TestOrganization) => decodeId('org', organizationId) ?? ''

/** Complete only after all connections are closed, since each reports its statistics with a delay. */
async function deadlocksOf({ connection }: TestDatabase): Promise<number> {
  const client = new pg.Client({ ...connection, database: 'postgres' })
  await client.connect()
  const { rows } = await client.query<{ deadlocks: number }>(
    'select deadlocks::int from pg_stat_database where datname = $1',
    [connection.database],
  )
  await client.end()
  return rows[0]?.deadlocks ?? Number.NaN
}

/** The warnings of each row that changed nothing. */
async function warningsOfUnchanged({ database }: TestService, organization: TestOrganization): Promise<string[][]> {
  const rows = await database.crossTenantQuery<{ warnings: Finding[] }>(
    'check the database',
    sql`select warnings from import_rows
      where organization_id = ${organizationOf(organization)}::uuid and changes::text = '[]'`,
  )
  return rows.map(({ warnings }) => warnings.map(({ code, path }) => `${code} ${path}`))
}

test(
  'leads pushed three times each, in random order, by sixteen concurrent senders are imported exactly once',
  async () => {
    const random = randomOf(seed)
    const leads = sampleLeads(leadCount, random)
    const repeatedLeads = shuffled([...leads, ...leads, ...leads], random)
    const testDatabase = await withService({ IMPORT_WORKERS: '2' }, async (service, organization) => {
      const accepted = await pushAll(service, organization, repeatedLeads, senders)
      await untilFinished(service, organization, repeatedLeads.length, timeout)
      const counts = await audit(service, organization, { accepted })
      expect(Object.keys(counts)).toEqual(['DUPLICATE', 'PROCESSED'])
      // Of three equal leads, only the first can change something.
      const unchanged = await warningsOfUnchanged(service, organization)
      expect(unchanged.length).toBeGreaterThanOrEqual(2 * leadCount)
      // The first of two addresses is kept, and an ended job does not become current again.
      const withWarnings = unchanged.filter((warnings) => warnings.length > 0)
      for (const warning of withWarnings.flat()) {
        expect(warning).toMatch(/^existing_value_kept (contact\.email|employment\.history\.\d+\.current)$/)
      }
      expect(counts.DUPLICATE).toBe(unchanged.length - withWarnings.length)
      expect(await storedData(service.database, organizationOf(organization))).toEqual(expectedData(leads, tags))
      await expectFilledOnce(service, organization)
      expect(errorsOf(service)).toEqual([])
    })
    expect(await deadlocksOf(testDatabase)).toBe(0)
    await testDatabase.drop()
  },
  timeout,
)

test(
  'leads processed one by one, in order, give the result that the test above expects',
  async () => {
    const leads = sampleLeads(sequentialCount, randomOf(seed))
    const testDatabase = await withService({}, async (service, organization) => {
      const accepted = await pushAll(service, organization, leads, 1)
      for (const _ of leads) {
        const claim = await service.database.transaction(
          serviceActor('work', organizationOf(organization)),
          (transaction) => claimRows(transaction, { maxRows: 1, leaseSeconds: 60 }),
        )
        expect(claim.rowIds).toHaveLength(1)
        await processClaim(service.database, claim)
      }
      await untilFinished(service, organization, leads.length)
      await audit(service, organization, { accepted })
      expect(await storedData(service.database, organizationOf(organization))).toEqual(expectedData(leads, tags))
    })
    await testDatabase.drop()
  },
  timeout,
)
