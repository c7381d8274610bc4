import { afterAll, beforeAll, expect, test } from 'vitest'
import { resources, routes } from '../src/app.ts'
import { isScoped } from '../src/platform/http/route.ts'
import { parentsOf, type Resource } from '../src/platform/records/declare/define.ts'
import { newId, encodeId } from '../src/platform/model/ids.ts'
import { parameterOf } from '../src/platform/records/routes/standard-routes.ts'
import {
  callRoute,
  collections,
  collectionsWith,
  personalTables,
  tablesWithoutCreateRoute,
  createFixture,
  oneTimeSecretFields,
  omit,
} from './collections.ts'
import {
  chosenFields,
  fieldOf,
  dependentFields,
  fullBody,
  isFixed,
  minimalBody,
  sampleValue,
  writableFields,
  wrongTypes,
} from './samples.ts'
import { startTestService, type TestService } from './service.ts'
import { casesToTry } from './suite.ts'
import type { JsonValue, JsonObject } from '../src/platform/model/json.ts'
import type { Field } from '../src/platform/records/declare/field.ts'
import type { Fixture, Collection } from './fixture.ts'

let service: TestService
let fixture: Fixture
let otherFixture: Fixture
beforeAll(async () => {
  service = await startTestService()
  ;[fixture, otherFixture] = await Promise.all([createFixture(service), createFixture(service)])
})
afterAll(() => service.close())

let lastIndex = 0
const nextIndex = () => ++lastIndex
const nextMinimal = (resource: Resource) => minimalBody(resource, nextIndex(), fixture.references)
const nextFull = (resource: Resource) => fullBody(resource, nextIndex(), fixture.references)

const idOf = (row: JsonObject): string => String(row.id)

/** Every route with a record of this kind in its path, except `restore`. */
const routesOf = ({ resource }: Collection) =>
  routes.filter(({ params, path }) => parameterOf(resource) in params && !path.endsWith('/restore'))

/** Ids for the path of any route: the given ones, and random well-formed ids for the other parameters. */
const anyParams = (route: (typeof routes)[number], given: Record<string, string>): Record<string, string> => ({
  ...Object.fromEntries(Object.entries(route.params).map(([name, { prefix }]) => [name, encodeId(prefix, newId())])),
  ...given,
})

/** The record in the list, which a search for its id finds too. */
const findInList = async (collection: Collection, id: string): Promise<JsonObject | undefined> => {
  const query = [['limit', '100']] as const
  const params = fixture.params(collection)
  const { body } = await fixture.request(collection.list, { params, query })
  const listed = (body as JsonObject[]).find((row) => row.id === id)
  if (collection.search) {
    const found = await fixture.request(collection.search, { params, body: { filter: { id: { equals: id } } } })
    expect(found.body).toEqual(listed ? [listed] : [])
  }
  return listed
}

const countOf = async (collection: Collection): Promise<number> => {
  if (!collection.count) throw new Error('cannot be counted')
  return (await fixture.request(collection.count, { params: fixture.params(collection) })).body.count
}

test('the registry contains the collections that these tests cover', () => {
  expect(collections.map(({ path }) => path)).toEqual(
    expect.arrayContaining(['/v5/contacts', '/v5/contacts/{contactId}/employments', '/api/teams/{teamId}/contacts']),
  )
  for (const resource of resources) {
    const { table } = resource
    const creators = collections.filter((one) => one.resource.table === table && one.create)
    // One for each kind of parent.
    const count = Math.max(1, parentsOf(resource).length)
    expect([table, creators.length]).toEqual([table, tablesWithoutCreateRoute.includes(table) ? 0 : count])
  }
  const isServed = (table: string) => collections.some(({ resource }) => resource.table === table)
  expect(tablesWithoutCreateRoute.filter((table) => !isServed(table))).toEqual(personalTables)
})

test('every list of the versioned API has a search and its count', () => {
  const without = collections.filter(
    ({ path, search, searchCount }) => path.startsWith('/v5/') && !(search && searchCount),
  )
  expect(without.map(({ path }) => path)).toEqual([])
})

test('every route is unique, has a unique operation name, and names its scope', () => {
  const endpoints = routes.map(({ method, path }) => `${method} ${path.replace(/\{\w+\}/g, '{}')}`)
  expect(endpoints.filter((endpoint, index) => endpoints.indexOf(endpoint) !== index)).toEqual([])
  const operations = routes.map(({ operation }) => operation)
  expect(operations.filter((name, index) => operations.indexOf(name) !== index)).toEqual([])
  for (const route of routes) {
    expect(Object.keys(route.params)).toEqual([...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))
    if (isScoped(route)) expect(route.scope).toMatch(/^[a-z-]+:[a-z-]+:(read|write)$/)
    if (isScoped(route)) expect(route.scope.split(':')[2]).toBe(route.kind === 'write' ? 'write' : 'read')
  }
})

test.each(routes.filter(isScoped).map((route) => [`${route.method} ${route.path}`, route] as const))(
  '%s requires a credential and explains how to send one',
  async (_, route) => {
    const response = await callRoute(service.anonymous, route, { params: anyParams(route, {}) })
    expect(response).toMatchObject({ status: 401, body: { code: 'missing_authorization' } })
    expect(response.body.message).toMatch(/not logged in/)
    expect(response.body.description).toMatch(/access token or an API key/)
    expect(response.headers.get('www-authenticate')).toMatch(/^Bearer/)
    const wrong = (method: string, path: string) =>
      service.anonymous(method, path, { headers: { authorization: 'Bearer svc_wrong' } })
    const refused = await callRoute(wrong, route, { params: anyParams(route, {}) })
    expect(refused).toMatchObject({ status: 401, body: { code: 'invalid_token' } })
  },
)

test.each(collectionsWith('create', 'get', 'delete', 'restore', 'count'))(
  '%s: a record created with only its required fields has the initial value in all others',
  async (_, collection) => {
    const { resource } = collection
    const body = nextMinimal(resource)
    const before = await countOf(collection)
    const created = await fixture.request(collection.create, { params: fixture.params(collection), body })
    expect(created.status).toBe(201)
    expect(created.headers.get('location')).toBe(
      `${collection.path.replace(/\{\w+\}/, (name) => fixture.params(collection)[name.slice(1, -1)] ?? '')}/${created.body.id}`,
    )
    expect(Object.keys(created.body)).toEqual([...resource.propertyNames, ...oneTimeSecretFields(collection)])
    expect(created.body).toMatchObject(body)
    const follows = Object.keys(body).flatMap((name) => dependentFields(resource, name))
    for (const name of writableFields(resource).filter((other) => !(other in body) && !follows.includes(other))) {
      const { initial, idPrefix, nullable } = fieldOf(resource, name)
      if (idPrefix !== undefined && !nullable) expect(created.body[name]).toBe(fixture.references[idPrefix]?.[0])
      else if (chosenFields.includes(`${resource.name}.${name}`))
        expect([name, created.body[name]]).not.toEqual([name, null])
      else expect([name, created.body[name]]).toEqual([name, initial ?? null])
    }
    expect(created.body.createdAt).toBe(created.body.updatedAt)
    expect(Math.abs(Date.parse(created.body.createdAt) - Date.now())).toBeLessThan(60_000)
    expect(await countOf(collection)).toBe(before + 1)
  },
)

test.each(collectionsWith('create', 'get', 'delete', 'restore', 'count'))(
  '%s: a created record is shown alone and in the list until it is deleted, and again after it is restored',
  async (_, collection) => {
    const { resource } = collection
    const body = nextFull(resource)
    const created = await fixture.request(collection.create, { params: fixture.params(collection), body })
    expect(created).toMatchObject({ status: 201, body })
    const secretFields = oneTimeSecretFields(collection)
    const record = omit(created.body, secretFields)
    const params = fixture.params(collection, idOf(record))
    const read = await fixture.request(collection.get, { params })
    expect(read.body).toEqual(record)
    if (secretFields.length === 0) expect(read.text).toBe(created.text)
    expect(read.headers.get('etag')).toBe(created.headers.get('etag'))
    expect(await findInList(collection, idOf(record))).toEqual(record)
    const count = await countOf(collection)

    expect((await fixture.request(collection.delete, { params })).status).toBe(204)
    // A deleted contact can still be erased.
    for (const route of routesOf(collection).filter(({ operation }) => operation !== 'eraseContact')) {
      const given = 'body' in route && route.body ? { body: minimalOf(route.body.shape) } : {}
      const response = await fixture.request(route, { params: anyParams(route, params), ...given })
      expect([route.operation, response.status, response.body?.code]).toEqual([route.operation, 404, 'not_found'])
    }
    expect(await findInList(collection, idOf(record))).toBeUndefined()
    expect(await countOf(collection)).toBe(count - 1)

    const restored = await fixture.request(collection.restore, { params })
    expect(restored.status).toBe(200)
    expect(omit(restored.body, ['updatedAt'])).toEqual(omit(record, ['updatedAt']))
    expect((await fixture.request(collection.get, { params })).text).toBe(restored.text)
    expect(await findInList(collection, idOf(record))).toEqual(restored.body)
    expect(await countOf(collection)).toBe(count)
    // Only a deleted record can be restored.
    expect((await fixture.request(collection.restore, { params })).status).toBe(404)
  },
)

/** A valid body, so that only the record can be the reason for an error. */
function minimalOf({ fields, mode }: { fields: Record<string, Field>; mode: 'create' | 'update' }): JsonObject {
  const names = Object.keys(fields).filter((name) => mode === 'create' && fields[name]?.required)
  const resource = { name: 'a body', fields } as Resource
  return Object.fromEntries(names.map((name) => [name, sampleValue(resource, name, nextIndex(), fixture.references)]))
}

test.each(collectionsWith('get'))(
  '%s: a response with select[] matches the OpenAPI document',
  async (_, collection) => {
    const { resource } = collection
    const record = await fixture.createRecord(collection, nextMinimal(resource))
    const params = fixture.params(collection, idOf(record))
    for (const path of casesToTry(selectablePaths(resource), kindOfPath, nextIndex())) {
      const query = [['select[]', path]] as const
      const [head = ''] = path.split('.')
      const one = await fixture.request(collection.get, { params, query })
      expect([path, one.status, Object.keys(one.body)]).toEqual([path, 200, [head]])
      const list = await fixture.request(collection.list, { params: fixture.params(collection), query })
      expect([path, list.status, Object.keys(list.body[0])]).toEqual([path, 200, [head]])
    }
  },
)

const kindOfPath = (path: string): string => String(path.split('.').length)

/** Every property, every property of an embedded record, and keys that the record does not have. */
const selectablePaths = ({ propertyNames: members, embedded, fields }: Resource): string[] =>
  members.flatMap((name) => {
    const inner = embedded[name]?.show ?? (fields[name]?.filter === 'properties' ? ['absent', 'not_a-key'] : [])
    return [name, ...inner.map((key) => `${name}.${key}`)]
  })

test.each(collectionsWith('update', 'get'))(
  '%s: an update of one field changes only that field, the fields derived from it, and updatedAt',
  async (_, collection) => {
    const { resource } = collection
    for (const name of fieldsToTry(collection)) {
      const before = await fixture.createRecord(collection, nextMinimal(resource))
      const params = fixture.params(collection, idOf(before))
      const value = isFixed(resource, name)
        ? (before[name] ?? null)
        : sampleValue(resource, name, nextIndex(), fixture.references)
      const first = await fixture.request(collection.get, { params })
      const changed = await fixture.request(collection.update, { params, body: { [name]: value } })
      expect([name, changed.status, changed.body[name]]).toEqual([name, 200, value])
      expect((await fixture.request(collection.get, { params })).text).toBe(changed.text)
      if (JSON.stringify(before[name]) === JSON.stringify(value)) {
        expect(changed.text).toBe(first.text)
        continue
      }
      const changeable = [name, 'updatedAt', ...dependentFields(resource, name)]
      expect(omit(changed.body, changeable), name).toEqual(omit(before, changeable))
      expect(Date.parse(changed.body.updatedAt), name).toBeGreaterThan(Date.parse(String(before.updatedAt)) - 1)
      expect(revision(changed.headers), name).toBe(revision(first.headers) + 1)
    }
  },
)

/** Its writable fields, or in `npm test` one of each type: of each resource another one. */
function fieldsToTry({ resource, path }: Collection): string[] {
  const turn = collections.findIndex((one) => one.path === path)
  const kindOf = (name: string) => `${fieldOf(resource, name).filter} ${fieldOf(resource, name).nullable}`
  return casesToTry(writableFields(resource), kindOf, turn)
}

const revision = (headers: Headers): number => Number(/^"(\d+)-/.exec(headers.get('etag') ?? '')?.[1])

test.each(collectionsWith('update', 'get'))(
  '%s: null clears a nullable field and is rejected for any other',
  async (_, collection) => {
    const { resource } = collection
    const before = await fixture.createRecord(collection, nextFull(resource))
    const params = fixture.params(collection, idOf(before))
    for (const name of fieldsToTry(collection)) {
      const response = await fixture.request(collection.update, { params, body: { [name]: null } })
      if (fieldOf(resource, name).nullable) {
        expect([name, response.status, response.body[name]]).toEqual([name, 200, null])
        const previous = { [name]: before[name] ?? null }
        expect((await fixture.request(collection.update, { params, body: previous })).body).toMatchObject(previous)
      } else {
        expect(response, name).toMatchObject({ status: 422, body: { code: 'invalid_field_value' } })
        expect(response.body.details).toEqual([{ field: name, message: 'must not be null' }])
      }
    }
  },
)

const writers = collections.flatMap((collection) =>
  (['create', 'update'] as const).flatMap((mode) =>
    collection[mode] ? [[`${mode} ${collection.path}`, collection, mode] as const] : [],
  ),
)

/** Sends invalid bodies to the create or update route of a collection and checks that nothing changed. */
async function senderOf(collection: Collection, mode: 'create' | 'update') {
  const { resource, get } = collection
  const route = collection[mode]
  if (!route || !get) throw new Error(`${collection.path} has no ${mode}`)
  const record = mode === 'update' ? await fixture.createRecord(collection, nextMinimal(resource)) : undefined
  const params = fixture.params(collection, record && idOf(record))
  const base: JsonObject = mode === 'create' ? nextMinimal(resource) : {}
  return {
    base,
    async send(body: JsonValue) {
      const response = await fixture.request(route, { params, body })
      if (record) expect((await fixture.request(get, { params })).body).toEqual(record)
      return response
    },
  }
}

test.each(writers)('%s rejects an unknown field and suggests the closest one', async (_, collection, mode) => {
  const { resource } = collection
  const [first = ''] = writableFields(resource)
  const { send, base } = await senderOf(collection, mode)
  for (const [name, message] of [
    ['xyzzy', 'unknown field'],
    ['constructor', 'unknown field'],
    [`${first}x`, `unknown field; did you mean ${first}?`],
  ] as const) {
    const response = await send({ ...base, [name]: 1 })
    expect(response, name).toMatchObject({ status: 422, body: { code: 'invalid_field_value' } })
    expect(response.body.details).toEqual([{ field: name, message }])
  }
})

test.each(writers)('%s rejects read-only fields', async (_, collection, mode) => {
  const { resource } = collection
  const { send, base } = await senderOf(collection, mode)
  const readOnly = resource.propertyNames.filter((name) => !(resource.fields[name]?.writable ?? false))
  expect(readOnly).toEqual(expect.arrayContaining(['id', 'createdAt', 'updatedAt']))
  const kindOf = (name: string) => String(resource.fields[name]?.computed ?? false)
  for (const name of casesToTry(readOnly, kindOf, collections.indexOf(collection))) {
    const response = await send({ ...base, [name]: null })
    expect(response, name).toMatchObject({ status: 422, body: { code: 'invalid_field_value' } })
    expect(response.body.details).toEqual([{ field: name, message: 'is read-only' }])
  }
})

test.each(writers)('%s rejects values of the wrong JSON type for every field', async (_, collection, mode) => {
  const { resource } = collection
  const { send, base } = await senderOf(collection, mode)
  for (const [index, name] of writableFields(resource).entries()) {
    const wrong = wrongTypes(fieldOf(resource, name))
    expect(wrong.length).toBeGreaterThan(2)
    for (const value of casesToTry(wrong, () => name, index)) {
      const response = await send({ ...base, [name]: value })
      expect([name, value, response.status, response.body.code]).toEqual([name, value, 422, 'invalid_field_value'])
      expect(response.body.details, name).toHaveLength(1)
      expect(response.body.details[0].field).toBe(name)
    }
  }
})

test.each(writers)('%s reports all errors in a body at once', async (_, collection, mode) => {
  const { resource } = collection
  const { send } = await senderOf(collection, mode)
  const names = writableFields(resource)
  const wrong = Object.fromEntries(names.map((name) => [name, wrongTypes(fieldOf(resource, name))[0] ?? null]))
  const response = await send({ ...wrong, id: 'x', xyzzy: 1 })
  expect(response).toMatchObject({ status: 422, body: { code: 'validation_error' } })
  const reportedFields = response.body.details.map(({ field }: { field: string }) => field)
  expect(reportedFields).toEqual([...names, 'id', 'xyzzy'])
  for (const body of [[], '"text"', 3, null] as JsonValue[]) {
    const refused = await send(body)
    expect(refused, JSON.stringify(body)).toMatchObject({ status: 422, body: { details: [{ field: 'body' }] } })
  }
})

test.each(collectionsWith('create'))('%s: missing fields have a separate error code', async (_, collection) => {
  const { resource } = collection
  const required = Object.keys(nextMinimal(resource))
  const { send } = await senderOf(collection, 'create')
  const response = await send({})
  expect(response).toMatchObject({ status: 422, body: { code: 'missing_required_field' } })
  expect(response.body.details.map(({ field }: { field: string }) => field)).toEqual(required)
})

test.each(collectionsWith('get'))(
  '%s: a record of another organization gets 404 on every route',
  async (_, collection) => {
    const otherRecord = await otherFixture.createRecord(
      collection,
      minimalBody(collection.resource, nextIndex(), otherFixture.references),
    )
    for (const route of routes.filter(({ params }) => parameterOf(collection.resource) in params)) {
      const params = anyParams(route, fixture.params(collection, idOf(otherRecord)))
      const given = 'body' in route && route.body ? { body: minimalOf(route.body.shape) } : {}
      const response = await fixture.request(route, { params, ...given })
      expect([route.operation, response.status, response.body?.code]).toEqual([route.operation, 404, 'not_found'])
    }
    expect(await findInList(collection, idOf(otherRecord))).toBeUndefined()
    const own = await otherFixture.request(collection.get, {
      params: otherFixture.params(collection, idOf(otherRecord)),
    })
    expect(own.body).toEqual(otherRecord)
  },
)
