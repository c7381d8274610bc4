import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { resources, routes } from '../src/app.ts'
import { readId } from '../src/platform/model/ids.ts'
import { readCatalog } from '../src/platform/schema/catalog.ts'
import { describe, differencesOf } from '../src/platform/schema/differences.ts'
import { skeletonOf } from '../src/platform/schema/migration.ts'
import { openapi } from '../src/platform/http/openapi.ts'
import { deletedRecords } from '../src/platform/maintenance/deleted-store.ts'
import { createDatabase } from './postgres.ts'
import { deals, relationships } from './relationships.ts'
import { type Call, type Json, startTestService, type TestOrganization, type TestService } from './service.ts'

let service: TestService
let client: pg.Client
let organization: TestOrganization
let call: Call
beforeAll(async () => {
  const database = await createDatabase()
  client = new pg.Client(database.connection)
  await client.connect()
  // The tables are those that `npm run generate -- migration` would write.
  const differences = await compare()
  await client.query(skeletonOf(differences, (await readCatalog(client)).keywords).changes ?? '')
  service = await startTestService({}, database, [...routes, ...relationships.routes])
  organization = await service.newOrganization()
  call = organization.call
})
afterAll(async () => {
  await client.end()
  await service.close()
})

const compare = async () => {
  const listed = relationships.routes.flatMap(({ query }) => (query.kind === 'list' ? [query.resource] : []))
  return differencesOf(relationships.resources, listed, await readCatalog(client))
}

async function make(path: string, body: object, by = call): Promise<Json> {
  const answer = await by('POST', path, { body })
  expect([path, answer.text, answer.status]).toEqual([path, answer.text, 201])
  return answer.body
}

const namesIn = async (path: string): Promise<string[]> => (await call('GET', path)).body.map(({ name }: Json) => name)

test('the generated tables are what the declarations say, and the document describes the routes', async () => {
  expect((await compare()).map(describe)).toEqual([])
  const { paths, components } = openapi([...routes, ...relationships.routes], {})
  expect(Object.keys(paths)).toContain('/v5/deals/{dealId}/contacts/{dealContactId}')
  const filters = components.schemas?.DealFilters as { properties: object }
  expect(Object.keys(filters.properties)).toEqual(
    expect.arrayContaining(['filter.contacts.contactId.equals', 'filter.contacts.role.in']),
  )
})

test('the stages of a pipeline have places without gaps: the last one when nobody says, and every move keeps the others in order', async () => {
  const { id } = await make('/v5/pipelines', { name: 'Sales' })
  const at = `/v5/pipelines/${id}/stages`
  const inOrder = () => namesIn(`${at}?orderBy=position&sort=asc`)
  const places = async () =>
    (await call('GET', `${at}?orderBy=position&sort=asc`)).body.map(({ position }: Json) => position)
  const made: Record<string, string> = {}
  for (const name of ['a', 'b', 'c']) made[name] = (await make(at, { name })).id
  made.first = (await make(at, { name: 'first', position: 0 })).id
  expect(await inOrder()).toEqual(['first', 'a', 'b', 'c'])
  const moved = await call('PATCH', `${at}/${made.c}`, { body: { position: 1 } })
  expect(moved.body).toMatchObject({ name: 'c', position: 1 })
  expect(await inOrder()).toEqual(['first', 'c', 'a', 'b'])
  expect((await call('PATCH', `${at}/${made.first}`, { body: { position: 999 } })).body.position).toBe(3)
  expect(await inOrder()).toEqual(['c', 'a', 'b', 'first'])
  await call('DELETE', `${at}/${made.a}`)
  expect([await inOrder(), await places()]).toEqual([
    ['c', 'b', 'first'],
    [0, 1, 2],
  ])
  const restored = await call('POST', `${at}/${made.a}/restore`)
  expect(restored.body.position).toBe(1)
  expect([await inOrder(), await places()]).toEqual([
    ['c', 'a', 'b', 'first'],
    [0, 1, 2, 3],
  ])
  expect(await call('PATCH', `${at}/${made.a}`, { body: { position: -1 } })).toMatchObject({ status: 422 })
  expect((await call('GET', `${at}?filter.position.gte=2`)).body).toHaveLength(2)
})

test('many moves in one pipeline at once leave each stage with a place of its own', async () => {
  const { id } = await make('/v5/pipelines', { name: 'Busy' })
  const at = `/v5/pipelines/${id}/stages`
  const made = await Promise.all(Array.from({ length: 6 }, (_, index) => make(at, { name: `stage ${index}` })))
  await Promise.all(
    made.flatMap(({ id: stage }, index) =>
      [0, 5, 2].map((position) => call('PATCH', `${at}/${stage}`, { body: { position: (position + index) % 6 } })),
    ),
  )
  const { body } = await call('GET', `${at}?orderBy=position&sort=asc`)
  expect(body.map(({ position }: Json) => position)).toEqual([0, 1, 2, 3, 4, 5])
})

test('a deal has several contacts, each once and with a role; one at most is primary', async () => {
  const deal = await make('/v5/deals', { name: 'Engine' })
  const at = `/v5/deals/${deal.id}/contacts`
  const [ada, grace] = await Promise.all(['Ada', 'Grace'].map((name) => make('/v5/contacts', { name })))
  const first = await make(at, { contactId: ada.id, role: 'buyer', isPrimary: true })
  expect(first).toMatchObject({ dealId: deal.id, contact: { id: ada.id, name: 'Ada' }, role: 'buyer', isPrimary: true })
  const second = await make(at, { contactId: grace.id, isPrimary: true })
  expect((await call('GET', `${at}/${first.id}`)).body.isPrimary).toBe(false)
  const twice = await call('POST', at, { body: { contactId: ada.id } })
  expect(twice).toMatchObject({ status: 409, body: { details: [{ field: 'contactId', id: first.id }] } })
  await call('PATCH', `${at}/${first.id}`, { body: { isPrimary: true, role: 'lawyer' } })
  expect((await call('GET', `${at}/${second.id}`)).body.isPrimary).toBe(false)
  await call('DELETE', `${at}/${first.id}`)
  await call('PATCH', `${at}/${second.id}`, { body: { isPrimary: true } })
  expect((await call('POST', `${at}/${first.id}/restore`)).body.isPrimary).toBe(false)
  const wrong = await call('POST', at, { body: { contactId: grace.id.replace(/.$/, '0'), role: 'friend' } })
  expect(wrong).toMatchObject({ status: 422, body: { details: [{ field: 'role' }] } })
  expect((await call('GET', `${at}?contactId=${grace.id}`)).body).toHaveLength(1)
})

test('deals are filtered by their contacts: a filter and its opposite are all deals, and no link sorts them', async () => {
  const { call: by } = await service.newOrganization()
  const [ada, grace] = await Promise.all(['Ada', 'Grace'].map((name) => make('/v5/contacts', { name }, by)))
  const links = {
    none: [],
    ada: [{ contactId: ada.id, role: 'buyer' }],
    both: [{ contactId: ada.id }, { contactId: grace.id, role: 'lawyer' }],
  }
  for (const [name, all] of Object.entries(links)) {
    const deal = await make('/v5/deals', { name }, by)
    for (const body of all) await make(`/v5/deals/${deal.id}/contacts`, body, by)
  }
  const found = async (filter: string) => {
    const [list, count] = [await by('GET', `/v5/deals?${filter}`), await by('GET', `/v5/deals/count?${filter}`)]
    expect([filter, count.body]).toEqual([filter, { count: list.body.length }])
    return list.body.map(({ name }: Json) => name).sort()
  }
  expect(await found(`contacts.contactId=${ada.id}`)).toEqual(['ada', 'both'])
  expect(await found(`filter.contacts.contactId.not=${ada.id}`)).toEqual(['none'])
  expect(await found(`filter.contacts.contactId.in=${grace.id}`)).toEqual(['both'])
  expect(await found('filter.contacts.role.in=buyer,lawyer')).toEqual(['ada', 'both'])
  expect(await found('filter.contacts.role.notIn=buyer,lawyer')).toEqual(['none'])
  expect(await found('filter.contacts.role.not=null')).toEqual(['ada', 'both'])
  expect(await found('filter.contacts.role.equals=null')).toEqual(['none'])
  expect(await found(`contacts.contactId=${ada.id}&contacts.role=lawyer`)).toEqual(['both'])
  expect(await namesIn('/v5/deals?orderBy=total&limit=1')).toHaveLength(1)
  for (const query of ['orderBy=contacts.role', 'select[]=contacts.role', 'filter.contacts.email.equals=a'])
    expect([query, (await by('GET', `/v5/deals?${query}`)).status]).toEqual([query, 400])
})

test('a remark is on exactly one contact, company or deal, and is there as long as that is', async () => {
  const contact = await make('/v5/contacts', { name: 'Ada' })
  const company = await make('/v5/companies', { name: 'Engines' })
  const deal = await make('/v5/deals', { name: 'Engine' })
  const made = await Promise.all(
    [`contacts/${contact.id}`, `companies/${company.id}`, `deals/${deal.id}`].map((of) =>
      make(`/v5/${of}/remarks`, { body: of }),
    ),
  )
  expect(made[1]).toMatchObject({ contactId: null, companyId: company.id, dealId: null })
  expect((await call('GET', `/v5/companies/${company.id}/remarks`)).body).toEqual([made[1]])
  expect((await call('GET', `/v5/deals/${deal.id}/remarks/${made[0].id}`)).status).toBe(404)
  expect((await call('GET', '/v5/remarks')).body).toHaveLength(3)
  await call('DELETE', `/v5/companies/${company.id}`)
  expect((await call('GET', '/v5/remarks/count')).body).toEqual({ count: 2 })
  expect((await call('GET', `/v5/remarks/${made[1].id}`)).status).toBe(404)
  const uuid = readId('rem', made[0].id)
  const second = `update remarks set company_id = (select id from companies limit 1) where id = '${uuid}'`
  await expect(client.query(second)).rejects.toThrow(/check constraint/)
  await expect(client.query(`update remarks set contact_id = null where id = '${uuid}'`)).rejects.toThrow(/check/)
  const { dependents } = deletedRecords(deals, [...resources, ...relationships.resources])
  expect(dependents).toEqual([
    { name: 'deal-contacts', table: 'deal_contacts', column: 'deal_id', action: 'delete' },
    { name: 'remarks', table: 'remarks', column: 'deal_id', action: 'delete' },
  ])
})

test('no relationship reaches another organization’s record', async () => {
  const theirs = await service.newOrganization()
  const contact = await make('/v5/contacts', { name: 'Theirs' }, theirs.call)
  const foreign = await make('/v5/deals', { name: 'Theirs' }, theirs.call)
  const link = await make(`/v5/deals/${foreign.id}/contacts`, { contactId: contact.id }, theirs.call)
  const own = await make('/v5/deals', { name: 'Ours' })
  const unknown = contact.id.replace(/.{4}$/, '0000')
  const linkTo = async (contactId: string) =>
    (await call('POST', `/v5/deals/${own.id}/contacts`, { body: { contactId } })).body
  expect((await linkTo(contact.id)).details).toEqual((await linkTo(unknown)).details)
  for (const path of [
    `/v5/deals/${foreign.id}/contacts`,
    `/v5/deals/${own.id}/contacts/${link.id}`,
    `/v5/deals/${foreign.id}/remarks`,
  ])
    expect([path, (await call('GET', path)).status]).toEqual([path, 404])
  expect((await call('POST', `/v5/deals/${foreign.id}/remarks`, { body: { body: 'x' } })).status).toBe(404)
  expect((await call('GET', `/v5/deals?contacts.contactId=${contact.id}`)).body).toEqual([])
  const uuids = [readId('dea', own.id), readId('con', contact.id), readId('org', organization.organizationId)]
  await expect(
    client.query(
      `insert into deal_contacts (organization_id, id, deal_id, contact_id) values ($3, gen_random_uuid(), $1, $2)`,
      uuids,
    ),
  ).rejects.toThrow(/foreign key/)
})
