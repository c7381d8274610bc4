import { type Resource, searchedPaths } from '../records/declare/define.ts'
import type { Components } from './openapi-components.ts'
import { orderSchema, selectableSchema } from './openapi-field-names.ts'
import { sortablePaths } from '../records/request/array-page.ts'
import { filterParameter } from './openapi-filters.ts'
import { isCacheable, isScoped, type Route, supportsIdempotencyKey } from '../http/route.ts'
import type { Schema } from '../model/json.ts'

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
  if (query.kind === 'parameters') {
    return Object.entries(query.parameters).map(([name, description]) => ({
      name,
      in: 'query',
      description,
      ...(query.required?.includes(name) && { required: true }),
      schema: { type: 'string', ...(query.examples?.[name] !== undefined && { examples: [query.examples[name]] }) },
    }))
  }
  if (query.kind === 'array') return arrayPageParameters(query.item, components)
  const { kind, resource, pages } = query
  const select = () => selectParameter(resource, components)
  if (kind === 'one') return [select()]
  const narrowing = [
    ...(kind === 'change' ? [] : deletedParameter(resource, components)),
    ...(kind === 'change' ? [] : viewParameter(resource, components)),
    ...searchParameter(resource, components),
    ...filterParameter(resource, components),
  ]
  if (kind === 'list') return [...pageParameters(resource, components), select(), ...narrowing]
  if (pages) return [...arrayPageParameters(pages.item, components), ...narrowing]
  return kind === 'change' ? [dryRunParameter(components), ...narrowing] : narrowing
}

const dryRunParameter = (components: Components): Schema =>
  components.parameter('dryRun', {
    name: 'dryRun',
    in: 'query',
    description: 'If true, only counts the matching records and changes nothing.',
    schema: { type: 'boolean', default: false },
  })

function deletedParameter(
  { component, isRestorable, singular, restorableDays }: Resource,
  components: Components,
): Schema[] {
  if (!isRestorable) return []
  return [
    components.parameter(`${component}Deleted`, {
      name: 'deleted',
      in: 'query',
      description: `If true, only the records deleted within the last ${restorableDays} days, which can be restored; otherwise only the others. Also needs the scope \`${singular}:restore:write\`.`,
      // No default: the API explorer would send it with every request.
      schema: { type: 'boolean' },
    }),
  ]
}

export const viewSchema: Schema = { type: 'string', pattern: '^vie_[0-9a-f]{32}$' }

function viewParameter({ hasViews }: Resource, components: Components): Schema[] {
  if (!hasViews) return []
  return [
    components.parameter('savedView', {
      name: 'view',
      in: 'query',
      description:
        'Id of a saved view of these records. Its filter and its query apply in addition to those of the request, and its order unless the request names one. Also needs the scope `view:get:read`.',
      schema: viewSchema,
    }),
  ]
}

export const cursorSchema = ({ idPrefix }: Resource): Schema => ({
  type: 'string',
  pattern: `^(?:${idPrefix}|cur)_[0-9A-Za-z_-]+$`,
})

/** Which records of a list a page contains, and in which order. */
function pageParameters(resource: Resource, components: Components): Schema[] {
  const { component, singular } = resource
  const cursor = cursorSchema(resource)
  const given = (name: string, schema: Schema, description: string) => ({ name, in: 'query', description, schema })
  return [
    components.parameter(
      'limit',
      given('limit', { type: 'integer', minimum: 1, maximum: 100, default: 25 }, 'Maximum number of records.'),
    ),
    components.parameter(
      `${component}StartingAfter`,
      given(
        'startingAfter',
        cursor,
        `Id of the last ${singular} of the previous page. Cannot be combined with endingBefore.`,
      ),
    ),
    components.parameter(
      `${component}EndingBefore`,
      given(
        'endingBefore',
        cursor,
        `Id of the first ${singular} of this page, to go back. Cannot be combined with startingAfter.`,
      ),
    ),
    components.parameter(
      `${component}OrderBy`,
      given(
        'orderBy',
        orderSchema(resource, components),
        'Field to sort by. Default: `createdAt`. Records without a value come last.',
      ),
    ),
    components.parameter(
      'sort',
      given('sort', { type: 'string', enum: ['asc', 'desc'], default: 'desc' }, 'Sort direction.'),
    ),
  ]
}

/** The same of an array in memory: its own order is the default. */
function arrayPageParameters(item: Schema, components: Components): Schema[] {
  const given = (name: string, schema: Schema, description: string) => ({ name, in: 'query', description, schema })
  const cursor = { type: 'string', minLength: 1 }
  return [
    components.parameter(
      'limit',
      given('limit', { type: 'integer', minimum: 1, maximum: 100, default: 25 }, 'Maximum number of records.'),
    ),
    components.parameter(
      'ArrayStartingAfter',
      given(
        'startingAfter',
        cursor,
        '`id` of the last item of the previous page. Cannot be combined with endingBefore.',
      ),
    ),
    components.parameter(
      'ArrayEndingBefore',
      given(
        'endingBefore',
        cursor,
        '`id` of the first item of this page, to go back. Cannot be combined with startingAfter.',
      ),
    ),
    given(
      'orderBy',
      { type: 'string', enum: sortablePaths(item) },
      'Field to sort by; without it, the items have the order that is described above. Items without a value come last.',
    ),
    components.parameter(
      'ArraySort',
      given('sort', { type: 'string', enum: ['asc', 'desc'] }, 'Sort direction; with `orderBy`, `desc` by default.'),
    ),
  ]
}

/** Which fields are returned. */
function selectParameter(resource: Resource, components: Components): Schema {
  const [first = '', second = ''] = resource.propertyNames
  return components.parameter(`${resource.component}Select`, {
    name: 'select[]',
    in: 'query',
    style: 'form',
    explode: true,
    description: 'Return only these fields; dotted paths name nested ones.',
    schema: {
      type: 'array',
      maxItems: 100,
      items: selectableSchema(resource, components),
      examples: [[first, second]],
    },
  })
}

/** The words that records must contain. */
function searchParameter(resource: Resource, components: Components): Schema[] {
  return [
    components.parameter(`${resource.component}Query`, {
      name: 'query',
      in: 'query',
      description: resource.searchKey
        ? `Search: ${resource.search.map(code).join(', ')} must begin with each word. Case is ignored.`
        : `Full-text search: each word must occur, as a word or part of one, in ${searchedPaths(resource).map(code).join(', ')}. Case and accents are ignored.`,
      schema: { type: 'string', minLength: 1 },
    }),
  ]
}

function headers(route: Route, components: Components): Schema[] {
  const header = (name: string, schema: Schema, description: string) =>
    components.parameter(name, { name, in: 'header', description, schema })
  const parameters: Schema[] = []
  if (isScoped(route)) {
    parameters.push(
      header(
        'Service-Organization-ID',
        { type: 'string', pattern: '^org_[0-9a-f]{32}$' },
        'Id of the organization. Required with an API key; an access token has a current organization.',
      ),
    )
  }
  if (isCacheable(route)) {
    parameters.push(
      header(
        'If-None-Match',
        { type: 'string' },
        'ETags of earlier responses: 304 without a body if one of them is still current.',
      ),
    )
  }
  if (route.kind === 'write' && route.supportsIfMatch) {
    parameters.push(
      header('If-Match', { type: 'string' }, 'ETag of the record as you read it: 412 if it has changed since.'),
    )
  }
  if (supportsIdempotencyKey(route)) {
    parameters.push(
      header(
        'Idempotency-Key',
        { type: 'string', pattern: '^[!-~]{1,255}$' },
        'A unique value that you choose for each request. Repeating the request with the same key within 24 hours returns the first response and changes nothing.',
      ),
    )
  }
  return parameters
}

const code = (text: string): string => `\`${text}\``
