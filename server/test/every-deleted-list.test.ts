import { afterAll, beforeAll, expect, test } from 'vitest'
import { columnOf } from '../src/platform/records/declare/define.ts'
import { decodeId } from '../src/platform/model/ids.ts'
import { identifier, sql } from '../src/platform/model/sql.ts'
import { collections, collectionsWith, createFixture, omit } from './collections.ts'
import { minimalBody, variedBody } from './samples.ts'
import { startTestService, type TestService } from './service.ts'
import { casesToTry } from './suite.ts'
import type { JsonObject } from '../src/platform/model/json.ts'
import type { Fixture, Collection } from './fixture.ts'

let service: TestService
let fixture: Fixture
let other: Fixture
beforeAll(async () => {
  service = await startTestService()
  ;[fixture, other] = await Promise.all([createFixture(service), createFixture(service)])
})
afterAll(() => service.close())

type Query = readonly (readonly [string, string])[]
const deleted = ['deleted', 'true'] as const

const list = (of: Fixture, collection: Collection, query: Query) =>
  of.request(collection.list, { params: of.params(collection), query })

const idsOf = (rows: JsonObject[]): string[] => rows.map(({ id }) => String(id))

/** As a page shows it: deleting a record changes its time of change, computed properties, and the order of stages. */
const comparable = ({ resource }: Collection, row: JsonObject): JsonObject =>
  omit(row, [
    'updatedAt',
    resource.name === 'stages' ? 'position' : '',
    ...Object.keys(resource.fields).filter((name) => resource.fields[name]?.computed),
  ])

const restorable = collectionsWith('list', 'count', 'delete', 'restore')

test('the resources that list their deleted records are those with a restore', () => {
  for (const { path, resource, restore } of collections) {
    expect([path, resource.isRestorable]).toEqual([path, restore !== undefined])
  }
  expect(restorable.length).toBeGreaterThan(6)
})

const listsToTry = casesToTry(
  restorable,
  ([, { resource }]) => `${resource.parent !== undefined} ${resource.search.length > 0} ${resource.name === 'stages'}`,
)

test.each(listsToTry)('%s: deleted=true lists exactly the records that can be restored', async (_, collection) => {
  const fixture = await createFixture(service)
  const { resource } = collection
  const params = (id?: string) => fixture.params(collection, id)
  const made: JsonObject[] = []
  for (const index of [1, 2, 3, 4, 5, 6]) {
    made.push(await fixture.createRecord(collection, variedBody(resource, 700 + index, fixture.references)))
  }
  const [, expired] = idsOf(made)
  const doomed = made.slice(1)
  const liveBefore = (await list(fixture, collection, [['limit', '100']])).body
  for (const id of idsOf(doomed))
    expect((await fixture.request(collection.delete, { params: params(id) })).status).toBe(204)
  // Longer ago than it can be restored.
  await service.database.crossTenantQuery(
    'check the database',
    sql`update ${identifier(resource.table)} set deleted_at = now() - make_interval(days => ${resource.restorableDays}, secs => 1)
      where id = ${decodeId(resource.idPrefix, expired ?? '')}::uuid`,
  )
  const expected = doomed.slice(1).toReversed()
  const shown = await list(fixture, collection, [deleted])
  expect(shown.body.map((row: JsonObject) => comparable(collection, row))).toEqual(
    expected.map((row) => comparable(collection, row)),
  )
  const count = (query: Query) => fixture.request(collection.count, { params: params(), query })
  expect((await count([deleted])).body).toEqual({ count: expected.length })

  const gone = new Set(idsOf(doomed))
  const live = idsOf(liveBefore).filter((id) => !gone.has(id))
  for (const query of [[], [['deleted', 'false']]] as Query[]) {
    expect(idsOf((await list(fixture, collection, [...query, ['limit', '100']])).body)).toEqual(live)
    expect((await count(query)).body).toEqual({ count: live.length })
  }

  // Pages by id and by the links, in both directions.
  const ids = idsOf(expected)
  expect(
    idsOf((await list(fixture, collection, [deleted, ['limit', '2'], ['startingAfter', ids[1] ?? '']])).body),
  ).toEqual(ids.slice(2))
  expect(idsOf((await list(fixture, collection, [deleted, ['endingBefore', ids[2] ?? '']])).body)).toEqual(
    ids.slice(0, 2),
  )
  const first = await list(fixture, collection, [deleted, ['limit', '2']])
  const next = /<[^>]*(\/(?:v5|api)\/[^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1] ?? ''
  expect(next).toContain('deleted=true')
  expect(idsOf((await fixture.organization.call('GET', next)).body)).toEqual(ids.slice(2))
  expect((await fixture.organization.call('GET', next.replace('deleted=true', 'deleted=false'))).status).toBe(404)
  expect((await list(fixture, collection, [deleted, ['startingAfter', live[0] ?? '']])).status).toBe(404)

  // Filters, order, selection and search.
  const one = [deleted, ['filter.id.equals', ids[0] ?? '']] as const
  expect(idsOf((await list(fixture, collection, one)).body)).toEqual(ids.slice(0, 1))
  expect((await count(one)).body).toEqual({ count: 1 })
  expect(
    (await list(fixture, collection, [deleted, ['orderBy', 'createdAt'], ['sort', 'asc'], ['select[]', 'id']])).body,
  ).toEqual(ids.toReversed().map((id) => ({ id })))
  for (const name of Object.keys(resource.fields).filter((field) => resource.fields[field]?.order === 'indexed')) {
    expect(idsOf((await list(fixture, collection, [deleted, ['orderBy', name]])).body).sort()).toEqual([...ids].sort())
  }
  if (resource.search.length > 0) {
    expect((await list(fixture, collection, [deleted, ['query', 'zzzzzz']])).body).toEqual([])
    const searched = resource.search.map((name) => expected[0]?.[name]).find((value) => typeof value === 'string') ?? ''
    const word = String(searched).split(/\s+/)[0] ?? ''
    expect(idsOf((await list(fixture, collection, [deleted, ['query', word]])).body)).toContain(ids[0])
  }

  expect((await list(other, collection, [deleted])).body).toEqual([])
  const restored = await fixture.request(collection.restore, { params: params(ids[0]) })
  expect(restored.status).toBe(200)
  expect(idsOf((await list(fixture, collection, [deleted])).body)).toEqual(ids.slice(1))
})

test.each(restorable)('%s: deleted=true needs the scope to restore as well', async (_, collection) => {
  const { singular } = collection.resource
  const reader = await fixture.organization.withScopes([`${singular}:*:read`])
  const restorer = await fixture.organization.withScopes([`${singular}:*:read`, `${singular}:restore:write`])
  const path = collection.path.replace(/\{(\w+)\}/, (_match, name: string) => fixture.params(collection)[name] ?? '')
  for (const at of [path, `${path}/count`]) {
    const refused = await reader('GET', `${at}?deleted=true`)
    expect(refused).toMatchObject({
      status: 403,
      body: { code: 'missing_scopes', details: [{ field: 'scope', message: `urn:service:${singular}:restore:write` }] },
    })
    expect((await reader('GET', `${at}?deleted=false`)).status).toBe(200)
    expect((await restorer('GET', `${at}?deleted=true`)).status).toBe(200)
    for (const value of ['yes', '1', '']) {
      const invalid = await restorer('GET', `${at}?deleted=${value}`)
      expect(invalid).toMatchObject({ status: 400, body: { details: [{ field: 'deleted' }] } })
    }
  }
})

/** Index of the next record whose dependents are deleted. */
let nextOwner = 8000

test.each(restorable.filter(([, { resource }]) => resource.parent ?? resource.requiredParents))(
  '%s: deleted records of a deleted parent are not listed',
  async (_, collection) => {
    const { parent } = collection.resource
    const creator = [collection, ...collections].find(
      (one) => one.resource.table === collection.resource.table && one.create && one.delete,
    )
    const kind = creator?.resource.parent ?? creator?.resource.requiredParents?.[0]
    const owner = collections.find(
      (one) => one.resource.table === kind?.resource.table && one.create && !one.resource.parent,
    )
    if (!creator?.create || !creator.delete || !kind || !owner) throw new Error(collection.path)
    const { id } = await fixture.createRecord(owner, minimalBody(owner.resource, nextOwner++, fixture.references))
    const params = creator.resource.parent ? { [creator.resource.parent.parameter]: String(id) } : {}
    const reference = Object.keys(creator.resource.fields).find((name) => columnOf(name) === kind.column) ?? ''
    const body = {
      ...variedBody(creator.resource, 800, fixture.references),
      ...(!creator.resource.parent && { [reference]: id }),
    }
    const { body: made } = await fixture.request(creator.create, { params, body })
    const [name = ''] = Object.keys(creator.delete.params).slice(-1)
    await fixture.request(creator.delete, { params: { ...params, [name]: made.id } })
    const read = () => fixture.request(collection.list, { params: parent ? params : {}, query: [deleted] })
    expect(idsOf((await read()).body)).toContain(made.id)
    await fixture.organization.call('DELETE', `${owner.path}/${String(id)}`)
    const after = await read()
    if (parent) expect(after.status).toBe(404)
    else expect(idsOf(after.body)).not.toContain(made.id)
  },
)

test.each(collections.filter(({ restore }) => !restore).map((one) => [one.path, one] as const))(
  '%s: has no restore, so deleted is an unknown parameter',
  async (_, collection) => {
    const refused = await list(fixture, collection, [deleted])
    expect(refused).toMatchObject({
      status: 400,
      body: { details: [{ field: 'deleted', message: 'unknown parameter' }] },
    })
  },
)
