import type { Normalized } from '../../model/normalizers.ts'
import { isPlaceholder } from '../../model/placeholders.ts'
import { isBlank, withoutInvisible } from '../../model/text.ts'
import type { JsonObject, JsonValue, Schema } from '../../model/json.ts'

const keyForm = /^[A-Za-z][A-Za-z0-9_]{0,63}$/
const providerPattern = /^[A-Za-z][A-Za-z0-9]{0,39}$/
const maxProperties = 200
const maxBytes = 64 * 1024
const tooLong = 'expected at most 64 KiB of JSON'

const isObject = (value: JsonValue): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Custom properties: arbitrary JSON with at most 200 keys and 64 KiB in total. */
export const customProperties = {
  description:
    'Values of your own. The values of a key with a definition (`/v5/properties`) have its type and follow its rules: a required one cannot be missing, and a new record gets the defaults. Other keys accept any JSON, unless the organization refuses them (`/v5/properties/undeclared`)',
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
      return { error: `nested key "${nested.slice(0, 80)}" must not be empty or contain a dot` }
    }
    return checkProperties(value)
  },
  // Nested keys are not checked, so that records with keys from before that rule can still be changed.
  checkMerged: checkProperties,
}

function checkProperties(value: JsonValue): Normalized {
  if (!isObject(value)) return { error: 'expected an object' }
  const keys = Object.keys(value)
  const bad = keys.find((key) => !keyForm.test(key))
  if (bad !== undefined) return { error: `key "${bad.slice(0, 80)}" must match ${keyForm.source}` }
  if (keys.length > maxProperties) return { error: `expected at most ${maxProperties} properties` }
  if (Buffer.byteLength(JSON.stringify(value)) > maxBytes) return { error: tooLong }
  return { value }
}

/** A key at any depth that a filter's dotted path cannot express. */
function unreachableKey(value: JsonValue): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) return findFirst(value, unreachableKey)
  return findFirst(Object.keys(value), (key) =>
    key === '' || key.includes('.') ? key : unreachableKey(value[key] ?? null),
  )
}

function findFirst<Item>(items: readonly Item[], find: (item: Item) => string | undefined): string | undefined {
  for (const item of items) {
    const found = find(item)
    if (found !== undefined) return found
  }
  return undefined
}

/** Rejects an object that is far too long before anything else looks at its names. */
export const excessOfProperties = (value: JsonValue): string | undefined =>
  minJsonLength(value, maxBytes) > maxBytes ? tooLong : undefined

/** The minimum length of the value's JSON, counted no further than `enough`. */
function minJsonLength(value: JsonValue, enough: number): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return 1
  let length = 1
  if (Array.isArray(value)) {
    for (const item of value) {
      length += minJsonLength(item, enough - length) + 1
      if (length > enough) break
    }
    return length
  }
  for (const name of Object.keys(value)) {
    length += name.length + minJsonLength(value[name] ?? null, enough - length) + 4
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
    const placeholder = Object.entries(isObject(value) ? value : {}).find(
      ([, id]) => typeof id === 'string' && isPlaceholder(id),
    )
    return placeholder
      ? { error: `${placeholder[0]}: stands for a missing value, so it identifies nothing; send null` }
      : checkExternalIds(value)
  },
  // A record may have a placeholder from before that rule.
  checkMerged: checkExternalIds,
}

function checkExternalIds(value: JsonValue): Normalized {
  if (!isObject(value)) return { error: 'expected an object' }
  for (const [provider, id] of Object.entries(value)) {
    if (!providerPattern.test(provider))
      return { error: `provider "${provider.slice(0, 80)}" must match ${providerPattern.source}` }
    if (typeof id !== 'string' || isBlank(id)) return { error: `${provider}: expected a string that is not blank` }
  }
  const entries = Object.entries(value).map(([provider, id]) => [provider, withoutInvisible(String(id))] as const)
  return { value: Object.fromEntries(entries) }
}

/** The object with normalized keys, or the error if two keys become equal. */
export function withKeyForm(
  value: JsonObject,
  keyForm: (key: string) => string,
): { value: JsonObject } | { error: string } {
  const formed = new Map<string, { key: string; item: JsonValue }>()
  for (const [key, item] of Object.entries(value)) {
    const other = formed.get(keyForm(key))?.key
    if (other !== undefined) return { error: `"${other.slice(0, 80)}" and "${key.slice(0, 80)}" are the same key` }
    formed.set(keyForm(key), { key, item })
  }
  return { value: Object.fromEntries([...formed].map(([name, { item }]) => [name, item])) }
}

/** JSON Merge Patch (RFC 7396): null removes a key, an object is merged, anything else replaces. */
export function mergePatch(target: JsonValue | undefined, patch: JsonValue): JsonValue {
  if (!isObject(patch)) return patch
  const merged: JsonObject = target !== undefined && isObject(target) ? { ...target } : {}
  for (const key of Object.keys(patch)) {
    const value = patch[key] ?? null
    if (value === null) delete merged[key]
    else merged[key] = isObject(value) ? mergePatch(merged[key], value) : value
  }
  return merged
}
