import { type Operator, operatorsFor, operatorsOf, takesList } from '../records/filter/operators.ts'
import { findTarget, hasPaths } from '../records/filter/target.ts'
import type { Resource } from '../records/declare/define.ts'
import { linkFields } from '../records/declare/links.ts'
import type { Components } from './openapi-components.ts'
import type { JsonValue, Schema } from '../model/json.ts'
import type { Field, FilterType } from '../records/declare/field.ts'

/** All filters of a resource as one object: with `explode: true`, each property is a parameter. */
export function filterParameter(resource: Resource, components: Components): Schema[] {
  const { known, open } = filtersOf(resource, components)
  if (Object.keys(known).length === 0) return []
  const schema = components.schema(`${resource.component}Filters`, {
    type: 'object',
    description: `Filters of ${resource.name}: all of them must match. The key is \`filter.<field>.<operator>\`.`,
    properties: known,
    ...(open.length > 0 ? openFilters(open) : { additionalProperties: false }),
  })
  const parameter = components.parameter(`${resource.component}FilterParameters`, {
    name: 'filters',
    in: 'query',
    style: 'form',
    explode: true,
    description:
      'Each property of this object is sent as a query parameter of that name, as in `{"filter.createdAt.gte": "2026-11-21"}`. No parameter is called `filters`.',
    schema,
    // Without an example, tools fill in all properties.
    example: {},
  })
  return [parameter]
}

/** An object whose keys are not declared one by one, and a key for examples. */
interface OpenPath {
  path: string
  key: string
}

/** A key of a document with a single value; organizations choose those of custom properties. */
export function exampleKey({ schema }: Field): string {
  const properties = (schema.properties ?? {}) as Record<string, Schema>
  return Object.keys(properties).find((key) => properties[key]?.properties === undefined) ?? 'plan'
}

/** The filters of the declared fields, and the paths of objects whose keys the organization chooses. */
function filtersOf(resource: Resource, components: Components): { known: Record<string, Schema>; open: OpenPath[] } {
  const known: Record<string, Schema> = {}
  const open: OpenPath[] = []
  for (const path of pathsOf(resource)) {
    const target = findTarget(resource, path)
    if ('error' in target) throw new Error(`${resource.name}: ${path} ${target.error}`)
    const { field, nullable } = target
    if (field.filter === 'properties' || hasPaths(field)) open.push({ path, key: exampleKey(field) })
    if (field.filter === 'none' && nullable) Object.assign(known, nullFilters(path, components))
    if (field.filter !== 'properties') Object.assign(known, fieldFilters(path, field, nullable, components))
  }
  return { known, open }
}

/** The paths by which a list can be filtered; those into organization-defined keys begin with one of them. */
export const pathsOf = ({ propertyNames, fields, embedded, links }: Resource): string[] => [
  ...propertyNames.flatMap((name) => {
    const list = fields[name]?.list
    return list ? [`${name}.${list.item}`] : (embedded[name]?.show.map((inner) => `${name}.${inner}`) ?? [name])
  }),
  ...Object.entries(links).flatMap(([name, link]) => Object.keys(linkFields(link)).map((inner) => `${name}.${inner}`)),
]

/** A whole object that can be missing is compared with null only. */
const nullFilters = (path: string, components: Components): Record<string, Schema> => ({
  [`filter.${path}.equals`]: components.schema('FilterNull', {
    type: 'string',
    const: 'null',
    description: 'Matches records without a value.',
  }),
  [`filter.${path}.not`]: components.schema('FilterNotNull', {
    type: 'string',
    const: 'null',
    description: 'Matches records with a value.',
  }),
})

function fieldFilters(path: string, field: Field, nullable: boolean, components: Components): Record<string, Schema> {
  const filters = Object.fromEntries(
    operatorsFor(field).flatMap((operator) => {
      const schema = operandSchema(field, nullable, operator, components)
      return schema ? [[`filter.${path}.${operator}`, schema]] : []
    }),
  )
  if (field.filter !== 'array') return filters
  const description = `Short for \`filter.${path}.has\`.`
  return { ...filters, [path]: { type: 'string', description } }
}

/** The schema of the operator's value, shared by reference; undefined if the field has no such filter. */
function operandSchema(
  { filter, schema }: Field,
  isNullable: boolean,
  operator: Operator,
  components: Components,
): Schema | undefined {
  const isExact = operator === 'equals' || operator === 'not'
  if (filter === 'date' && operator === 'not' && !isNullable) return undefined
  const takesNull = isExact && isNullable
  const description = describeOperator(filter, operator, takesNull)
  if (isExact && Array.isArray(schema.enum)) {
    const values = schema.enum as JsonValue[]
    return { type: 'string', enum: takesNull ? [...values, 'null'] : values, description }
  }
  if (takesList(operator) && Array.isArray(schema.enum)) return { ...listOf(schema.enum as JsonValue[]), description }
  const operand = takesList(operator) ? { type: 'string' } : operandOf(filter, operator, takesNull)
  const name = `Filter${kinds[filter]}${capitalized(operator)}${takesNull ? 'OrNull' : ''}`
  return components.schema(name, { ...operand, description })
}

function operandOf(filter: FilterType, operator: Operator, takesNull: boolean): Schema {
  const orNull = (values: Schema[]): Schema => {
    const [first = {}] = values
    const all = takesNull ? [...values, { type: 'string', const: 'null' }] : values
    return all.length === 1 ? first : { anyOf: all }
  }
  if (operator === 'isEmpty') return { type: 'boolean' }
  switch (filter) {
    case 'number':
      return orNull([{ type: 'number' }])
    case 'boolean':
      return orNull([{ type: 'boolean' }])
    case 'date':
      return operator === 'not' ? { type: 'string', const: 'null' } : orNull(dateOperands)
    default:
      return { type: 'string' }
  }
}

/** Values from a fixed list, separated by commas. */
function listOf(choices: readonly JsonValue[]): Schema {
  const one = `(${choices.join('|').replaceAll('.', '\\.')})`
  return { type: 'string', pattern: `^${one}(,${one})*$`, examples: [choices.slice(0, 2).join(',')] }
}

const dateOperands: Schema[] = [
  { type: 'string', format: 'date', description: 'The whole day in UTC.' },
  { type: 'string', format: 'date-time' },
]

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

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

export function describeOperator(
  filter: FilterType,
  operator: Operator,
  takesNull: boolean,
  values = 'At most 100 values, separated by commas; `\\,` is a comma within a value.',
): string {
  const isDate = filter === 'date'
  const meanings: Record<Operator, string> = {
    equals: `Equals this value.${takesNull ? ' `null` matches records without a value.' : ''}`,
    equalsIgnoreCase: 'Equals this address; case and the spelling of an international domain are ignored.',
    not: isDate
      ? 'Only `null` is accepted: matches records with a value.'
      : `Differs from this value${takesNull ? ', or has no value. `null` matches records with a value.' : '.'}`,
    contains: 'Contains this text; case and accents are ignored.',
    startsWith: 'Starts with this text; case and accents are ignored.',
    endsWith: 'Ends with this text; case and accents are ignored.',
    in: `Equals one of these values. ${values}`,
    notIn: `Differs from all of these values, or has no value. ${values}`,
    gt: isDate ? 'Later than this.' : 'Greater than this.',
    gte: isDate ? 'At this time or later.' : 'Greater than or equal to this.',
    lt: isDate ? 'Earlier than this.' : 'Less than this.',
    lte: isDate ? 'At this time or earlier.' : 'Less than or equal to this.',
    has: 'Contains this item.',
    hasEvery: `Contains all of these items. ${values}`,
    hasSome: `Contains at least one of these items. ${values}`,
    isEmpty: 'Has no items.',
  }
  return meanings[operator]
}

/** Filters on organization-defined keys and inside documents. With `additionalProperties`, typed clients would accept any name. */
function openFilters(open: readonly OpenPath[]): Schema {
  const paths = open.map(({ path }) => path)
  const [example] = open
  const operators = operatorsOf.properties.join('|')
  return {
    propertyNames: { pattern: `^(?!filter\\.(?:${paths.join('|')})\\.)|\\.(?:${operators})$` },
    unevaluatedProperties: {
      type: 'string',
      description: `Filters of ${paths.map((path) => `\`${path}.<key>\``).join(' and ')}. The operators are ${operatorsOf.properties.map((name) => `\`${name}\``).join(', ')}.`,
    },
    examples: [{ [`filter.${example?.path}.${example?.key}.equals`]: 'pro' }],
  }
}
