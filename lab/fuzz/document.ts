import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A part of the OpenAPI document. */
export type Schema = Readonly<Record<string, unknown>>

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  schema: Schema
}

/** An operation of the document with all references resolved. */
export interface Operation {
  name: string
  method: string
  /** With `{parameters}` in braces. */
  path: string
  /** Names of the path parameters, in order. */
  ids: readonly string[]
  query: readonly Parameter[]
  headers: readonly Parameter[]
  body: { required: boolean; types: readonly string[]; schema: Schema; example: unknown } | undefined
  /** By status: the schema of each media type; empty for a response without a body. */
  responses: ReadonlyMap<number, ReadonlyMap<string, Schema>>
  /** Whether it requires an Authorization header. */
  isSecured: boolean
  /** Whether it concerns a person's own account and accepts only access tokens. */
  isAccount: boolean
}

export interface Contract {
  /** The value of the `Version` header. */
  version: string
  operations: readonly Operation[]
}

/** Reads openapi.json. */
export function readContract(root: string): Contract {
  const document = JSON.parse(readFileSync(join(root, 'openapi.json'), 'utf8')) as Schema
  const whole = resolveReferences(document, document, new Map())
  const paths = whole.paths as Record<string, Record<string, Schema>>
  return {
    version: String((whole.info as Schema).version),
    operations: Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => operationOf(method.toUpperCase(), path, operation)),
    ),
  }
}

function operationOf(method: string, path: string, operation: Schema): Operation {
  const parameters = (operation.parameters ?? []) as Parameter[]
  const at = (location: Parameter['in']) => parameters.filter((parameter) => parameter.in === location)
  return {
    name: String(operation.operationId),
    method,
    path,
    ids: [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? ''),
    query: at('query').flatMap(explode),
    headers: at('header'),
    body: bodyOf(operation.requestBody as Schema | undefined),
    responses: new Map(
      Object.entries(operation.responses as Record<string, Schema>)
        .filter(([status]) => status !== 'default')
        .map(([status, response]) => [
          Number(status),
          new Map(Object.entries(contentOf(response)).map(([type, { schema }]) => [type, schema as Schema])),
        ]),
    ),
    isSecured: securityOf(operation).length > 0,
    isAccount: securityOf(operation).some((ways) => JSON.stringify(ways) === '{"bearer":[]}'),
  }
}

/** An object parameter is sent as one parameter per property. Properties without a fixed name remain an object. */
function explode(parameter: Parameter): Parameter[] {
  const { type, properties, unevaluatedProperties: others, examples } = parameter.schema
  if (type !== 'object') return [parameter]
  const named = Object.entries(properties ?? {}).map(([name, schema]) => ({
    ...parameter,
    name,
    schema: schema as Schema,
  }))
  return others === undefined ? named : [...named, { ...parameter, schema: { type, examples } }]
}

const securityOf = ({ security }: Schema) => (security ?? []) as Schema[]

function bodyOf(body: Schema | undefined): Operation['body'] {
  if (!body) return undefined
  const [[, first = {}] = []] = Object.entries(contentOf(body))
  const types = Object.keys(contentOf(body))
  return { required: body.required === true, types, schema: first.schema as Schema, example: first.example }
}

const contentOf = (part: Schema) => (part.content ?? {}) as Record<string, Schema>

/** Replaces references with their targets; equal references share one object, which may contain itself. */
function resolveReferences<Value>(value: Value, document: Schema, resolvedReferences: Map<string, unknown>): Value {
  if (Array.isArray(value)) return value.map((item) => resolveReferences(item, document, resolvedReferences)) as Value
  if (typeof value !== 'object' || value === null) return value
  const { $ref: reference } = value as Schema
  if (typeof reference !== 'string') {
    const parts = Object.entries(value).map(([name, part]) => [
      name,
      resolveReferences(part, document, resolvedReferences),
    ])
    return Object.fromEntries(parts) as Value
  }
  const known = resolvedReferences.get(reference)
  if (known !== undefined) return known as Value
  const target = {}
  resolvedReferences.set(reference, target)
  return Object.assign(target, resolveReferences(targetOf(reference, document), document, resolvedReferences)) as Value
}

function targetOf(reference: string, document: Schema): unknown {
  const steps = reference.split('/').slice(1)
  return steps.reduce<unknown>((part, step) => (part as Schema)[step.replace('~1', '/').replace('~0', '~')], document)
}
