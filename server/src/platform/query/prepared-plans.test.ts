import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { serviceActor } from '../model/caller.ts'
import { Database } from '../database/database.ts'
import { raw, sql } from '../model/sql.ts'
import { readId } from '../model/ids.ts'
import type { Change } from '../resource/write.ts'
import { updateStatistics } from '../maintenance/maintenance.ts'
import { contactStore } from '../../resources/contacts/store.ts'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { startTestService, type TestService } from '../../../test/service.ts'

let testDatabase: TestDatabase
let service: TestService
/** A pool of one connection, because prepared statements are visible only on their connection. */
let database: Database
let actor: ReturnType<typeof serviceActor>

beforeAll(async () => {
  testDatabase = await createDatabase()
  service = await startTestService({}, testDatabase)
  const { organizationId, userId } = await service.newOrganization()
  actor = {
    ...serviceActor('command', readId('org', organizationId) ?? '', readId('usr', userId) ?? ''),
    live: raw('true'),
  }
  database = new Database({ connection: testDatabase.connection, size: 1 })
})
afterAll(async () => {
  await database.close()
  await service.close()
})

const write = (changes: Change[]) =>
  database.transaction(actor, (transaction) => contactStore.write(transaction, changes))

const create = (count: number) =>
  write(Array.from({ length: count }, (_, index) => ({ kind: 'create', values: { name: `Ada ${index}` } })))

/** The scans of contacts in the generic plan of each prepared statement. */
async function contactScans(): Promise<string[]> {
  const statements = await database.crossTenantQuery<{ name: string; values: number }>(
    'check the database',
    sql`select name, cardinality(parameter_types) as values from pg_prepared_statements order by name`,
  )
  const plans = statements.map(({ name, values }) => {
    const nullValues = Array.from({ length: values }, () => 'null').join()
    return database.crossTenantQuery<{ 'QUERY PLAN': string }>(
      'check the database',
      raw(`explain execute "${name}"${values > 0 ? `(${nullValues})` : ''}`),
    )
  })
  const lines = (await Promise.all(plans)).flat().map((row) => row['QUERY PLAN'])
  return lines.flatMap((line, index) =>
    / on contacts /.test(line) && /Scan/.test(line)
      ? `${/Scan using (\w+)/.exec(line)?.[1] ?? 'no index'} ${lines[index + 1]?.trim()}`
      : [],
  )
}

test('a generic plan made for few records uses the primary key after the statistics are updated', async () => {
  await database.crossTenantQuery('check the database', sql`set plan_cache_mode = force_generic_plan`)
  const [contact] = await create(12)
  await write([{ kind: 'update', id: contact?.id ?? '', values: { city: 'Berlin' } }])
  const lockScans = 1
  const updateScans = 1
  expect(await contactScans()).toHaveLength(lockScans + updateScans)
  await create(400)
  await updateStatistics({ database, log: pino({ enabled: false }) }, new AbortController().signal)
  const byKey = expect.stringMatching(
    /^contacts_pkey Index Cond: \(\(organization_id = (?:\$\d+|\(InitPlan \d+\)\.col1)\) AND \(id = \$\d+\)\)$/,
  )
  expect(await contactScans()).toEqual([byKey, byKey])
})
