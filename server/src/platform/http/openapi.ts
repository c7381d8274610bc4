import { STATUS_CODES } from 'node:http'
import type { Schema } from '../resource/fields.ts'
import { type ErrorCode, errorCodes, type Fault } from './errors.ts'
import { introduction } from './openapi-introduction.ts'
import { Components, parametersOf } from './openapi-parameters.ts'
import { bodyExample, bodySchema, errorSchema, recordSchema } from './openapi-schemas.ts'
import { type AnswerBody, isScoped, type ReadRoute, type Route, takesKey } from './route.ts'
import { version } from './version.ts'

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
  servers: { url: string }[]
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Operation>>
  components: Record<string, Record<string, Schema>>
}

/** The OpenAPI 3.1 document of these routes. `headings` says what each tag is about, in the order of the document. */
export function openapi(routes: readonly Route[], headings: Readonly<Record<string, string>>): OpenApi {
  const components = new Components()
  components.schema('Error', errorSchema)
  const paths: OpenApi['paths'] = {}
  for (const route of routes) {
    const methods = (paths[route.path] ??= {})
    methods[route.method.toLowerCase()] = operation(route, components)
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
    servers: [{ url: '/' }],
    tags: Object.entries(headings).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: sorted(components.schemas),
      parameters: sorted(components.parameters),
      headers: answerHeaders,
      responses: {
        NotModified: {
          description: 'The answer is still the one whose ETag was sent.',
          headers: headerReferences(['ETag', ...everyAnswer]),
        },
        ...Object.fromEntries([...statuses].sort().map((status) => [responseName(status), errorResponse(status)])),
      },
      securitySchemes,
    },
  }
}

function operation(route: Route, components: Components): Operation {
  const scope = isScoped(route) ? `urn:service:${route.scope}` : undefined
  const description = [route.description, scope && `Needs the scope \`${scope}\`.`].filter(Boolean).join('\n\n')
  const body = route.kind === 'read' ? undefined : requestBody(route, components)
  return {
    operationId: route.operation,
    tags: [route.tag],
    summary: route.summary,
    ...(description && { description }),
    parameters: parametersOf(route, components),
    ...(body && { requestBody: body }),
    responses: {
      ...Object.fromEntries(
        Object.entries(route.answers).map(([status, answer]) => [status, success(route, status, answer, components)]),
      ),
      ...(route.method === 'GET' && { 304: { $ref: '#/components/responses/NotModified' } }),
      ...Object.fromEntries(
        errorStatuses(route).map((status) => [status, { $ref: `#/components/responses/${responseName(status)}` }]),
      ),
    },
    security: securityOf(route, scope),
  }
}

/** A key goes with its organization; a person's access token goes alone, and is all that their own account takes. */
function securityOf(route: Route, scope: string | undefined): Operation['security'] {
  if (scope !== undefined) return [{ bearer: [scope], organization: [] }, { bearer: [scope] }]
  return route.kind === 'account' ? [{ bearer: [] }] : []
}

function requestBody(route: Exclude<Route, ReadRoute>, components: Components): Schema | undefined {
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

function success(route: Route, status: string, answer: AnswerBody, components: Components): Schema {
  const headers = [
    ...(answer.kind === 'none' ? [] : ['ETag']),
    ...(answer.kind === 'list' ? ['Link'] : []),
    ...(status === '201' ? ['Location'] : []),
    ...(takesKey(route) ? ['Idempotent-Replayed'] : []),
    ...everyAnswer,
  ]
  return {
    description: successDescription(status, answer),
    headers: headerReferences(headers),
    ...(answer.kind !== 'none' && { content: contentOf(answer, components) }),
  }
}

function successDescription(status: string, answer: AnswerBody): string {
  if (answer.kind === 'record')
    return `The ${answer.resource.singular}${status === '201' ? ', as it was created' : ''}.`
  if (answer.kind === 'list') return `A page of ${answer.resource.name}.`
  return answer.kind === 'none' ? 'Done.' : 'Success.'
}

function contentOf(answer: Exclude<AnswerBody, { kind: 'none' }>, components: Components): Schema {
  if (answer.kind === 'text') return { [answer.mediaType]: { schema: { type: 'string' } } }
  const schema =
    answer.kind === 'schema'
      ? components.schema(answer.component, answer.schema)
      : components.schema(answer.resource.component, recordSchema(answer.resource))
  return { 'application/json': { schema: answer.kind === 'list' ? { type: 'array', items: schema } : schema } }
}

/** Every error status that the route can give. 405 belongs to a path, not to an operation, and so is not among them. */
function errorStatuses(route: Route): number[] {
  if (route.kind === 'push') return [400, 404, 413, 414, 429, 431, 500, 503]
  const isJson = Object.values(route.answers).every(({ kind }) => kind !== 'text')
  const statuses = [400, 413, 414, 429, 431, 500, 503, ...(route.errors ?? [])]
  if (isJson) statuses.push(406)
  if (isScoped(route) || route.kind === 'account') statuses.push(401, 403)
  if (Object.keys(route.params).length > 0 || route.query.kind === 'list') statuses.push(404)
  if (route.method !== 'GET') statuses.push(422)
  if (route.method === 'POST' || route.method === 'PATCH') statuses.push(415)
  if (takesKey(route)) statuses.push(409)
  if (route.kind === 'write' && route.conditional) statuses.push(412, 423)
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
    headers: headerReferences([...headers, ...everyAnswer]),
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
  const details = detailed[code]
  return { code, status, message, description: when, ...(details && { details }) }
}

const detailed: Partial<Record<ErrorCode, readonly Fault[]>> = {
  invalid_parameters: [{ field: 'filter.emial.equals', message: 'unknown field; did you mean email?' }],
  missing_scopes: [{ field: 'scope', message: 'urn:service:contact:list:read' }],
  already_exists: [{ field: 'email', message: 'is taken by another contact' }],
  validation_error: [
    { field: 'email', message: 'must be an email address such as ada@example.com' },
    { field: 'emial', message: 'unknown field; did you mean email?' },
  ],
  missing_required_field: [{ field: 'name', message: 'is required' }],
  invalid_field_value: [{ field: 'email', message: 'must be an email address such as ada@example.com' }],
  idempotency_key_reused: [{ field: 'Idempotency-Key', message: 'was used with another body' }],
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
      'Id of the organization (`org_…`). Needed beside an API key; an access token has a current organization.',
  },
}

/** What answers carry in any case; a refusal that comes before the limit was charged has no `RateLimit`. */
const everyAnswer = ['X-Request-Id', 'Version', 'RateLimit', 'RateLimit-Policy']

const headerReferences = (names: readonly string[]): Schema =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

const answerHeader = (description: string, example: string): Schema => ({
  description,
  schema: { type: 'string', examples: [example] },
})

const answerHeaders: Record<string, Schema> = {
  ETag: answerHeader('Entity tag, for If-None-Match and (of a record) If-Match.', '"3-q1ZKXo5lDZ2xVb0S"'),
  'Idempotent-Replayed': answerHeader('`true` when this is the answer of an earlier request with this key.', 'true'),
  Link: answerHeader(
    'Addresses of the next and the previous page (RFC 8288), where there is one. Their cursors survive the deletion of records.',
    '</v5/contacts?startingAfter=cur_…>; rel="next"',
  ),
  Location: answerHeader('Path of the new record.', '/v5/contacts/con_019aa5b2c1d27e3fa4b5c6d7e8f90123'),
  RateLimit: answerHeader('What is left of the limit, and when it is full again.', '"read";r=999;t=1'),
  'RateLimit-Policy': answerHeader('The limit that the request counts against.', '"read";q=1000;w=2'),
  'Retry-After': answerHeader('Seconds to wait.', '1'),
  Version: answerHeader('The version of this interface: a date.', version),
  'WWW-Authenticate': answerHeader('How to authenticate (RFC 9110).', 'Bearer'),
  'X-Request-Id': answerHeader(
    'Id of the request; quote it when you report a problem.',
    'req_019aa5b2c1d27e3fa4b5c6d7e8f90123',
  ),
}

const sorted = (group: Record<string, Schema>): Record<string, Schema> =>
  Object.fromEntries(Object.entries(group).sort(([left], [right]) => (left < right ? -1 : 1)))
