import { embeddedThrough } from '../records/filter/target.ts'
import type { BodyShape } from '../records/request/body.ts'
import type { Embedded, Resource } from '../records/declare/define.ts'
import { errorCodes } from '../model/errors.ts'
import type { JsonValue, Schema } from '../model/json.ts'
import type { Field } from '../records/declare/field.ts'

/** A record in a response: all properties are present, and null if they have no value. */
export function recordSchema(resource: Resource): Schema {
  const properties = resource.propertyNames.map((name): [string, Schema] => {
    const embedded = resource.embedded[name]
    if (embedded) return [name, embeddedSchema(embedded)]
    return [name, withDescription(fieldOf(resource, name), responseValueSchema(resource, name))]
  })
  return closedObject(properties)
}

/** A record from which `select[]` may omit properties, but not selected paths into organization-defined keys. */
export function selectionSchema(resource: Resource): Schema {
  const properties = resource.propertyNames.map((name): [string, Schema] => {
    const embedded = resource.embedded[name]
    if (embedded) return [name, embeddedSchema(embedded, [])]
    const field = fieldOf(resource, name)
    const isOpen = field.filter === 'properties'
    const whole = isOpen ? partialSchema(field.schema) : partialDocument(responseValueSchema(resource, name))
    return [name, withDescription(field, whole)]
  })
  const description = 'The properties named in `select[]`; all of them without `select[]`.'
  return { ...closedObject(properties, []), description }
}

/** Some keys of the object, which may be missing there. */
function partialSchema({ type, additionalProperties: values, examples }: Schema): Schema {
  return { type, additionalProperties: values === true ? true : orNull(values as Schema), examples }
}

/** Some properties of the object, at any depth; one that the record lacks reads as null. */
function partialDocument(whole: Schema): Schema {
  const schema = { ...whole }
  delete schema.required
  if (schema.properties === undefined) return schema
  const properties = Object.entries(schema.properties as Record<string, Schema>).map(([key, inner]) => [
    key,
    inner.type === undefined ? inner : orNull(partialDocument(inner)),
  ])
  return { ...schema, properties: Object.fromEntries(properties) }
}

export function bodySchema({ fields, mode }: BodyShape): Schema {
  const properties = Object.entries(fields).map(([name, field]): [string, Schema] => [
    name,
    withDescription(field, requestValueSchema(field, mode), mode === 'create' ? field.initial : undefined),
  ])
  const required = mode === 'create' ? Object.keys(fields).filter((name) => fields[name]?.required) : []
  return closedObject(properties, required)
}

/** A body with the required fields and those with an example for their format; for a change, only the first fields. */
export function bodyExample({ fields, mode }: BodyShape): Record<string, JsonValue> {
  const entries = Object.entries(fields)
  const shown =
    mode === 'create'
      ? entries.filter(([, field]) => field.required || field.schema.examples !== undefined)
      : entries.filter(([, field]) => field.filter === 'string' && field.idPrefix === undefined).slice(0, 2)
  return Object.fromEntries(shown.map(([name, field]) => [name, exampleOf(field)]))
}

/** The body of every response to a request that failed. */
export const errorSchema: Schema = {
  type: 'object',
  required: ['code', 'status', 'message', 'description'],
  additionalProperties: false,
  properties: {
    code: {
      type: 'string',
      enum: Object.keys(errorCodes),
      description: 'Error code for programs; see docs/errors.md.',
    },
    status: { type: 'integer', description: 'The HTTP status.' },
    message: { type: 'string', description: 'Short message for people.' },
    description: { type: 'string', description: 'Explanation of what is wrong and what to do.' },
    details: {
      type: 'array',
      description: 'Every error found; present with each 422 and with 400 `invalid_parameters`.',
      items: {
        type: 'object',
        required: ['field', 'message'],
        additionalProperties: false,
        properties: {
          field: { type: 'string', description: 'Dotted path of the field, or the name of a parameter or header.' },
          message: { type: 'string' },
          id: {
            type: 'string',
            description: 'With `already_exists`: the record that has the value, if the credential may read it.',
          },
        },
      },
    },
  },
}

/** An object with these properties and no others. By default all are required. */
function closedObject(
  properties: [string, Schema][],
  required: readonly string[] = properties.map(([name]) => name),
): Schema {
  return {
    type: 'object',
    ...(required.length > 0 && { required }),
    additionalProperties: false,
    properties: Object.fromEntries(properties),
  }
}

export function orNull(schema: Schema): Schema {
  const { type, enum: values, ...rest } = schema
  return {
    type: [...new Set([type, 'null'].flat())],
    ...(Array.isArray(values) && { enum: [...new Set([...(values as JsonValue[]), null])] }),
    ...rest,
  }
}

/** A reference reads as null while the referenced record is deleted, even if it is required. */
function responseValueSchema(resource: Resource, name: string): Schema {
  const field = fieldOf(resource, name)
  return field.nullable || embeddedThrough(resource, name) ? orNull(field.schema) : field.schema
}

function requestValueSchema(field: Field, mode: 'create' | 'update'): Schema {
  const { schema } = field
  const values = schema.additionalProperties
  const isPatched = mode === 'update' && field.filter === 'properties' && typeof values === 'object' && values !== null
  // In a merge patch, null removes a key.
  const whole = isPatched ? { ...schema, additionalProperties: orNull(values as Schema) } : schema
  return field.nullable ? orNull(whole) : whole
}

function embeddedSchema({ label, resource, show, through, always }: Embedded, required = show): Schema {
  const properties = show.map((name): [string, Schema] => [
    name,
    withDescription(fieldOf(resource, name), responseValueSchema(resource, name)),
  ])
  const schema = closedObject(properties, required)
  return { ...(always ? schema : orNull(schema)), description: `${label} referenced by \`${through}\`.` }
}

function withDescription(field: Field, schema: Schema, initial?: JsonValue): Schema {
  const defaultText = initial === undefined ? '' : ` Default: \`${JSON.stringify(initial)}\`.`
  return { ...schema, description: `${field.label}${field.description ? `: ${field.description}` : ''}.${defaultText}` }
}

function exampleOf({ schema, idPrefix }: Field): JsonValue {
  if (idPrefix !== undefined) return `${idPrefix}_019aa5b2c1d27e3fa4b5c6d7e8f90123`
  const [example] = (schema.examples ?? schema.enum ?? []) as JsonValue[]
  return example ?? 'Example'
}

function fieldOf(resource: Resource, name: string): Field {
  const field = resource.fields[name]
  if (!field) throw new Error(`${resource.name} has no field ${name}`)
  return field
}
