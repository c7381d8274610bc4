import { createHash } from 'node:crypto'
import type { OpenApi } from '../src/platform/openapi/openapi.ts'
import type { Json } from './service.ts'

/** Keywords that change nothing for a program. */
const texts = new Set(['description', 'summary', 'title', 'example', 'examples'])
/** Their keys are names of fields, not keywords. */
const namedParts = new Set([
  'properties',
  'patternProperties',
  'schemas',
  'parameters',
  'headers',
  'paths',
  'responses',
])

/** A part of the document without texts, in an order that does not depend on that of the declarations. */
function contractOf(part: Json, isNamed = false): Json {
  if (Array.isArray(part)) {
    const items = part.map((item: Json) => contractOf(item))
    return items.sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1))
  }
  if (typeof part !== 'object' || part === null) return part
  return Object.fromEntries(
    Object.entries(part)
      .filter(([name]) => isNamed || !texts.has(name))
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, inner]) => [name, contractOf(inner, !isNamed && namedParts.has(name))]),
  )
}

/** Of methods, paths, operation ids, parameters, bodies, responses and schemas. */
export function fingerprintOf({ paths, components }: OpenApi): string {
  const { schemas, parameters, headers, responses } = components
  const contract = JSON.stringify(contractOf({ paths, schemas, parameters, headers, responses }))
  return createHash('sha256').update(contract).digest('hex').slice(0, 16)
}
