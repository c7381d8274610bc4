import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { expect } from 'vitest'
import { formats } from '../../lab/fuzz/formats.ts'
import { headings, routes } from '../src/app.ts'
import { openapi } from '../src/platform/openapi/openapi.ts'
import { errorSchema, recordSchema } from '../src/platform/openapi/openapi-schemas.ts'
import type { ResponseBody, Route } from '../src/platform/http/route.ts'
import { version } from '../src/platform/http/protocol/version.ts'
import type { Resource } from '../src/platform/records/declare/define.ts'
import type { Json, TestResponse } from './service.ts'
import type { Schema } from '../src/platform/model/json.ts'

/** Throws if a response does not match the declaration of the route. */
export function checkResponse(route: Route, response: TestResponse<Json>, selected: readonly string[] = []): void {
  const what = `${route.method} ${route.path}: ${response.status} ${response.text.slice(0, 500)}`
  expect(response.headers.get('x-request-id'), what).toMatch(/^req_[0-9a-f]{32}$/)
  expect(response.headers.get('version'), what).toBe(version)
  if (response.status >= 400) {
    expect(schemaViolations(errorSchema, response.body), what).toEqual([])
    expect(response.body.status, what).toBe(response.status)
    if (response.status === 422) expect(response.body.details?.length, what).toBeGreaterThan(0)
    return
  }
  const declared = route.responses[response.status]
  if (!declared) throw new Error(`not declared: ${what}`)
  if (declared.kind === 'none' || declared.kind === 'text') return
  expect(response.headers.get('etag'), what).toMatch(
    declared.kind === 'record' ? /^"\d+-[\w-]{16}"$/ : /^W\/"[\w-]{16}"$/,
  )
  expect(schemaViolations(responseSchema(declared, selected), response.body), what).toEqual([])
  expect(documentViolations(route, response.status, response.body), what).toEqual([])
}

/** Violations of the OpenAPI document, validated strictly. */
function documentViolations({ path, method }: Route, status: number, value: unknown): string[] {
  const { $ref } = paths[path]?.[method.toLowerCase()]?.responses[status] ?? {}
  // Responses that several operations have are components.
  const own =
    typeof $ref === 'string'
      ? $ref.split('/').slice(1)
      : ['paths', path, method.toLowerCase(), 'responses', String(status)]
  const steps = [...own, 'content', 'application/json', 'schema']
  const pointer = steps.map((step) => encodeURIComponent(step.replaceAll('/', '~1'))).join('/')
  const validate = documentValidators.getSchema(`${documentId}#/${pointer}`)
  if (!validate) throw new Error(`The document has no schema at ${pointer}`)
  return validate(value) ? [] : messagesOf(validate)
}

function responseSchema(declared: ResponseBody, selected: readonly string[]): Schema {
  switch (declared.kind) {
    case 'schema':
      return declared.schema
    case 'list':
    case 'record':
      return cachedSchema(declared.resource, `${declared.kind} ${selected.join()}`, () => {
        const shown = shownSchema(declared.resource, selected)
        return declared.kind === 'list' ? { type: 'array', maxItems: 100, items: shown } : shown
      })
    default:
      return {}
  }
}

const schemas = new WeakMap<Resource, Map<string, Schema>>()

/** Returns the same schema object for the same name, since a validator is compiled once per object. */
function cachedSchema(resource: Resource, name: string, build: () => Schema): Schema {
  const cached = schemas.get(resource) ?? new Map<string, Schema>()
  schemas.set(resource, cached)
  const schema = cached.get(name) ?? build()
  cached.set(name, schema)
  return schema
}

/** The schema of a record, or of its selected properties; nested selections are not checked. */
function shownSchema(resource: Resource, selected: readonly string[]): Schema {
  const schema = recordSchema(resource)
  if (selected.length === 0) return schema
  const heads = [...new Set(selected.map((path) => path.split('.')[0] ?? ''))]
  const properties = schema.properties as Record<string, Schema>
  const shown = heads.map((name) => [name, selected.includes(name) ? properties[name] : {}])
  return { ...schema, required: heads, properties: Object.fromEntries(shown) }
}

const ajv = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true, formats })
const validators = new WeakMap<Schema, ValidateFunction>()

const documentId = 'https://example.com/openapi'
const documentValidators = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true, formats })
const { paths, components } = openapi(routes, headings)
documentValidators.addVocabulary(['paths', 'components']).addSchema({ $id: documentId, paths, components })

function schemaViolations(schema: Schema, value: unknown): string[] {
  const validate = validators.get(schema) ?? ajv.compile(schema)
  validators.set(schema, validate)
  return validate(value) ? [] : messagesOf(validate)
}

const messagesOf = ({ errors }: ValidateFunction): string[] =>
  (errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
