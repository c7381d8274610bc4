import type { JsonObject, JsonValue, Schema } from './fields.ts'
import type { Normalized } from './texts.ts'

const keyForm = /^[A-Za-z][A-Za-z0-9_]{0,63}$/
const providerForm = /^[A-Za-z][A-Za-z0-9]{0,39}$/
const mostProperties = 200
const mostBytes = 64 * 1024

const isObject = (value: JsonValue): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Custom properties: arbitrary JSON under at most 200 keys, 64 KiB in all. */
export const customProperties = {
  schema: {
    type: 'object',
    propertyNames: { pattern: keyForm.source },
    maxProperties: mostProperties,
    additionalProperties: true,
    examples: [{ plan: 'pro', seats: 12 }],
  } satisfies Schema,
  normalize(value: JsonValue): Normalized {
    if (!isObject(value)) return { fault: 'must be an object' }
    const keys = Object.keys(value)
    const bad = keys.find((key) => !keyForm.test(key))
    if (bad !== undefined) return { fault: `key "${bad.slice(0, 80)}" must match ${keyForm.source}` }
    if (keys.length > mostProperties) return { fault: `must hold at most ${mostProperties} properties` }
    if (Buffer.byteLength(JSON.stringify(value)) > mostBytes) return { fault: 'must be at most 64 KiB of JSON' }
    return { value }
  },
}

/** Ids of the same record at other providers: `{"<provider>": "<id>"}`. */
export const externalIds = {
  schema: {
    type: 'object',
    propertyNames: { pattern: providerForm.source },
    maxProperties: 50,
    additionalProperties: { type: 'string', minLength: 1, maxLength: 200 },
    examples: [{ billing: 'cus_1042' }],
  } satisfies Schema,
  normalize(value: JsonValue): Normalized {
    if (!isObject(value)) return { fault: 'must be an object' }
    for (const [provider, id] of Object.entries(value)) {
      if (!providerForm.test(provider))
        return { fault: `provider "${provider.slice(0, 80)}" must match ${providerForm.source}` }
      if (typeof id !== 'string' || id.trim() === '') return { fault: `${provider} must be a string that is not blank` }
    }
    return { value }
  },
}

/** JSON Merge Patch (RFC 7396): null removes a key, an object is merged, anything else replaces. */
export function mergePatch(target: JsonValue | undefined, patch: JsonValue): JsonValue {
  if (!isObject(patch)) return patch
  const merged: JsonObject = target !== undefined && isObject(target) ? { ...target } : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key]
    else merged[key] = mergePatch(merged[key], value)
  }
  return merged
}
