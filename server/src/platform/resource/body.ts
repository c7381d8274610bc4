import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import { type BodyFault, invalidBody } from '../http/errors.ts'
import { suggest } from '../query/target.ts'
import type { AnyRow, Fields, Resource } from './define.ts'
import type { Field, JsonValue, Schema } from './fields.ts'
import { mergePatch } from './properties.ts'

/** The members that a body may have. `readOnly` are members of the record that only the service writes. */
export interface BodyShape {
  fields: Fields
  readOnly: readonly string[]
  /** A new record needs its required fields; a change does not, and null removes a key of an object (RFC 7396). */
  mode: 'create' | 'update'
}

/** The body that creates or changes a record of the resource. */
export function bodyShape(resource: Resource, mode: 'create' | 'update'): BodyShape {
  const writable = Object.entries(resource.fields).filter(([, field]) => field.writable)
  const fields = Object.fromEntries(writable)
  return { fields, readOnly: resource.members.filter((name) => !(name in fields)), mode }
}

/** Reads a body into normalized values. Errors: 422 with every fault at once (interface 7.3). */
export function readBody(shape: BodyShape, body: unknown): AnyRow {
  if (!isObject(body)) throw invalidBody([{ field: 'body', message: 'must be an object' }])
  const faults: BodyFault[] = []
  const values: AnyRow = {}
  for (const [name, value] of Object.entries(body)) {
    const field = Object.hasOwn(shape.fields, name) ? shape.fields[name] : undefined
    const read = field
      ? readValue(field, name, value, shape.mode)
      : [{ field: name.slice(0, 200), message: unknown(shape, name) }]
    if (Array.isArray(read)) faults.push(...read)
    else values[name] = read.value
  }
  if (shape.mode === 'create') {
    for (const [name, field] of Object.entries(shape.fields)) {
      if (field.required && !Object.hasOwn(body, name))
        faults.push({ field: name, message: 'is required', missing: true })
    }
  }
  if (faults.length > 0) throw invalidBody(faults.slice(0, mostFaults))
  return values
}

const mostFaults = 100

function unknown(shape: BodyShape, name: string): string {
  if (shape.readOnly.includes(name)) return 'is read-only'
  const suggestion = suggest(name, Object.keys(shape.fields))
  return suggestion ? `unknown field; did you mean ${suggestion}?` : 'unknown field'
}

/** One value, checked against its schema and brought into the form that is stored. */
export function readValue(
  field: Field,
  name: string,
  value: JsonValue,
  mode: 'create' | 'update',
): { value: JsonValue } | BodyFault[] {
  if (value === null) return field.nullable ? { value } : [{ field: name, message: 'must not be null' }]
  const patch = field.filter === 'properties' && mode === 'update' && isObject(value)
  // The limits hold for what is left of a patch here, and again for the whole after it was merged.
  const checked = patch ? mergePatch({}, value) : value
  const validate = validatorOf(field.schema)
  if (!validate(checked)) return faultsOf(name, validate.errors ?? [])
  const normalized = field.normalize?.(checked)
  if (normalized && 'fault' in normalized) return [{ field: name, message: normalized.fault }]
  return { value: patch ? value : (normalized?.value ?? checked) }
}

const isObject = (value: unknown): value is { [key: string]: JsonValue } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

// Formats are the normalizers' to judge; here they are documentation.
const ajv = new Ajv2020({ allErrors: true, validateFormats: false, strict: false })
const validators = new WeakMap<Schema, ValidateFunction>()

function validatorOf(schema: Schema): ValidateFunction {
  let validator = validators.get(schema)
  if (!validator) {
    validator = ajv.compile(schema)
    validators.set(schema, validator)
  }
  return validator
}

/** A value of another type is one fault, whatever else it fails for that. */
function faultsOf(name: string, found: readonly ErrorObject[]): BodyFault[] {
  // A megabyte can hold half a million; one place has a few at most, so these are enough for every fault that is told.
  const errors = found.slice(0, 10 * mostFaults)
  const ofAnotherType = new Set(errors.flatMap(({ keyword, instancePath }) => (keyword === 'type' ? instancePath : [])))
  return errors
    .filter(({ keyword, instancePath }) => keyword === 'type' || !ofAnotherType.has(instancePath))
    .filter(({ keyword }) => keyword !== 'propertyNames')
    .slice(0, mostFaults)
    .map((error) => ({ field: `${name}${error.instancePath.replaceAll('/', '.')}`, message: told(error) }))
}

/** What is wrong with a member's name is told of the name. */
const told = (error: ErrorObject): string =>
  error.propertyName === undefined ? sentence(error) : `key "${error.propertyName.slice(0, 80)}" ${sentence(error)}`

/** ajv's findings in words for the person who sent the value. */
function sentence({ keyword, params, message }: ErrorObject): string {
  switch (keyword) {
    case 'type':
      return `must be ${article(String(params.type))}`
    case 'enum':
      return `must be one of ${(params.allowedValues as string[]).join(', ')}`
    case 'minLength':
      return 'must not be empty'
    case 'maxLength':
      return `must have at most ${params.limit} characters`
    case 'maxItems':
      return `must have at most ${params.limit} items`
    case 'maxProperties':
      return `must have at most ${params.limit} members`
    case 'minimum':
      return `must be at least ${params.limit}`
    case 'maximum':
      return `must be at most ${params.limit}`
    case 'pattern':
      return `must match ${params.pattern}`
    default:
      return message ?? 'is not valid'
  }
}

const article = (type: string): string => (/^[aeio]/.test(type) ? `an ${type}` : `a ${type}`)
