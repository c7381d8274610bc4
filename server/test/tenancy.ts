import { routes } from '../src/app.ts'
import { isScoped, listedResources, type Route } from '../src/platform/http/route.ts'
import { operatorsOf, takesList } from '../src/platform/records/filter/operators.ts'
import { relationsAmong } from '../src/platform/records/declare/relations.ts'
import type { Fields, Resource } from '../src/platform/records/declare/define.ts'
import { newId, encodeId } from '../src/platform/model/ids.ts'
import { generateTriggerSecret } from '../src/intake/imports/trigger.ts'
import { viewable } from '../src/crm/views/resource.ts'
import { teamMembers } from '../src/identity/team-members/resource.ts'
import { collections, createFixture, urlOf } from './collections.ts'
import type { FixtureOptions } from './fixture-records.ts'
import { pathsOf } from './field-model.ts'
import { idsOf, minimalBody, sampleValue, sharedBody } from './samples.ts'
import type { TestService } from './service.ts'
import type { JsonObject } from '../src/platform/model/json.ts'
import type { RouteOptions, Fixture, Collection } from './fixture.ts'

/** An organization with one record in every collection. */
export interface Tenant extends Fixture {
  /** The id of a record in each collection, by the collection's path. */
  records: ReadonlyMap<string, string>
  /** The id of a deleted record, for collections with a restore. */
  deleted: ReadonlyMap<string, string>
  /** A signed cursor after the first record of each collection. */
  cursors: ReadonlyMap<string, string>
  /** The last position of its feed. */
  position: string
}

/** The same request with an id of another organization or parent, and with an id that does not exist. */
export interface Case {
  description: string
  route: Route
  foreign: { id: string; options: RouteOptions }
  unknown: { id: string; options: RouteOptions }
  /** The expected status of both. */
  status: number
}

export async function newTenant(
  service: TestService,
  { included = () => true, ...options }: FixtureOptions & { included?: (collection: Collection) => boolean } = {},
): Promise<Tenant> {
  const fixture = await createFixture(service, options)
  const { firstIndex = 0 } = options
  const records = new Map<string, string>()
  const deleted = new Map<string, string>()
  const cursors = new Map<string, string>()
  const references: Record<string, readonly string[]> = fixture.references
  for (const [index, collection] of collections.entries()) {
    if (!included(collection)) continue
    for (const offset of [0, 1]) {
      const row = await fixture.createRecord(
        collection,
        sharedBody(collection.resource, firstIndex + 10 * index + offset, fixture.references),
      )
      records.set(collection.path, String(row.id))
      const { idPrefix } = collection.resource
      references[idPrefix] ??= [String(row.id)]
    }
    if (collection.delete && collection.restore) {
      const { id } = await fixture.createRecord(
        collection,
        sharedBody(collection.resource, firstIndex + 10 * index + 2, fixture.references),
      )
      await fixture.request(collection.delete, { params: fixture.params(collection, String(id)) })
      deleted.set(collection.path, String(id))
    }
    const { headers } = await fixture.request(collection.list, {
      params: fixture.params(collection),
      query: [['limit', '1']],
    })
    const cursor = /[?&]startingAfter=(cur_[\w-]+)/.exec(headers.get('link') ?? '')?.[1]
    if (cursor === undefined) throw new Error(`${collection.path} returned no cursor`)
    cursors.set(collection.path, cursor)
  }
  for (const { name } of viewable) {
    const body = { resource: name, name: 'Shared', isShared: true }
    references[`vie of ${name}`] = [(await fixture.organization.call('POST', '/v5/views', { body })).body.id]
  }
  const { position } = (await fixture.organization.call('GET', '/v5/events/position')).body
  return { ...fixture, records, deleted, cursors, position }
}

/**
 * All ways in which a request can name a record of another organization: path, body, cursor, filter and header. They are
 * derived from the route's declaration, so that a new route is covered automatically; missing sample ids are an error.
 */
export function casesOf(route: Route, ours: Tenant, theirs: Tenant): Case[] {
  const base = requestOf(route, ours)
  // The whole path is the credential, and nothing else in the request names a record.
  if (route.kind === 'push')
    return pathCases(route, base, ours, theirs).filter(({ description }) => description !== wholePath)
  if (!isScoped(route)) return []
  return [
    ...headerCases(route, base, ours, theirs),
    ...pathCases(route, base, ours, theirs),
    ...bodyCases(route, base, theirs),
    ...cursorCases(route, base, ours, theirs),
    ...filterCases(route, base, theirs),
    ...searchCases(route, base, theirs),
    ...viewCases(route, base, theirs),
    ...feedCases(route, base, theirs),
  ]
}

/** Cases of a kind differ by the field, the operator, the credential or the direction alone. */
export function kindOfCase({ description }: Case): string {
  if (description.startsWith('filter.')) return 'a filter'
  if (description.endsWith(' in a tree')) return 'a tree'
  return description.replace(/^header, by .*| as (startingAfter|endingBefore)$/, '')
}

const collectionOf = (route: Route): Collection | undefined =>
  collections
    .filter(({ path: at }) => route.path === at || route.path.startsWith(`${at}/`))
    .sort((left, right) => right.path.length - left.path.length)[0]

/** The path parameters of a record of the tenant. */
function paramsOf(route: Route, tenant: Tenant): Record<string, string> {
  const collection = collectionOf(route)
  if (!collection) {
    const names = Object.entries(route.params)
    return Object.fromEntries(names.map(([name, { prefix }]) => [name, idsOf(tenant.references, prefix)[0] ?? '']))
  }
  const { records, deleted, pushes } = tenant
  const own = tenant.params(collection, (route === collection.restore ? deleted : records).get(collection.path))
  const all: Record<string, string> = route.kind === 'push' ? { ...own, hash: pushes.hashOf(own.importId ?? '') } : own
  return Object.fromEntries(Object.keys(route.params).map((name) => [name, all[name] ?? '']))
}

/** A request that succeeds. */
export function requestOf(route: Route, tenant: Tenant): RouteOptions {
  const params = paramsOf(route, tenant)
  if (route.kind === 'push') return { params, body: route.payload.example }
  if (route.operation === 'listEvents') return { params, query: [['after', 'start']] }
  if (!('body' in route) || !route.body) return { params }
  const { fields, mode } = route.body.shape
  return { params, body: mode === 'create' ? createBody(route, fields, tenant) : updateBody(fields, tenant) }
}

function createBody(route: Route, fields: Fields, { references }: Tenant): JsonObject {
  const resource = collectionOf(route)?.resource
  if (resource && route.path === collectionOf(route)?.path) return minimalBody(resource, 500, references)
  const required = Object.keys(fields).filter((name) => fields[name]?.required)
  const shape = { name: 'a body', fields } as Resource
  return Object.fromEntries(required.map((name) => [name, sampleValue(shape, name, 500, references)]))
}

function updateBody(fields: Fields, { references }: Tenant): JsonObject {
  const [first] = Object.keys(fields).filter((field) => fields[field]?.idPrefix === undefined)
  // The first fields of a property's definition cannot be changed.
  const name = 'label' in fields ? 'label' : first
  if (name === undefined) return {}
  return { [name]: sampleValue({ name: 'a body', fields } as Resource, name, 501, references) }
}

const unknownId = (prefix: string): string => encodeId(prefix, newId())

/** An id or a secret that does not exist. */
const unknownFor = ({ prefix }: Route['params'][string]): string =>
  prefix === '' ? generateTriggerSecret() : unknownId(prefix)

const wholePath = 'the whole path'

/** Tables whose records belong to several parents: everyone is in the default team. */
const sharedAcrossParents = [teamMembers.table]

function headerCases(route: Route, base: RouteOptions, ours: Tenant, theirs: Tenant): Case[] {
  const { apiKey, accessToken } = ours.organization
  return [apiKey, accessToken].map((credential) => {
    const requestWith = (id: string) => ({
      id,
      options: { ...base, headers: { authorization: `Bearer ${credential}`, 'service-organization-id': id } },
    })
    return {
      description: `header, by ${credential === apiKey ? 'key' : 'token'}`,
      route,
      foreign: requestWith(theirs.organization.organizationId),
      unknown: requestWith(unknownId('org')),
      status: 403,
    }
  })
}

function pathCases(route: Route, base: RouteOptions, ours: Tenant, theirs: Tenant): Case[] {
  const own = base.params ?? {}
  const foreign = paramsOf(route, theirs)
  const requestWith = (params: Record<string, string>, name: string) => ({
    id: params[name] ?? '',
    options: { ...base, params: { ...own, ...params } },
  })
  const cases = Object.entries(route.params).map(([name, parameter]) => ({
    description: `${name} in the path`,
    route,
    foreign: requestWith({ [name]: foreign[name] ?? '' }, name),
    unknown: requestWith({ [name]: unknownFor(parameter) }, name),
    status: 404,
  }))
  const [[first, parent] = [], ...others] = Object.entries(route.params)
  const [last, child] = others.at(-1) ?? []
  if (!first || !parent || !last || !child) return cases
  const otherParent = { [first]: idsOf(ours.references, parent.prefix)[0] ?? '' }
  const unknownChild = unknownFor(child)
  const wholePathCase = {
    description: wholePath,
    route,
    foreign: requestWith(foreign, last),
    unknown: requestWith({ ...foreign, [first]: unknownFor(parent), [last]: unknownChild }, last),
    status: 404,
  }
  if (sharedAcrossParents.includes(collectionOf(route)?.resource.table ?? '')) return [...cases, wholePathCase]
  return [
    ...cases,
    wholePathCase,
    {
      description: `${last} of another ${first} of the organization`,
      route,
      foreign: requestWith({ ...own, ...otherParent }, last),
      unknown: requestWith({ ...otherParent, [last]: unknownChild }, last),
      status: 404,
    },
  ]
}

function bodyCases(route: Route, base: RouteOptions, theirs: Tenant): Case[] {
  if (!('body' in route) || !route.body) return []
  return Object.entries(route.body.shape.fields).flatMap(([name, { idPrefix }]) => {
    if (idPrefix === undefined) return []
    const requestWith = (id: string) => ({
      id,
      options: { ...base, body: { ...(base.body as JsonObject), [name]: id } },
    })
    return idsOf(theirs.references, idPrefix).map((id) => ({
      description: `${name} in the body`,
      route,
      foreign: requestWith(id),
      unknown: requestWith(unknownId(idPrefix)),
      status: 422,
    }))
  })
}

function cursorCases(route: Route, base: RouteOptions, ours: Tenant, theirs: Tenant): Case[] {
  const collection = collectionOf(route)
  const isPage = route.query.kind === 'list' || (route.kind === 'search' && route.search.returns === 'page')
  if (!isPage || !collection) return []
  const { resource, path: at } = collection
  const record = theirs.records.get(at) ?? ''
  const opaque = theirs.cursors.get(at) ?? ''
  // The same cursor with an invalid signature.
  const forged = `cur_${[...opaque.slice(4, 16)].reverse().join('')}${opaque.slice(16)}`
  const pairs: [string, string, string][] = [
    ['a cursor', record, unknownId(resource.idPrefix)],
    ['an opaque cursor', opaque, forged],
  ]
  if (resource.parent && !sharedAcrossParents.includes(resource.table)) {
    const otherParent = {
      ...base.params,
      [resource.parent.parameter]: idsOf(ours.references, resource.parent.resource.idPrefix)[0] ?? '',
    }
    const own = ours.records.get(at) ?? ''
    const ownOpaque = ours.cursors.get(at) ?? ''
    return [
      ...cursorsOf(route, base, pairs),
      ...cursorsOf(route, { ...base, params: otherParent }, [
        ['a cursor of another parent', own, unknownId(resource.idPrefix)],
        ['an opaque cursor of another parent', ownOpaque, forged],
      ]),
    ]
  }
  return cursorsOf(route, base, pairs)
}

const cursorsOf = (route: Route, base: RouteOptions, pairs: readonly [string, string, string][]): Case[] =>
  pairs.flatMap(([description, foreign, unknown]) =>
    ['startingAfter', 'endingBefore'].map((parameter) => {
      const requestWith = (id: string) => ({ id, options: { ...base, query: [[parameter, id]] as const } })
      return {
        description: `${description} as ${parameter}`,
        route,
        foreign: requestWith(foreign),
        unknown: requestWith(unknown),
        status: 404,
      }
    }),
  )

function filterCases(route: Route, base: RouteOptions, theirs: Tenant): Case[] {
  if (['none', 'parameters', 'one', 'array'].includes(route.query.kind)) return []
  if (!('resource' in route.query)) return []
  const { kind, resource } = route.query
  // A dry run, so that both requests find the same data.
  const dryRun = kind === 'change' ? [['dryRun', 'true'] as const] : []
  return pathsOf(resource, [])
    .filter(({ type }) => type === 'id')
    .flatMap(({ name, prefix }) =>
      operatorsOf.id.map((operator) => {
        const query = (id: string) => [...dryRun, [`filter.${name}.${operator}`, id] as const]
        const requestWith = (id: string) => ({ id, options: { ...base, query: query(id) } })
        const [id = ''] = idsOf(theirs.references, prefix)
        return {
          description: `filter.${name}.${operator}`,
          route,
          foreign: requestWith(id),
          unknown: requestWith(unknownId(prefix)),
          status: 200,
        }
      }),
    )
}

const relations = relationsAmong(listedResources(routes))

/** The same filters in a tree, and the ids of related records. */
function searchCases(route: Route, base: RouteOptions, theirs: Tenant): Case[] {
  if (route.kind !== 'search') return []
  const { resource } = route.search
  const caseOf = (description: string, prefix: string, filterBy: (id: string) => JsonObject): Case => {
    const requestWith = (id: string) => ({ id, options: { ...base, body: { filter: filterBy(id) } } })
    const [id = ''] = idsOf(theirs.references, prefix)
    return { description, route, foreign: requestWith(id), unknown: requestWith(unknownId(prefix)), status: 200 }
  }
  const own = pathsOf(resource, [])
    .filter(({ type }) => type === 'id')
    .flatMap(({ name, prefix }) =>
      operatorsOf.id.map((operator) =>
        caseOf(`${name}.${operator} in a tree`, prefix, (id) => ({
          [name]: { [operator]: takesList(operator) ? [id] : id },
        })),
      ),
    )
  const related = Object.values(relations(resource)).flatMap(({ name, resource: { idPrefix } }) =>
    ['some', 'none'].map((test) =>
      caseOf(`${name}.${test} in a tree`, idPrefix, (id) => ({ [name]: { [test]: { id: { equals: id } } } })),
    ),
  )
  return [...own, ...related]
}

/** A view in the URL or in the body of a search. */
function viewCases(route: Route, base: RouteOptions, theirs: Tenant): Case[] {
  const isSearch = route.kind === 'search'
  const listed = isSearch ? route.search.resource : 'resource' in route.query ? route.query.resource : undefined
  const isChange = route.query.kind === 'change' || route.query.kind === 'one'
  if (!listed?.hasViews || isChange) return []
  const requestWith = (id: string) => ({
    id,
    options: isSearch ? { ...base, body: { view: id } } : { ...base, query: [['view', id]] as const },
  })
  const [id = ''] = idsOf(theirs.references, `vie of ${listed.name}`)
  const [foreign, unknown] = [requestWith(id), requestWith(unknownId('vie'))]
  return [{ description: 'a view', route, foreign, unknown, status: isSearch ? 422 : 400 }]
}

function feedCases(route: Route, base: RouteOptions, theirs: Tenant): Case[] {
  if (route.operation !== 'listEvents') return []
  const of = (id: string) => ({
    id,
    options: { ...base, query: [['after', 'start'] as const, ['record', id] as const] },
  })
  const behind = (id: string) => ({ id, options: { ...base, query: [['after', id] as const] } })
  const record = idsOf(theirs.references, 'con')[0] ?? ''
  return [
    { description: 'a record', route, foreign: of(record), unknown: of(unknownId('con')), status: 200 },
    { description: 'a position', route, foreign: behind(theirs.position), unknown: behind('00000000-1'), status: 410 },
  ]
}

/** Sends both requests of a case; describes how the responses differ from each other or from the expected status. */
export async function findDeviation(
  { description, route, foreign, unknown, status }: Case,
  ours: Tenant,
  secrets: readonly string[],
): Promise<string | undefined> {
  const send = async ({ id, options }: Case['foreign']) => {
    const answer = await ours.organization.call(route.method, urlOf(route, options), options)
    return { answer, text: comparableText(answer, id) }
  }
  const [requestWith, second] = [await send(foreign), await send(unknown)]
  const name = `${route.method} ${route.path}, ${description}`
  if (requestWith.text !== second.text)
    return `${name}: ${requestWith.text.slice(0, 300)} but ${second.text.slice(0, 300)}`
  if (requestWith.answer.status !== status) return `${name}: ${requestWith.text.slice(0, 300)} is not ${status}`
  const leaked = secrets.find((id) => !foreign.id.includes(id) && requestWith.answer.text.includes(id))
  return leaked === undefined ? undefined : `${name}: reveals ${leaked}`
}

/** Status, entity tag, links and body of a response, without the requested id. */
const comparableText = (answer: { status: number; headers: Headers; text: string }, id: string): string =>
  [answer.status, answer.headers.get('etag'), answer.headers.get('link'), answer.text]
    .join(' ')
    .replaceAll(id, '<id>')
    .replaceAll(encodeURIComponent(id), '<id>')
