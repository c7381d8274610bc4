import { parseProperty } from '../../platform/records/properties/values.ts'
import { convert } from '../payload/conversions.ts'
import type { Lead } from '../payload/payload.ts'
import { type Finding, finding } from '../imports/resource.ts'
import { objectOf } from './draft.ts'
import type { JsonObject, JsonValue } from '../../platform/model/json.ts'
import type { DeclaredProperty, PropertySet } from '../../platform/records/declare/field.ts'

/** The definitions of the custom properties of contacts and companies. */
export type PropertySets = Readonly<Record<'contact' | 'company', PropertySet>>

/** A value that only one record can have, or that names another one. */
export interface SpecialValue {
  part: 'contact' | 'company'
  property: DeclaredProperty
  value: JsonValue
}

export const hasCustomProperties = ({ contact, company }: Lead): boolean =>
  contact.customProperties !== undefined || company?.customProperties !== undefined

/** The lead with custom properties that follow their definitions; a warning for each of the others. */
export function fitProperties(lead: Lead, sets: PropertySets): Lead {
  const warnings = [...lead.warnings]
  const contact = fitted('contact', lead.contact, sets.contact, warnings)
  const company = lead.company && fitted('company', lead.company, sets.company, warnings)
  return { ...lead, contact, company, warnings }
}

function fitted(part: string, { customProperties, ...values }: JsonObject, set: PropertySet, warnings: Finding[]) {
  const fitting: JsonObject = {}
  for (const [key, value] of Object.entries(objectOf(customProperties))) {
    const read = fit(set, key, value)
    if ('error' in read) warnings.push(finding('unusable_value', `${part}.customProperties.${key}`, read.error))
    else if (read.value !== null) fitting[key] = read.value
  }
  return { ...values, ...(Object.keys(fitting).length > 0 && { customProperties: fitting }) }
}

function fit(set: PropertySet, key: string, value: JsonValue): { value: JsonValue } | { error: string } {
  const property = set.properties.get(key)
  if (!property) return set.refusesUndeclared ? { error: 'has no definition' } : { value }
  const converted = property.type === 'money' ? { value: moneyOf(value) } : convert(property.field, value)
  if (!converted) return { error: `expected a value of type ${property.type}` }
  if ('leftOut' in converted) return { error: converted.leftOut }
  if (converted.value === null) return { value: null }
  const read = parseProperty(property, key, choiceOf(property, converted.value), undefined)
  return Array.isArray(read) ? { error: read.map(({ message }) => message).join(', ') } : read
}

/** The amount may be a number. */
function moneyOf(value: JsonValue): JsonValue {
  const { amount } = objectOf(value)
  return typeof amount === 'number' ? { ...objectOf(value), amount: String(amount) } : value
}

/** The value of a choice that was sent as its label or in another case. */
function choiceOf({ choices }: DeclaredProperty, value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map((item) => exactChoice(choices, item))
  return exactChoice(choices, value)
}

function exactChoice(choices: DeclaredProperty['choices'], value: JsonValue): JsonValue {
  if (typeof value !== 'string' || choices.some((one) => one.value === value)) return value
  const word = value.trim().toLowerCase()
  const found = choices.filter((one) => [one.value, one.label].some((text) => text.toLowerCase() === word))
  return found.length === 1 ? (found[0]?.value ?? value) : value
}

/** The values of a fitted lead that the database has to check. */
export function specialValues({ contact, company }: Lead, sets: PropertySets): SpecialValue[] {
  return [
    ...specialOf('contact', contact, sets.contact),
    ...(company ? specialOf('company', company, sets.company) : []),
  ]
}

const specialOf = (part: SpecialValue['part'], { customProperties }: JsonObject, set: PropertySet): SpecialValue[] =>
  Object.entries(objectOf(customProperties)).flatMap(([key, value]) => {
    const property = set.properties.get(key)
    return property && (property.unique || property.references) ? { part, property, value } : []
  })

/** The lead without a custom property. */
export function withoutProperty(lead: Lead, { part, property }: SpecialValue, message: string): Lead {
  const values = lead[part] ?? {}
  const { [property.key]: _, ...others } = objectOf(values.customProperties)
  const path = `${part}.customProperties.${property.key}`
  return {
    ...lead,
    [part]: { ...values, customProperties: others },
    warnings: [...lead.warnings, finding('unusable_value', path, message)],
  }
}
