import pg from 'pg'
import { expect, test } from 'vitest'
import { createDatabase } from '../../../../test/postgres.ts'
import { relationships } from '../../../../test/relationships.ts'
import { resources, routes } from '../../../app.ts'
import { listedResources } from '../../http/route.ts'
import { defineResource, type Resource } from '../declare/define.ts'
import { id, reference } from '../declare/fields.ts'
import { relationsAmong } from '../declare/relations.ts'

const namesOf = (listed: readonly Resource[], name: string): string[] => {
  const resource = listed.find((one) => one.name === name)
  return resource ? Object.keys(relationsAmong(listed)(resource)).sort() : []
}

test('references, parents and links are relations in both directions', () => {
  const listed = listedResources([...routes, ...relationships.routes])
  const all = Object.fromEntries(
    ['contacts', 'companies', 'offers', 'remarks'].map((name) => [name, namesOf(listed, name)]),
  )
  expect(all).toMatchObject({
    contacts: expect.arrayContaining(['company', 'employments', 'notes', 'offerContacts', 'offers', 'remarks']),
    companies: expect.arrayContaining(['contacts', 'remarks']),
    offers: ['contacts', 'offerContacts', 'remarks'],
    remarks: ['company', 'contact', 'offer'],
  })
})

test('people, teams and what only administrators see are not related to records', () => {
  const listed = listedResources(routes)
  for (const name of ['members', 'teams', 'imports', 'api-keys', 'mails', 'campaigns'])
    expect([name, namesOf(listed, name)]).toEqual([name, []])
})

test('two references to the same resource have different names in the other direction', () => {
  const places = defineResource({
    name: 'places',
    singular: 'place',
    component: 'Place',
    idPrefix: 'pla',
    roleGroup: 'records',
    fields: { id: id('pla'), withinId: reference('pla', { label: 'Within', table: 'places' }) },
  })
  const fields = {
    id: id('tri'),
    fromId: reference('pla', { label: 'From', table: 'places' }),
    toId: reference('pla', { label: 'To', table: 'places' }),
  }
  const trips = defineResource({ ...places, name: 'trips', singular: 'trip', table: 'trips', fields })
  expect(namesOf([places, trips], 'places')).toEqual(['places', 'tripsFrom', 'tripsTo', 'within'])
  expect(namesOf([places, trips], 'trips')).toEqual(['from', 'to'])
})

test('an index leads from a record to those of each relation', async () => {
  const database = await createDatabase()
  const client = new pg.Client(database.connection)
  await client.connect()
  try {
    const { rows } = await client.query<{ columns: string }>(`
      select format('%s %s', found.relname, string_agg(attribute.attname, ' ' order by part.ordinal)) as columns
      from pg_index one
      join pg_class found on found.oid = one.indrelid
      cross join lateral unnest(one.indkey::smallint[]) with ordinality as part (number, ordinal)
      join pg_attribute attribute on attribute.attrelid = found.oid and attribute.attnum = part.number
      group by one.indexrelid, found.relname`)
    const relations = relationsAmong(listedResources(routes))
    const needed = resources.flatMap((resource) =>
      Object.values(relations(resource)).map(({ resource: { table }, by }) =>
        'linkTable' in by ? `${by.linkTable} organization_id ${by.here}` : `${table} organization_id ${by.there}`,
      ),
    )
    expect(needed.length).toBeGreaterThan(5)
    expect(needed.filter((columns) => !rows.some((row) => `${row.columns} `.startsWith(`${columns} `)))).toEqual([])
  } finally {
    await client.end()
    await database.drop()
  }
})
