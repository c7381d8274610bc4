import { readFile } from 'node:fs/promises'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { headings, routes } from '../src/app.ts'
import { openapi, type Operation } from '../src/platform/openapi/openapi.ts'
import { isScoped } from '../src/platform/http/route.ts'
import { version } from '../src/platform/http/protocol/version.ts'
import type { Resource } from '../src/platform/records/declare/define.ts'
import { startWithRegisteredRoutes } from './registered-routes.ts'
import { storeRefusal } from './refused-pushes.ts'
import { sampleValue } from './samples.ts'
import { callAs } from './people.ts'
import type { TestOrganization, TestService } from './service.ts'
import { createSuggestion } from './suggested.ts'
import { newTenant, requestOf } from './tenancy.ts'
import type { Schema } from '../src/platform/model/json.ts'

const document = openapi(routes, headings)
/** The build writes it before any test runs (global-setup.ts). */
const documentFile = new URL('../../openapi.json', import.meta.url)
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
)

let service: TestService
let organization: TestOrganization

let registered: readonly string[]

beforeAll(async () => {
  ;({ service, registered } = await startWithRegisteredRoutes())
  organization = await service.newOrganization()
})

afterAll(() => service.close())

test('the document describes every route, and nothing else', () => {
  const described = operations.map(({ path, method }) => `${method.toUpperCase()} ${path}`)
  expect(described.sort()).toEqual(routes.map(({ path, method }) => `${method} ${path}`).sort())
  expect(described.length).toBeGreaterThan(40)
  // The router also has the methods that known paths reject with 405.
  const methodsOf = (path: string) => Object.keys(document.paths[path] ?? {}).map((method) => method.toUpperCase())
  const undescribed = registered.filter((route) => !described.includes(route))
  expect(undescribed.filter((route) => methodsOf(route.slice(route.indexOf(' ') + 1)).length === 0)).toEqual([])
  expect(described.filter((route) => !registered.includes(route))).toEqual([])
})

test('every operation has a unique id and a described tag', () => {
  const names = operations.map(({ operation }) => operation.operationId)
  expect(new Set(names).size).toBe(names.length)
  const tags = new Set(operations.flatMap(({ operation }) => operation.tags))
  expect([...tags].sort()).toEqual(document.tags.map(({ name }) => name).sort())
})

test('an operation names the scope it requires, or declares that it requires no credential', () => {
  for (const route of routes) {
    const operation = document.paths[route.path]?.[route.method.toLowerCase()]
    if (route.kind === 'account') expect(operation?.security).toEqual([{ bearer: [] }])
    else if (!isScoped(route)) expect(operation?.security).toEqual([])
    else {
      expect(operation?.security).toContainEqual({ bearer: [`urn:service:${route.scope}`], organization: [] })
      expect(operation?.description).toContain(`urn:service:${route.scope}`)
    }
  }
})

test('no operation has more than 13 parameters: the filters of a list are one object', () => {
  for (const { operation } of operations)
    expect([operation.operationId, operation.parameters.length <= 13]).toEqual([operation.operationId, true])
  const names = operations.flatMap(({ operation }) => operation.parameters.map((one) => resolveReference(one).name))
  expect(names.filter((name) => String(name).startsWith('filter.'))).toEqual([])
  const filters = document.components.schemas?.ContactFilters as { properties: Record<string, Schema> }
  expect(Object.keys(filters.properties).length).toBeGreaterThan(200)
})

test('the built document is that of this code, and has fewer than 160 lines for each operation', async () => {
  const text = await readFile(documentFile, 'utf8')
  expect(JSON.parse(text)).toEqual(document)
  expect(text.split('\n').length).toBeLessThan(160 * operations.length)
})

test('operations list every status that the service can return', () => {
  const statusesOf = (path: string, method: string) => Object.keys(document.paths[path]?.[method]?.responses ?? {})
  const common = ['400', '401', '403', '406', '413', '414', '429', '431', '500', '503']
  expect(statusesOf('/v5/contacts', 'get')).toEqual(['200', '304', ...common.slice(0, 3), '404', ...common.slice(3)])
  expect(statusesOf('/v5/me', 'get')).not.toContain('404')
  expect(statusesOf('/v5/contacts', 'post')).toEqual(expect.arrayContaining(['201', '409', '415', '422']))
  expect(statusesOf('/v5/contacts/{contactId}', 'patch')).toEqual(expect.arrayContaining(['404', '412', '423']))
  expect(statusesOf('/auth', 'post')).toEqual(expect.arrayContaining(['200', '401', '422']))
  expect(statusesOf('/auth', 'post')).not.toContain('403')
})

test('every schema is valid, and every example of an error matches the error schema', () => {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, validateFormats: false })
  ajv.addVocabulary(['components'])
  // A hint for compilers that is true of every text, which strict mode expects to have `type: object`.
  const components = JSON.stringify(document.components).replaceAll(
    '{"properties":{"length":{"type":"integer"}}}',
    '{}',
  )
  ajv.addSchema({ $id: 'https://example.com/openapi', components: JSON.parse(components) })
  const references = Object.keys(document.components.schemas ?? {})
  expect(references.length).toBeGreaterThan(15)
  for (const name of references) {
    expect(ajv.getSchema(`https://example.com/openapi#/components/schemas/${name}`), name).toBeTypeOf('function')
  }
  const isError = ajv.getSchema('https://example.com/openapi#/components/schemas/Error')
  const examples = Object.values(document.components.responses ?? {}).flatMap(({ content }) =>
    Object.values((content as Content | undefined)?.['application/json']?.examples ?? {}),
  )
  expect(examples.length).toBeGreaterThan(20)
  for (const { value } of examples) expect(isError?.(value), JSON.stringify(value)).toBe(true)
})

test('GET /v5/docs returns the document without a credential, and 304 for a known entity tag', async () => {
  const response = await service.anonymous('GET', '/v5/docs')
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toMatch(/^application\/json/)
  expect(response.body).toEqual(document)
  expect(response.body).toMatchObject({ openapi: '3.1.0', info: { version }, servers: [{ url: '/' }] })
  const tag = response.headers.get('etag') ?? ''
  const again = await service.anonymous('GET', '/v5/docs', { headers: { 'if-none-match': tag } })
  expect([again.status, again.text]).toEqual([304, ''])
})

const samplesIn = (example: string) => ({ schema: { type: 'string', examples: [example] } })
/** Parameters of the feed whose examples are a position and an id that do not exist, or would wait. */
const feedSamples: Readonly<Record<string, object>> = {
  after: samplesIn('start'),
  kind: samplesIn('created'),
  record: samplesIn('con_019aa5b2c1d27e3fa4b5c6d7e8f90123'),
  wait: samplesIn('0'),
}

/** The most that a request may have. */
const filtersAtOnce = 25

test('every documented query parameter is accepted', async () => {
  const tenant = await newTenant(service)
  const refused: string[] = []
  let acceptedCount = 0
  for (const route of routes) {
    // Cursors and views must name a record and are tested elsewhere.
    const parameters = (document.paths[route.path]?.[route.method.toLowerCase()]?.parameters ?? [])
      .map(resolveReference)
      .filter((one) => one.in === 'query' && !/^(?:startingAfter|endingBefore|view)$/.test(String(one.name)))
      .map((one) => (route.tag === 'events' ? { ...one, ...feedSamples[String(one.name)] } : one))
      .flatMap((one) => samples(one, 'resource' in route.query ? route.query.resource : undefined))
    if (parameters.length === 0 && route.query.kind === 'none') continue
    if (route.query.kind !== 'none' && route.kind !== 'search')
      expect([route.operation, parameters.length]).not.toEqual([route.operation, 0])
    for (let start = 0; start < parameters.length; start += filtersAtOnce) {
      const query = withIds(parameters.slice(start, start + filtersAtOnce), tenant.references)
      // A key cannot use the routes of a person's account.
      const headers = route.kind === 'account' && {
        headers: { authorization: `Bearer ${tenant.organization.accessToken}` },
      }
      const options = { ...requestOf(route, tenant), ...headers, query }
      const { status, body } = await tenant.request(route, options)
      if ([200, 204, 303].includes(status)) acceptedCount += query.length
      else refused.push(`${route.operation}: ${JSON.stringify(body.details ?? body)}`)
    }
  }
  expect(refused).toEqual([])
  expect(acceptedCount).toBeGreaterThan(500)
})

test('every example of a request body is accepted', async () => {
  // A key cannot use the routes of a person's account; they are tested elsewhere.
  const personal = routes.filter(({ kind }) => kind === 'account').map(({ operation }) => operation)
  const bodies = operations.filter(
    ({ path, operation }) =>
      operation.requestBody && path.startsWith('/v5') && !personal.includes(String(operation.operationId)),
  )
  const created: Record<string, string> = {}
  const contact = await organization.call('POST', '/v5/contacts', { body: { email: 'owner-of-jobs@example.com' } })
  const company = await organization.call('POST', '/v5/companies', { body: { name: 'Engines' } })
  const deal = await organization.call('POST', '/v5/deals', { body: { name: 'Engine' } })
  const ids: Record<string, string> = {
    contactId: contact.body.id,
    companyId: company.body.id,
    dealId: deal.body.id,
    pipelineId: deal.body.pipelineId,
    stageId: deal.body.stageId,
    importId: organization.importId,
    teamId: organization.teamId,
    hash: organization.triggerUrl.slice(-43),
  }
  for (const { path, operation } of bodies.filter(({ method }) => method === 'post')) {
    if (path.includes('{suggestionId}'))
      ids.suggestionId = await createSuggestion(service, organization, '/v5/suggestions')
    const ownPath = path.includes('{refusedPushId}')
      ? path.replace(/^.*\{refusedPushId\}/, await storeRefusal(service, organization, 'Asked'))
      : path
    const isRemoval = path.endsWith('/remove-received')
    if (isRemoval) await organization.call('POST', `/v5/imports/${ids.importId}/disable`)
    const address = ownPath.replace(/\{(\w+)\}/g, (_whole, name: string) => ids[name] ?? 'none')
    // A key is not shown on records.
    const call = path === '/v5/presence' ? callAs(service, organization.accessToken) : organization.call
    const response = await call('POST', address, { body: withIds(example(operation), ids) })
    const declared = Object.keys(operation.responses).filter((status) => status < '300')
    expect(declared, `${path}: ${response.text}`).toContain(String(response.status))
    if (isRemoval) await organization.call('POST', `/v5/imports/${ids.importId}/enable`)
    created[path] = response.headers.get('location') ?? ''
    if (path === '/v5/api-keys') ids.apiKeyId = response.body.id
    if (path === '/v5/webhooks') ids.webhookId = response.body.id
    if (path === '/v5/webhooks/{webhookId}/test') ids.webhookDeliveryId = response.body.id
  }
  for (const { path, operation } of bodies.filter(({ method }) => method === 'patch')) {
    const collectionPath = path.replace(/\/\{\w+\}$/, '')
    const address = created[collectionPath] ?? locationUnderParent(created, collectionPath) ?? path
    // No single request creates a member or an unsuccessful row; changing them is tested elsewhere.
    if (/\{(memberId|rowId)\}$/.test(path)) continue
    const response = await organization.call('PATCH', address, { body: withIds(example(operation), ids) })
    expect([path, response.status, response.text]).toEqual([path, 200, expect.anything()])
    expect(response.body).toMatchObject(example(operation))
  }
  expect(Object.keys(created).length).toBeGreaterThan(4)
})

/** The address of a record that was created in the nested collection of the same name. */
function locationUnderParent(created: Readonly<Record<string, string>>, collectionPath: string): string | undefined {
  const lastSegment = collectionPath.slice(collectionPath.lastIndexOf('/'))
  const [, location] = Object.entries(created).find(([path]) => path.endsWith(lastSegment)) ?? []
  return location && collectionPath + location.slice(location.lastIndexOf('/'))
}

/** The example with ids of records that exist. */
const withIds = <Example extends object>(
  body: Example,
  ids: Readonly<Record<string, string | readonly string[]>>,
): Example =>
  JSON.parse(
    JSON.stringify(body).replace(/"([a-z]{3})_019aa5b2c1d27e3fa4b5c6d7e8f90123"/g, (whole, prefix: string) => {
      const id = Object.values(ids)
        .flat()
        .find((one) => one.startsWith(`${prefix}_`))
      return id === undefined ? whole : `"${id}"`
    }),
  )

type Content = Record<string, { example?: object; examples?: Record<string, { value: unknown }> }>

const example = ({ requestBody }: Operation): object =>
  (requestBody?.content as Content | undefined)?.['application/json']?.example ?? {}

function resolveReference(part: Schema): Schema {
  const [, , group = '', name = ''] = String(part.$ref ?? '').split('/')
  return part.$ref === undefined ? part : (document.components[group]?.[name] as Schema)
}

/** Names and values for a parameter: an object is sent as one parameter for each of its properties. */
function samples({ name, schema }: Schema, resource: Resource | undefined): [string, string][] {
  const { type, properties, examples } = resolveReference(schema as Schema)
  if (type !== 'object') return [[String(name), String(sampleOf(schema as Schema))]]
  const [example = {}] = (examples ?? []) as Record<string, string>[]
  const propertySamples = Object.entries(properties as Record<string, Schema>).map(([key, one]) => [
    key,
    (resource && sampleOfField(resource, key)) ?? sampleOf(one),
  ])
  return [...propertySamples, ...Object.entries(example)].map(([key, value]) => [String(key), String(value)])
}

/** A value that a field with a format can have, for filters that compare the whole value. */
function sampleOfField(resource: Resource, filter: string): unknown {
  const path = /^filter\.(.+)\.(?:equals|not|in|notIn|equalsIgnoreCase)$/.exec(filter)?.[1]?.split('.') ?? []
  const [member = '', inner] = path
  const embedded = resource.embedded[member]
  const owner = embedded?.resource ?? resource
  const name = embedded ? (inner ?? embedded.orderBy) : member
  const field = owner.fields[name]
  if (field?.list) return sampleValue(owner, field.list.primary, 1, {})
  if (owner.name === 'tasks' && name === 'recurrence') return 'FREQ=WEEKLY;BYDAY=MO'
  const isText = field?.filter === 'string' && field.schema.format !== undefined && path.length <= 2
  return isText ? sampleValue(owner, name, 1, {}) : undefined
}

function sampleOf(given: Schema): unknown {
  const schema = resolveReference(given)
  if (schema.const !== undefined) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[0]
  if (Array.isArray(schema.anyOf)) return sampleOf(schema.anyOf[0] as Schema)
  if (Array.isArray(schema.examples))
    return schema.type === 'array' ? String(schema.examples[0][0]) : schema.examples[0]
  if (schema.type === 'boolean') return true
  if (schema.type === 'number' || schema.type === 'integer') return 1
  return schema.format === 'date' ? '2026-11-21' : '1'
}
