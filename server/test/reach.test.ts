import { afterAll, beforeAll, expect, test } from 'vitest'
import { resources, routes } from '../src/app.ts'
import { reachNouns } from '../src/identity/roles/resource.ts'
import { isScoped } from '../src/platform/http/route.ts'
import { collections } from './collections.ts'
import { type MailedService, startMailedService } from './mailed-service.ts'
import {
  createReachFixture,
  isOwn,
  isRestrictedCollection,
  isRestrictedId,
  ownedTables,
  type ReachFixture,
} from './reach-fixture.ts'
import { until } from './processes.ts'
import { analysedNote } from './suggested.ts'
import { casesToTry } from './suite.ts'
import { casesOf, findDeviation, kindOfCase } from './tenancy.ts'
import type { Json } from './service.ts'
import type { Collection } from './fixture.ts'

let mailed: MailedService
let fixture: ReachFixture
beforeAll(async () => {
  mailed = await startMailedService()
  fixture = await createReachFixture(mailed)
}, 60_000)
afterAll(() => mailed.close())

const nameOf = ({ method, path }: (typeof routes)[number]): string => `${method} ${path}`

test('roles restrict exactly the resources with an owner or an assignee', () => {
  const owned = resources.filter(({ reach }) => reach?.ownerField !== undefined)
  expect(owned.map(({ singular }) => singular).sort()).toEqual([...reachNouns].sort())
  expect(owned.map(({ table }) => table).sort()).toEqual([...ownedTables].sort())
})

test('every reference to a restricted record is embedded, a parent, or followed, so that it cannot reveal one', () => {
  const restricted = new Set<string>(ownedTables)
  const open = collections.flatMap(({ resource, path }) => {
    const { embedded, parent, parents = [], requiredParents = [], reach } = resource
    const covered = [
      ...Object.values(embedded).map(({ resource: other }) => other.table),
      ...[parent, ...parents, ...requiredParents, ...(reach?.follows ?? [])].flatMap(
        (one) => one?.resource.table ?? [],
      ),
    ]
    return Object.entries(resource.fields).flatMap(([name, { references, idPrefix }]) => {
      const table = references?.table ?? collections.find((one) => one.resource.idPrefix === idPrefix)?.resource.table
      return name !== 'id' && table !== undefined && restricted.has(table) && !covered.includes(table)
        ? `${path} ${name}`
        : []
    })
  })
  // The id of the task that this one made when it was done: it says nothing else of it.
  expect(open).toEqual(['/v5/tasks nextTaskId'])
})

// The mails of the fixture are in no collection of it.
const restrictedRoutes = routes.filter((route) => isScoped(route) && !route.path.startsWith('/v5/mails'))

test.each(restrictedRoutes.map((route, turn) => [nameOf(route), route, turn] as const))(
  '%s: a record out of reach is treated like one that does not exist',
  async (_, route, turn) => {
    const { ours, theirs, secrets } = fixture
    const restricted = Object.values(route.params).filter(({ prefix }) => isRestrictedId(`${prefix}_`))
    // Everyone sees a team or an import in the path.
    const isWhole = restricted.length === Object.keys(route.params).length
    const cases = casesOf(route, ours, theirs).filter(
      ({ foreign, description }) => isRestrictedId(foreign.id) && (isWhole || description !== 'the whole path'),
    )
    if (restricted.length > 0) expect(cases.length).toBeGreaterThan(0)
    const deviations: string[] = []
    for (const one of casesToTry(cases, kindOfCase, turn)) {
      const deviation = await findDeviation(one, ours, secrets)
      if (deviation !== undefined) deviations.push(deviation)
    }
    expect(deviations).toEqual([])
  },
)

const restrictedCollections = collections.filter(isRestrictedCollection).map((one) => [one.path, one] as const)

/** All records of a list, as the caller sees them. */
async function listAll(call: ReachFixture['owner']['call'], path: string, parameters = ''): Promise<Json[]> {
  const answer = await call('GET', `${path}?limit=100${parameters}`)
  expect(answer.status, answer.text).toBe(200)
  expect(answer.headers.get('link'), `${path} has a second page`).toBeNull()
  return answer.body
}

const pathOf = (collection: Collection): string =>
  collection.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => fixture.ours.params(collection)[name] ?? '')

test.each(restrictedCollections)('%s: list, count and search have exactly the own records', async (_, collection) => {
  const { owner, person, secrets } = fixture
  const path = pathOf(collection)
  const all = await listAll(owner.call, path)
  const own = all.filter((row) => isOwn(fixture, collection, row)).map(({ id }) => id)
  const seen = await person.call('GET', `${path}?limit=100`)
  expect(seen.body.map(({ id }: Json) => id)).toEqual(own)
  expect(own.length).toBeGreaterThan(0)
  expect(secrets.filter((secret) => seen.text.includes(secret))).toEqual([])
  if (collection.count) expect((await person.call('GET', `${path}/count`)).body).toEqual({ count: own.length })
  if (collection.search) {
    const found = await person.call('POST', `${path}/search`, { body: { limit: 100 } })
    expect(found.text).toBe(seen.text)
    expect((await person.call('POST', `${path}/search/count`, { body: {} })).body).toEqual({ count: own.length })
  }
  // Page by page, in both directions.
  const pages: string[] = []
  for (let after = ''; pages.length <= own.length;) {
    const page = await person.call('GET', `${path}?limit=1${after}`)
    if (page.body.length === 0) break
    pages.push(page.body[0].id)
    after = `&startingAfter=${page.body[0].id}`
  }
  expect(pages).toEqual(own)
})

test.each(restrictedCollections)('%s: an own record can be read', async (_, collection) => {
  const { ours } = fixture
  if (!collection.get) return
  const params = ours.params(collection, ours.records.get(collection.path) ?? '')
  expect((await ours.request(collection.get, { params })).status).toBe(200)
})

test('deleted records out of reach are not listed and cannot be restored', async () => {
  const { person, theirs, own, owner } = fixture
  const deleted = (call: typeof person.call) => listAll(call, '/v5/contacts', '&deleted=true')
  const all = (await deleted(owner.call)).map(({ id }) => id)
  expect((await deleted(person.call)).map(({ id }) => id)).toEqual(all.filter((id) => own.contacts.has(id)))
  const id = theirs.deleted.get('/v5/contacts')
  expect(all).toContain(id)
  expect((await person.call('POST', `/v5/contacts/${id}/restore`)).status).toBe(404)
})

test('sums and statistics count only the own records', async () => {
  const { person, owner, own } = fixture
  const summed = (body: Json[]) => body.reduce((sum, { count }) => sum + count, 0)
  const living = (await listAll(owner.call, '/v5/deals')).filter(({ id }) => own.deals.has(id))
  expect(summed((await person.call('GET', '/v5/deals/summary')).body)).toBe(living.length)
  const forecast = (await person.call('GET', '/v5/deals/forecast')).body
  expect(summed(forecast.map(({ open, won }: Json) => ({ count: open.count + won.count })))).toBeLessThanOrEqual(
    living.length,
  )
  const { countries, days } = (await person.call('GET', '/v5/contacts/statistics')).body
  const contacts = (await listAll(owner.call, '/v5/contacts')).filter(({ id }) => own.contacts.has(id))
  expect(summed(countries)).toBe(contacts.length)
  expect(summed(days.flatMap(({ counts }: Json) => counts))).toBe(contacts.length)
})

test('statistics of suggestions and imports count only what the lists show', async () => {
  const { person, owner } = fixture
  const countedBy = async (call: typeof person.call) => {
    const suggestions = await listAll(call, '/v5/suggestions')
    const { totals } = (await call('GET', '/v5/suggestions/statistics')).body
    const names = ['pending', 'accepted', 'rejected', 'expired', 'superseded', 'autoApplied']
    const decided = totals.flatMap((counts: Json) => names.map((name) => counts[name]))
    const sum = (counts: number[]) => counts.reduce((total, count) => total + count, 0)
    const imports = await listAll(call, '/v5/imports')
    const rows = await Promise.all(imports.map(({ id }) => listAll(call, `/v5/imports/${id}/rows`)))
    const { days } = (await call('GET', '/v5/imports/statistics')).body
    const pushed = days.flatMap(({ counts }: Json) =>
      Object.entries(counts).flatMap(([status, count]) => (status === 'REFUSED' ? [] : count)),
    )
    expect([sum(decided), sum(pushed)]).toEqual([suggestions.length, rows.flat().length])
    return [suggestions.length, rows.flat().length]
  }
  const [suggestions = 0, rows = 0] = await countedBy(person.call)
  const [allSuggestions, allRows] = await countedBy(owner.call)
  expect(Math.min(suggestions, rows)).toBeGreaterThan(0)
  expect([suggestions < Number(allSuggestions), rows < Number(allRows)]).toEqual([true, true])
})

test('accepting a change of stage offers and moves only deals within reach', async () => {
  const { person, owner } = fixture
  const create = async (call: typeof person.call, path: string, body: object) => {
    const made = await call('POST', path, { body })
    expect(made.status, made.text).toBe(201)
    return made.body.id as string
  }
  const contactId = await create(person.call, '/v5/contacts', { name: 'Wants to buy' })
  const dealOf = async (call: typeof person.call, name: string) => {
    const id = await create(call, '/v5/deals', { name })
    await create(owner.call, `/v5/deals/${id}/contacts`, { contactId })
    return id
  }
  const [first, second] = [await dealOf(person.call, 'Own'), await dealOf(person.call, 'Own too')]
  const hidden = await dealOf(owner.call, 'Hidden')
  const { organizationId } = owner
  const note = await analysedNote(
    mailed.service,
    { call: person.call, organizationId },
    `/v5/contacts/${contactId}/notes`,
    'No thanks, we are not interested.',
  )
  const suggestions = await listAll(person.call, '/v5/suggestions', `&noteId=${note.id}&type=change_stage`)
  const accept = (body: object) => person.call('POST', `/v5/suggestions/${suggestions[0]?.id}/accept`, { body })
  const refused = await accept({})
  expect(refused).toMatchObject({ status: 422, body: { details: [{ field: 'dealId' }] } })
  expect([first, second, hidden].map((id) => refused.text.includes(id))).toEqual([true, true, false])
  expect(refused.text).not.toContain('Hidden')
  const unknown = await accept({ dealId: `del_${'0'.repeat(32)}` })
  expect(await accept({ dealId: hidden })).toMatchObject({ status: 422, body: { details: unknown.body.details } })
  await person.call('DELETE', `/v5/deals/${second}`)
  expect((await accept({})).body.resultDealId).toBe(first)
})

test('a company out of reach reads as null, and neither search, filters nor the order reveal it', async () => {
  const { person, ours, theirs, owner } = fixture
  const path = `/v5/contacts/${ours.records.get('/v5/contacts')}`
  const company = (await owner.call('GET', `/v5/companies/${theirs.references.com?.[0]}`)).body
  expect((await owner.call('GET', path)).body.company).toMatchObject({ id: company.id })
  expect((await person.call('GET', path)).body).toMatchObject({ company: null, companyId: null })
  const name = encodeURIComponent(company.name)
  for (const query of [`query=${name}`, `filter.company.name.equals=${name}`, `companyId=${company.id}`])
    expect((await person.call('GET', `/v5/contacts/count?${query}`)).body, query).toEqual({ count: 0 })
  const ordered = await person.call('GET', '/v5/contacts?limit=100&orderBy=company.name&sort=asc')
  const byName = await person.call('GET', '/v5/contacts?limit=100&orderBy=id&sort=asc')
  expect(ordered.body.map(({ id }: Json) => id)).toEqual(byName.body.map(({ id }: Json) => id))

  // Sending back what was read does not clear the reference that the person does not see.
  expect((await person.call('PATCH', path, { body: { companyId: null, nickname: 'Ada' } })).status).toBe(200)
  expect((await owner.call('GET', path)).body).toMatchObject({ companyId: company.id, nickname: 'Ada' })
})

test('a contact out of reach in a deal reads as null, and filters of the deal do not find it', async () => {
  const { person, ours, theirs } = fixture
  const dealId = ours.records.get('/v5/deals')
  const contactId = theirs.references.con?.[0]
  const { body } = await person.call('GET', `/v5/deals/${dealId}/contacts?limit=100`)
  expect(body.some((link: Json) => link.contactId === null && link.contact === null)).toBe(true)
  for (const [operator, expected] of [
    ['equals', 0],
    ['not', 'all'],
  ] as const) {
    const all = (await person.call('GET', '/v5/deals/count')).body.count
    const { count } = (await person.call('GET', `/v5/deals/count?filter.contacts.contactId.${operator}=${contactId}`))
      .body
    expect(count).toBe(expected === 'all' ? all : expected)
  }
})

test('a conflict does not name a record out of reach', async () => {
  const { person, owner } = fixture
  const body = { email: 'taken@example.com', externalIds: { billing: 'taken' } }
  expect((await owner.call('POST', '/v5/contacts', { body })).status).toBe(201)
  for (const wanted of [{ email: body.email }, { name: 'Ada', externalIds: body.externalIds }]) {
    const refused = await person.call('POST', '/v5/contacts', { body: wanted })
    expect(refused).toMatchObject({ status: 409, body: { code: 'already_exists' } })
    expect(refused.body.details[0].id).toBeUndefined()
    expect(refused.text).not.toContain('con_')
  }
})

test('a person with a restricted role owns what they create, unless they choose somebody else', async () => {
  const { person, owner, own } = fixture
  for (const [path, field, body] of [
    ['/v5/contacts', 'ownerId', { name: 'Mine' }],
    ['/v5/companies', 'ownerId', { name: 'Mine' }],
    ['/v5/deals', 'ownerId', { name: 'Mine' }],
    ['/v5/campaigns', 'ownerId', { name: 'Mine' }],
    ['/v5/tasks', 'assigneeId', { title: 'Mine' }],
  ] as const) {
    const made = await person.call('POST', path, { body })
    expect(made, made.text).toMatchObject({ status: 201, body: { [field]: person.userId } })
    own[path.slice('/v5/'.length) as keyof typeof own] = new Set([
      ...own[path.slice('/v5/'.length) as keyof typeof own],
      made.body.id,
    ])
    // Handing a record over is allowed; afterwards it does not exist for the person.
    const handed = await person.call('POST', path, { body: { ...body, [field]: owner.userId } })
    expect(handed).toMatchObject({ status: 201, body: { [field]: owner.userId } })
    expect((await person.call('GET', `${path}/${handed.body.id}`)).status).toBe(404)
    const change = { body: { [field]: owner.userId } }
    expect((await person.call('PATCH', `${path}/${made.body.id}`, change)).status).toBe(200)
    expect((await person.call('PATCH', `${path}/${made.body.id}`, change)).status).toBe(404)
    await owner.call('DELETE', `${path}/${made.body.id}`)
    await owner.call('DELETE', `${path}/${handed.body.id}`)
  }
})

test('a push belongs to its contact: before it has one, only those who see all contacts see it', async () => {
  const { person, owner, ours } = fixture
  const importId = owner.organization.importId
  const rowId = await ours.pushes.push(importId, { contact: { email: 'pushed@example.com', name: 'Pushed' } })
  const path = `/v5/imports/${importId}/rows/${rowId}`
  const row = (await owner.call('GET', path)).body
  expect(row.status).toBe('PROCESSED')
  expect((await person.call('GET', path)).status).toBe(404)
  expect((await person.call('GET', `/v5/imports/${importId}/rows?filter.id.equals=${rowId}`)).body).toEqual([])
  const change = { body: { ownerId: person.userId } }
  expect((await owner.call('PATCH', `/v5/contacts/${row.contactId}`, change)).status).toBe(200)
  expect((await person.call('GET', path)).body).toEqual(row)
})

test('the numbers of an import are those of the rows that a person sees', async () => {
  const { person, owner, ours } = fixture
  const importId = owner.organization.importId
  await ours.pushes.push(importId, { contact: { email: 'counted@example.com' } })
  await ours.pushes.refuse(importId)
  const path = `/v5/imports/${importId}`
  const numbersOf = async (call: typeof person.call) => {
    const [one, [listed], rows, selected] = await Promise.all(
      [path, '/v5/imports?query=Bootstrap', `${path}/rows?limit=100`, `${path}?select[]=stats.counts`].map(
        async (each) => (await call('GET', each)).body,
      ),
    )
    const { stats, refused, pushedToday, optOuts } = one
    expect(listed).toMatchObject({ stats, refused, pushedToday, optOuts })
    expect(selected).toEqual({ stats: { counts: stats.counts } })
    const counts = Object.values<number>(stats.counts).reduce((sum, count) => sum + count, 0)
    return { counts, rows: rows.length, refused: refused.count, bytes: pushedToday.bytes }
  }
  await until('the refused push is counted', async () => (await owner.call('GET', path)).body.refused.count > 0)
  const all = await numbersOf(owner.call)
  expect([all.counts, all.bytes > 0]).toEqual([all.rows, true])
  const seen = await numbersOf(person.call)
  expect(seen.rows).toBeLessThan(all.rows)
  expect(seen).toMatchObject({ counts: seen.rows, refused: 0, bytes: 0 })
})

test('a refused push is only for those who see all contacts, also in counts', async () => {
  const { person, owner, ours } = fixture
  const importId = owner.organization.importId
  const path = `/v5/imports/${importId}/refused-pushes`
  await ours.pushes.refuse(importId)
  await until('it is stored', async () => (await owner.call('GET', path)).body.length > 0)
  const [{ id }] = (await owner.call('GET', path)).body
  expect((await person.call('GET', path)).body).toEqual([])
  expect((await person.call('GET', `${path}/count`)).body).toEqual({ count: 0 })
  expect((await person.call('GET', `${path}/${id}`)).status).toBe(404)
  const statistics = async (call: typeof person.call) =>
    JSON.stringify((await call('GET', '/v5/imports/statistics')).body)
  expect(await statistics(owner.call)).toContain('"REFUSED"')
  expect(await statistics(person.call)).not.toContain('"REFUSED"')
})
