import { afterAll, beforeAll, expect, test } from 'vitest'
import { resources, routes } from '../src/app.ts'
import { isScoped } from '../src/platform/http/route.ts'
import type { Resource } from '../src/platform/model/define.ts'
import type { Field, JsonValue, JsonObject } from '../src/platform/model/fields.ts'
import { newId, showId } from '../src/platform/model/ids.ts'
import { parameterOf } from '../src/platform/routes/standard-routes.ts'
import {
  callRoute,
  type Collection,
  collections,
  collectionsWith,
  madeOtherwise,
  newWorld,
  shownOnce,
  without,
  type World,
} from './collections.ts'
import { fieldOf, followersOf, fullBody, minimalBody, sampleValue, writableFields, wrongTypes } from './samples.ts'
import { startTestService, type TestService } from './service.ts'

let service: TestService
let world: World
beforeAll(async () => {
  service = await startTestService()
  world = await newWorld(service)
})
afterAll(() => service.close())

let lastIndex = 0
const nextIndex = () => ++lastIndex
const nextMinimal = (resource: Resource) => minimalBody(resource, nextIndex(), world.references)
const nextFull = (resource: Resource) => fullBody(resource, nextIndex(), world.references)

const idOf = (row: JsonObject): string => String(row.id)

/** Every route that names a record of this kind in its path, but the one that brings it back. */
const routesOf = ({ resource }: Collection) =>
  routes.filter(({ params, path }) => parameterOf(resource) in params && !path.endsWith('/restore'))

/** Ids for the path of any route: those of the collection, and some well-formed id for what else it names. */
const anyParams = (route: (typeof routes)[number], given: Record<string, string>): Record<string, string> => ({
  ...Object.fromEntries(Object.entries(route.params).map(([name, { prefix }]) => [name, showId(prefix, newId())])),
  ...given,
})

const listed = async (collection: Collection, id: string): Promise<JsonObject | undefined> => {
  const query = [['limit', '100']] as const
  const { body } = await world.ask(collection.list, { params: world.params(collection), query })
  return (body as JsonObject[]).find((row) => row.id === id)
}

const counted = async (collection: Collection): Promise<number> => {
  if (!collection.count) throw new Error('cannot be counted')
  return (await world.ask(collection.count, { params: world.params(collection) })).body.count
}

test('the registry holds what the tests of this file go through', () => {
  expect(collections.map(({ at }) => at)).toEqual(
    expect.arrayContaining(['/v5/contacts', '/v5/contacts/{contactId}/employments', '/api/teams/{teamId}/contacts']),
  )
  for (const { table } of resources) {
    const creators = collections.filter(({ resource, create }) => resource.table === table && create)
    expect([table, creators.length]).toEqual([table, madeOtherwise.includes(table) ? 0 : 1])
  }
  expect(madeOtherwise.filter((table) => !resources.some((resource) => resource.table === table))).toEqual([])
})

test('every route stands once, has a name of its own, and names the scope that it needs', () => {
  const places = routes.map(({ method, path }) => `${method} ${path.replace(/\{\w+\}/g, '{}')}`)
  expect(places.filter((place, index) => places.indexOf(place) !== index)).toEqual([])
  const operations = routes.map(({ operation }) => operation)
  expect(operations.filter((name, index) => operations.indexOf(name) !== index)).toEqual([])
  for (const route of routes) {
    expect(Object.keys(route.params)).toEqual([...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))
    if (isScoped(route)) expect(route.scope).toMatch(/^[a-z-]+:[a-z-]+:(read|write)$/)
    if (isScoped(route)) expect(route.scope.split(':')[2]).toBe(route.kind)
  }
})

test.each(routes.filter(isScoped).map((route) => [`${route.method} ${route.path}`, route] as const))(
  '%s needs a credential, and says how to send one',
  async (_, route) => {
    const answer = await callRoute(service.anonymous, route, { params: anyParams(route, {}) })
    expect(answer).toMatchObject({ status: 401, body: { code: 'missing_authorization' } })
    expect(answer.body.message).toMatch(/not logged in/)
    expect(answer.body.description).toMatch(/access token or an API key/)
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/)
    const wrong = (method: string, path: string) =>
      service.anonymous(method, path, { headers: { authorization: 'Bearer svc_wrong' } })
    const refused = await callRoute(wrong, route, { params: anyParams(route, {}) })
    expect(refused).toMatchObject({ status: 401, body: { code: 'invalid_token' } })
  },
)

test.each(collectionsWith('create', 'get', 'delete', 'restore', 'count'))(
  '%s: a record made of the least there must be has every other member at its beginning',
  async (_, collection) => {
    const { resource } = collection
    const body = nextMinimal(resource)
    const before = await counted(collection)
    const made = await world.ask(collection.create, { params: world.params(collection), body })
    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toBe(
      `${collection.at.replace(/\{\w+\}/, (name) => world.params(collection)[name.slice(1, -1)] ?? '')}/${made.body.id}`,
    )
    expect(Object.keys(made.body)).toEqual([...resource.members, ...shownOnce(collection)])
    expect(made.body).toMatchObject(body)
    const follows = Object.keys(body).flatMap((name) => followersOf(resource, name))
    for (const name of writableFields(resource).filter((other) => !(other in body) && !follows.includes(other))) {
      const { initial, idPrefix, nullable } = fieldOf(resource, name)
      if (idPrefix !== undefined && !nullable) expect(made.body[name]).toBe(world.references[idPrefix]?.[0])
      else expect([name, made.body[name]]).toEqual([name, initial ?? null])
    }
    expect(made.body.createdAt).toBe(made.body.updatedAt)
    expect(Math.abs(Date.parse(made.body.createdAt) - Date.now())).toBeLessThan(60_000)
    expect(await counted(collection)).toBe(before + 1)
  },
)

test.each(collectionsWith('create', 'get', 'delete', 'restore', 'count'))(
  '%s: what was created is what is read, one by one and in the list, until it is deleted, and again when it is restored',
  async (_, collection) => {
    const { resource } = collection
    const body = nextFull(resource)
    const created = await world.ask(collection.create, { params: world.params(collection), body })
    expect(created).toMatchObject({ status: 201, body })
    const once = shownOnce(collection)
    const made = without(created.body, once)
    const params = world.params(collection, idOf(made))
    const read = await world.ask(collection.get, { params })
    expect(read.body).toEqual(made)
    if (once.length === 0) expect(read.text).toBe(created.text)
    expect(read.headers.get('etag')).toBe(created.headers.get('etag'))
    expect(await listed(collection, idOf(made))).toEqual(made)
    const count = await counted(collection)

    expect((await world.ask(collection.delete, { params })).status).toBe(204)
    for (const route of routesOf(collection)) {
      const given = 'body' in route && route.body ? { body: minimalOf(route.body.shape) } : {}
      const answer = await world.ask(route, { params: anyParams(route, params), ...given })
      expect([route.operation, answer.status, answer.body?.code]).toEqual([route.operation, 404, 'not_found'])
    }
    expect(await listed(collection, idOf(made))).toBeUndefined()
    expect(await counted(collection)).toBe(count - 1)

    const restored = await world.ask(collection.restore, { params })
    expect(restored.status).toBe(200)
    expect(without(restored.body, ['updatedAt'])).toEqual(without(made, ['updatedAt']))
    expect((await world.ask(collection.get, { params })).text).toBe(restored.text)
    expect(await listed(collection, idOf(made))).toEqual(restored.body)
    expect(await counted(collection)).toBe(count)
    // Only what is deleted can be restored.
    expect((await world.ask(collection.restore, { params })).status).toBe(404)
  },
)

/** A body that passes validation, so that what is refused is the record. */
function minimalOf({ fields, mode }: { fields: Record<string, Field>; mode: 'create' | 'update' }): JsonObject {
  const names = Object.keys(fields).filter((name) => mode === 'create' && fields[name]?.required)
  const shape = { name: 'a body', fields } as Resource
  return Object.fromEntries(names.map((name) => [name, sampleValue(shape, name, nextIndex(), world.references)]))
}

test.each(collectionsWith('get'))(
  '%s: what select[] leaves of a record is what the document says it may be',
  async (_, collection) => {
    const { resource } = collection
    const record = await world.make(collection, nextMinimal(resource))
    const params = world.params(collection, idOf(record))
    for (const path of selectablePaths(resource)) {
      const query = [['select[]', path]] as const
      const [head = ''] = path.split('.')
      const one = await world.ask(collection.get, { params, query })
      expect([path, one.status, Object.keys(one.body)]).toEqual([path, 200, [head]])
      const list = await world.ask(collection.list, { params: world.params(collection), query })
      expect([path, list.status, Object.keys(list.body[0])]).toEqual([path, 200, [head]])
    }
  },
)

/** Every property, every property of an embedded record, and keys of which the record has none. */
const selectablePaths = ({ members, embedded, fields }: Resource): string[] =>
  members.flatMap((name) => {
    const inner = embedded[name]?.show ?? (fields[name]?.filter === 'properties' ? ['absent', 'not_a-key'] : [])
    return [name, ...inner.map((key) => `${name}.${key}`)]
  })

test.each(collectionsWith('update', 'get'))(
  '%s: a change of one field changes that field, what follows from it, and the time',
  async (_, collection) => {
    const { resource } = collection
    for (const name of writableFields(resource)) {
      const before = await world.make(collection, nextMinimal(resource))
      const params = world.params(collection, idOf(before))
      const value = sampleValue(resource, name, nextIndex(), world.references)
      const first = await world.ask(collection.get, { params })
      const changed = await world.ask(collection.update, { params, body: { [name]: value } })
      expect([name, changed.status, changed.body[name]]).toEqual([name, 200, value])
      expect((await world.ask(collection.get, { params })).text).toBe(changed.text)
      if (JSON.stringify(before[name]) === JSON.stringify(value)) {
        expect(changed.text).toBe(first.text)
        continue
      }
      const may = [name, 'updatedAt', ...followersOf(resource, name)]
      expect(without(changed.body, may), name).toEqual(without(before, may))
      expect(Date.parse(changed.body.updatedAt), name).toBeGreaterThan(Date.parse(String(before.updatedAt)) - 1)
      expect(revision(changed.headers), name).toBe(revision(first.headers) + 1)
    }
  },
)

const revision = (headers: Headers): number => Number(/^"(\d+)-/.exec(headers.get('etag') ?? '')?.[1])

test.each(collectionsWith('update', 'get'))(
  '%s: null clears what can be null, and is refused where a value has to be',
  async (_, collection) => {
    const { resource } = collection
    const before = await world.make(collection, nextFull(resource))
    const params = world.params(collection, idOf(before))
    for (const name of writableFields(resource)) {
      const answer = await world.ask(collection.update, { params, body: { [name]: null } })
      if (fieldOf(resource, name).nullable) {
        expect([name, answer.status, answer.body[name]]).toEqual([name, 200, null])
        const kept = { [name]: before[name] ?? null }
        expect((await world.ask(collection.update, { params, body: kept })).body).toMatchObject(kept)
      } else {
        expect(answer, name).toMatchObject({ status: 422, body: { code: 'invalid_field_value' } })
        expect(answer.body.details).toEqual([{ field: name, message: 'must not be null' }])
      }
    }
  },
)

const writers = collections.flatMap((collection) =>
  (['create', 'update'] as const).flatMap((mode) =>
    collection[mode] ? [[`${mode} ${collection.at}`, collection, mode] as const] : [],
  ),
)

/** Sends wrong bodies to the create or the update route of a collection: one that is refused has changed nothing. */
async function senderOf(collection: Collection, mode: 'create' | 'update') {
  const { resource, get } = collection
  const route = collection[mode]
  if (!route || !get) throw new Error(`${collection.at} has no ${mode}`)
  const record = mode === 'update' ? await world.make(collection, nextMinimal(resource)) : undefined
  const params = world.params(collection, record && idOf(record))
  const base: JsonObject = mode === 'create' ? nextMinimal(resource) : {}
  return {
    base,
    async send(body: JsonValue) {
      const answer = await world.ask(route, { params, body })
      if (record) expect((await world.ask(get, { params })).body).toEqual(record)
      return answer
    },
  }
}

test.each(writers)('%s refuses a field that is unknown, and says which one was meant', async (_, collection, mode) => {
  const { resource } = collection
  const [first = ''] = writableFields(resource)
  const { send, base } = await senderOf(collection, mode)
  for (const [name, message] of [
    ['xyzzy', 'unknown field'],
    ['constructor', 'unknown field'],
    [`${first}x`, `unknown field; did you mean ${first}?`],
  ] as const) {
    const answer = await send({ ...base, [name]: 1 })
    expect(answer, name).toMatchObject({ status: 422, body: { code: 'invalid_field_value' } })
    expect(answer.body.details).toEqual([{ field: name, message }])
  }
})

test.each(writers)('%s refuses what only the service writes as read-only', async (_, collection, mode) => {
  const { resource } = collection
  const { send, base } = await senderOf(collection, mode)
  const readOnly = resource.members.filter((name) => !(resource.fields[name]?.writable ?? false))
  expect(readOnly).toEqual(expect.arrayContaining(['id', 'createdAt', 'updatedAt']))
  for (const name of readOnly) {
    const answer = await send({ ...base, [name]: null })
    expect(answer, name).toMatchObject({ status: 422, body: { code: 'invalid_field_value' } })
    expect(answer.body.details).toEqual([{ field: name, message: 'is read-only' }])
  }
})

test.each(writers)('%s refuses values of another JSON type, for every field', async (_, collection, mode) => {
  const { resource } = collection
  const { send, base } = await senderOf(collection, mode)
  for (const name of writableFields(resource)) {
    const wrong = wrongTypes(fieldOf(resource, name))
    expect(wrong.length).toBeGreaterThan(2)
    for (const value of wrong) {
      const answer = await send({ ...base, [name]: value })
      expect([name, value, answer.status, answer.body.code]).toEqual([name, value, 422, 'invalid_field_value'])
      expect(answer.body.details, name).toHaveLength(1)
      expect(answer.body.details[0].field).toBe(name)
    }
  }
})

test.each(writers)('%s tells every fault of a body at once', async (_, collection, mode) => {
  const { resource } = collection
  const { send } = await senderOf(collection, mode)
  const names = writableFields(resource)
  const wrong = Object.fromEntries(names.map((name) => [name, wrongTypes(fieldOf(resource, name))[0] ?? null]))
  const answer = await send({ ...wrong, id: 'x', xyzzy: 1 })
  expect(answer).toMatchObject({ status: 422, body: { code: 'validation_error' } })
  const told = answer.body.details.map(({ field }: { field: string }) => field)
  expect(told).toEqual([...names, 'id', 'xyzzy'])
  for (const body of [[], '"text"', 3, null] as JsonValue[]) {
    const refused = await send(body)
    expect(refused, JSON.stringify(body)).toMatchObject({ status: 422, body: { details: [{ field: 'body' }] } })
  }
})

test.each(collectionsWith('create'))('%s: what is absent has a code of its own', async (_, collection) => {
  const { resource } = collection
  const required = Object.keys(nextMinimal(resource))
  const { send } = await senderOf(collection, 'create')
  const answer = await send({})
  expect(answer).toMatchObject({ status: 422, body: { code: 'missing_required_field' } })
  expect(answer.body.details.map(({ field }: { field: string }) => field)).toEqual(required)
})

test.each(collectionsWith('get'))(
  '%s: another organization’s record is not there, on any verb',
  async (_, collection) => {
    const strangers = await newWorld(service)
    const theirs = await strangers.make(collection, minimalBody(collection.resource, nextIndex(), strangers.references))
    for (const route of routes.filter(({ params }) => parameterOf(collection.resource) in params)) {
      const params = anyParams(route, world.params(collection, idOf(theirs)))
      const given = 'body' in route && route.body ? { body: minimalOf(route.body.shape) } : {}
      const answer = await world.ask(route, { params, ...given })
      expect([route.operation, answer.status, answer.body?.code]).toEqual([route.operation, 404, 'not_found'])
    }
    expect(await listed(collection, idOf(theirs))).toBeUndefined()
    const own = await strangers.ask(collection.get, { params: strangers.params(collection, idOf(theirs)) })
    expect(own.body).toEqual(theirs)
  },
)
