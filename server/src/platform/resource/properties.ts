import type { JsonObject, JsonValue, Schema } from '../model/fields.ts'
import type { Normalized } from '../model/normalizers.ts'

const keyForm = /^[A-Za-z][A-Za-z0-9_]{0,63}$/
const providerPattern = /^[A-Za-z][A-Za-z0-9]{0,39}$/
const maxProperties = 200
const maxBytes = 64 * 1024

const isObject = (value: JsonValue): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Custom properties: arbitrary JSON with at most 200 keys and 64 KiB in total. */
export const customProperties = {
  schema: {
    type: 'object',
    propertyNames: { pattern: keyForm.source },
    maxProperties: maxProperties,
    additionalProperties: true,
    examples: [{ plan: 'pro', seats: 12 }],
  } satisfies Schema,
  normalize(value: JsonValue): Normalized {
    const nested = unreachableKey(value)
    if (nested !== undefined) {
      return { fault: `nested key "${nested.slice(0, 80)}" must not be empty or contain a dot` }
    }
    return checkProperties(value)
  },
  // Nested keys are not checked, so that records with keys from before that rule can still be changed.
  checkMerged: checkProperties,
}

function checkProperties(value: JsonValue): Normalized {
  if (!isObject(value)) return { fault: 'expected an object' }
  const keys = Object.keys(value)
  const bad = keys.find((key) => !keyForm.test(key))
  if (bad !== undefined) return { fault: `key "${bad.slice(0, 80)}" must match ${keyForm.source}` }
  if (keys.length > maxProperties) return { fault: `expected at most ${maxProperties} properties` }
  if (isLongerThan(value, maxBytes)) return { fault: 'expected at most 64 KiB of JSON' }
  return { value }
}

/** A key at any depth that a filter's dotted path cannot express. */
function unreachableKey(value: JsonValue): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const bad = Array.isArray(value) ? undefined : Object.keys(value).find((key) => key === '' || key.includes('.'))
  if (bad !== undefined) return bad
  for (const inner of Object.values(value)) {
    const found = unreachableKey(inner)
    if (found !== undefined) return found
  }
  return undefined
}

/** Is the JSON of the value longer? A value that is far too long is not serialized to find out. */
function isLongerThan(value: JsonValue, bytes: number): boolean {
  return minJsonLength(value, bytes) > bytes || Buffer.byteLength(JSON.stringify(value)) > bytes
}

/** The minimum length of the value's JSON, counted no further than `enough`. */
function minJsonLength(value: JsonValue, enough: number): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return 1
  let length = 1
  const items = Array.isArray(value) ? value : Object.values(value)
  for (const item of items) {
    length += minJsonLength(item, enough - length) + 1
    if (length > enough) break
  }
  return length
}

/** Ids of the same record at other providers: `{"<provider>": "<id>"}`. */
export const externalIds = {
  schema: {
    type: 'object',
    propertyNames: { pattern: providerPattern.source },
    maxProperties: 50,
    additionalProperties: { type: 'string', minLength: 1, maxLength: 200 },
    examples: [{ billing: 'cus_1042' }],
  } satisfies Schema,
  /** A provider has the same name in a push (`externalIdHubSpot`) and over REST. */
  keyForm: (provider: string): string => provider.charAt(0).toLowerCase() + provider.slice(1),
  normalize(value: JsonValue): Normalized {
    if (!isObject(value)) return { fault: 'expected an object' }
    for (const [provider, id] of Object.entries(value)) {
      if (!providerPattern.test(provider))
        return { fault: `provider "${provider.slice(0, 80)}" must match ${providerPattern.source}` }
      if (typeof id !== 'string' || id.trim() === '')
        return { fault: `${provider}: expected a string that is not blank` }
    }
    return { value: Object.fromEntries(Object.entries(value).map(([provider, id]) => [provider, String(id).trim()])) }
  },
}

/** The object with normalized keys, or the error if two keys become equal. */
export function withKeyForm(
  value: JsonObject,
  keyForm: (key: string) => string,
): { value: JsonObject } | { fault: string } {
  const formed = new Map<string, { key: string; item: JsonValue }>()
  for (const [key, item] of Object.entries(value)) {
    const other = formed.get(keyForm(key))?.key
    if (other !== undefined) return { fault: `"${other.slice(0, 80)}" and "${key.slice(0, 80)}" are the same key` }
    formed.set(keyForm(key), { key, item })
  }
  return { value: Object.fromEntries([...formed].map(([name, { item }]) => [name, item])) }
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
