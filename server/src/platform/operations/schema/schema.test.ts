import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../../../../test/postgres.ts'
import { resources, routes } from '../../../app.ts'
import { contacts } from '../../../crm/contacts/resource.ts'
import { defineResource, type Resource } from '../../records/declare/define.ts'
import {
  choice,
  decimal,
  flag,
  id,
  longText,
  reference,
  text,
  timestamp,
  stringList,
} from '../../records/declare/fields.ts'
import { newId } from '../../model/ids.ts'
import { readCatalog } from './catalog.ts'
import { describe, differencesOf } from './differences.ts'
import { skeletonOf } from './migration.ts'

let database: TestDatabase
let client: pg.Client
beforeAll(async () => {
  database = await createDatabase()
  client = new pg.Client(database.connection)
  await client.connect()
})
afterAll(async () => {
  await client.end()
  await database.drop()
})

const times = {
  createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
  updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
}

const machineFields = {
  id: id('mch'),
  name: text({ label: 'Name', required: true, order: 'indexed', searched: true }),
  end: text({ label: 'A word that SQL reserves' }),
  stage: choice(['open', 'done'], { label: 'Stage', nullable: false, initial: 'open', equality: 'indexed' }),
  amount: decimal({ label: 'Amount' }),
  tags: stringList({ label: 'Tags', equality: 'indexed' }),
  companyId: reference('com', { label: 'Company', table: 'companies', equality: 'indexed' }),
  ...times,
}

const machinesWith = (more: Partial<Resource>, fields = {}): Resource =>
  defineResource({
    name: 'machines',
    singular: 'machine',
    component: 'Machine',
    idPrefix: 'mch',
    roleGroup: 'records',
    search: ['name', 'tags'],
    uniques: { machines_name_unique: { field: 'name', columns: ['name'], folded: true } },
    ...more,
    fields: { ...machineFields, ...fields },
  })

const machines = machinesWith({})
const errands: Resource = defineResource({
  name: 'errands',
  singular: 'errand',
  component: 'Errand',
  idPrefix: 'ern',
  roleGroup: 'records',
  parent: { parameter: 'machineId', resource: machines, column: 'machine_id', isSmall: true },
  fields: { id: id('ern'), body: longText({ label: 'Text', required: true }), ...times },
})

const compare = async (...declared: Resource[]) => {
  const catalog = await readCatalog(client)
  const differences = differencesOf(declared, declared, catalog)
  return { descriptions: differences.map(describe), skeleton: skeletonOf(differences, catalog.keywords) }
}

/** Runs a migration as the service does: a non-transactional one statement by statement. */
async function apply({ changes, indexes }: ReturnType<typeof skeletonOf>): Promise<void> {
  if (changes !== undefined) await client.query(changes)
  for (const statement of indexes?.split(/;$/m) ?? []) await client.query(statement)
}

const fileNode = async () =>
  (await client.query(`select relfilenode from pg_class where relname = 'machines'`)).rows[0].relfilenode

test('the migrations create exactly the tables that the declarations require', async () => {
  const listed = routes.flatMap(({ query }) => (query.kind === 'list' ? [query.resource] : []))
  expect(differencesOf(resources, listed, await readCatalog(client)).map(describe)).toEqual([])
})

test('the tables of new declarations are created in any order, and then nothing differs', async () => {
  const { descriptions, skeleton } = await compare(errands, machines)
  expect(descriptions).toEqual(['no migration creates the table errands', 'no migration creates the table machines'])
  expect(skeleton.indexes).toBeUndefined()
  expect(skeleton.changes).toContain(
    'foreign key (organization_id, company_id) references companies (organization_id, id)',
  )
  await apply(skeleton)
  expect((await compare(errands, machines)).descriptions).toEqual([])
})

test('a new field becomes a column, a validated foreign key and an index, without rewriting records or blocking writers', async () => {
  const more = machinesWith(
    {},
    {
      rank: text({ label: 'Rank', order: 'indexed' }),
      urgent: flag({ label: 'Urgent', nullable: false, initial: false }),
      teamId: reference('tea', { label: 'Team', table: 'teams' }),
    },
  )
  const before = await fileNode()
  const { descriptions, skeleton } = await compare(errands, more)
  expect(descriptions).toEqual([
    'machines has no column rank',
    'machines has no column urgent',
    'machines has no column team_id',
    'machines.team_id has no foreign key to teams',
    'machines has no index on organization_id, sort_key(rank), id',
    'machines has no index on organization_id, team_id',
  ])
  expect(skeleton.changes).not.toMatch(/Review/)
  expect(skeleton.changes?.match(/foreign key/g)).toHaveLength(1)
  expect(skeleton.changes).toMatch(/not valid;\nalter table machines validate constraint/)
  expect(skeleton.indexes).toMatch(/^-- rapport: no transaction\n/)
  await apply(skeleton)
  expect((await compare(errands, more)).descriptions).toEqual([])
  expect(await fileNode()).toBe(before)
})

test('deleted records have an index for their list, and neither index replaces the other', async () => {
  const missing = 'machines has no index on organization_id, created_at, id'
  for (const name of ['machines_created', 'machines_deleted_list']) {
    await client.query(`drop index ${name}`)
    const { descriptions, skeleton } = await compare(machines)
    expect(descriptions).toContain(missing)
    await apply({ ...skeleton, changes: undefined })
    expect((await compare(machines)).descriptions).not.toContain(missing)
  }
})

test('a required field asks for the values of existing records first, and then rejects null', async () => {
  const more = machinesWith({}, { goal: text({ label: 'Goal', required: true }) })
  const { skeleton } = await compare(more)
  expect(skeleton.changes).toMatch(/^alter table machines add column goal text;\n-- Review: /m)
  await apply(skeleton)
  expect((await compare(more)).descriptions).not.toContain('machines.goal is null, and its field is not nullable')
  await client.query('alter table machines drop column goal')
})

test('an undeclared column and a different type, nullability or search are reported, and no data is dropped silently', async () => {
  const { end: _, ...fields } = machineFields
  const other: Resource = {
    ...machinesWith({ search: ['name'] }),
    fields: { ...fields, amount: text({ label: 'Amount', nullable: false }) },
  }
  const { descriptions, skeleton } = await compare(other)
  expect(descriptions).toEqual(
    expect.arrayContaining([
      'machines has a column end that no field declares',
      'machines.amount is numeric, and is declared as text',
      'the search column of machines does not read the fields that are declared to be searched',
    ]),
  )
  expect(skeleton.changes).toContain('-- alter table machines drop column "end";')
  expect(skeleton.changes?.match(/Review/g)?.length).toBeGreaterThanOrEqual(3)
})

test('a new field of a rendered resource replaces its document function, once its rendering has another version', async () => {
  const { companyId, ...fields } = contacts.fields
  const current = Number(contacts.renderingVersion)
  const wider = (renderingVersion: number) => ({
    ...contacts,
    renderingVersion,
    propertyNames: [...contacts.propertyNames, 'shoeSize'],
    fields: { ...fields, shoeSize: text({ label: 'Shoe size' }), companyId },
  })
  expect((await compare(wider(current))).descriptions).toEqual([
    'contacts has no column shoe_size',
    `the function contact_document does not render what is declared; set renderingVersion of contacts to ${current + 1}`,
  ])
  const { descriptions, skeleton } = await compare(wider(current + 1))
  expect(descriptions.at(-1)).toBe('the function contact_document does not render what is declared')
  await apply(skeleton)
  expect((await compare(wider(current + 1))).descriptions).toEqual([])
})

test('a resource that declares a rendering gets its function and its table', async () => {
  const rendered = machinesWith({ name: 'plans', table: 'plans', singular: 'plan', uniques: {}, renderingVersion: 1 })
  const { descriptions, skeleton } = await compare(rendered)
  expect(descriptions).toContain('the function plan_document does not render what is declared')
  await apply(skeleton)
  expect((await compare(rendered)).descriptions).toEqual([])
  const organization = newId()
  await client.query(`insert into organizations (id, name, slug) values ($1, 'Engines', 'engines')`, [organization])
  await client.query(`insert into plans (organization_id, id, name, amount) values ($1, $2, 'A "B"', 1.50)`, [
    organization,
    newId(),
  ])
  const { rows } = await client.query<{ text: string }>(`select plan_document(record) as text from plans record`)
  expect(JSON.parse(`${rows[0]?.text}}`)).toMatchObject({ name: 'A "B"', amount: '1.50', tags: [], stage: 'open' })
})
