import { isDeepStrictEqual } from 'node:util'
import { declaredProperty } from '../../platform/records/properties/property.ts'
import type { Prepared } from '../../platform/records/declare/define.ts'
import type { BodyError } from '../../platform/model/errors.ts'
import { parseValue } from '../../platform/records/request/body.ts'
import type { JsonObject, JsonValue } from '../../platform/model/json.ts'
import type {
  PropertyIndex,
  PropertyChoice,
  PropertyDefinition,
  PropertyType,
} from '../../platform/records/declare/field.ts'

const fixed = ['resource', 'key', 'type', 'references'] as const

const choiceTypes: readonly unknown[] = ['choice', 'multiChoice'] satisfies PropertyType[]

/** Each value belongs to any number of records, or has several parts that could be compared differently. */
const neverUnique: readonly unknown[] = ['boolean', 'multiChoice', 'money'] satisfies PropertyType[]

/** The id prefixes of the resources that a reference can name. */
const idPrefixes: Readonly<Record<string, string>> = { contacts: 'con', companies: 'com', deals: 'del', members: 'usr' }

/** The rules between the fields of a definition. */
export function prepareProperty(values: JsonObject, current: JsonObject | undefined): Prepared {
  const choices = values.choices && choicesOf(values.choices)
  const sent: JsonObject = choices ? { ...values, choices } : values
  const after = { ...current, ...sent }
  const errors = [
    ...(current ? fixed.flatMap((name) => changeError(name, sent, current)) : []),
    ...choiceErrors(after),
    ...referenceErrors(after),
    ...uniqueErrors(after, sent),
  ]
  if (errors.length > 0 || (after.default ?? null) === null) return { values: sent, errors }
  const read = readDefault(after)
  if (Array.isArray(read)) return { values: sent, errors: read }
  return { values: 'default' in sent ? { ...sent, default: read.value } : sent }
}

/** A stored record (in the form of the API) as the definition that writes need. */
export function definitionOf(id: string, record: JsonObject, index: PropertyIndex | null = null): PropertyDefinition {
  const { references } = record
  return {
    id,
    key: String(record.key),
    type: record.type as PropertyType,
    label: String(record.label),
    description: (record.description ?? null) as string | null,
    choices: choicesOf(record.choices ?? []),
    references:
      typeof references === 'string' ? { resource: references, idPrefix: idPrefixes[references] ?? '' } : null,
    required: record.required === true,
    unique: record.unique === true,
    default: record.default ?? null,
    indexed: record.indexed === true,
    index,
    archived: record.archived === true,
    position: String(record.position ?? '0'),
  }
}

const choicesOf = (choices: JsonValue): (PropertyChoice & JsonObject)[] =>
  (choices as { value: string; label: string; archived?: boolean }[]).map(({ value, label, archived = false }) => ({
    value,
    label,
    archived,
  }))

function changeError(name: string, values: JsonObject, current: JsonObject): BodyError[] {
  const isChanged = name in values && !isDeepStrictEqual(values[name], current[name])
  return isChanged ? [{ field: name, message: 'cannot be changed; define another property' }] : []
}

function choiceErrors({ type, choices = [] }: JsonObject): BodyError[] {
  const values = choicesOf(choices).map(({ value }) => value)
  if (!choiceTypes.includes(type)) {
    return values.length > 0 ? [{ field: 'choices', message: `only ${choiceTypes.join(' and ')} have choices` }] : []
  }
  if (values.length === 0) return [{ field: 'choices', message: 'expected at least one choice' }]
  const blank = values.findIndex((value) => value.trim() !== value)
  if (blank >= 0) return [{ field: `choices.${blank}.value`, message: 'must not begin or end with a space' }]
  const repeated = values.findIndex((value, index) => values.indexOf(value) !== index)
  return repeated < 0 ? [] : [{ field: `choices.${repeated}.value`, message: 'is the value of another choice' }]
}

function referenceErrors({ type, references = null }: JsonObject): BodyError[] {
  if (type === 'reference' && references === null)
    return [{ field: 'references', message: 'is required for a reference', missing: true }]
  return type !== 'reference' && references !== null
    ? [{ field: 'references', message: 'only a reference refers to records' }]
    : []
}

function uniqueErrors({ type, unique, default: initial = null }: JsonObject, sent: JsonObject): BodyError[] {
  if (unique !== true) return []
  if (neverUnique.includes(type))
    return [{ field: 'unique', message: `a property of the type ${type} cannot be unique` }]
  const field = 'default' in sent && sent.default !== null ? 'default' : 'unique'
  return initial === null ? [] : [{ field, message: 'a unique property has no default' }]
}

function readDefault(record: JsonObject): { value: JsonValue } | BodyError[] {
  const definition = definitionOf('', record)
  const { type, choices } = definition
  if (type === 'reference') return [{ field: 'default', message: 'a reference has no default' }]
  const read = parseValue(declaredProperty(definition).field, 'default', definition.default, 'create')
  if (Array.isArray(read) || !choiceTypes.includes(type)) return read
  const archived = choices.filter((one) => one.archived).map(({ value }) => value)
  const bad = [read.value].flat().find((value) => archived.includes(String(value)))
  return bad === undefined ? read : [{ field: 'default', message: `the choice ${String(bad)} is archived` }]
}
