import type { ReadRequest, Route, RouteResponse } from '../../platform/http/route.ts'
import type { Resource } from '../../platform/records/declare/define.ts'
import { eventKinds } from '../../platform/records/declare/event-kinds.ts'
import { fieldTypes } from '../../platform/records/declare/field-types.ts'
import { covers } from '../../platform/model/scopes.ts'
import { allOperators } from '../../platform/records/filter/operators.ts'
import type { Relations } from '../../platform/records/declare/relations.ts'
import { readPropertySets } from '../../platform/records/properties/sets.ts'
import { describeProperties, describeResources, permissionsOf, type ResourceDescription } from './description.ts'
import { maxKeys, readCustomProperties, recordsRead } from './store.ts'
import type { Schema } from '../../platform/model/json.ts'
import { propertyTypes } from '../../platform/records/declare/field.ts'

/** Everything that the API serves; known only after all routes are declared. */
interface Served {
  resources: readonly Resource[]
  routes: readonly Route[]
  relations: Relations
}

/** The description of all resources, from which an application builds lists, pages and forms. */
export function schemaRoutes(served: () => Served): Route[] {
  let descriptions: ResourceDescription[] | undefined
  const describe = () => {
    const { resources, routes, relations } = served()
    return (descriptions ??= describeResources(resources, routes, relations))
  }
  return [
    {
      kind: 'read',
      method: 'GET',
      path: '/v5/schema',
      operation: 'getSchema',
      summary: 'Describe all resources and their fields',
      description:
        'For applications that build lists, pages and forms: each resource with its fields, and what the caller may do with it.',
      tag: 'schema',
      params: {},
      scope: 'schema:get:read',
      query: { kind: 'none' },
      responses: { 200: { kind: 'schema', component: 'ResourceSchema', schema: responseSchema } },
      handle: (request) => respond(request, describe()),
    },
  ]
}

async function respond(
  { db, caller, services }: ReadRequest,
  descriptions: readonly ResourceDescription[],
): Promise<RouteResponse> {
  const readable = descriptions.filter(
    ({ resource, scopes }) => hasCustomProperties(resource) && scopes.list && covers(caller.scopes, scopes.list),
  )
  // A response without a statement would not notice that the credential was revoked.
  if (readable.length === 0) await services.identifier.confirm(caller)
  const keys =
    readable.length > 0
      ? await readCustomProperties(
          db,
          readable.map(({ resource }) => resource),
        )
      : undefined
  const sets = await readPropertySets(
    db,
    readable.map(({ resource }) => resource),
  )
  const resources = descriptions.map((description) => {
    const { resource, described } = description
    const isDefinable = hasCustomProperties(resource)
    const customProperties = isDefinable ? (keys?.get(resource.name) ?? []) : null
    const properties = isDefinable ? describeProperties(sets.get(resource.table)) : null
    return { ...described, permissions: permissionsOf(description, caller.scopes), customProperties, properties }
  })
  return { status: 200, text: JSON.stringify({ resources }) }
}

const hasCustomProperties = ({ fields }: Resource): boolean => fields.customProperties?.type === 'properties'

const text = (description?: string): Schema => ({ type: 'string', ...(description && { description }) })
const flag = (description?: string): Schema => ({ type: 'boolean', ...(description && { description }) })

const object = (properties: Record<string, Schema>, more: Schema = {}): Schema => ({
  type: 'object',
  required: Object.keys(properties),
  additionalProperties: false,
  properties,
  ...more,
})
const list = (items: Schema, description?: string): Schema => ({
  type: 'array',
  items,
  ...(description && { description }),
})

const parent = object({
  parameter: text('Name of the parameter in the path.'),
  resource: text('Name of the resource that the records belong to.'),
})

const field = object({
  name: text('Name in responses, bodies, filters and `orderBy`.'),
  label: text(),
  description: { type: ['string', 'null'] },
  type: { type: 'string', enum: fieldTypes, description: 'Kind of value, to choose an input and a display.' },
  required: flag('True if a new record must have it.'),
  nullable: flag(),
  clearable: flag(),
  readOnly: flag('True if the service sets it; it is rejected in a body.'),
  inList: flag('False if only a single record has it.'),
  operators: list(
    { type: 'string', enum: allOperators },
    'Filter operators of the list; empty if it cannot be filtered by. For `properties`, those of each key.',
  ),
  sortable: flag('True if the list can be sorted by it; for `properties`, by each key.'),
  indexed: flag('True if an index serves filters by one value, or the order. Others scan all records.'),
  initial: { description: 'Value of a new record if none is sent.' },
  format: {
    type: ['string', 'null'],
    enum: ['year', null],
    description: 'How to write the number: a `year` has no thousands separator.',
  },
  limits: {
    type: 'object',
    description: 'Limits as in JSON Schema; for a list, the lengths are those of each item.',
    additionalProperties: { type: ['number', 'string'] },
  },
  choices: {
    type: ['array', 'null'],
    items: { type: 'string' },
    description: 'All possible values; null if there are others.',
  },
  reference: {
    ...object({ resource: text() }),
    type: ['object', 'null'],
    description: 'Resource of the id; null if it is not a reference to a listed resource.',
  },
  example: { description: 'A valid value; null without an example.' },
})

const embedded = object({
  name: text('Name of the property in responses; `<name>.<field>` in filters and `orderBy`.'),
  label: text(),
  through: text('Field with the id of the embedded record.'),
  resource: { type: ['string', 'null'] },
  show: list(text(), 'Names of its fields.'),
  fields: list(field),
})

const relation = object({
  name: text('Name in the filter tree of a search, with `some` or `none`.'),
  label: text(),
  resource: text('Name of the resource of the related records. The filter needs the scope of its list.'),
  many: flag('False if a record has at most one.'),
  fields: list(text(), 'Its fields that the inner filter can use; their operators are in its own description.'),
})

const customProperty = object({
  key: text(),
  type: { type: 'string', enum: ['string', 'number', 'boolean', 'other'] },
  count: { type: 'integer', minimum: 1, description: 'Number of records that have it, among those read.' },
})

const choice = object({ value: text(), label: text(), archived: flag() })

const property = object({
  id: text(),
  key: text('Its name in `customProperties`.'),
  type: { type: 'string', enum: propertyTypes },
  label: text(),
  description: { type: ['string', 'null'] },
  choices: list(choice, 'All possible values of a `choice` or `multiChoice`.'),
  reference: { ...object({ resource: text() }), type: ['object', 'null'], description: 'Resource of the id.' },
  required: flag(),
  unique: flag(),
  default: { description: 'Value of a new record if none is sent; null for none.' },
  indexed: flag(),
  archived: flag('True if applications should no longer show it.'),
  position: text('A decimal: lower comes first.'),
  operators: list(
    { type: 'string', enum: allOperators },
    'Filter operators of `customProperties.<key>`; empty for an amount of money.',
  ),
  sortable: flag(),
  parts: list(
    object({ name: text(), label: text(), operators: list({ type: 'string', enum: allOperators }) }),
    'Parts of an amount of money, each of which `customProperties.<key>.<name>` filters and sorts by.',
  ),
})

const permission = flag('False as well if no request does this.')

const responseSchema = object({
  resources: list(
    object({
      name: text(),
      singular: text(),
      label: text('Plural noun for people.'),
      singularLabel: text(),
      path: text('Path of the list, with parameters in braces.'),
      parent: { ...parent, type: ['object', 'null'], description: 'The parent in `path`; null without one.' },
      nestedPaths: list(object({ path: text(), parent }), 'Other paths, with the records of one parent.'),
      createPath: {
        type: ['string', 'null'],
        description: 'Path to which a new record is sent, with parameters in braces; null if there is none.',
      },
      idPrefix: text(),
      search: flag('True if the list supports `query`.'),
      views: flag('True if the list supports `view`.'),
      titleField: text('Path of the value by which people recognize a record; the value can be null.'),
      subtitleFields: list(text(), 'Paths of the values that say most about a record, next to its title.'),
      statusField: { type: ['string', 'null'], description: 'Name of the field with the state of a record.' },
      due: {
        ...object({
          field: text('Name of the field with the instant by which something must be done.'),
          overdueField: text('Name of the field that is true if that instant has passed without it.'),
        }),
        type: ['object', 'null'],
        description: 'When the records are overdue; null if they never are.',
      },
      softDelete: flag('True if a deleted record can be restored.'),
      restorableDays: { type: ['integer', 'null'], description: 'Days within which a record can be restored.' },
      events: list(
        { type: 'string', enum: eventKinds },
        'Kinds of its events in the feed, which a webhook can send as `<singular>.<kind>`; empty if it has none.',
      ),
      fields: list(field, 'Fields of a single record, in the order of the response.'),
      embedded: list(embedded, 'Parts of other records that responses include.'),
      relations: list(relation, 'Related records that the filter of a search can test.'),
      permissions: object(
        {
          list: permission,
          get: permission,
          create: permission,
          update: permission,
          delete: permission,
          restore: permission,
        },
        { description: 'What the caller may do.' },
      ),
      properties: {
        type: ['array', 'null'],
        items: property,
        description:
          'Definitions of custom properties, in order. Empty if the caller may not list the records; null if the resource has no custom properties.',
      },
      customProperties: {
        type: ['array', 'null'],
        items: customProperty,
        maxItems: maxKeys,
        description: `Keys in use in \`customProperties\`, found in the newest ${recordsRead.toLocaleString('en')} records: at most ${maxKeys}, the most frequent first. Empty if the caller may not list the records; null if the resource has no custom properties.`,
      },
    }),
  ),
})
