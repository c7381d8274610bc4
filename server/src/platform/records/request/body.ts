import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import { type BodyError, invalidBody, maxDetails } from '../../model/errors.ts'
import { Suggestions } from '../../model/suggestions.ts'
import type { Create, Fields, Resource, Update } from '../declare/define.ts'
import { composed, trimmed } from '../../model/text.ts'
import { excessOfProperties, mergePatch, withKeyForm } from '../declare/json-objects.ts'
import type { JsonValue, Schema, JsonObject } from '../../model/json.ts'
import type { Field } from '../declare/field.ts'

/** The fields that a body may have. `readOnly` are properties that only the service sets. */
export interface BodyShape<out Body = JsonObject> {
  fields: Fields
  readOnly: readonly string[]
  /** A new record needs its required fields. A change does not, and in an object null removes a key (RFC 7396). */
  mode: 'create' | 'update'
  /** Carries the type of the body; never set at run time. */
  body?: Body
}

export function bodyShape<R extends Resource>(resource: R, mode: 'create'): BodyShape<Create<R>>
export function bodyShape<R extends Resource>(resource: R, mode: 'update'): BodyShape<Update<R>>
export function bodyShape(resource: Resource, mode: 'create' | 'update'): BodyShape<unknown> {
  const writable = Object.entries(resource.fields).filter(([, field]) => field.writable)
  const fields = { ...Object.fromEntries(writable), ...(mode === 'update' && resource.updateOptions) }
  return { fields, readOnly: resource.propertyNames.filter((name) => !(name in fields)), mode }
}

/** The body of a request that is not about a record. */
export const bodyShapeOf = <F extends Fields>(fields: F): BodyShape<Create<{ fields: F }>> => ({
  mode: 'create',
  readOnly: [],
  fields,
})

/** Parses a body into normalized values. Throws 422 with every error at once. */
export function parseBody(shape: BodyShape<unknown>, body: unknown): JsonObject {
  const { values, errors } = validateBody(shape, body)
  if (errors.length > 0) throw invalidBody(errors)
  return values
}

/** The valid values, and the errors of the others. Throws 422 if the body is not an object. */
export function validateBody(shape: BodyShape<unknown>, body: unknown): { values: JsonObject; errors: BodyError[] } {
  if (!isObject(body)) throw invalidBody([{ field: 'body', message: 'expected an object' }])
  const errors: BodyError[] = []
  const values: JsonObject = {}
  const suggestions = new Suggestions()
  // Not the entries: most of thousands of unknown names are not looked at.
  for (const name of Object.keys(body)) {
    if (errors.length >= maxDetails) break
    const value = body[name] ?? null
    const field = Object.hasOwn(shape.fields, name) ? shape.fields[name] : undefined
    const read = field
      ? parseValue(field, name, value, shape.mode)
      : [{ field: name.slice(0, 200), message: unknownFieldMessage(shape, name, suggestions) }]
    if (Array.isArray(read)) errors.push(...read)
    else values[name] = read.value
  }
  if (shape.mode === 'create') {
    for (const [name, field] of Object.entries(shape.fields)) {
      if (field.required && !Object.hasOwn(body, name))
        errors.push({ field: name, message: 'is required', missing: true })
    }
  }
  return { values, errors: errors.slice(0, maxDetails) }
}

function unknownFieldMessage(shape: BodyShape<unknown>, name: string, suggestions: Suggestions): string {
  if (shape.readOnly.includes(name)) return 'is read-only'
  const suggestion = suggestions.for(name, Object.keys(shape.fields))
  return suggestion ? `unknown field; did you mean ${suggestion}?` : 'unknown field'
}

/** Validates one value and converts it to the form that is stored. */
export function parseValue(
  field: Field,
  name: string,
  given: JsonValue,
  mode: 'create' | 'update',
): { value: JsonValue } | BodyError[] {
  if (given === null) return field.nullable ? { value: given } : [{ field: name, message: 'must not be null' }]
  const excess =
    excessOf(field.schema, given, mode) ?? (field.filter === 'properties' ? excessOfProperties(given) : undefined)
  if (excess !== undefined) return [{ field: name, message: formatError(field, given) ?? excess }]
  const text = comparable(field, given)
  if (text === '' && given !== '') return [{ field: name, message: 'must not be blank' }]
  const formed = field.keyForm && isObject(text) ? withKeyForm(text, field.keyForm) : { value: text }
  if ('error' in formed) return [{ field: name, message: formed.error }]
  const { value } = formed
  const patch = field.filter === 'properties' && mode === 'update' && isObject(value)
  // The limits apply here to the patch without its nulls, and later to the merged object.
  const checked = patch ? mergePatch({}, value) : value
  const validate = validatorOf(field.schema)
  if (!validate(checked)) {
    const message = formatError(field, checked)
    return message === undefined ? errorsOf(name, validate.errors ?? []) : [{ field: name, message }]
  }
  const normalized = field.normalize?.(checked)
  if (normalized && 'error' in normalized)
    return [{ field: normalized.at === undefined ? name : `${name}.${normalized.at}`, message: normalized.error }]
  return { value: patch ? value : (normalized?.value ?? checked) }
}

/** What a short text with a format should be: "Germany" is not a country code, rather than too long. */
function formatError({ schema, normalize }: Field, value: JsonValue): string | undefined {
  if (schema.format === undefined || typeof value !== 'string' || value.length > 100) return undefined
  const normalized = normalize?.(value)
  return normalized && 'error' in normalized ? normalized.error : undefined
}

/** Composed, and trimmed except for text of several lines and decimals. Passwords stay as typed. */
export function comparable({ type, schema }: Field, value: JsonValue): JsonValue {
  if (schema.format === 'password') return value
  if (typeof value === 'string') return type === 'longText' || type === 'decimal' ? composed(value) : trimmed(value)
  if (type === 'list' && Array.isArray(value))
    return value.map((item) => (typeof item === 'string' ? trimmed(item) : item))
  return composed(value)
}

/**
 * Rejects a far too long value early, because ajv does not limit its errors. A character has one or two code units, and
 * a change can remove as many properties as it sets.
 */
function excessOf(
  { maxLength, maxItems, maxProperties }: Schema,
  value: JsonValue,
  mode: 'create' | 'update',
): string | undefined {
  if (typeof value === 'string' && value.length > 2 * Number(maxLength)) return longerThan(maxLength)
  if (Array.isArray(value) && value.length > Number(maxItems)) return moreItemsThan(maxItems)
  const names = mode === 'update' ? 2 * Number(maxProperties) : Number(maxProperties)
  return isObject(value) && Object.keys(value).length > names ? morePropertiesThan(maxProperties) : undefined
}

const longerThan = (limit: unknown): string => `expected at most ${limit} characters`
const moreItemsThan = (limit: unknown): string => `expected at most ${limit} items`
const morePropertiesThan = (limit: unknown): string => `expected at most ${limit} properties`

const isObject = (value: unknown): value is { [key: string]: JsonValue } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

// The normalizers check formats; in the schema they are documentation. The schemas themselves are checked with the document.
const ajv = new Ajv2020({ allErrors: true, validateFormats: false, validateSchema: false, strict: false })
const validators = new WeakMap<Schema, ValidateFunction>()

function validatorOf(schema: Schema): ValidateFunction {
  let validator = validators.get(schema)
  if (!validator) {
    validator = ajv.compile(schema)
    validators.set(schema, validator)
  }
  return validator
}

/** A value of the wrong type is one error, whatever else is wrong with it. */
function errorsOf(name: string, found: readonly ErrorObject[]): BodyError[] {
  // A value has a few errors at most, so this is enough for all that are reported.
  const errors = found.slice(0, 10 * maxDetails)
  const wrongTypePaths = new Set(
    errors.flatMap(({ keyword, instancePath }) => (keyword === 'type' ? instancePath : [])),
  )
  return errors
    .filter(({ keyword, instancePath }) => keyword === 'type' || !wrongTypePaths.has(instancePath))
    .filter(({ keyword }) => keyword !== 'propertyNames')
    .slice(0, maxDetails)
    .map((error) => ({ field: `${name}${error.instancePath.replaceAll('/', '.')}`, message: messageOf(error) }))
}

/** An invalid property name is reported as such. */
const messageOf = (error: ErrorObject): string =>
  error.propertyName === undefined
    ? describeError(error)
    : `key "${error.propertyName.slice(0, 80)}" ${describeError(error)}`

function describeError({ keyword, params, message }: ErrorObject): string {
  switch (keyword) {
    case 'type':
      return `expected ${withArticle(String(params.type))}`
    case 'enum':
      return `expected one of ${(params.allowedValues as string[]).join(', ')}`
    case 'minLength':
      return 'must not be empty'
    case 'maxLength':
      return longerThan(params.limit)
    case 'maxItems':
      return moreItemsThan(params.limit)
    case 'maxProperties':
      return morePropertiesThan(params.limit)
    case 'minimum':
      return `expected at least ${params.limit}`
    case 'maximum':
      return `expected at most ${params.limit}`
    case 'pattern':
      return `must match ${params.pattern}`
    default:
      return message ?? 'is invalid'
  }
}

const withArticle = (type: string): string => (/^[aeio]/.test(type) ? `an ${type}` : `a ${type}`)
