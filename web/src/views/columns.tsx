import {
  AtSign,
  Braces,
  Calendar,
  CircleDot,
  Coins,
  Flag,
  Globe,
  Hash,
  Link as LinkIcon,
  type LucideIcon,
  Phone,
  Tag as TagIcon,
  TextAlignStart,
  ToggleLeft,
  Type,
} from 'lucide-react'
import { createElement } from 'react'
import { resourceViews } from '../registry/resources.ts'
import { isYearKey } from '../api/declared-field.ts'
import type { FieldSchema, ResourceSchema } from '../api/schema.ts'
import { isMoney } from './money.ts'
import type { Property } from './property.ts'

const customOperators = ['equals', 'not', 'contains', 'startsWith', 'endsWith', 'in', 'gt', 'gte', 'lt', 'lte'] as const

/** All columns that a list of this resource can have: the default columns, other fields, custom properties. */
export function propertiesOf(resource: ResourceSchema): Property[] {
  const first = resourceViews[resource.name]?.columns ?? []
  const rank = ({ name, isReadOnly }: Property) =>
    isReadOnly || !first.includes(name) ? first.length : first.indexOf(name)
  return describedProperties(resource).sort((one, other) => rank(one) - rank(other))
}

function describedProperties(resource: ResourceSchema): Property[] {
  const hidden = resourceViews[resource.name]?.hidden ?? []
  const currencyField = resource.fields.find(({ type }) => type === 'currency')?.name
  const throughs = new Set(resource.embedded.map(({ through }) => through))
  const fields = resource.fields.flatMap((field): Property[] => {
    if (['properties', 'document', 'emails', 'phones'].includes(field.type) || hidden.includes(field.name)) return []
    if ('declared' in field && field.declared.isArchived) return []
    const embedded = resource.embedded.find(({ through }) => through === field.name)
    if (embedded && field.type === 'reference') return [embeddedProperty(embedded, field)]
    return [isAmount(field) ? { ...fieldProperty(field), currencyField } : fieldProperty(field)]
  })
  const others = resource.embedded
    .filter(({ through }) => !resource.fields.some(({ name, type }) => name === through && type === 'reference'))
    .flatMap(({ name, label, show, resource: target }) =>
      show.map((part): Property => ({
        ...textProperty(`${name}.${part}`, `${label}: ${part}`),
        resource: target ?? undefined,
      })),
    )
  const custom = (resource.customProperties ?? []).map(({ key, type }) => customProperty(key, type))
  return [...fields.filter(({ name }) => !throughs.has(name) || name !== 'id'), ...others, ...custom]
}

/** Its currency is that of the record, if that has one. */
const isAmount = ({ type, readOnly }: FieldSchema): boolean => type === 'decimal' && !readOnly

/** Archived properties, which only the page of a record that has a value still shows. */
export const archivedPropertiesOf = ({ fields }: ResourceSchema): Property[] =>
  fields.filter((field) => 'declared' in field && field.declared.isArchived).map(fieldProperty)

/** Also undefined for archived properties. */
export const propertyOf = (resource: ResourceSchema, name: string): Property | undefined =>
  propertiesOf(resource).find((property) => property.name === name) ??
  (name.startsWith(customPrefix) && !resource.fields.some((field) => field.name === name)
    ? customProperty(name.slice(customPrefix.length), 'string')
    : undefined)

const customPrefix = 'customProperties.'

export const fieldProperty = (field: FieldSchema): Property => ({
  name: field.name,
  label: field.label,
  type: field.type,
  field,
  operators: field.operators,
  filterBy: comparedPath(field),
  orderBy: field.sortable ? comparedPath(field) : undefined,
  isReadOnly: field.readOnly,
  choices: field.choices,
  choiceLabels: 'declared' in field ? field.declared.choiceLabels : undefined,
  isYear: field.format === 'year',
  currencyField: undefined,
  resource: field.reference?.resource,
})

const comparedPath = ({ name, type }: FieldSchema): string => (type === 'money' ? `${name}.amount` : name)

/** A reference whose record is embedded: shows and sorts by the embedded record's name, and writes the reference. */
const embeddedProperty = (
  { name, label, resource }: ResourceSchema['embedded'][number],
  field: FieldSchema,
): Property => ({
  name,
  label,
  type: 'embedded',
  field,
  operators: field.operators,
  filterBy: field.name,
  orderBy: field.sortable ? name : undefined,
  isReadOnly: field.readOnly,
  choices: null,
  choiceLabels: undefined,
  isYear: false,
  currencyField: undefined,
  resource: resource ?? undefined,
})

/** A read-only text. */
export const textProperty = (name: string, label: string): Property => ({
  name,
  label,
  type: 'text',
  field: undefined,
  operators: [],
  filterBy: name,
  orderBy: undefined,
  isReadOnly: true,
  choices: null,
  choiceLabels: undefined,
  isYear: false,
  currencyField: undefined,
  resource: undefined,
})

type CustomType = NonNullable<ResourceSchema['customProperties']>[number]['type']

function customProperty(key: string, type: CustomType): Property {
  const types = { string: 'text', number: 'number', boolean: 'boolean', other: 'any' } as const
  const name = customPrefix + key
  return {
    ...textProperty(name, key),
    type: types[type],
    operators: customOperators,
    orderBy: name,
    isReadOnly: type === 'other',
    isYear: isYearKey(key),
  }
}

/** The type for displaying a value: `any` if the value is older than the property's definition and does not fit it. */
export const shownType = ({ type, field }: Property, value: unknown): Property['type'] =>
  field && 'declared' in field && !isOfType[type]?.(value) ? 'any' : type

const isText = (value: unknown): boolean => typeof value === 'string'
const isTime = (value: unknown): boolean => typeof value === 'string' && !Number.isNaN(Date.parse(value))

const isOfType: Partial<Record<Property['type'], (value: unknown) => boolean>> = {
  text: isText,
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  date: isTime,
  timestamp: isTime,
  choice: isText,
  list: (value) => Array.isArray(value),
  url: isText,
  email: isText,
  phone: isText,
  money: isMoney,
  reference: isText,
}

const icons: Readonly<Record<Property['type'], LucideIcon>> = {
  id: Hash,
  text: Type,
  longText: TextAlignStart,
  email: AtSign,
  emails: AtSign,
  phone: Phone,
  phones: Phone,
  url: LinkIcon,
  domain: Globe,
  handle: AtSign,
  country: Flag,
  timeZone: Globe,
  month: Calendar,
  date: Calendar,
  currency: Coins,
  choice: CircleDot,
  number: Hash,
  integer: Hash,
  decimal: Hash,
  money: Coins,
  boolean: ToggleLeft,
  timestamp: Calendar,
  list: TagIcon,
  reference: LinkIcon,
  properties: Braces,
  document: Braces,
  embedded: CircleDot,
  any: Braces,
}

export const iconOf = ({ type, resource }: Property): LucideIcon =>
  (type === 'embedded' ? resourceViews[resource ?? '']?.icon : undefined) ?? icons[type]

/** The icon of a property's type. */
export const PropertyIcon = ({ property }: { property: Property }) =>
  createElement(iconOf(property), { size: 14, strokeWidth: 1.75, 'aria-hidden': true })
