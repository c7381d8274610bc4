import { expect, test } from 'vitest'
import { headings, routes } from '../src/app.ts'
import { openapi } from '../src/platform/openapi/openapi.ts'
import { isScoped, listedResources } from '../src/platform/http/route.ts'
import { parseList } from '../src/platform/records/page/parse.ts'
import type { Schema } from '../src/platform/model/json.ts'

// What programs that read the document rely on: generators of clients, mock servers, collections, tools for models.

const document = openapi(routes, headings)
const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))
const schemas = document.components.schemas ?? {}

test('no schema contains itself, and replacing references gives at most 20,000 nodes', () => {
  const sizes = Object.entries(schemas).map(([name, schema]): [string, number] => [name, nodesOf(inlined(schema))])
  expect(sizes.length).toBeGreaterThan(300)
  expect(sizes.filter(([, size]) => size > 20_000)).toEqual([])
})

test('the parameters and the body of an operation are at most 350 kB without references', () => {
  const sizes = operations.map(({ operationId, parameters, requestBody }): [string, number] => [
    operationId,
    JSON.stringify(inlined({ parameters, requestBody })).length,
  ])
  expect(sizes.filter(([, size]) => size > 350_000)).toEqual([])
})

test('an array says what its items are, and no property of a body has a default that clients would require', () => {
  const parts = Object.entries(schemas).flatMap(([name, schema]) => partsOf(schema, name))
  expect(parts.length).toBeGreaterThan(3000)
  const isArray = ({ type }: Schema) => [type].flat().includes('array')
  expect(parts.filter(({ part }) => isArray(part) && part.items === undefined).map(({ name }) => name)).toEqual([])
  expect(parts.filter(({ part }) => 'default' in part).map(({ name }) => name)).toEqual([])
})

test('no two parts have one name, whatever case and suffixes a generator gives them', () => {
  const names = new Map<string, string[]>()
  const add = (name: string, part: string) => {
    const key = name.replace(/[^A-Za-z0-9]/g, '').toLowerCase()
    names.set(key, [...(names.get(key) ?? []), part])
  }
  for (const [group, parts] of Object.entries(document.components)) {
    // A parameter whose name has a dot is missing in the types of openapi-client-axios.
    if (group !== 'headers') expect(Object.keys(parts).filter((name) => !/^[A-Za-z][\w-]*$/.test(name))).toEqual([])
    if (group !== 'securitySchemes') for (const name of Object.keys(parts)) add(name, `${group}/${name}`)
  }
  for (const { operationId } of operations) {
    for (const suffix of operationSuffixes) add(operationId + suffix, `operation ${operationId}`)
  }
  // Objects and lists of values without a name are called after the properties around them.
  for (const [schema, definition] of Object.entries(schemas)) {
    for (const { part, name } of partsOf(definition, schema)) {
      const isNamed = Array.isArray(part.enum) || part.properties !== undefined
      if (name !== schema && isNamed) add(name, `part ${name}`)
    }
  }
  expect(names.size).toBeGreaterThan(3000)
  const collisions = [...names.values()].filter((parts) => new Set(parts).size > 1)
  expect(collisions).toEqual([])
})

const operationSuffixes = [
  ...['', 'Data', 'Error', 'Errors', 'Response', 'Responses', 'Params', 'Parameters', 'Body', 'Payload', 'Result'],
  ...['Request', 'Query', 'Variables', 'Headers', 'Path'],
]

test('the organization is also a parameter: not every tool reads two credentials that belong together', () => {
  for (const route of routes) {
    const parameters = document.paths[route.path]?.[route.method.toLowerCase()]?.parameters ?? []
    const reference = { $ref: '#/components/parameters/Service-Organization-ID' }
    expect([route.operation, parameters.some((one) => one.$ref === reference.$ref)]).toEqual([
      route.operation,
      isScoped(route),
    ])
  }
  expect(document.components.parameters?.['Service-Organization-ID']).not.toHaveProperty('required')
})

test('orderBy and select[] list the names that the service accepts', () => {
  let count = 0
  for (const resource of listedResources(routes)) {
    const { component } = resource
    for (const [parameter, schema] of [
      ['orderBy', `${component}OrderField`],
      ['select[]', `${component}SelectField`],
    ] as const) {
      const { names, pattern } = namesOf(schemas[schema] ?? {})
      const accepts = (value: string) =>
        isAccepted(() => parseList(resource, [{ name: parameter, value }], cursorScope))
      expect([component, parameter, names.filter((name) => !accepts(name))]).toEqual([component, parameter, []])
      expect(names).toContain('createdAt' in resource.fields ? 'createdAt' : 'id')
      if (pattern !== undefined) {
        const keys = ['customProperties.plan', 'externalIds.x', 'seats.plan'].filter((key) => pattern.test(key))
        expect(keys.filter((key) => !accepts(key))).toEqual([])
      }
      count += names.length
    }
  }
  expect(count).toBeGreaterThan(500)
  expect(namesOf(schemas.ContactOrderField ?? {}).pattern?.test('customProperties.plan')).toBe(true)
})

const cursorScope = (orderBy: string) => ({ key: Buffer.alloc(32), organizationId: '', list: '', orderBy })

function namesOf(schema: Schema): { names: string[]; pattern: RegExp | undefined } {
  const [known = schema, open] = (schema.anyOf ?? []) as Schema[]
  const [text] = (open?.allOf ?? []) as Schema[]
  return { names: known.enum as string[], pattern: text && new RegExp(String(text.pattern)) }
}

function isAccepted(read: () => unknown): boolean {
  try {
    read()
    return true
  } catch {
    return false
  }
}

/** The part with every reference replaced by what it refers to. Throws if a schema contains itself. */
function inlined(part: unknown, within: readonly string[] = []): unknown {
  if (Array.isArray(part)) return part.map((item) => inlined(item, within))
  if (typeof part !== 'object' || part === null) return part
  const { $ref: reference, ...others } = part as Schema
  const own = Object.fromEntries(Object.entries(others).map(([name, inner]) => [name, inlined(inner, within)]))
  if (typeof reference !== 'string') return own
  if (within.includes(reference)) throw new Error(`${reference} contains itself`)
  const [, , group = '', name = ''] = reference.split('/')
  return { ...own, ...(inlined(document.components[group]?.[name], [...within, reference]) as Schema) }
}

const nodesOf = (part: unknown): number =>
  typeof part !== 'object' || part === null
    ? 1
    : Object.values(part).reduce<number>((total, inner) => total + nodesOf(inner), 1)

/** A schema and those inside it that have a name or are items, with the names that generators compose for them. */
function partsOf(part: Schema, name: string): { part: Schema; name: string }[] {
  const inner = Object.entries((part.properties ?? {}) as Record<string, Schema>).map(
    ([property, schema]) => [schema, `${name}.${property}`] as const,
  )
  const items = part.items === undefined ? [] : [[part.items as Schema, `${name}.item`] as const]
  return [{ part, name }, ...[...inner, ...items].flatMap(([schema, path]) => partsOf(schema, path))]
}
