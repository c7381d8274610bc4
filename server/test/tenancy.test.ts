import { afterAll, beforeAll, expect, test } from 'vitest'
import { routes } from '../src/app.ts'
import { decodeId } from '../src/platform/model/ids.ts'
import { collections, collectionsWith } from './collections.ts'
import { startTestService, type TestService } from './service.ts'
import { dump, idsIn } from './dump.ts'
import { casesToTry, isShort } from './suite.ts'
import { casesOf, findDeviation, kindOfCase, newTenant, type Tenant } from './tenancy.ts'
import type { JsonObject } from '../src/platform/model/json.ts'

let service: TestService
let ours: Tenant
let theirs: Tenant
let secrets: string[]
/** All rows of the database after the previous test. */
let rows: Record<string, string[]>
beforeAll(async () => {
  service = await startTestService()
  ;[ours, theirs] = await Promise.all([newTenant(service), newTenant(service)])
  rows = await dump(service.database)
  secrets = idsIn(rows, decodeId('org', theirs.organization.organizationId) ?? '')
})
afterAll(() => service.close())

/** Routes without an organization. Any other public route needs test cases. */
const withoutOrganization =
  /^((GET|POST) \/auth(\/[\w./{}-]+)?|GET \/\.well-known\/jwks\.json|GET \/v5\/docs|GET \/v5\/(scopes|audit-log\/actions)|GET \/v5\/swagger(\/[\w.-]+)?|GET \/(v5|healthz|readyz|account(\/[\w.]+)?)?)$/

const nameOf = ({ method, path }: (typeof routes)[number]): string => `${method} ${path}`
// Routes of a person's account have no organization either; their own tests use other people's ids.
const tenantRoutes = routes.filter((route) => route.kind !== 'account' && !withoutOrganization.test(nameOf(route)))

test('the other organization has records in every collection, and both have the same collections', () => {
  expect(secrets.length).toBeGreaterThan(2 * collections.length)
  expect(Object.keys(theirs.references)).toEqual(Object.keys(ours.references))
  expect(tenantRoutes.length).toBeGreaterThan(30)
})

test.each(tenantRoutes.map((route, turn) => [nameOf(route), route, turn] as const))(
  '%s: a record of another organization or parent is treated like a missing one, and nothing changes',
  async (_, route, turn) => {
    const cases = casesOf(route, ours, theirs)
    expect(cases.length).toBeGreaterThan(0)
    // Every id in the path has a case.
    const descriptions = cases.map((testCase) => testCase.description)
    expect(descriptions).toEqual(expect.arrayContaining(Object.keys(route.params).map((name) => `${name} in the path`)))
    if (route.query.kind === 'list')
      expect(descriptions).toEqual(expect.arrayContaining(['filter.id.equals', 'an opaque cursor as endingBefore']))
    if (route.kind === 'search') expect(descriptions).toContain('id.equals in a tree')
    const before = rows
    const deviations: string[] = []
    for (const testCase of casesToTry(cases, kindOfCase, turn)) {
      const deviation = await findDeviation(testCase, ours, secrets)
      if (deviation !== undefined) deviations.push(deviation)
    }
    expect(deviations).toEqual([])
    // What a read changes, the comparison after the next write finds.
    if (isShort && route.kind !== 'write' && route !== tenantRoutes.at(-1)) return
    rows = await dump(service.database)
    expect(rows).toEqual(before)
  },
)

test.each(collectionsWith('list'))(
  '%s: the list and the count contain only records of the caller’s organization',
  async (_, { list, count, ...collection }) => {
    const params = ours.params({ list, ...collection })
    const answer = await ours.request(list, { params, query: [['limit', '100']] })
    expect(answer.body.length).toBeGreaterThan(1)
    expect(secrets.filter((id) => answer.text.includes(id))).toEqual([])
    const ownId = ours.records.get(collection.path) ?? ''
    for (const parameter of ['startingAfter', 'endingBefore'] as const) {
      const page = await ours.request(list, { params, query: [[parameter, ownId]] })
      expect([page.status, secrets.filter((id) => page.text.includes(id))]).toEqual([200, []])
    }
    if (count) expect((await ours.request(count, { params })).body).toEqual({ count: answer.body.length })
  },
)

test('a cursor is valid in its own organization’s list, so that the tests above are meaningful', async () => {
  for (const collection of collections) {
    const query = [['startingAfter', ours.cursors.get(collection.path) ?? '']] as const
    expect((await ours.request(collection.list, { params: ours.params(collection), query })).status).toBe(200)
  }
})

test('a conflict names the record of the caller’s organization, even if another organization has the same value', async () => {
  const values = {
    contacts: { email: 'taken@example.com' },
    companies: { name: 'Taken', domain: 'taken.com' },
    teams: { name: 'Taken' },
  }
  for (const [name, body] of Object.entries(values)) {
    await theirs.organization.call('POST', `/v5/${name}`, { body })
    const first = await ours.organization.call('POST', `/v5/${name}`, { body })
    expect([name, first.status]).toEqual([name, 201])
    const second = await ours.organization.call('POST', `/v5/${name}`, { body })
    expect(second).toMatchObject({ status: 409, body: { code: 'already_exists' } })
    expect(second.body.details[0].message).toContain(first.body.id)
  }
  const external = { name: 'Linked', externalIds: { billing: 'same' } }
  await theirs.organization.call('POST', '/v5/companies', { body: external })
  const first = await ours.organization.call('POST', '/v5/companies', { body: external })
  const second = await ours.organization.call('POST', '/v5/companies', { body: external })
  const message = expect.stringContaining(first.body.id)
  expect(second.body.details).toEqual([{ field: 'externalIds', message, id: first.body.id }])
})

/** Every row of every table that belongs to the other organization. */
async function theirRows(): Promise<string[]> {
  const uuid = decodeId('org', theirs.organization.organizationId) ?? ''
  return Object.values(await dump(service.database))
    .flat()
    .filter((row) => row.includes(uuid))
}

test('creating, changing and deleting records changes no row of another organization', async () => {
  const before = await theirRows()
  const { call } = ours.organization
  const body = { email: 'life@example.com', customProperties: { plan: 'pro' }, externalIds: { billing: 'life' } }
  const { body: created } = await call('POST', '/v5/contacts', { body })
  expect(created.teamId).toBe(ours.organization.teamId)
  await call('PATCH', `/v5/contacts/${created.id}`, {
    body: { email: 'other@example.com', externalIds: { billing: 'b' } },
  })
  expect((await call('DELETE', `/v5/contacts/${created.id}`)).status).toBe(204)
  expect((await call('POST', `/v5/contacts/${created.id}/restore`)).status).toBe(200)
  expect(await theirRows()).toEqual(before)
})

test('a lead never matches a contact, company, job or note of another organization', async () => {
  const lead = {
    contact: {
      email: 'lead@example.com',
      name: 'Ada Lovelace',
      externalIdCrm: 'lead',
      githubHandle: 'ada',
      note: 'Hi',
    },
    employment: { history: [{ organization: 'Engines', title: 'Analyst', start: '2020-01', current: true }] },
    company: { name: 'Engines', domain: 'lead.com', externalIdCrm: 'lead' },
  }
  const push = async ({ pushes, organization }: Tenant) => {
    const { importId, call } = organization
    return (await call('GET', `/v5/imports/${importId}/rows/${await pushes.push(importId, lead)}`)).body
  }
  expect((await push(theirs)).status).toBe('PROCESSED')
  const before = await theirRows()
  const row = await push(ours)
  expect(row.changes.map(({ object, action }: JsonObject) => `${String(object)} ${String(action)}`)).toEqual(
    ['company', 'contact', 'employment', 'note'].map((object) => `${object} created`),
  )
  expect((await push(ours)).status).toBe('DUPLICATE')
  expect(await theirRows()).toEqual(before)
})

test('a push goes to the import of its URL, even if it is sent with another organization’s key', async () => {
  const { importId, triggerUrl } = theirs.organization
  const rows = async ({ organization }: Tenant, targetId: string) =>
    (await organization.call('GET', `/v5/imports/${targetId}/rows/count`)).body.count
  const [ownId, foreign] = [await rows(ours, ours.organization.importId), await rows(theirs, importId)]
  const lead = { contact: { email: 'elsewhere@example.com' } }
  const pushed = await ours.organization.call('POST', new URL(triggerUrl).pathname, { body: lead })
  expect(pushed.status).toBe(200)
  expect(await rows(ours, ours.organization.importId)).toBe(ownId)
  expect(await rows(theirs, importId)).toBe(foreign + 1)
})
