import { displayNoun, type Resource } from '../records/declare/define.ts'
import { type Operator, operatorsFor, takesList } from '../records/filter/operators.ts'
import type { Relations } from '../records/declare/relations.ts'
import { countedUnits, maxUnits, periods } from '../records/filter/relative-dates.ts'
import { findTarget, hasPaths } from '../records/filter/target.ts'
import { maxDepth, maxLeaves, maxRelations } from '../records/page/tree.ts'
import type { Components } from './openapi-components.ts'
import { orderSchema, selectableSchema } from './openapi-field-names.ts'
import { describeOperator, pathsOf } from './openapi-filters.ts'
import { cursorSchema, viewSchema } from './openapi-parameters.ts'
import type { SearchRoute } from '../http/route.ts'
import type { JsonValue, Schema } from '../model/json.ts'
import type { Field, FilterType } from '../records/declare/field.ts'

export function searchBody({ search }: SearchRoute, relations: Relations, components: Components): Schema {
  const { resource, returns } = search
  const filter = treeSchema(resource, relations, components)
  const query = {
    query: { type: 'string', description: 'Full-text search, as in the list.' },
    ...(resource.hasViews && {
      view: { ...viewSchema, description: 'A saved view, as in the list. Its filter and its query apply as well.' },
    }),
  }
  const deleted = resource.isRestorable && {
    deleted: {
      type: 'boolean',
      description: `If true, the deleted records that can be restored, as in the list. Also needs the scope \`${resource.singular}:restore:write\`.`,
    },
  }
  const page = {
    orderBy: orderSchema(resource, components),
    sort: { type: 'string', enum: ['asc', 'desc'], description: 'Sort direction. Default: `desc`.' },
    limit: { type: 'integer', minimum: 1, maximum: 100, description: 'Maximum number of records. Default: 25.' },
    startingAfter: { ...cursorSchema(resource), description: 'The page after this record.' },
    endingBefore: { ...cursorSchema(resource), description: 'The page before this record.' },
    select: {
      type: 'array',
      items: selectableSchema(resource, components),
      minItems: 1,
      maxItems: 100,
      description: 'Return only these fields.',
    },
  }
  const schema = components.schema(`${resource.component}Search${returns === 'count' ? 'Count' : ''}`, {
    type: 'object',
    additionalProperties: false,
    properties: { filter, ...query, ...deleted, ...(returns === 'page' && page) },
  })
  const example = { filter: exampleFilter, ...(returns === 'page' && { limit: 10 }) }
  return { required: false, content: { 'application/json': { schema, example } } }
}

const exampleFilter: JsonValue = {
  or: [{ createdAt: { equals: { last: { days: 30 } } } }, { not: { createdAt: { gte: '2026-01-01' } } }],
}

/** Tools replace references, so no schema contains itself: below two levels and in relations, a tree is any object. */
function treeSchema(resource: Resource, relations: Relations, components: Components): Schema {
  const related = Object.values(relations(resource))
  const description = [
    `All properties must match. At most ${maxDepth} levels of \`and\`, \`or\`, \`not\`, \`some\` and \`none\`, ${maxLeaves} conditions and ${maxRelations} relations.`,
    ...related.map(({ name, resource: other }) => `\`${name}\` tests related ${displayNoun(other.name)}.`),
  ].join(' ')
  const node = (inner: Schema): Schema => {
    const { fields, open } = fieldSchemas(resource, components)
    return {
      type: 'object',
      description,
      properties: {
        and: { type: 'array', items: inner },
        or: { type: 'array', items: inner },
        not: inner,
        ...fields,
        ...Object.fromEntries(related.map(({ name }) => [name, relatedSchema(components)])),
      },
      // With `additionalProperties`, typed clients would accept any name.
      ...(open.length > 0
        ? { unevaluatedProperties: conditionsSchema('properties', [], true, components) }
        : { additionalProperties: false }),
    }
  }
  const branch = components.schema(`${resource.component}FilterBranch`, node(anyTree(components)))
  return components.schema(`${resource.component}FilterTree`, node(branch))
}

const anyTree = (components: Components): Schema =>
  components.schema('FilterTree', {
    type: 'object',
    description:
      'A filter tree as at the top of a search, with the fields and relations of these records: `{"status":{"equals":"open"}}`. An empty one matches all.',
    additionalProperties: true,
  })

const relatedSchema = (components: Components): Schema =>
  components.schema('RelatedRecords', {
    type: 'object',
    description:
      '`some`: at least one of these related records matches. `none`: none of them does. An empty filter matches all. Needs the scope of their list.',
    minProperties: 1,
    additionalProperties: false,
    properties: { some: anyTree(components), none: anyTree(components) },
  })

/** The conditions of each field, and the objects whose keys the organization chooses. */
function fieldSchemas(resource: Resource, components: Components) {
  const fields: Record<string, Schema> = {}
  const open: string[] = []
  for (const path of pathsOf(resource)) {
    const target = findTarget(resource, path)
    if ('error' in target) throw new Error(`${resource.name}: ${path} ${target.error}`)
    const operators = operatorsFor(target.field)
    if (target.field.filter === 'none' && target.nullable) fields[path] = nullConditions(components)
    if (target.field.filter === 'properties' || hasPaths(target.field)) open.push(path)
    else if (operators.length > 0) fields[path] = fieldConditions(target.field, target.nullable, components)
  }
  return { fields, open }
}

/** A whole object that can be missing is compared with null only. */
const nullConditions = (components: Components): Schema =>
  components.schema('NullConditions', {
    type: 'object',
    minProperties: 1,
    additionalProperties: false,
    properties: {
      equals: { type: 'null', description: 'Matches records without a value.' },
      not: { type: 'null', description: 'Matches records with a value.' },
    },
  })

const fieldConditions = (field: Field, nullable: boolean, components: Components): Schema =>
  conditionsSchema(field.filter, field.lookup ? ['equalsIgnoreCase'] : [], nullable, components)

/** The operators of a type of field with their values; shared by all fields of the type. */
function conditionsSchema(
  filter: FilterType,
  more: readonly Operator[],
  nullable: boolean,
  components: Components,
): Schema {
  const operators = [...operatorsFor({ filter } as Field), ...more]
  const name = `${nullable ? 'Nullable' : ''}${more.length > 0 ? 'Address' : kinds[filter]}Conditions`
  const properties = operators.flatMap((operator) => {
    const isExact = operator === 'equals' || operator === 'not'
    const schema = valueSchema(filter, operator, isExact && nullable, components)
    const values = 'At most 100 values.'
    const description = describeOperator(filter, operator, isExact && nullable, values)
    return schema ? [[operator, { ...schema, description }]] : []
  })
  return components.schema(name, {
    type: 'object',
    minProperties: 1,
    additionalProperties: false,
    properties: Object.fromEntries(properties),
  })
}

const kinds: Readonly<Record<FilterType, string>> = {
  id: 'Text',
  string: 'Text',
  number: 'Number',
  date: 'Date',
  boolean: 'Boolean',
  array: 'List',
  properties: 'Property',
  none: '',
}

function valueSchema(
  filter: FilterType,
  operator: Operator,
  takesNull: boolean,
  components: Components,
): Schema | undefined {
  if (operator === 'isEmpty') return { type: 'boolean' }
  if (filter === 'date' && operator === 'not') return takesNull ? { type: 'null' } : undefined
  const isPattern = ['contains', 'startsWith', 'endsWith'].includes(operator)
  const types = isPattern ? ['string'] : valueTypes[filter]
  if (takesList(operator)) return { type: 'array', items: { type: oneOrMore(types) }, minItems: 1, maxItems: 100 }
  const value = { type: oneOrMore(takesNull ? [...types, 'null'] : types) }
  const isDate =
    filter === 'date' || (filter === 'properties' && ['equals', 'gt', 'gte', 'lt', 'lte'].includes(operator))
  return isDate
    ? { anyOf: [filter === 'date' ? { ...value, examples: ['2026-11-21'] } : value, relativeDate(components)] }
    : value
}

const oneOrMore = (types: readonly string[]) => (types.length === 1 ? types[0] : types)

const valueTypes: Readonly<Record<FilterType, readonly string[]>> = {
  id: ['string'],
  string: ['string'],
  number: ['number', 'string'],
  date: ['string'],
  boolean: ['boolean'],
  array: ['string'],
  properties: ['string', 'number', 'boolean'],
  none: [],
}

function relativeDate(components: Components): Schema {
  const count = { type: 'integer', minimum: 1, maximum: maxUnits }
  const units = components.schema('CountedUnits', {
    type: 'object',
    minProperties: 1,
    maxProperties: 1,
    additionalProperties: false,
    properties: Object.fromEntries(countedUnits.map((unit) => [unit, count])),
  })
  const only = (name: string, schema: Schema) => ({
    type: 'object',
    required: [name],
    additionalProperties: false,
    properties: { [name]: schema },
  })
  return components.schema('RelativeDate', {
    description:
      'Whole days in the time zone of the organization. `last` ends with today and `next` begins with it: `{"last":{"days":1}}` is today. A period is a calendar one; weeks begin on Monday.',
    anyOf: [only('last', units), only('next', units), only('period', { type: 'string', enum: [...periods.keys()] })],
  })
}
