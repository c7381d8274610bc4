import { isDeepStrictEqual } from 'node:util'
import type { Resource } from '../declare/define.ts'
import { type BodyError, invalidBody } from '../../model/errors.ts'
import { Suggestions } from '../../model/suggestions.ts'
import type { NamedRecord } from '../declare/changes.ts'
import { parseValue } from '../request/body.ts'
import type { JsonObject, JsonValue } from '../../model/json.ts'
import type { DeclaredProperty, PropertySet } from '../declare/field.ts'

/** The field whose keys organizations can define. */
export const definableField = ({ fields }: Resource): string | undefined =>
  Object.keys(fields).find((name) => fields[name]?.definable)

export const objectOf = (value: JsonValue | undefined): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}

/** The value of a custom property by its key, or null. */
const valueAt = (object: JsonObject, key: string): JsonValue =>
  Object.hasOwn(object, key) ? (object[key] ?? null) : null

/** The object at `name` that a change wants, and the one before it; undefined for a new record. */
interface WantedProperties {
  name: string
  before: JsonObject | undefined
  wanted: JsonObject
}

interface ReadOptions {
  /** False if nobody can complete the record. */
  checksRequired: boolean
}

/**
 * The object with normalized values and, for a new record, defaults. Only changed keys are validated, so that a record
 * from before a definition can still be changed otherwise. Throws 422 with every error.
 */
export function parseDeclared(
  { properties, refusesUndeclared }: PropertySet,
  { name, before, wanted }: WantedProperties,
  { checksRequired }: ReadOptions,
): JsonObject {
  const errors: BodyError[] = []
  const result: JsonObject = {}
  const suggestions = new Suggestions()
  for (const [key, value] of Object.entries(wanted)) {
    const property = properties.get(key)
    const path = `${name}.${key}`
    if (before && Object.hasOwn(before, key) && isDeepStrictEqual(before[key], value)) result[key] = value
    else if (property && value !== null) {
      const read = parseProperty(property, path, value, before && valueAt(before, key))
      if (Array.isArray(read)) errors.push(...read)
      else result[key] = read.value
    } else if (!property) {
      if (refusesUndeclared) errors.push({ field: path, message: undeclared(suggestions, key, properties) })
      result[key] = value
    }
  }
  for (const [key, property] of properties) {
    const isLost = before === undefined || valueAt(before, key) !== null
    const isInvalid = errors.some(({ field }) => field === `${name}.${key}`)
    if (property.archived || Object.hasOwn(result, key) || !isLost || isInvalid) continue
    // Null is a choice to have no value.
    const isOpen = before === undefined && !Object.hasOwn(wanted, key)
    if (isOpen && property.default !== null) result[key] = property.default
    else if (property.required && checksRequired)
      errors.push({ field: `${name}.${key}`, message: 'is required', missing: true })
  }
  if (errors.length > 0) throw invalidBody(errors)
  return result
}

function undeclared(suggestions: Suggestions, key: string, properties: PropertySet['properties']): string {
  const suggestion = suggestions.for(key, [...properties.keys()])
  return suggestion ? `unknown property; did you mean ${suggestion}?` : 'unknown property; define it first'
}

/** One value of a declared property. */
export function parseProperty(
  { field, choices }: DeclaredProperty,
  path: string,
  value: JsonValue,
  before: JsonValue | undefined,
): { value: JsonValue } | BodyError[] {
  const read = parseValue(field, path, value, 'create')
  if (Array.isArray(read)) return read
  const current = [before].flat()
  const archived = [read.value]
    .flat()
    .find((item) => !current.includes(item) && choices.some((one) => one.archived && one.value === item))
  if (archived === undefined) return read
  const others = choices.filter((one) => !one.archived).map((one) => one.value)
  return [{ field: path, message: `the choice ${String(archived)} is archived; expected one of ${others.join(', ')}` }]
}

/** The records that the changed values of references name. */
export function namedRecords(
  { properties }: PropertySet,
  name: string,
  before: JsonObject | undefined,
  after: JsonObject,
): NamedRecord[] {
  return [...properties.values()].flatMap(({ key, label, references }) => {
    const id = after[key]
    const isChanged = typeof id === 'string' && id !== before?.[key]
    return references && isChanged ? [{ path: `${name}.${key}`, label, resource: references.resource, id }] : []
  })
}
