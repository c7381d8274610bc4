import { STATUS_CODES } from 'node:http'
import type { Resource } from '../records/declare/define.ts'
import { type Relations, relationsAmong } from '../records/declare/relations.ts'
import { type ErrorCode, errorCodes, type FieldError } from '../model/errors.ts'
import { introduction } from './openapi-introduction.ts'
import { Components } from './openapi-components.ts'
import { parametersOf } from './openapi-parameters.ts'
import { searchBody } from './openapi-search.ts'
import { bodyExample, bodySchema, errorSchema, recordSchema, selectionSchema } from './openapi-schemas.ts'
import {
  type ResponseBody,
  isCacheable,
  isPage,
  isScoped,
  listedResources,
  type ProbeRoute,
  type ReadRoute,
  type Route,
  supportsIdempotencyKey,
} from '../http/route.ts'
import { version } from '../http/protocol/version.ts'
import type { Schema } from '../model/json.ts'

export interface Operation {
  operationId: string
  tags: string[]
  summary: string
  description?: string
  parameters: Schema[]
  requestBody?: Schema
  responses: Record<string, Schema>
  security: Record<string, string[]>[]
}

export interface OpenApi {
  openapi: string
  info: Record<string, unknown>
  externalDocs: { description: string; url: string }
  servers: { url: string }[]
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Operation>>
  components: Record<string, Record<string, Schema>>
}

/** The OpenAPI 3.1 document of these routes. `headings` describes each tag, in document order. */
export function openapi(routes: readonly Route[], headings: Readonly<Record<string, string>>): OpenApi {
  const components = new Components()
  components.schema('Error', errorSchema)
  const relations = relationsAmong(listedResources(routes))
  const paths: OpenApi['paths'] = {}
  for (const route of routes) {
    const methods = (paths[route.path] ??= {})
    methods[route.method.toLowerCase()] = operation(route, relations, components)
  }
  const statuses = new Set(routes.flatMap(errorStatuses))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Rapport',
      version,
      description: introduction,
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    externalDocs: { description: 'Guides', url: '/docs' },
    servers: [{ url: '/' }],
    tags: Object.entries(headings).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: sorted(components.schemas),
      parameters: sorted(components.parameters),
      headers: responseHeaders,
      responses: {
        NotModified: {
          description: 'The response is unchanged since the ETag that was sent.',
          headers: headerReferences(['ETag', ...commonHeaders]),
        },
        PermanentRedirect: {
          description: 'The path ends with a slash. `Location` has the path without it.',
          headers: headerReferences(['Location', 'X-Request-Id', 'Version']),
        },
        ...sorted(components.responses),
        ...Object.fromEntries([...statuses].sort().map((status) => [responseName(status), errorResponse(status)])),
      },
      securitySchemes,
    },
  }
}

function operation(route: Route, relations: Relations, components: Components): Operation {
  const scope = isScoped(route) ? `urn:service:${route.scope}` : undefined
  const description = [route.description, scope && `Needs the scope \`${scope}\`.`].filter(Boolean).join('\n\n')
  const body = route.kind === 'read' || route.kind === 'probe' ? undefined : requestBody(route, relations, components)
  return {
    operationId: route.operation,
    tags: [route.tag],
    summary: route.summary,
    ...(description && { description }),
    parameters: parametersOf(route, components),
    ...(body && { requestBody: body }),
    responses: {
      ...Object.fromEntries(
        Object.entries(route.responses).map(([status, response]) => [
          status,
          success(route, status, response, components),
        ]),
      ),
      ...(isCacheable(route) && { 304: { $ref: '#/components/responses/NotModified' } }),
      ...(isPage(route) && { 308: { $ref: '#/components/responses/PermanentRedirect' } }),
      ...Object.fromEntries(
        errorStatuses(route).map((status) => [status, { $ref: `#/components/responses/${responseName(status)}` }]),
      ),
      ...(isRedirect(route) && { default: unexpected }),
    },
    security: securityOf(route, scope),
  }
}

/** An operation has to document a success or a default; these only have their redirect. */
const isRedirect = ({ responses }: Route): boolean => Object.keys(responses).every((status) => status.startsWith('3'))

const unexpected: Schema = {
  description: 'Any other status is an error.',
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
}

/** Only an API key requires the organization header; account routes accept only access tokens. */
function securityOf(route: Route, scope: string | undefined): Operation['security'] {
  if (scope !== undefined) return [{ bearer: [scope], organization: [] }, { bearer: [scope] }]
  return route.kind === 'account' ? [{ bearer: [] }] : []
}

function requestBody(
  route: Exclude<Route, ReadRoute | ProbeRoute>,
  relations: Relations,
  components: Components,
): Schema | undefined {
  if (route.kind === 'search') return searchBody(route, relations, components)
  if (route.kind === 'push') {
    const { component, schema, example } = route.payload
    const content = { schema: components.schema(component, schema), example }
    return { required: true, content: { 'application/json': content } }
  }
  if (!route.body) return undefined
  const { component, shape, required } = route.body
  const content = { schema: components.schema(component, bodySchema(shape)), example: bodyExample(shape) }
  const types = route.method === 'PATCH' ? ['application/json', 'application/merge-patch+json'] : ['application/json']
  return { required, content: Object.fromEntries(types.map((type) => [type, content])) }
}

function success(route: Route, status: string, response: ResponseBody, components: Components): Schema {
  const headers = [
    ...(response.kind === 'none' || route.kind === 'probe' ? [] : ['ETag']),
    ...(response.kind === 'list' ? ['Link'] : []),
    ...(status === '201' || status === '303' ? ['Location'] : []),
    ...(supportsIdempotencyKey(route) ? ['Idempotent-Replayed'] : []),
    ...commonHeaders,
  ]
  const definition = {
    description: successDescription(status, response),
    headers: headerReferences(headers),
    ...(response.kind !== 'none' && { content: contentOf(route, response, components) }),
  }
  const isCount = response.kind === 'schema' && response.component === 'Count'
  return isCount ? components.response('RecordCount', definition) : definition
}

function successDescription(status: string, response: ResponseBody): string {
  if (response.kind === 'record')
    return `The ${response.resource.singular}${status === '201' ? ' that was created' : ''}.`
  if (response.kind === 'list') return `A page of ${response.resource.name}.`
  if (status === '303') return 'Continue at the URL in `Location`.'
  return response.kind === 'none' ? 'Done.' : 'Success.'
}

function contentOf(route: Route, response: Exclude<ResponseBody, { kind: 'none' }>, components: Components): Schema {
  if (response.kind === 'text') return { [response.mediaType]: { schema: { type: 'string' } } }
  const schema =
    response.kind === 'schema'
      ? components.schema(response.component, response.schema)
      : shownSchema(route, response.resource, components)
  const json = { schema: response.kind === 'list' ? { type: 'array', items: schema } : schema }
  const hasPage = response.kind === 'schema' && response.hasPage
  return { 'application/json': json, ...(hasPage && { 'text/html': { schema: { type: 'string' } } }) }
}

/** The whole record, or what `select[]` leaves of it if the route supports that. */
function shownSchema({ kind, query }: Route, resource: Resource, components: Components): Schema {
  return kind === 'search' || query.kind === 'list' || query.kind === 'one'
    ? components.schema(`${resource.component}Selection`, selectionSchema(resource))
    : components.schema(resource.component, recordSchema(resource))
}

/** Every error status of the route, except 405, which belongs to a path and not to an operation. */
function errorStatuses(route: Route): number[] {
  if (route.kind === 'probe') return [400, 406, 413, 414, 431, 500, 503]
  if (route.kind === 'push') return [400, 404, 413, 414, 429, 431, 500, 503]
  const isJson = Object.values(route.responses).every(
    (response) => response.kind !== 'text' && !('hasPage' in response),
  )
  const statuses = [400, 413, 414, 429, 431, 500, 503, ...(route.errors ?? [])]
  if (isJson) statuses.push(406)
  if (isScoped(route) || route.kind === 'account') statuses.push(401, 403)
  if (
    Object.keys(route.params).length > 0 ||
    ['list', 'array'].includes(route.query.kind) ||
    'pages' in route.query ||
    route.kind === 'search'
  )
    statuses.push(404)
  if (route.method !== 'GET') statuses.push(422)
  if (route.method === 'POST' || route.method === 'PATCH') statuses.push(415)
  if (supportsIdempotencyKey(route)) statuses.push(409)
  if (route.kind === 'write' && route.supportsIfMatch) statuses.push(412, 423)
  return [...new Set(statuses)].sort()
}

const responseName = (status: number): string => (STATUS_CODES[status] ?? `Status${status}`).replace(/\W/g, '')

function errorResponse(status: number): Schema {
  const codes = (Object.keys(errorCodes) as ErrorCode[]).filter((code) => errorCodes[code].status === status)
  const headers = [
    ...(status === 401 ? ['WWW-Authenticate'] : []),
    ...(status === 429 || status === 503 ? ['Retry-After'] : []),
  ]
  return {
    description: codes.map((code) => `\`${code}\`: ${errorCodes[code].when}`).join('\n\n'),
    headers: headerReferences([...headers, ...commonHeaders]),
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        examples: Object.fromEntries(codes.map((code) => [code, { value: errorExample(code) }])),
      },
    },
  }
}

function errorExample(code: ErrorCode): Record<string, unknown> {
  const { status, message, when } = errorCodes[code]
  const details = exampleDetails[code]
  return { code, status, message, description: when, ...(details && { details }) }
}

const exampleDetails: Partial<Record<ErrorCode, readonly FieldError[]>> = {
  invalid_parameters: [{ field: 'filter.emial.equals', message: 'unknown field; did you mean email?' }],
  missing_scopes: [{ field: 'scope', message: 'urn:service:contact:list:read' }],
  already_exists: [
    {
      field: 'email',
      message: 'is taken by another contact (con_019aa5b2c1d27e3fa4b5c6d7e8f90123)',
      id: 'con_019aa5b2c1d27e3fa4b5c6d7e8f90123',
    },
  ],
  validation_error: [
    { field: 'email', message: 'expected an email address, such as "ada@example.com"' },
    { field: 'emial', message: 'unknown field; did you mean email?' },
  ],
  missing_required_field: [{ field: 'name', message: 'is required' }],
  invalid_field_value: [{ field: 'email', message: 'expected an email address, such as "ada@example.com"' }],
  idempotency_key_reused: [{ field: 'Idempotency-Key', message: 'was used with a different body' }],
}

const securitySchemes: Record<string, Schema> = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key (`svc_…`) or an access token (a JWT).',
  },
  organization: {
    type: 'apiKey',
    in: 'header',
    name: 'Service-Organization-ID',
    description:
      'Id of the organization (`org_…`). Required with an API key; an access token has a current organization.',
  },
}

/** Headers of every response. An error before the rate limit was charged has no `RateLimit`. */
const commonHeaders = ['X-Request-Id', 'Version', 'RateLimit', 'RateLimit-Policy']

const headerReferences = (names: readonly string[]): Schema =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

const responseHeader = (description: string, example: string): Schema => ({
  description,
  schema: { type: 'string', examples: [example] },
})

const responseHeaders: Record<string, Schema> = {
  ETag: responseHeader('Entity tag for If-None-Match and, for a record, If-Match.', '"3-q1ZKXo5lDZ2xVb0S"'),
  'Idempotent-Replayed': responseHeader('`true` if this is the response to an earlier request with this key.', 'true'),
  Link: responseHeader(
    'URLs of the next and the previous page (RFC 8288), if there is one. Their cursors stay valid when records are deleted.',
    '</v5/contacts?startingAfter=cur_…>; rel="next"',
  ),
  Location: responseHeader('Path of the new record.', '/v5/contacts/con_019aa5b2c1d27e3fa4b5c6d7e8f90123'),
  RateLimit: responseHeader('Remaining requests, and when the limit resets.', '"read";r=999;t=1'),
  'RateLimit-Policy': responseHeader('The rate limit that applies to the request.', '"read";q=1000;w=2'),
  'Retry-After': responseHeader('Seconds to wait before retrying.', '1'),
  Version: responseHeader('The version of the API contract, as a date.', version),
  'WWW-Authenticate': responseHeader('How to authenticate (RFC 9110).', 'Bearer'),
  'X-Request-Id': responseHeader(
    'Id of the request; include it when you report a problem.',
    'req_019aa5b2c1d27e3fa4b5c6d7e8f90123',
  ),
}

const sorted = (group: Record<string, Schema>): Record<string, Schema> =>
  Object.fromEntries(Object.entries(group).sort(([left], [right]) => (left < right ? -1 : 1)))
