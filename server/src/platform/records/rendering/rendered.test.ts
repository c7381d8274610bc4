import { seesAll } from '../../../../test/readers.ts'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { resources } from '../../../app.ts'
import { serviceActor } from '../../model/caller.ts'
import { identifier, raw, sql } from '../../model/sql.ts'
import { visibleOrganization } from '../filter/scope.ts'
import { composedSql, documentJoins, documentSql, isRendered } from '../page/select.ts'
import { root } from '../filter/target.ts'
import type { Resource } from '../declare/define.ts'
import { decodeId } from '../../model/ids.ts'
import { companies } from '../../../crm/companies/resource.ts'
import { companyStore } from '../../../crm/companies/store.ts'
import { contacts } from '../../../crm/contacts/resource.ts'
import { contactStore } from '../../../crm/contacts/store.ts'
import { contactBodies, nastyTexts } from '../../../../test/list-arbitraries.ts'
import { fullBody, variedBody } from '../../../../test/samples.ts'
import { seed } from '../../../../test/seed.ts'
import { startTestService, type TestOrganization, type TestService } from '../../../../test/service.ts'
import type { JsonObject } from '../../model/json.ts'

let service: TestService
let organization: TestOrganization
beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
})
afterAll(() => service.close())

const rendered = resources.filter((resource) => resource.renderingVersion !== undefined)
const createActor = () =>
  serviceActor(
    'command',
    decodeId('org', organization.organizationId) ?? '',
    decodeId('usr', organization.userId) ?? '',
  )

/** Each record as its stored rendering and as composed from its columns. */
const readRows = (resource: Resource) =>
  service.database.transaction(createActor(), (transaction) => {
    const organization = visibleOrganization(transaction)
    return transaction.query<{ stored: string; composed: string }>(sql`
      select ${documentSql(resource, { organization })} as stored, ${composedSql(resource, undefined, { organization })} as composed
      from ${identifier(resource.table)} ${raw(root)}${documentJoins(resource, { organization: transaction.organization, actor: seesAll })}
      where ${raw(root)}.organization_id = ${transaction.organization}`)
  })

const create = (store: Pick<typeof contactStore, 'write'>, bodies: readonly JsonObject[]) =>
  service.database.transaction(createActor(), (transaction) =>
    store.write(
      transaction,
      bodies.map((values) => ({ kind: 'create', values })),
    ),
  )

function expectSame(rows: readonly { stored: string; composed: string }[]): void {
  for (const { stored, composed: expected } of rows) {
    expect(Object.entries(JSON.parse(stored))).toEqual(Object.entries(JSON.parse(expected)))
  }
}

test('only contacts and companies are stored rendered', () => {
  expect(rendered.map(({ name }) => name)).toEqual(['contacts', 'companies'])
})

test('properties from other records come after all stored ones, so that the text can be completed', () => {
  for (const resource of rendered) {
    const inOrder = resource.propertyNames.map((name) => isRendered(resource, name))
    expect(inOrder).toEqual([...inOrder].sort((one, other) => Number(other) - Number(one)))
  }
})

test('the rendering of any contact equals its columns, property by property and in order', async () => {
  const { call } = organization
  const [existing, deleted] = await Promise.all(
    ['kept "Ltd"\\', 'deleted'].map(async (name) => (await call('POST', '/v5/companies', { body: { name } })).body.id),
  )
  const [generated = []] = fc.sample(contactBodies(150, [existing, deleted]), { seed, numRuns: 1 })
  const references = { com: [existing, deleted], tea: [organization.teamId], usr: [organization.userId] }
  const bodies = [fullBody(contacts, 1, references), { name: 'nothing else' }, ...generated]
  await create(contactStore, bodies)
  await call('DELETE', `/v5/companies/${deleted}`)
  const [first] = (await call('GET', '/v5/contacts?limit=1')).body
  await call('PATCH', `/v5/contacts/${first.id}`, { body: { bio: 'written again\n"\u{1f600}"', tags: ['a"b'] } })
  const rows = await readRows(contacts)
  expect(rows).toHaveLength(bodies.length)
  expectSame(rows)
  const companies = rows.map(({ stored }) => JSON.parse(stored).company)
  expect(companies).toContainEqual({ id: existing, name: 'kept "Ltd"\\', domain: null })
  expect(companies.filter((company) => company?.id === deleted)).toEqual([])
})

test('the rendering of any company equals its columns, property by property and in order', async () => {
  const { call } = organization
  const references = { usr: [organization.userId] }
  const varied = Array.from({ length: 60 }, (_, index) => variedBody(companies, index + 1, references))
  const nasty = nastyTexts.map((text) => ({ name: text, bio: text, stack: [text], customProperties: { text } }))
  const bodies = [fullBody(companies, 0, references), { name: 'nothing else' }, ...varied, ...nasty]
  await create(companyStore, bodies)
  const [first] = (await call('GET', '/v5/companies?limit=1')).body
  await call('PATCH', `/v5/companies/${first.id}`, {
    body: { bio: 'written again\n"\u{1f600}"', annualRevenue: '1.50' },
  })
  const rows = await readRows(companies)
  expect(rows.length).toBeGreaterThanOrEqual(bodies.length)
  expectSame(rows)
})
