import { isDistributed } from '../../../test/engines.ts'
import { seesAll } from '../../../test/readers.ts'
import pg from 'pg'
import { afterAll, beforeAll, expect, test as anyTest } from 'vitest'
import { explain, recordsRead } from '../../../test/explain.ts'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { sessionOptions, type Transaction } from '../../platform/database/database.ts'
import { type FixedStatement, toSql } from '../../platform/database/fixed-statements.ts'
import { organizationParameter, raw, type Sql } from '../../platform/model/sql.ts'
import { parseQuery } from '../../platform/records/request/query-string.ts'
import { planCount, planPage } from '../../platform/records/page/page.ts'
import { parseChange, parseFilters, parseList } from '../../platform/records/page/parse.ts'
import { rows } from './resource.ts'
import { changeRows } from './store.ts'

/** The plans of a single server. */
const test = anyTest.skipIf(isDistributed())

const size = 60_000
const organizationId = '00000000-0000-7000-8000-000000000001'
/** `done`: nearly all rows are finished. `waiting`: rows arrived so fast that nearly none are finished. */
const imports = { done: '00000000-0000-7000-8000-000000000002', waiting: '00000000-0000-7000-8000-000000000003' }
type Of = keyof typeof imports
const organization = organizationParameter(organizationId)

let testDatabase: TestDatabase
let client: pg.Client
beforeAll(async () => {
  testDatabase = await createDatabase()
  client = new pg.Client({ ...testDatabase.connection, options: sessionOptions })
  await client.connect()
  await client.query('insert into organizations (id, name, slug) values ($1::uuid, $1::text, $1::text)', [
    organizationId,
  ])
  await client.query(
    `insert into teams (organization_id, id, name, is_default) values ($1::uuid, $1::uuid, 'Default', true)`,
    [organizationId],
  )
  await fill('done', size)
  await fill('waiting', size / 30)
  await client.query('vacuum analyze')
}, 120_000)
afterAll(async () => {
  await client.end()
  await testDatabase.drop()
})

/** Adds rows in order of age, oldest first. One in 5000 is dead, one in 1000 in conflict. */
async function fill(of: Of, count: number): Promise<void> {
  const id = imports[of]
  await client.query(
    'insert into imports (organization_id, id, name, team_id) values ($1::uuid, $2::uuid, $2::text, $1::uuid)',
    [organizationId, id],
  )
  await client.query(
    `insert into import_rows (organization_id, import_id, id, status, error_codes, contact_id, email, email_key, payload, created_at)
      select $1::uuid, $2::uuid, md5($2::text || number)::uuid, status,
        case status when 'DEAD' then '{worker_lost}' when 'CONFLICT' then '{ambiguous_contact}' else '{}' end::text[],
        case when status = 'PROCESSED' then md5('contact' || number)::uuid end,
        number || '@example.com', number || '@example.com',
        jsonb_build_object('contact', jsonb_build_object('email', number || '@example.com', 'bio', repeat(md5(number::text), 10))),
        timestamptz '2026-01-01Z' + number * interval '1 second'
      from (select number, case
          when number % 5000 = 7 then 'DEAD' when number % 1000 = 9 then 'CONFLICT'
          when $3::boolean or number > $4::int - 1000 then case when number > 200 then 'PENDING' else 'PROCESSED' end
          else 'PROCESSED' end as status
        from generate_series(1, $4::int) number) numbered`,
    [organizationId, id, of === 'waiting', count],
  )
}

const scopeOf = (of: Of) => ({ organization, actor: seesAll, parentId: imports[of] })

const uuidOf = (of: Of, number: number): Promise<string> =>
  client
    .query(`select replace(md5($1)::uuid::text, '-', '') as id`, [`${imports[of]}${number}`])
    .then(({ rows: [row] }) => row.id)

async function planOf(of: Of, query: string) {
  const text = query.replace('{middle}', `row_${await uuidOf(of, size / 2)}`)
  const cursorScope = { key: Buffer.alloc(32), organizationId, list: 'rows', orderBy: '' }
  const request = parseList(rows, parseQuery(`/?${text}`), () => cursorScope)
  return planPage(rows, request, scopeOf(of))
}

/** The rows of a page, one more to know whether others follow, and the import. */
const page = 30

test.each([
  ['done', 'the first page', '', page],
  ['done', 'a page in the middle', 'startingAfter={middle}', page],
  ['done', 'the page before one in the middle', 'endingBefore={middle}', page],
  ['done', 'the dead', 'filter.status.equals=DEAD', page],
  ['done', 'the dead, from the middle', 'filter.status.equals=DEAD&startingAfter={middle}', page],
  ['done', 'the finished, behind a thousand waiting ones', 'filter.status.equals=PROCESSED', page],
  ['waiting', 'the few finished, where nearly all are waiting', 'filter.status.equals=PROCESSED', page],
  ['waiting', 'the waiting', 'filter.status.equals=PENDING&sort=asc', page],
  ['done', 'the dead of a day', 'filter.status.equals=DEAD&filter.createdAt.lt=2026-01-01T06:00', page],
  ['done', 'two rare states', 'filter.status.in=DEAD,CONFLICT', 100],
  ['done', 'the dead in another order', 'filter.status.equals=DEAD&orderBy=finishedAt', page],
  ['done', 'an error code', 'filter.errorCodes.has=worker_lost', 100],
  ['done', 'an error code without rows', 'filter.errorCodes.has=invalid_payload', 100],
  ['done', 'rows with errors', 'filter.errorCodes.isEmpty=false', page],
  ['done', 'the rows of a contact', 'filter.contactId.equals=con_0123456789abcdef0123456789abcdef', page],
  ['done', 'an address', 'filter.email.equals=30000@example.com', page],
  ['done', 'a searched address', 'query=30000@example.com', page],
  ['done', 'a searched beginning', 'query=3000', page],
  ['done', 'a searched address that no row has', 'query=nobody@example.com', page],
  ['done', 'the newest', 'filter.createdAt.gte=2026-01-01T16:00', page],
] as const)('%s: a page with %s reads only the rows that it shows', async (of, _, query, max) => {
  const plan = await planOf(of, query)
  expect(plan.isExpensive).toBe(false)
  expect(recordsRead(await explain(client, toSql(plan.statement)))).toBeLessThanOrEqual(max)
})

test.each([
  ['filter.status.equals=DEAD', page],
  ['filter.status.equals=PENDING', 1010],
  ['filter.errorCodes.has=worker_lost', 100],
  ['filter.contactId.equals=con_0123456789abcdef0123456789abcdef', page],
  ['query=30000@example.com', page],
])('counting by %s reads only the rows that it counts', async (query, max) => {
  const plan = planCount(rows, parseFilters(rows, parseQuery(`/?${query}`)), scopeOf('done'))
  expect(plan.isExpensive).toBe(false)
  expect(recordsRead(await explain(client, plan.statement))).toBeLessThanOrEqual(max)
})

test.each([
  'orderBy=id',
  'orderBy=status',
  'filter.status.not=PROCESSED',
  'filter.warningCodes.has=x',
  'filter.runAt.lt=2026',
])('%s uses no index and is limited as unindexed', async (query) => {
  expect((await planOf('done', query.replace('=2026', '=2026-01-01'))).isExpensive).toBe(true)
})

/** Number of rows that all statements of a change by filter read. Everything is rolled back. */
async function costOf(of: Of, action: 'retry' | 'cancel', query: string): Promise<{ count: number; cost: number }> {
  let cost = 0
  const transaction: Transaction = {
    isTransaction: true,
    actor: { kind: 'work', organizationId, userId: null, role: undefined, live: raw('true') },
    organizationId,
    organization,
    writesTablesTogether: true,
    runSingle: () => Promise.reject(new Error('a change by filter is more than one statement')),
    finish: () => undefined,
    send: () => {
      throw new Error('a change by filter uses the rows of all its statements')
    },
    query: async <Row extends object>(given: Sql | FixedStatement) => {
      const statement = toSql(given)
      await client.query('savepoint explained')
      cost += recordsRead(await explain(client, statement))
      await client.query('rollback to explained')
      const { text, values } = statement.render()
      return (await client.query<Row & pg.QueryResultRow>(text, values)).rows
    },
  }
  await client.query('begin')
  try {
    const { count } = await changeRows(transaction, imports[of], action, parseChange(rows, parseQuery(`/?${query}`)))
    return { count, cost }
  } finally {
    await client.query('rollback')
  }
}

test.each([
  ['done', 'retry', ''],
  ['done', 'retry', 'filter.status.equals=DEAD'],
  ['done', 'retry', 'filter.errorCodes.has=worker_lost'],
  ['done', 'cancel', ''],
  ['waiting', 'cancel', ''],
  ['waiting', 'cancel', 'filter.createdAt.lt=2026-01-01T00:10'],
  ['waiting', 'retry', 'filter.status.equals=DEAD'],
  ['done', 'retry', 'filter.contactId.equals=con_0123456789abcdef0123456789abcdef'],
] as const)('%s: %s with ?%s reads only the rows that it changes', async (of, action, query) => {
  const { count, cost } = await costOf(of, action, query)
  // Each row is found, locked, changed, counted and read again; rows with errors are read once per state.
  expect(cost).toBeLessThanOrEqual(6 * count + 600)
})
