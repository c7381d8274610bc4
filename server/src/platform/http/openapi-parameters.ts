import type { Resource } from '../resource/define.ts'
import type { Field, FilterType, Schema } from '../resource/fields.ts'
import { type Operator, operatorsOf, takesList } from '../query/operators.ts'
import { findTarget } from '../query/target.ts'
import { type Route, takesKey } from './route.ts'

/** Parameters and schemas that operations refer to by name, so that each stands in the document once. */
export class Components {
  readonly parameters: Record<string, Schema> = {}
  readonly schemas: Record<string, Schema> = {}

  parameter(name: string, definition: Schema): Schema {
    return place(this.parameters, 'parameters', name, definition)
  }

  schema(name: string, definition: Schema): Schema {
    return place(this.schemas, 'schemas', name, definition)
  }
}

function place(group: Record<string, Schema>, kind: string, name: string, definition: Schema): Schema {
  const known = group[name]
  if (known && JSON.stringify(known) !== JSON.stringify(definition)) throw new Error(`two ${kind} are called ${name}`)
  group[name] = definition
  return { $ref: `#/components/${kind}/${name}` }
}

/** Everything that the route takes beside its body. */
export function parametersOf(route: Route, components: Components): Schema[] {
  return [...pathParameters(route, components), ...queryParameters(route, components), ...headers(route, components)]
}

function pathParameters(route: Route, components: Components): Schema[] {
  return Object.entries(route.params).map(([name, { prefix, resource }]) =>
    components.parameter(name, {
      name,
      in: 'path',
      required: true,
      ...(prefix === ''
        ? { description: `The secret part of the ${resource}’s URL.`, schema: { type: 'string' } }
        : { description: `Id of the ${resource}.`, schema: { type: 'string', pattern: `^${prefix}_[0-9a-f]{32}$` } }),
    }),
  )
}

function queryParameters({ query }: Route, components: Components): Schema[] {
  if (query.kind === 'none') return []
  if (query.kind === 'words') {
    return Object.entries(query.words).map(([name, description]) => ({
      name,
      in: 'query',
      description,
      schema: { type: 'string' },
    }))
  }
  const { kind, resource } = query
  const select = () => selectParameter(resource, components)
  if (kind === 'one') return [select()]
  const narrowing = [...searchParameter(resource, components), ...filterParameters(resource, components)]
  if (kind === 'list') return [...pageParameters(resource, components), select(), ...narrowing]
  return kind === 'change' ? [dryRunParameter(components), ...narrowing] : narrowing
}

const dryRunParameter = (components: Components): Schema =>
  components.parameter('dryRun', {
    name: 'dryRun',
    in: 'query',
    description: 'True to be told how many records there are, and to change none.',
    schema: { type: 'boolean', default: false },
  })

/** Interface 4.4. */
function pageParameters(resource: Resource, components: Components): Schema[] {
  const { component, singular, idPrefix } = resource
  const cursor = { type: 'string', pattern: `^(${idPrefix}_[0-9A-Za-z]{1,64}|cur_[A-Za-z0-9_-]{40,3000})$` }
  const sortable = sortablePaths(resource)
  const given = (name: string, schema: Schema, description: string) => ({ name, in: 'query', description, schema })
  return [
    components.parameter(
      'limit',
      given('limit', { type: 'integer', minimum: 1, maximum: 100, default: 25 }, 'How many records at most.'),
    ),
    components.parameter(
      `${singular}.startingAfter`,
      given('startingAfter', cursor, `Id of the last ${singular} of the page before. Not together with endingBefore.`),
    ),
    components.parameter(
      `${singular}.endingBefore`,
      given(
        'endingBefore',
        cursor,
        `Id of the first ${singular} of this page, to go back. Not together with startingAfter.`,
      ),
    ),
    components.parameter(
      `${component}.orderBy`,
      given(
        'orderBy',
        { type: 'string', default: 'createdAt', examples: sortable.slice(0, 4) },
        `Field to order by: ${sortable.map(code).join(', ')}. Records without a value come last.`,
      ),
    ),
    components.parameter(
      'sort',
      given('sort', { type: 'string', enum: ['asc', 'desc'], default: 'desc' }, 'Direction of the order.'),
    ),
  ]
}

function sortablePaths(resource: Resource): string[] {
  return resource.members.flatMap((name) => {
    const target = findTarget(resource, name)
    if ('fault' in target || target.field.filter === 'none') return []
    return target.field.filter === 'properties' ? [`${name}.<key>`] : [name]
  })
}

/** Interface 4.6. */
function selectParameter(resource: Resource, components: Components): Schema {
  const [first = '', second = ''] = resource.members
  return components.parameter(`${resource.component}.select`, {
    name: 'select[]',
    in: 'query',
    style: 'form',
    explode: true,
    description: `Show only these members, and nothing else; dotted paths reach into objects. One of ${resource.members.map(code).join(', ')}.`,
    schema: { type: 'array', maxItems: 100, items: { type: 'string' }, examples: [[first, second]] },
  })
}

/** Interface 4.5, `query`. */
function searchParameter({ search, searchThrough, singular }: Resource, components: Components): Schema[] {
  if (search.length === 0) return []
  return [
    components.parameter(`${singular}.query`, {
      name: 'query',
      in: 'query',
      description: `Full-text search: each word has to be found, also as a part of a word, case and accents aside, in one of ${[...search, ...searchThrough].map(code).join(', ')}.`,
      schema: { type: 'string', minLength: 1 },
    }),
  ]
}

/** Interface 4.5: known fields one by one, those under keys of the organization's own as one exploded object. */
function filterParameters(resource: Resource, components: Components): Schema[] {
  const open: string[] = []
  const parameters = resource.members.flatMap((member) => {
    const embedded = resource.embedded[member]
    const paths = embedded ? embedded.show.map((name) => `${member}.${name}`) : [member]
    return paths.flatMap((path) => {
      const target = findTarget(resource, path)
      if ('fault' in target) throw new Error(`${resource.name}: ${path} ${target.fault}`)
      if (target.field.filter === 'properties') open.push(path)
      return target.field.filter === 'properties' ? [] : fieldFilters(resource, path, target, components)
    })
  })
  return open.length === 0 ? parameters : [...parameters, openFilters(open, components)]
}

function fieldFilters(
  { singular }: Resource,
  path: string,
  { field, nullable }: { field: Field; nullable: boolean },
  components: Components,
): Schema[] {
  const filters = operatorsOf[field.filter].flatMap((operator) => {
    const schema = operandSchema(field, nullable, operator, components)
    if (!schema) return []
    const description = `${field.label} ${meaning(field.filter, operator, nullable)}`
    const name = `filter.${path}.${operator}`
    return [components.parameter(`${singular}.${path}.${operator}`, { name, in: 'query', description, schema })]
  })
  if (field.filter !== 'array') return filters
  const description = `The same as \`filter.${path}.has\`.`
  const short = { name: path, in: 'query', description, schema: { type: 'string' } }
  return [...filters, components.parameter(`${singular}.${path}`, short)]
}

/** What the operator takes; undefined where it takes nothing for this field. */
function operandSchema(
  { filter, schema }: Field,
  nullable: boolean,
  operator: Operator,
  components: Components,
): Schema | undefined {
  const alone = operator === 'equals' || operator === 'not'
  const named = (name: string, definition: Schema) => components.schema(name, definition)
  const withNull = (name: string, value: Schema): Schema =>
    nullable && alone
      ? named(`${name}OrNull`, { anyOf: [value, { type: 'string', const: 'null', description: 'Has no value.' }] })
      : value
  if (operator === 'isEmpty') return { type: 'boolean' }
  if (takesList(operator)) return named('FilterList', filterList)
  switch (filter) {
    case 'number':
      return withNull('FilterNumber', { type: 'number' })
    case 'boolean':
      return withNull('FilterBoolean', { type: 'boolean' })
    case 'date':
      if (operator !== 'not') return withNull('FilterDate', named('FilterDate', filterDate))
      return nullable ? { type: 'string', const: 'null' } : undefined
    default:
      // Another word than those of the list is no fault of a filter; it matches nothing.
      return { type: 'string', ...(alone && Array.isArray(schema.enum) && { examples: schema.enum.slice(0, 1) }) }
  }
}

const filterList: Schema = {
  type: 'string',
  description: 'At most 100 values, separated by commas. `\\,` is a comma within a value.',
}

const filterDate: Schema = {
  anyOf: [
    { type: 'string', format: 'date', description: 'The whole day in UTC.' },
    { type: 'string', format: 'date-time' },
  ],
}

function meaning(filter: FilterType, operator: Operator, nullable: boolean): string {
  const isDate = filter === 'date'
  const meanings: Record<Operator, string> = {
    equals: `is exactly this${nullable ? '; `null`: has no value' : ''}.`,
    not: isDate ? 'has a value: `null` is all it takes.' : `is anything else${nullable ? ', no value included' : ''}.`,
    contains: 'has this in it, case and accents aside.',
    startsWith: 'starts with this, case and accents aside.',
    endsWith: 'ends with this, case and accents aside.',
    in: 'is one of these.',
    notIn: 'is none of these.',
    gt: isDate ? 'is later than this.' : 'is greater than this.',
    gte: isDate ? 'is at this time or later.' : 'is this or greater.',
    lt: isDate ? 'is earlier than this.' : 'is less than this.',
    lte: isDate ? 'is at this time or earlier.' : 'is this or less.',
    has: 'hold this word.',
    hasEvery: 'hold all of these words.',
    hasSome: 'hold one of these words or more.',
    isEmpty: 'hold no word at all.',
  }
  return meanings[operator]
}

function openFilters(paths: readonly string[], components: Components): Schema {
  const [first = ''] = paths
  return components.parameter(`openFilters.${paths.join('.')}`, {
    name: 'openFilters',
    in: 'query',
    style: 'form',
    explode: true,
    description: `Filters of ${paths.map((path) => code(`${path}.<key>`)).join(' and ')}, whose keys are the organization’s own: each member of this object becomes a parameter of its own, \`filter.<field>.<key>.<operator>=<value>\`. The operators are ${operatorsOf.properties.map(code).join(', ')}.`,
    schema: {
      type: 'object',
      propertyNames: { pattern: `^filter\\.(${paths.join('|')})\\..+\\.(${operatorsOf.properties.join('|')})$` },
      additionalProperties: { type: 'string' },
      examples: [{ [`filter.${first}.plan.equals`]: 'pro' }],
    },
  })
}

function headers(route: Route, components: Components): Schema[] {
  const header = (name: string, schema: Schema, description: string) =>
    components.parameter(name, { name, in: 'header', description, schema })
  const made: Schema[] = []
  if (route.method === 'GET') {
    made.push(
      header(
        'If-None-Match',
        { type: 'string' },
        'ETags known already: 304 without a body when one of them still holds.',
      ),
    )
  }
  if (route.kind === 'write' && route.conditional) {
    made.push(
      header('If-Match', { type: 'string' }, 'ETag of the record as it was read: 412 when it was changed since.'),
    )
  }
  if (takesKey(route)) {
    made.push(
      header(
        'Idempotency-Key',
        { type: 'string', pattern: '^[!-~]{1,255}$' },
        'A value of the caller’s own, new for each request. A repeat with the same key within 24 hours gets the first answer and changes nothing.',
      ),
    )
  }
  return made
}

const code = (text: string): string => `\`${text}\``
