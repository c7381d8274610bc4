import { seesAll } from './readers.ts'
import { toSql } from '../src/platform/database/fixed-statements.ts'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { resources } from '../src/app.ts'
import { identifier, organizationParameter, raw, type Sql, sql } from '../src/platform/model/sql.ts'
import { operatorsOf } from '../src/platform/records/filter/operators.ts'
import { planCount, planPage } from '../src/platform/records/page/page.ts'
import type { Scope } from '../src/platform/records/filter/scope.ts'
import { parseFilters, parseList } from '../src/platform/records/page/parse.ts'
import { root } from '../src/platform/records/filter/target.ts'
import { columnOf, columnTypes, type Resource } from '../src/platform/records/declare/define.ts'
import { newId, decodeId, encodeId } from '../src/platform/model/ids.ts'
import { hasSearchText } from '../src/platform/operations/schema/tables.ts'
import { collections } from './collections.ts'
import { createDatabase, type TestDatabase } from './postgres.ts'
import { fieldOf } from './samples.ts'
import { fillSql } from './table-rows.ts'
import { startTestService, type TestService } from './service.ts'

let service: TestService
let organization: Sql
beforeAll(async () => {
  const database = await createDatabase()
  service = await startTestService({}, database)
  const { organizationId, teamId, importId } = await service.newOrganization()
  organization = organizationParameter(decodeId('org', organizationId) ?? '')
  await insertRecords(database, decodeId('tea', teamId) ?? '', decodeId('imp', importId) ?? '')
})
afterAll(() => service.close())

const query = <Row extends object>(statement: Sql): Promise<Row[]> =>
  service.database.crossTenantQuery<Row>('check the database', statement)

/** Tables that need hand-written inserts, because their rows need more than their declaration says. */
const tablesFilledByHand = new Set([
  ...['companies', 'contacts', 'imports', 'import_rows', 'audit_events', 'api_keys', 'notes', 'members'],
  ...['invitations', 'mails', 'team_members', 'tasks', 'note_analyses', 'suggestions', 'refused_pushes'],
])

/**
 * Inserts enough records, with distinct values, that the planner considers the indexes. Uses a separate connection, since
 * the statement timeout of the service's connections is too short.
 */
async function insertRecords({ connection }: TestDatabase, teamId: string, importId: string): Promise<void> {
  const numbers = sql`generate_series(1, 3000) number`
  const times = sql`now() - number * interval '1 minute'`
  const statements = [
    sql`insert into root_contacts (organization_id, id) select ${organization}, gen_random_uuid() from ${numbers}`,
    sql`insert into companies (organization_id, id, name, domain, domain_key, created_at, updated_at)
      select ${organization}, gen_random_uuid(), 'Company ' || number, number || '.com', number || '.com', ${times}, ${times}
      from ${numbers}`,
    sql`insert into contacts (organization_id, id, email, email_key, name, last_name, company_id, team_id,
        root_contact_id, last_activity_at, created_at, updated_at)
      select ${organization}, gen_random_uuid(), number || '@example.com', number || '@example.com', 'Name ' || number,
        'Last ' || number, companies.id, ${teamId}::uuid, roots.id, ${times}, ${times}, ${times}
      from ${numbers}
      join (select id, row_number() over () as number from root_contacts) roots using (number)
      join (select id, row_number() over () as number from companies) companies using (number)`,
    sql`insert into imports (organization_id, id, name, team_id, created_at, updated_at)
      select ${organization}, gen_random_uuid(), 'Import ' || number, ${teamId}::uuid, ${times}, ${times} from ${numbers}`,
    sql`insert into import_rows (organization_id, id, import_id, status, contact_id, payload, email, email_key, created_at)
      select organization_id, gen_random_uuid(), ${importId}::uuid,
        (array['PROCESSED', 'DUPLICATE', 'PENDING', 'DEAD'])[1 + number % 4], id, '{}', email, email_key, ${times}
      from (select *, row_number() over () as number from contacts) contacts`,
    sql`insert into refused_pushes (organization_id, id, import_id, code, message, email, email_key, sender, address,
        created_at)
      select ${organization}, gen_random_uuid(), ${importId}::uuid, 'any', 'any', number || '@example.com',
        number || '@example.com', '-', '-', ${times}
      from ${numbers}`,
    sql`insert into audit_events (organization_id, id, action, actor_kind, actor_id, record_id, created_at)
      select ${organization}, gen_random_uuid(), (array['import.updated', 'login.failed'])[1 + number % 2], 'user',
        'usr_' || number % 50, 'imp_' || number, ${times} from ${numbers}`,
    sql`insert into api_keys (organization_id, id, hash, name, scopes, created_by, created_at)
      select organization_id, gen_random_uuid(), decode(md5(number::text), 'hex'), 'Key ' || number, '{}', user_id, ${times}
      from members, ${numbers}`,
    sql`insert into notes (organization_id, id, contact_id, body, author_id, created_at)
      select organization_id, gen_random_uuid(), contacts.id, 'Note about ' || name, user_id, contacts.created_at
      from contacts join members using (organization_id)`,
    sql`insert into notes (organization_id, id, company_id, body, created_at)
      select organization_id, gen_random_uuid(), id, 'Note about ' || name, created_at from companies`,
    sql`insert into tasks (organization_id, id, title, due_at, deadline, done, done_at, time_zone, assignee_id, created_at,
        contact_id, company_id)
      select organization_id, gen_random_uuid(), 'Call ' || name, created_at, created_at, number % 50 > 0,
        case when number % 50 > 0 then now() end, 'UTC', gen_random_uuid(), created_at,
        case when number % 2 = 0 then id end, case when number % 2 = 1 then company_id end
      from (select *, row_number() over () as number from contacts) contacts`,
    sql`insert into note_analyses (organization_id, id, note_id, contact_id, company_id, intent, language, suspicious, engine,
        prompt_version, input_hash, latency_ms, tokens, degraded, created_at)
      select organization_id, gen_random_uuid(), id, contact_id, company_id, 'question', 'en', false, 'rules', '1', '', 1, 0,
        false, created_at from notes`,
    sql`insert into suggestions (organization_id, id, note_id, contact_id, company_id, analysis_id, intent, engine, type,
        params, priority, confidence, evidence, created_at)
      select organization_id, gen_random_uuid(), note_id, contact_id, company_id, id, intent, engine, 'reply', '{}',
        'normal', 1, '{}', created_at from note_analyses`,
    // Inserted last, because statements above insert one row per member.
    sql`with added as (
        insert into users (id, email, email_key, name)
        select gen_random_uuid(), number || '@example.com', number || '@example.com', 'Person ' || number from ${numbers}
        returning id)
      insert into members (organization_id, user_id, role, created_at)
      select ${organization}, id, 'member', now() - row_number() over () * interval '1 minute' from added`,
    sql`insert into team_members (organization_id, team_id, id)
      select ${organization}, ${teamId}::uuid, user_id from members on conflict do nothing`,
    sql`insert into invitations (organization_id, id, email, email_key, role, expires_at, created_at)
      select ${organization}, gen_random_uuid(), number || '@example.org', number || '@example.org', 'member', now(), ${times}
      from ${numbers}`,
  ]
  const client = new pg.Client(connection)
  await client.connect()
  const others = resources.filter(({ table, isSmall }) => !isSmall && !tablesFilledByHand.has(table))
  const declared = others.map((resource) => fillSql(resource, organization, 3000))
  for (const statement of [...statements, ...declared, sql`analyze`]) {
    const { text, values } = statement.render()
    await client.query(text, values)
  }
  await client.end()
}

interface Column {
  name: string
  type: string
  required: boolean
}

const columnsOf = (table: string): Promise<Column[]> =>
  query<Column>(sql`select attname as name, format_type(atttypid, atttypmod) as type, attnotnull as required
    from pg_attribute where attrelid = to_regclass(${table}::text) and attnum > 0 and not attisdropped`)

/** PostgreSQL names of declared types. Times are stored in milliseconds, as in responses. */
const typeNames: Readonly<Record<string, string>> = { timestamptz: 'timestamp(3) with time zone' }

/** The columns that follow from a declaration, with their types. */
function declaredColumns(resource: Resource): Record<string, string> {
  const { parent, softDelete } = resource
  return {
    ...columnTypes(resource),
    organization_id: 'uuid',
    revision: 'integer',
    ...(parent && { [parent.column]: 'uuid' }),
    ...(softDelete && { deleted_at: 'timestamptz' }),
    ...(hasSearchText(resource) && { search: 'text' }),
  }
}

const tables = resources.map((resource) => [resource.table, resource] as const)

test.each(tables)('%s has exactly the declared columns, with the declared types', async (table, resource) => {
  const columns = await columnsOf(table)
  const declared = Object.entries(declaredColumns(resource)).map(([name, type]) => [name, typeNames[type] ?? type])
  expect(Object.fromEntries(columns.map(({ name, type }) => [name, type]))).toEqual(Object.fromEntries(declared))
})

/** Tables in which `organization_id` can be null: the person has no organization or several. No organization sees those rows. */
const tablesWithOptionalOrganization = ['mails']

test.each(tables)('the columns of %s are nullable exactly where their fields are', async (table, resource) => {
  const required = new Map((await columnsOf(table)).map((column) => [column.name, column.required]))
  for (const [name, { nullable, computed, list }] of Object.entries(resource.fields)) {
    if (computed === undefined) expect([name, required.get(columnOf(name))]).toEqual([name, !nullable && !list])
  }
  expect([table, required.get('organization_id')]).toEqual([table, !tablesWithOptionalOrganization.includes(table)])
  expect(required.get('revision')).toBe(true)
  if (resource.softDelete) expect(required.get('deleted_at')).toBe(false)
  if (resource.parent) expect(required.get(resource.parent.column)).toBe(true)
})

/** Tables without an `organization_id`. */
const installationTables = [
  ...['instance', 'organizations', 'push_keys', 'rate_limits', 'schema_migrations', 'signing_keys', 'users'],
  // Credentials and logins of people, independent of their organizations.
  ...[
    'factor_failures',
    'former_addresses',
    'login_failures',
    'passkeys',
    'pending_logins',
    'recovery_codes',
    'spent_challenges',
    'totp_secrets',
  ],
  'push_subscriptions',
]

const tenantTables = async (): Promise<string[]> => {
  const rows = await query<{ name: string }>(sql`select relname as name from pg_class
    where relkind in ('r', 'p') and relnamespace = current_schema()::regnamespace
      and exists (select from pg_attribute where attrelid = pg_class.oid and attname = 'organization_id')`)
  return rows.map(({ name }) => name)
}

test('every table has an organization_id, except those of the whole installation', async () => {
  const all = await query<{ name: string }>(
    sql`select table_name as name from information_schema.tables
      where table_schema = current_schema() and table_type = 'BASE TABLE'`,
  )
  const tenants = await tenantTables()
  expect(tenants).toEqual(expect.arrayContaining(resources.map(({ table }) => table)))
  const others = all.map(({ name }) => name).filter((name) => !tenants.includes(name))
  expect(others.filter((name) => !installationTables.includes(name))).toEqual([])
})

/** Indexes for lookups before the organization is known; they do not lead with it. */
const indexesWithoutOrganization = [
  'sessions_pkey',
  'api_keys_hash_unique',
  'api_key_previous_hashes_pkey',
  'import_triggers_pkey',
  'mails_pkey',
  'one_time_tokens_pkey',
  ...['push_messages_entry_unique', 'push_messages_pkey'],
  'sso_steps_pkey',
]

test('every primary key and unique index of a tenant table leads with the organization', async () => {
  const indexes = await query<{ name: string; table: string; first: string }>(sql`
    select index.relname as name, indexed.relname as table, attname as first
    from pg_index
    join pg_class index on index.oid = indexrelid
    join pg_class indexed on indexed.oid = indrelid
    left join pg_attribute on attrelid = indrelid and attnum = indkey[0]
    where indisunique and indexed.relname = any(${await tenantTables()}::text[])`)
  expect(indexes.length).toBeGreaterThan(10)
  const others = indexes.filter(({ first }) => first !== 'organization_id').map(({ name }) => name)
  expect(others.sort()).toEqual([...indexesWithoutOrganization].sort())
})

test('every foreign key between tenant tables includes the organization', async () => {
  const keys = await query<{ name: string; target: string; own: string[]; foreign: string[] }>(sql`
    select conname as name, target.relname as target,
      (select array_agg(attname::text order by ordinal) from unnest(conkey) with ordinality as key(number, ordinal)
        join pg_attribute on attrelid = conrelid and attnum = number) as own,
      (select array_agg(attname::text order by ordinal) from unnest(confkey) with ordinality as key(number, ordinal)
        join pg_attribute on attrelid = confrelid and attnum = number) as foreign
    from pg_constraint join pg_class target on target.oid = confrelid
    where contype = 'f' and target.relname = any(${await tenantTables()}::text[])`)
  expect(keys.length).toBeGreaterThan(5)
  for (const { name, own, foreign } of keys) {
    expect([name, own.length, own[0], foreign[0]]).toEqual([name, 2, 'organization_id', 'organization_id'])
  }
})

test('every field that refers to another record has a foreign key, unless that record may be purged earlier', async () => {
  const keys = await query<{ table: string; column: string }>(sql`
    select relname as table, attname as column from pg_constraint
    join pg_class on pg_class.oid = conrelid
    join pg_attribute on attrelid = conrelid and attnum = any(conkey) and attname <> 'organization_id'
    where contype = 'f' and pg_class.relnamespace = current_schema()::regnamespace`)
  const hasForeignKey = ({ table }: Resource, name: string) =>
    keys.some((key) => key.table === table && key.column === columnOf(name))
  const withoutForeignKey = resources.flatMap((resource) =>
    Object.entries(resource.fields)
      .filter(([name, { idPrefix }]) => idPrefix !== undefined && name !== 'id' && !hasForeignKey(resource, name))
      .map(([name]) => `${resource.table}.${name}`),
  )
  const outlived = resources.flatMap((resource) =>
    Object.entries(resource.fields).flatMap(([name, { hasNoForeignKey: isOutlived }]) =>
      isOutlived ? `${resource.table}.${name}` : [],
    ),
  )
  expect(withoutForeignKey.sort()).toEqual(outlived.sort())
  expect(outlived).toContain('import_rows.contactId')
})

interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  Alias?: string
  'Index Cond'?: string
  'Recheck Cond'?: string
  Plans?: PlanNode[]
}

/** The plan of a statement with sequential scans and sorts disabled. */
async function explain(statement: Sql): Promise<PlanNode> {
  return service.database.crossTenantTransaction('check the database', async (spanning) => {
    for (const setting of ['seqscan', 'sort', 'incremental_sort', 'hashjoin', 'mergejoin']) {
      await spanning.query(sql`set local ${raw(`enable_${setting}`)} = off`)
    }
    const [row] = await spanning.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(sql`explain (format json) ${statement}`)
    if (!row) throw new Error('EXPLAIN returned no plan')
    return row['QUERY PLAN'][0].Plan
  })
}

const withChildren = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(withChildren)]

/** The node and its inputs, except those below a limit, which read at most a page. */
const unlimited = (node: PlanNode): PlanNode[] =>
  node['Node Type'] === 'Limit' ? [] : [node, ...(node.Plans ?? []).flatMap(unlimited)]

/** The organization, somebody in it, and the parent with the most records. */
async function scopeOf({ table, parent }: Resource): Promise<Scope> {
  if (!parent) return { organization, actor: { kind: 'session', userId: newId(), role: 'member' } }
  const column = identifier(parent.column)
  const [row] = await query<{ id: string }>(
    sql`select ${column} as id from ${identifier(table)} group by ${column} order by count(*) desc limit 1`,
  )
  return { organization, actor: seesAll, parentId: row?.id ?? newId() }
}

const cursorScope = (orderBy: string) => ({ key: Buffer.alloc(32), organizationId: '', list: '', orderBy })

const lists = collections.map(({ path, resource }) => [path, resource] as const)

test.each(lists)('%s: every field declared as ordered by an index is read in index order', async (_, resource) => {
  const indexed = resource.propertyNames.filter((name) => resource.fields[name]?.order === 'indexed')
  expect(indexed).toContain('createdAt')
  // A timeline is a view over other tables; timeline-plans.test.ts shows its plans.
  if (resource.isSmall || resource.name === 'timeline-entries') return
  for (const name of indexed) {
    for (const sort of ['asc', 'desc']) {
      const request = parseList(
        resource,
        [
          { name: 'orderBy', value: name },
          { name: 'sort', value: sort },
        ],
        cursorScope,
      )
      const nodes = withChildren(await explain(toSql(planPage(resource, request, await scopeOf(resource)).statement)))
      // Lookups of embedded people use the same table under another alias. A second alias has a number.
      const isListed = ({ Alias: alias = '', ...node }: PlanNode) =>
        node['Relation Name'] === resource.table && (alias === root || alias.startsWith(`${root}_`))
      expect([name, nodes.some((node) => withChildren(node).some(isListed))]).toEqual([name, true])
      const readsAll = (node: PlanNode) => unlimited(node).some(isListed)
      const sorts = nodes.filter((node) => node['Node Type'].endsWith('Sort') && readsAll(node))
      expect([name, sort, sorts.length]).toEqual([name, sort, 0])
      const scans = nodes.filter(isListed).map((node) => node['Node Type'])
      expect([name, sort, scans.filter((type) => !type.startsWith('Index'))]).toEqual([name, sort, []])
    }
  }
})

/** Filters that are declared as indexed, each with a value and the column of the index. */
function indexedFilters(resource: Resource): { filter: string; value: string; column: string }[] {
  return resource.propertyNames.flatMap((name) => {
    if (resource.embedded[name]) return []
    const field = fieldOf(resource, name)
    const column = columnOf(name)
    // The path already fixes this field.
    if (column === resource.parent?.column) return []
    const served: { filter: string; value: string; column: string }[] = []
    // No record has the last choice.
    const text = ((field.schema.enum ?? ['something@example.com']) as readonly string[]).at(-1) ?? ''
    const value = field.idPrefix === undefined ? text : encodeId(field.idPrefix, newId())
    if (field.computed && field.equality === 'indexed') {
      // The columns of the condition, of which one is in the index and others are in its predicate.
      const [, ...of] = [
        ...field
          .computed(raw(root), raw('organization_id'))
          .render()
          .text.matchAll(/"(\w+)"/g),
      ].map(([, part]) => part)
      return [{ filter: `filter.${name}.equals`, value: 'true', column: of.join('|') }]
    }
    if (field.equality === 'indexed') {
      const operators = operatorsOf[field.filter].includes('has') ? ['has', 'hasSome'] : ['equals', 'in']
      const through = field.lookup?.column ?? column
      if (field.lookup) operators.push('equalsIgnoreCase')
      served.push(...operators.map((operator) => ({ filter: `filter.${name}.${operator}`, value, column: through })))
    }
    if (field.filter === 'properties') served.push({ filter: `filter.${name}.plan.equals`, value, column })
    if (field.searched) served.push({ filter: `filter.${name}.contains`, value, column: 'search' })
    if (field.filter === 'date' && field.order === 'indexed') {
      served.push({ filter: `filter.${name}.gt`, value: '2999-11-21', column })
    }
    return served
  })
}

test.each(lists)('%s: every filter declared as indexed uses its index', async (_, resource) => {
  const served = indexedFilters(resource)
  expect(served.length).toBeGreaterThan(1)
  if (resource.isSmall) return
  // If a parent has few records, its index is sufficient.
  const own = resource.parent?.isSmall ? `|${resource.parent.column}` : ''
  for (const { filter, value, column } of served) {
    const { statement } = planCount(
      resource,
      parseFilters(resource, [{ name: filter, value }]),
      await scopeOf(resource),
    )
    const conditions = withChildren(await explain(statement)).flatMap((node) => node['Index Cond'] ?? [])
    const isServed = conditions.some((condition) => new RegExp(`\\b(?:${column}${own})\\b`).test(condition))
    expect([filter, isServed, isServed ? [] : conditions]).toEqual([filter, true, []])
  }
})

test('the plan checks detect a field without an index', async () => {
  const contacts = resources.find(({ table }) => table === 'contacts')
  if (!contacts) throw new Error('there are contacts')
  const order = parseList(contacts, [{ name: 'orderBy', value: 'city' }], cursorScope)
  const nodes = withChildren(await explain(toSql(planPage(contacts, order, await scopeOf(contacts)).statement)))
  const reads = (node: PlanNode) => withChildren(node).some((inner) => inner['Relation Name'] === 'contacts')
  expect(nodes.some((node) => node['Node Type'].endsWith('Sort') && reads(node))).toBe(true)
  const filter = parseFilters(contacts, [{ name: 'filter.city.equals', value: 'Paris' }])
  const plan = withChildren(await explain(planCount(contacts, filter, await scopeOf(contacts)).statement))
  expect(plan.flatMap((node) => node['Index Cond'] ?? []).some((condition) => condition.includes('city'))).toBe(false)
})
