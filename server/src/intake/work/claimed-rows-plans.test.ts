import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sessionOptions, type Transaction } from '../../platform/database/database.ts'
import { organizationParameter, type Sql, sql } from '../../platform/model/sql.ts'
import { lockRows, readRows } from './work-store.ts'
import { type PlanNode, explain, recordsRead } from '../../../test/explain.ts'
import { onlyOnSingleServer } from '../../../test/single-server.ts'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'

/** Rows of the tested import; all other organizations together have a tenth of that. */
const size = 20_000
const others = 200
const claimed = 40

let database: TestDatabase
let client: pg.Client
const [organizationId, importId] = [randomUUID(), randomUUID()]
let rowIds: string[]
beforeAll(async () => {
  database = await createDatabase()
  client = new pg.Client({ ...database.connection, options: sessionOptions })
  await client.connect()
  const run = async (statement: Sql) => {
    const { text, values } = statement.render()
    return client.query<{ id: string }>(text, values)
  }
  await run(sql`with created as (
      insert into organizations (id, name, slug)
      select case number when 0 then ${organizationId}::uuid else gen_random_uuid() end, 'Any', gen_random_uuid()::text
      from generate_series(0, ${others}::integer) number returning id),
    teams as (
      insert into teams (organization_id, id, name, is_default) select id, id, 'Any', true from created returning *)
    insert into imports (organization_id, id, name, team_id)
    select organization_id, case organization_id when ${organizationId}::uuid then ${importId}::uuid else id end, 'Any', id
    from teams`)
  await run(sql`analyze`)
  await run(sql`insert into import_rows (organization_id, id, import_id, status, lease, payload)
    select imports.organization_id, gen_random_uuid(), imports.id, 'PROCESSING', ${importId}::uuid, '{}'
    from imports, generate_series(1, case imports.id when ${importId}::uuid then ${size}::integer else ${size / others / 10}::integer end)`)
  // The rows are not in the statistics yet, as after a burst of pushes.
  const { rows } = await run(
    sql`select id from import_rows where import_id = ${importId}::uuid order by id limit ${claimed}`,
  )
  rowIds = rows.map(({ id }) => id)
})
afterAll(async () => {
  await client.end()
  await database.drop()
})

/** The plan of the single statement that `work` sends. */
async function planOf(work: (transaction: Transaction) => Promise<unknown>): Promise<PlanNode[]> {
  const plans: PlanNode[][] = []
  const query = async (statement: Sql) => {
    plans.push(await explain(client, statement))
    return []
  }
  await work({ organizationId, organization: organizationParameter(organizationId), query } as unknown as Transaction)
  const [plan, ...more] = plans
  expect(more).toEqual([])
  return plan ?? []
}

/** The number of import rows that `work` reads. */
async function recordsReadBy(work: (transaction: Transaction) => Promise<unknown>): Promise<number> {
  const nodes = (await planOf(work)).filter((node) => node['Relation Name'] === 'import_rows')
  expect(nodes.length).toBeGreaterThan(0)
  return recordsRead(nodes)
}

test('locking and reading claimed rows reads only those rows, regardless of the size of the import and the organization', async (context) => {
  onlyOnSingleServer(context, 'its plans are those of the shards')
  const lock = () => recordsReadBy((transaction) => lockRows(transaction, { organizationId, lease: importId, rowIds }))
  const read = () => recordsReadBy((transaction) => readRows(transaction, rowIds))
  const expected = { lock: claimed, read: claimed }
  const withoutStatistics = { lock: await lock(), read: await read() }
  await client.query('analyze')
  const withStatistics = { lock: await lock(), read: await read() }
  expect({ withoutStatistics, withStatistics }).toEqual({ withoutStatistics: expected, withStatistics: expected })
})
