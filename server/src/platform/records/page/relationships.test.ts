import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { resources, routes } from '../../../app.ts'
import { decodeId } from '../../model/ids.ts'
import { readCatalog } from '../../operations/schema/catalog.ts'
import { describe, differencesOf } from '../../operations/schema/differences.ts'
import { skeletonOf } from '../../operations/schema/migration.ts'
import { openapi } from '../../openapi/openapi.ts'
import { deletedRecords } from '../../operations/maintenance/deleted-store.ts'
import { distributeTables } from '../../../../test/distribute-tables.ts'
import { createDatabase } from '../../../../test/postgres.ts'
import { offers, relationships } from '../../../../test/relationships.ts'
import {
  type Call,
  type Json,
  startTestService,
  type TestOrganization,
  type TestService,
} from '../../../../test/service.ts'
import { citus } from '../../database/distribution/citus.ts'

let service: TestService
let client: pg.Client
let organization: TestOrganization
let call: Call
beforeAll(async () => {
  const database = await createDatabase()
  client = new pg.Client(database.connection)
  await client.connect()
  // The same tables as from `npm run generate -- migration`.
  const differences = await findDifferences()
  await client.query(skeletonOf(differences, (await readCatalog(client)).keywords).changes ?? '')
  const distributed = await distributeTables(client)
  service = await startTestService({}, database, [...routes, ...relationships.routes])
  if (distributed.length > 0) service.database.useEngine(citus(distributed))
  organization = await service.newOrganization()
  call = organization.call
})
afterAll(async () => {
  await client.end()
  await service.close()
})

const findDifferences = async () => {
  const listed = relationships.routes.flatMap(({ query }) => (query.kind === 'list' ? [query.resource] : []))
  return differencesOf(relationships.resources, listed, await readCatalog(client))
}

async function createRecord(path: string, body: object, caller = call): Promise<Json> {
  const answer = await caller('POST', path, { body })
  expect([path, answer.text, answer.status]).toEqual([path, answer.text, 201])
  return answer.body
}

const namesIn = async (path: string): Promise<string[]> => (await call('GET', path)).body.map(({ name }: Json) => name)

test('the generated tables match the declarations, and the OpenAPI document describes the routes', async () => {
  expect((await findDifferences()).map(describe)).toEqual([])
  const { paths, components } = openapi([...routes, ...relationships.routes], {})
  expect(Object.keys(paths)).toContain('/v5/offers/{offerId}/contacts/{offerContactId}')
  const filters = components.schemas?.OfferFilters as { properties: object }
  expect(Object.keys(filters.properties)).toEqual(
    expect.arrayContaining(['filter.contacts.contactId.equals', 'filter.contacts.role.in']),
  )
})

test('an offer has several contacts, each once and with a role', async () => {
  const offer = await createRecord('/v5/offers', { name: 'Engine' })
  const collectionPath = `/v5/offers/${offer.id}/contacts`
  const [ada, grace] = await Promise.all(['Ada', 'Grace'].map((name) => createRecord('/v5/contacts', { name })))
  const first = await createRecord(collectionPath, { contactId: ada.id, role: 'buyer', isPrimary: true })
  expect(first).toMatchObject({
    offerId: offer.id,
    contact: { id: ada.id, name: 'Ada' },
    role: 'buyer',
    isPrimary: true,
  })
  await createRecord(collectionPath, { contactId: grace.id })
  const twice = await call('POST', collectionPath, { body: { contactId: ada.id } })
  expect(twice).toMatchObject({ status: 409, body: { details: [{ field: 'contactId', id: first.id }] } })
  await call('PATCH', `${collectionPath}/${first.id}`, { body: { role: 'lawyer' } })
  await call('DELETE', `${collectionPath}/${first.id}`)
  expect((await call('POST', `${collectionPath}/${first.id}/restore`)).body.role).toBe('lawyer')
  const wrong = await call('POST', collectionPath, { body: { contactId: grace.id.replace(/.$/, '0'), role: 'friend' } })
  expect(wrong).toMatchObject({ status: 422, body: { details: [{ field: 'role' }] } })
  expect((await call('GET', `${collectionPath}?contactId=${grace.id}`)).body).toHaveLength(1)
})

test('offers can be filtered by their contacts, but neither sorted by them nor selected', async () => {
  const { call: caller } = await service.newOrganization()
  const [ada, grace] = await Promise.all(['Ada', 'Grace'].map((name) => createRecord('/v5/contacts', { name }, caller)))
  const links = {
    none: [],
    ada: [{ contactId: ada.id, role: 'buyer' }],
    both: [{ contactId: ada.id }, { contactId: grace.id, role: 'lawyer' }],
  }
  for (const [name, all] of Object.entries(links)) {
    const offer = await createRecord('/v5/offers', { name }, caller)
    for (const body of all) await createRecord(`/v5/offers/${offer.id}/contacts`, body, caller)
  }
  const findNames = async (filter: string) => {
    const [list, count] = [
      await caller('GET', `/v5/offers?${filter}`),
      await caller('GET', `/v5/offers/count?${filter}`),
    ]
    expect([filter, count.body]).toEqual([filter, { count: list.body.length }])
    return list.body.map(({ name }: Json) => name).sort()
  }
  expect(await findNames(`contacts.contactId=${ada.id}`)).toEqual(['ada', 'both'])
  expect(await findNames(`filter.contacts.contactId.not=${ada.id}`)).toEqual(['none'])
  expect(await findNames(`filter.contacts.contactId.in=${grace.id}`)).toEqual(['both'])
  expect(await findNames('filter.contacts.role.in=buyer,lawyer')).toEqual(['ada', 'both'])
  expect(await findNames('filter.contacts.role.notIn=buyer,lawyer')).toEqual(['none'])
  expect(await findNames('filter.contacts.role.not=null')).toEqual(['ada', 'both'])
  expect(await findNames('filter.contacts.role.equals=null')).toEqual(['none'])
  expect(await findNames(`contacts.contactId=${ada.id}&contacts.role=lawyer`)).toEqual(['both'])
  expect(await namesIn('/v5/offers?orderBy=total&limit=1')).toHaveLength(1)
  for (const query of ['orderBy=contacts.role', 'select[]=contacts.role', 'filter.contacts.email.equals=a'])
    expect([query, (await caller('GET', `/v5/offers?${query}`)).status]).toEqual([query, 400])

  // A deleted contact is not linked to anything, until it is restored.
  await caller('DELETE', `/v5/contacts/${grace.id}`)
  expect(await findNames(`contacts.contactId=${grace.id}`)).toEqual([])
  await caller('POST', `/v5/contacts/${grace.id}/restore`)
  expect(await findNames(`contacts.contactId=${grace.id}`)).toEqual(['both'])
})

test('a remark belongs to exactly one contact, company or offer and disappears with it', async () => {
  const contact = await createRecord('/v5/contacts', { name: 'Ada' })
  const company = await createRecord('/v5/companies', { name: 'Engines' })
  const offer = await createRecord('/v5/offers', { name: 'Engine' })
  const created = await Promise.all(
    [`contacts/${contact.id}`, `companies/${company.id}`, `offers/${offer.id}`].map((parentPath) =>
      createRecord(`/v5/${parentPath}/remarks`, { body: parentPath }),
    ),
  )
  expect(created[1]).toMatchObject({ contactId: null, companyId: company.id, offerId: null })
  expect((await call('GET', `/v5/companies/${company.id}/remarks`)).body).toEqual([created[1]])
  expect((await call('GET', `/v5/offers/${offer.id}/remarks/${created[0].id}`)).status).toBe(404)
  expect((await call('GET', '/v5/remarks')).body).toHaveLength(3)
  await call('DELETE', `/v5/companies/${company.id}`)
  expect((await call('GET', '/v5/remarks/count')).body).toEqual({ count: 2 })
  expect((await call('GET', `/v5/remarks/${created[1].id}`)).status).toBe(404)
  const uuid = decodeId('rem', created[0].id)
  const second = `update remarks set company_id = (select id from companies limit 1) where id = '${uuid}'`
  await expect(client.query(second)).rejects.toThrow(/check constraint/)
  await expect(client.query(`update remarks set contact_id = null where id = '${uuid}'`)).rejects.toThrow(/check/)
  const { dependents } = deletedRecords(offers, [...resources, ...relationships.resources])
  const purged = (singular: string) => expect.objectContaining({ singular })
  const ofOffer = { column: 'offer_id', action: 'delete' }
  expect(dependents).toEqual([
    { name: 'offer-contacts', table: 'offer_contacts', ...ofOffer, purged: purged('offer-contact') },
    { name: 'remarks', table: 'remarks', ...ofOffer, purged: purged('remark') },
  ])
})

test('no relationship can reference another organization’s record', async () => {
  const otherOrganization = await service.newOrganization()
  const contact = await createRecord('/v5/contacts', { name: 'Theirs' }, otherOrganization.call)
  const foreign = await createRecord('/v5/offers', { name: 'Theirs' }, otherOrganization.call)
  const link = await createRecord(
    `/v5/offers/${foreign.id}/contacts`,
    { contactId: contact.id },
    otherOrganization.call,
  )
  const own = await createRecord('/v5/offers', { name: 'Ours' })
  const unknown = contact.id.replace(/.{4}$/, '0000')
  const linkTo = async (contactId: string) =>
    (await call('POST', `/v5/offers/${own.id}/contacts`, { body: { contactId } })).body
  expect((await linkTo(contact.id)).details).toEqual((await linkTo(unknown)).details)
  for (const path of [
    `/v5/offers/${foreign.id}/contacts`,
    `/v5/offers/${own.id}/contacts/${link.id}`,
    `/v5/offers/${foreign.id}/remarks`,
  ])
    expect([path, (await call('GET', path)).status]).toEqual([path, 404])
  expect((await call('POST', `/v5/offers/${foreign.id}/remarks`, { body: { body: 'x' } })).status).toBe(404)
  expect((await call('GET', `/v5/offers?contacts.contactId=${contact.id}`)).body).toEqual([])
  const uuids = [decodeId('ofr', own.id), decodeId('con', contact.id), decodeId('org', organization.organizationId)]
  await expect(
    client.query(
      `insert into offer_contacts (organization_id, id, offer_id, contact_id) values ($3, gen_random_uuid(), $1, $2)`,
      uuids,
    ),
  ).rejects.toThrow(/foreign key/)
})

test('a search tests records at the other end of links, in both directions, and the links themselves', async () => {
  const { call: callOwn } = await service.newOrganization()
  const add = (path: string, body: object) => createRecord(path, body, callOwn)
  const [ada, bob] = [await add('/v5/contacts', { name: 'Ada' }), await add('/v5/contacts', { name: 'Bob' })]
  const [big, small] = [
    await add('/v5/offers', { name: 'Big', total: '20000' }),
    await add('/v5/offers', { name: 'Small', total: '300' }),
  ]
  await add(`/v5/offers/${big.id}/contacts`, { contactId: ada.id, role: 'buyer' })
  const link = await add(`/v5/offers/${small.id}/contacts`, { contactId: ada.id, role: 'lawyer' })
  await add(`/v5/offers/${small.id}/contacts`, { contactId: bob.id })
  const found = async (path: string, filter: object) => {
    const { body, text, status } = await callOwn('POST', `${path}/search`, { body: { filter, sort: 'asc' } })
    expect([status, text]).toEqual([200, expect.anything()])
    return body.map(({ name }: Json) => name).join()
  }
  expect(await found('/v5/contacts', { offers: { some: { total: { gt: 10000 } } } })).toBe('Ada')
  expect(await found('/v5/contacts', { offers: { none: { total: { gt: 10000 } } } })).toBe('Bob')
  expect(await found('/v5/offers', { contacts: { some: { name: { equals: 'Ada' } } } })).toBe('Big,Small')
  expect(await found('/v5/offers', { contacts: { some: { offers: { none: { name: { equals: 'Small' } } } } } })).toBe(
    '',
  )
  const lawyers = { 'contacts.role': { equals: 'lawyer' } }
  expect(await found('/v5/offers', lawyers)).toBe('Small')
  expect(await found('/v5/contacts', { offers: { some: lawyers } })).toBe('Ada,Bob')
  expect(await found('/v5/contacts', { offerContacts: { some: { role: { equals: 'lawyer' } } } })).toBe('Ada')
  await callOwn('DELETE', `/v5/offers/${small.id}/contacts/${link.id}`)
  expect(await found('/v5/contacts', { offers: { some: { name: { equals: 'Small' } } } })).toBe('Bob')
  await callOwn('DELETE', `/v5/offers/${small.id}`)
  expect(await found('/v5/contacts', { offers: { some: {} } })).toBe('Ada')
})

test('a search tests records that have one of several kinds of parents, and each of the parents', async () => {
  const { call: callOwn } = await service.newOrganization()
  const add = (path: string, body: object) => createRecord(path, body, callOwn)
  const [contact, company] = [
    await add('/v5/contacts', { name: 'Ada' }),
    await add('/v5/companies', { name: 'Engines' }),
  ]
  await add(`/v5/contacts/${contact.id}/remarks`, { body: 'of a person' })
  await add(`/v5/companies/${company.id}/remarks`, { body: 'of a company' })
  const found = async (path: string, filter: object, name: string) =>
    (await callOwn('POST', `${path}/search`, { body: { filter } })).body.map((record: Json) => record[name])
  const byText = (text: string) => ({ remarks: { some: { body: { contains: text } } } })
  expect(await found('/v5/contacts', byText('person'), 'name')).toEqual(['Ada'])
  expect(await found('/v5/contacts', byText('of a company'), 'name')).toEqual([])
  expect(await found('/v5/companies', byText('of a company'), 'name')).toEqual(['Engines'])
  expect(await found('/v5/remarks', { company: { some: {} } }, 'body')).toEqual(['of a company'])
  expect(await found('/v5/remarks', { company: { none: {} } }, 'body')).toEqual(['of a person'])
})
