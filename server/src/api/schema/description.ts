import { isScoped, type Route } from '../../platform/http/route.ts'
import {
  displayNoun,
  type Embedded,
  isInFeed,
  type Parent,
  type Resource,
} from '../../platform/records/declare/define.ts'
import type { EventKind } from '../../platform/records/declare/event-kinds.ts'
import type { FieldType } from '../../platform/records/declare/field-types.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { covers } from '../../platform/model/scopes.ts'
import { type Operator, operatorsFor } from '../../platform/records/filter/operators.ts'
import type { Relation, Relations } from '../../platform/records/declare/relations.ts'
import { embeddedThrough } from '../../platform/records/filter/target.ts'
import { parameterOf } from '../../platform/records/routes/standard-routes.ts'
import { properties } from '../../crm/properties/resource.ts'
import type { JsonValue, Schema } from '../../platform/model/json.ts'
import type { Field, PropertySet } from '../../platform/records/declare/field.ts'

/** A field, as an application needs it to show, enter, filter and sort its values. */
export interface DescribedField {
  name: string
  label: string
  description: string | null
  type: FieldType
  required: boolean
  /** Can it be null in a response? A reference to a deleted record can, even if null cannot be sent. */
  nullable: boolean
  /** Can null be sent? */
  clearable: boolean
  readOnly: boolean
  inList: boolean
  operators: readonly Operator[]
  sortable: boolean
  indexed: boolean
  initial: JsonValue
  format: 'year' | null
  limits: Record<string, JsonValue>
  choices: readonly JsonValue[] | null
  reference: { resource: string } | null
  example: JsonValue
}

interface DescribedEmbedded {
  name: string
  label: string
  through: string
  resource: string | null
  show: readonly string[]
  fields: DescribedField[]
}

/** Records that filters can test with `some` and `none`. */
interface DescribedRelation {
  name: string
  label: string
  resource: string
  many: boolean
  /** The fields that the inner filter can use. */
  fields: readonly string[]
}

const operations = ['list', 'get', 'create', 'update', 'delete', 'restore'] as const
type Operation = (typeof operations)[number]

/** The parts of a resource's description that are the same for every caller. */
interface DescribedResource {
  name: string
  singular: string
  label: string
  singularLabel: string
  path: string
  parent: { parameter: string; resource: string } | null
  nestedPaths: { path: string; parent: { parameter: string; resource: string } }[]
  createPath: string | null
  idPrefix: string
  search: boolean
  views: boolean
  titleField: string
  subtitleFields: readonly string[]
  statusField: string | null
  due: { field: string; overdueField: string } | null
  softDelete: boolean
  restorableDays: number | null
  events: readonly EventKind[]
  fields: DescribedField[]
  embedded: DescribedEmbedded[]
  relations: DescribedRelation[]
}

/** A resource with the scope that each operation needs; undefined if no route offers it. */
export interface ResourceDescription {
  resource: Resource
  described: DescribedResource
  scopes: Record<Operation, string | undefined>
}

/** Where the records of a resource are listed. */
interface ListedRoute {
  path: string
  listed: Resource
}

/** The descriptions of all resources that have a list, in the order of the documentation. */
export function describeResources(
  resources: readonly Resource[],
  routes: readonly Route[],
  relations: Relations,
): ResourceDescription[] {
  const describedResources = resources.map((resource) => ({ resource, places: placesOf(resource, routes) }))
  const nameOf = nameByPrefix(describedResources)
  return describedResources.flatMap(({ resource, places }) => {
    const [main, ...nested] = places
    if (!main) return []
    const scopes = scopesOf(resource, places, routes)
    const canRestore = scopes.restore !== undefined
    const described = {
      name: resource.name,
      singular: resource.singular,
      label: sentenceCase(displayNoun(resource.name)),
      singularLabel: sentenceCase(displayNoun(resource.singular)),
      path: main.path,
      parent: main.listed.parent ? parentOf(main.listed.parent) : null,
      nestedPaths: nested.flatMap(({ path, listed: { parent } }) =>
        parent ? [{ path, parent: parentOf(parent) }] : [],
      ),
      createPath: places.find(({ path }) => findScope(routes, 'POST', path) !== undefined)?.path ?? null,
      idPrefix: resource.idPrefix,
      search: main.listed.search.length > 0,
      views: resource.hasViews,
      titleField: resource.titleField,
      subtitleFields: resource.subtitleFields,
      statusField: resource.statusField,
      due: resource.due,
      softDelete: canRestore,
      restorableDays: canRestore ? resource.restorableDays : null,
      events: eventsOf(resource),
      fields: fieldsOf(resource, main.listed, nameOf),
      embedded: embeddedOf(resource, main.listed, nameOf),
      relations: Object.values(relations(resource)).map(describeRelation),
    }
    return [{ resource, described, scopes }]
  })
}

/** The definitions of a resource's custom properties, in order. */
export const describeProperties = (set: PropertySet | undefined) =>
  [...(set?.properties.values() ?? [])].map((property) => {
    const { field, parts, references, index: _, ...definition } = property
    return {
      ...definition,
      id: encodeId(properties.idPrefix, definition.id),
      reference: references && { resource: references.resource },
      operators: operatorsFor(field),
      sortable: field.filter !== 'none',
      parts: Object.entries(parts).map(([name, part]) => ({ name, label: part.label, operators: operatorsFor(part) })),
    }
  })

/** May the caller do this? False as well if no route offers it. */
export const permissionsOf = (
  { scopes }: ResourceDescription,
  granted: readonly string[],
): Record<Operation, boolean> => {
  const may = (operation: Operation) => {
    const needed = scopes[operation]
    return needed !== undefined && covers(granted, needed)
  }
  return Object.fromEntries(operations.map((operation) => [operation, may(operation)])) as Record<Operation, boolean>
}

/** The lists of the versioned API, those without a parent first. */
function placesOf({ table }: Resource, routes: readonly Route[]): ListedRoute[] {
  const places = routes.flatMap(({ query, path }) =>
    query.kind === 'list' && query.resource.table === table && path.startsWith('/v5/')
      ? [{ path, listed: query.resource }]
      : [],
  )
  return places.sort((left, right) => Number(Boolean(left.listed.parent)) - Number(Boolean(right.listed.parent)))
}

/** The resource of an id: members and the members of a team have the same ids, and only the former have no parent. */
function nameByPrefix(known: readonly { resource: Resource; places: readonly ListedRoute[] }[]) {
  const listed = known.filter(({ places }) => places.length > 0).map(({ resource }) => resource)
  return (prefix: string): string | null => {
    const found = listed.filter(({ idPrefix }) => idPrefix === prefix)
    return (found.find(({ parent }) => !parent) ?? found[0])?.name ?? null
  }
}

function scopesOf(resource: Resource, places: readonly ListedRoute[], routes: readonly Route[]) {
  const record = `{${parameterOf(resource)}}`
  const first = (method: string, pathIn: (place: string) => string) =>
    places.map(({ path }) => findScope(routes, method, pathIn(path))).find((scope) => scope !== undefined)
  return {
    list: first('GET', (path) => path),
    get: first('GET', (path) => `${path}/${record}`),
    create: first('POST', (path) => path),
    update: first('PATCH', (path) => `${path}/${record}`),
    delete: first('DELETE', (path) => `${path}/${record}`),
    restore: first('POST', (path) => `${path}/${record}/restore`),
  }
}

const findScope = (routes: readonly Route[], method: string, path: string): string | undefined =>
  routes.filter(isScoped).find((route) => route.method === method && route.path === path)?.scope

const parentOf = ({ parameter, resource }: Parent) => ({ parameter, resource: resource.name })

function eventsOf(resource: Resource): EventKind[] {
  if (!isInFeed(resource)) return []
  const { softDelete, isRestorable, isErasable, ownEventKinds = [] } = resource
  const ofDeletion: EventKind[] = ['deleted', ...(isRestorable ? (['restored'] as const) : [])]
  const ofRemoval: EventKind[] = [
    ...(softDelete ? (['purged'] as const) : []),
    ...(isErasable ? (['erased'] as const) : []),
  ]
  return ['created', 'updated', ...ownEventKinds, ...ofDeletion, ...ofRemoval]
}

const sentenceCase = (noun: string): string => noun.charAt(0).toUpperCase() + noun.slice(1)

type NameOf = (prefix: string) => string | null

function fieldsOf(resource: Resource, listed: Resource, nameOf: NameOf): DescribedField[] {
  return Object.entries(resource.fields)
    .filter(([name]) => resource.propertyNames.includes(name))
    .map(([name, field]) => {
      const inList = listed.propertyNames.includes(name)
      // A reference to a deleted record reads as null, even if it is required.
      const nullable = field.nullable || embeddedThrough(resource, name) !== undefined
      return { ...describeField(name, field, nameOf, inList), nullable }
    })
}

function embeddedOf(resource: Resource, listed: Resource, nameOf: NameOf): DescribedEmbedded[] {
  return Object.entries(resource.embedded).map(([name, embedded]) => ({
    name,
    label: embedded.label,
    through: embedded.through,
    resource: nameOf(embedded.resource.idPrefix),
    show: embedded.show,
    fields: shownFields(embedded, nameOf, listed.propertyNames.includes(name)),
  }))
}

function describeRelation({ name, resource, by }: Relation): DescribedRelation {
  const filterable = Object.entries(resource.fields).filter(
    ([field, declared]) => resource.propertyNames.includes(field) && operatorsFor(declared).length > 0,
  )
  return {
    name,
    label: sentenceCase(name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)),
    resource: resource.name,
    many: by.there !== 'id',
    fields: filterable.map(([field]) => field),
  }
}

/** Read through the record that embeds them: no index serves their order there, and they cannot be written. */
const shownFields = ({ show, resource }: Embedded, nameOf: NameOf, inList: boolean): DescribedField[] =>
  show.flatMap((name) => {
    const field = resource.fields[name]
    if (!field) return []
    const own = describeField(name, field, nameOf, inList)
    return [
      { ...own, required: false, nullable: true, clearable: false, readOnly: true, indexed: false, initial: null },
    ]
  })

function describeField(name: string, field: Field, nameOf: NameOf, inList: boolean): DescribedField {
  const { schema, idPrefix } = field
  const { enum: choices, examples } = schema as { enum?: JsonValue[]; examples?: JsonValue[] }
  const resource = field.type === 'reference' && idPrefix !== undefined ? nameOf(idPrefix) : null
  return {
    name,
    label: field.label,
    description: field.description ?? null,
    type: field.type,
    required: field.required,
    nullable: field.nullable,
    clearable: field.nullable && field.writable,
    readOnly: !field.writable,
    inList,
    operators: inList ? operatorsFor(field) : [],
    sortable: inList && field.filter !== 'none',
    indexed: inList && (field.equality === 'indexed' || field.order === 'indexed'),
    initial: field.initial ?? null,
    format: field.format ?? null,
    limits: limitsOf(schema),
    choices: choices ?? null,
    reference: resource === null ? null : { resource },
    example: examples?.[0] ?? null,
  }
}

const limitNames = ['minLength', 'maxLength', 'minimum', 'maximum', 'maxItems', 'maxProperties', 'pattern']

/** The limits of a value; for a list, the lengths are those of each item. */
function limitsOf(schema: Schema): Record<string, JsonValue> {
  const all = { ...(schema.items as Schema | undefined), ...schema }
  return Object.fromEntries(
    limitNames.flatMap((name) => (all[name] === undefined ? [] : [[name, all[name] as JsonValue]])),
  )
}
