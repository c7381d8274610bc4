import { seesAll } from '../../../../test/readers.ts'
import { sessionOptions } from '../../database/database.ts'
import { toSql } from '../../database/fixed-statements.ts'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { withoutIndexes } from '../../../../../lab/bench/copy.ts'
import { organizationParameter } from '../../model/sql.ts'
import { parseQuery } from '../request/query-string.ts'
import { planCount, planPage } from './page.ts'
import { parseFilters, parseList } from './parse.ts'
import type { Resource } from '../declare/define.ts'
import { contacts } from '../../../crm/contacts/resource.ts'
import { allNotes } from '../../../crm/notes/resource.ts'
import { explain, recordsRead } from '../../../../test/explain.ts'
import { createDatabase, type TestDatabase } from '../../../../test/postgres.ts'

const size = 50_000
const organizationId = '00000000-0000-7000-8000-000000000001'
const scope = { organization: organizationParameter(organizationId), actor: seesAll }

let testDatabase: TestDatabase
let client: pg.Client

beforeAll(async () => {
  testDatabase = await createDatabase()
  client = new pg.Client({ ...testDatabase.connection, options: sessionOptions })
  await client.connect()
  await client.query(fill)
  await withoutIndexes(client, ['root_contacts', 'companies', 'contacts', 'notes'], async () => {
    await client.query('select pg_temp.fill($1, $2)', [organizationId, size])
    for (let other = 1; other <= 5; other++) {
      await client.query('select pg_temp.fill($1, $2)', [`00000000-0000-7000-8000-00000000010${other}`, 2000])
    }
  })
  await client.query('vacuum analyze')
}, 120_000)

afterAll(async () => {
  await client.end()
  await testDatabase.drop()
})

/**
 * A contact with a higher number is newer, and so is its note. The oldest thousand contacts have the tag `founding`; ten
 * of the large organization and all of the others have `vip`. Three are named Quixotic, a third has a company, a fifth of
 * the companies is named Globex. The newest hundred are deleted, but not their notes. A member wrote ten notes.
 */
const fill = `create function pg_temp.fill(organization uuid, size int) returns void language plpgsql as $$
begin
  insert into organizations (id, name, slug) values (organization, organization, organization);
  insert into teams (organization_id, id, name, is_default) values (organization, organization, 'Default', true);
  insert into root_contacts (organization_id, id) values (organization, organization);
  insert into companies (organization_id, id, name)
    select organization, md5(organization || 'company' || n)::uuid,
      (array['Acme', 'Globex', 'Initech', 'Umbrella', 'Hooli'])[1 + n % 5] || ' ' || n
    from generate_series(1, size / 20) n;
  insert into contacts (organization_id, id, email, email_key, first_name, last_name, name, phone, tags, company_id,
      custom_properties, external_ids, root_contact_id, team_id, last_activity_at, created_at, updated_at, city)
    select organization, md5(organization || 'contact' || n)::uuid, 'person' || n || '@example.com',
      'person' || n || '@example.com', first, last, first || ' ' || coalesce(last, ''), '+4930' || lpad(n::text, 7, '0'),
      array_remove(array[
        'customer',
        case when n % 10 = 0 then 'lead' end,
        case when size < 5000 or n % 5000 = 7 then 'vip' end,
        case when size > 5000 and n <= 1000 then 'founding' end], null),
      case when n % 3 = 0 then md5(organization || 'company' || (1 + n % (size / 20)))::uuid end,
      jsonb_build_object('plan', (array['free', 'pro', 'team'])[1 + n % 3], 'seats', n % 100, 'code', 'code' || n),
      jsonb_build_object('billing', 'cus_' || n), organization, organization,
      case when n % 4 = 0 then timestamptz '2026-01-01Z' + n * interval '1 second' end,
      timestamptz '2025-01-01Z' + n * interval '1 minute', timestamptz '2025-01-01Z' + n * interval '1 minute',
      'City ' || n % 500
    from (select n, (array['Ada', 'Grace', 'Alan', 'Edsger', 'Barbara', 'Donald', 'Jürgen', 'Zoë'])[1 + n % 8] as first,
        case when n % 5 > 0 then (array['Lovelace', 'Hopper', 'Turing', 'Dijkstra', 'Liskov', 'Knuth', 'Müller'])[1 + n % 7]
          || case when n % 20000 = 11 then ' Quixotic ' else ' ' end || (n % 977) end as last
      from generate_series(1, size) n) people;
  update contacts set deleted_at = now() where organization_id = organization and created_at > timestamptz '2025-01-01Z' + (size - 100) * interval '1 minute';
  insert into users (id, email, email_key, name) values (organization, organization, organization, 'Ada');
  insert into members (organization_id, user_id, role) values (organization, organization, 'member');
  insert into notes (organization_id, id, contact_id, body, author_id, created_at)
    select organization, md5(organization || 'note' || n)::uuid, md5(organization || 'contact' || n)::uuid,
      'Called ' || case when n % 20000 = 11 then 'Quixotic' else 'them' end || ' about order ' || n,
      case when n % 5000 = 7 then organization end, timestamptz '2025-01-01Z' + n * interval '1 minute'
    from generate_series(1, size) n;
end $$`

const uuidOf = (kind: string, number: number): Promise<string> =>
  client
    .query(`select replace(md5($1)::uuid::text, '-', '') as id`, [`${organizationId}${kind}${number}`])
    .then(({ rows }) => rows[0].id)

/**
 * Replaces `{middle}` by a contact in the middle, `{note}` by its note, `{inactive}` by a contact without activity,
 * `{company}` by a company, `{deleted}` by a deleted contact and `{author}` by the member.
 */
async function resolveIds(query: string): Promise<string> {
  const [middle, inactive, company, note] = [
    await uuidOf('contact', 25_001),
    await uuidOf('contact', 25_002),
    await uuidOf('company', 77),
    await uuidOf('note', 25_001),
  ]
  return query
    .replace('{middle}', `con_${middle}`)
    .replace('{inactive}', `con_${inactive}`)
    .replace('{company}', `com_${company}`)
    .replace('{note}', `not_${note}`)
    .replace('{deleted}', `con_${await uuidOf('contact', 49_950)}`)
    .replace('{author}', `usr_${organizationId.replaceAll('-', '')}`)
}

async function pagePlan(query: string, resource: Resource = contacts) {
  const parameters = parseQuery(`/?${await resolveIds(query)}`)
  const cursorScope = { key: Buffer.alloc(32), organizationId, list: resource.name, orderBy: '' }
  return planPage(
    resource,
    parseList(resource, parameters, () => cursorScope),
    scope,
  )
}

async function countPlan(query: string, resource: Resource = contacts) {
  return planCount(resource, parseFilters(resource, parseQuery(`/?${await resolveIds(query)}`)), scope)
}

/** Two pages and their companies. */
const page = 100
/** The limit of the first scan, with a value, without one, and for the check whether there are more. */
const scanLimit = 3 * 2000 + page

test.each([
  ['the first page', '', page],
  ['the oldest first', 'sort=asc', page],
  ['a page in the middle', 'startingAfter={middle}', page],
  ['the page before one in the middle', 'endingBefore={middle}', page],
  ['by id', 'orderBy=id&startingAfter={middle}', page],
  ['by update', 'orderBy=updatedAt&endingBefore={middle}', page],
  ['by name', 'orderBy=name', page],
  ['by name, in the middle', 'orderBy=name&sort=asc&startingAfter={middle}', page],
  ['by last name, where a fifth has none', 'orderBy=lastName', page],
  ['by last name upwards', 'orderBy=lastName&sort=asc', page],
  ['by last name, in the middle', 'orderBy=lastName&startingAfter={middle}', page],
  ['by last name, back from the middle', 'orderBy=lastName&endingBefore={middle}', page],
  ['by email', 'orderBy=email&sort=asc&endingBefore={middle}', page],
  ['by activity, where most have none', 'orderBy=lastActivityAt', page],
  ['by activity, among those without', 'orderBy=lastActivityAt&startingAfter={inactive}', page],
  ['by activity, back among those without', 'orderBy=lastActivityAt&endingBefore={inactive}', page],
  ['by activity upwards, among those without', 'orderBy=lastActivityAt&sort=asc&startingAfter={inactive}', page],
  ['an address', 'filter.email.equals=person777@example.com', 10],
  ['several addresses, by name', 'filter.email.in=person777@example.com,person1@example.com&orderBy=name', 20],
  ['the contacts of a company', 'filter.companyId.equals={company}', page],
  ['the contacts of a company, by name', 'filter.companyId.equals={company}&orderBy=name', page],
  ['the newest of all', 'filter.createdAt.gte=2025-02-04', page],
  ['a rare tag', 'filter.tags.has=vip', scanLimit + 2 * 10_010],
  ['a tag of the oldest', 'filter.tags.has=founding', scanLimit + 2 * 1000],
  ['a tag of a tenth', 'filter.tags.has=lead', 400],
  ['a tag of all', 'filter.tags.has=customer', page],
  ['a tag of none', 'filter.tags.has=absent', scanLimit],
  ['a property of one', 'filter.customProperties.code.equals=code777', scanLimit],
  ['a property of a third', 'filter.customProperties.plan.equals=pro', 200],
  ['an id at another provider', 'filter.externalIds.billing.equals=cus_777', scanLimit],
  ['a rare fragment', 'filter.email.contains=person4242', scanLimit + 200],
  ['a fragment of all', 'filter.email.contains=EXAMPLE', page],
  ['a fragment of none', 'filter.email.contains=qqqq', scanLimit],
  // The two checks for more records skip the fifth without a last name.
  ['a fragment of three, by name', 'filter.lastName.contains=quixotic&orderBy=lastName', scanLimit + 2 * 600 + page],
  ['a fragment of none, by name', 'filter.name.startsWith=qqqq&orderBy=name&sort=asc', scanLimit],
  ['a word of three', 'query=quixotic', scanLimit + page],
  ['a word of none', 'query=qqqq', scanLimit],
  ['two words that are often together', 'query=grace+hopper', scanLimit],
  ['two words that are never together', 'query=barbara+quixotic', scanLimit + page],
  // 714 contacts have both words; over 5,700 have each of them.
  ['two common words, by name', 'query=ada+lovelace&orderBy=lastName', scanLimit + 2 * 600 + 2 * 714 + page],
  ['a word of many companies', 'query=globex', 2 * (size / 20) + page],
])('%s reads records in proportion to the page, not to the table', async (_, query, maxRecords) => {
  const plan = await pagePlan(query)
  expect(plan.isExpensive).toBe(false)
  expect(recordsRead(await explain(client, toSql(plan.statement)))).toBeLessThanOrEqual(maxRecords)
})

/** Each note that is read also reads its contact, even if the contact is deleted. */
const notePage = 2 * (100 + page)
const noteScanLimit = 2 * (2 * 2000) + notePage

test.each([
  ['the first page', '', notePage],
  ['the oldest first', 'sort=asc', page],
  ['a page in the middle', 'startingAfter={note}', page],
  ['the page before one in the middle', 'endingBefore={note}', page],
  ['those of a contact', 'filter.contactId.equals={middle}', 10],
  ['those of an author', 'filter.authorId.equals={author}', page],
  ['the newest', 'filter.createdAt.gte=2025-02-04', notePage],
  ['a word of three', 'query=quixotic', noteScanLimit],
  ['a word of all', 'query=called', notePage],
  ['a fragment of none', 'filter.body.contains=qqqq', noteScanLimit],
])(
  'notes of all contacts: %s reads records in proportion to the page, not to the table',
  async (_, query, maxRecords) => {
    const plan = await pagePlan(query, allNotes)
    expect(plan.isExpensive).toBe(false)
    expect(recordsRead(await explain(client, toSql(plan.statement)))).toBeLessThanOrEqual(maxRecords)
  },
)

test.each([
  ['filter.contactId.equals={middle}', 10],
  ['filter.authorId.equals={author}', page],
  ['query=quixotic', page],
])('counting the notes of all contacts by %s reads only what it counts', async (query, maxRecords) => {
  const plan = await countPlan(query, allNotes)
  expect(plan.isExpensive).toBe(false)
  expect(recordsRead(await explain(client, toSql(plan.statement)))).toBeLessThanOrEqual(maxRecords)
})

// The newest hundred contacts are deleted.
test.each([
  ['deleted=true', false],
  ['deleted=true&sort=asc&startingAfter={deleted}', false],
  ['deleted=true&orderBy=name', true],
  ['deleted=true&orderBy=email&filter.city.contains=1', true],
  ['deleted=true&query=lovelace', true],
  ['deleted=true&filter.tags.has=vip', true],
])('the deleted contacts by %s are read without the others', async (query, isExpensive) => {
  const plan = await pagePlan(query)
  expect(plan.isExpensive).toBe(isExpensive)
  expect(recordsRead(await explain(client, toSql(plan.statement)))).toBeLessThanOrEqual(2 * 100 + page)
  if (query.includes('orderBy') || query.includes('sort')) return
  expect(recordsRead(await explain(client, (await countPlan(query)).statement))).toBeLessThanOrEqual(2 * 100 + page)
})

test('a page reads companies only for its own records', async () => {
  const nodes = await explain(client, toSql((await pagePlan('orderBy=name&filter.tags.has=customer')).statement))
  const companies = nodes.filter((node) => node['Relation Name'] === 'companies')
  expect(companies.map((node) => node['Actual Loops'])).toEqual([25])
})

test.each([
  ['filter.tags.has=vip', 2 * 10_010],
  ['filter.email.equals=person777@example.com', 10],
  ['filter.companyId.equals={company}', page],
  ['query=quixotic', page],
  ['filter.customProperties.code.equals=code777', page],
  ['filter.email.equalsIgnoreCase=PERSON777@example.com', page],
])('counting by %s reads only what it counts', async (query, maxRecords) => {
  const plan = await countPlan(query)
  expect(plan.isExpensive).toBe(false)
  expect(recordsRead(await explain(client, toSql(plan.statement)))).toBeLessThanOrEqual(maxRecords)
})

test.each([
  'orderBy=city',
  'orderBy=company',
  'orderBy=customProperties.plan',
  'filter.city.equals=Paris',
  'filter.email.not=x@example.com',
  'filter.companyId.equals=null',
  'filter.lastName.contains=ab',
  'filter.lastName.contains=---',
  'filter.tags.isEmpty=true',
  'filter.customProperties.seats.gt=5',
  'filter.customProperties.renewal.equals=2026-03-01',
  'filter.customProperties.renewal.in=never,2026-03-01',
  'filter.company.name.contains=globex',
  'query=ab',
  'query=%25%25%25',
])('%s has no index, so it goes through the concurrency limiter', async (query) => {
  expect((await pagePlan(query)).isExpensive).toBe(true)
})

test('an unbounded count goes through the concurrency limiter', async () => {
  expect((await countPlan('')).isExpensive).toBe(true)
})

test('a scan that stops at its limit never skips to the records without a value', async () => {
  for (const sort of ['asc', 'desc']) {
    const plan = await pagePlan(`orderBy=lastActivityAt&sort=${sort}&filter.tags.has=founding`)
    const { text, values } = toSql(plan.statement).render()
    const page = await client.query<{ text: string }>(text, values)
    const ids = (JSON.parse(page.rows[0]?.text ?? '[]') as { id: string }[]).map(({ id }) => id)
    const { rows } = await client.query<{ id: string }>(
      `select 'con_' || replace(id::text, '-', '') as id from contacts where organization_id = $1 and tags @> '{founding}'
        order by last_activity_at ${sort} nulls last, contacts.id ${sort} limit 25`,
      [organizationId],
    )
    expect(ids).toEqual(rows.map(({ id }) => id))
    expect(ids).toHaveLength(25)
  }
})
