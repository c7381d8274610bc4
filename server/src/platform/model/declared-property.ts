import { choice, date, email, field, type Field, flag, instant, type JsonValue, phone, type Schema } from './fields.ts'
import { currency, decimal, reference, stringList, text, url } from './fields.ts'
import { type Normalized, normalizers } from './normalizers.ts'

/** The types that an organization can give its custom properties. */
export const propertyTypes = [
  'text',
  'number',
  'boolean',
  'date',
  'instant',
  'choice',
  'multiChoice',
  'url',
  'email',
  'phone',
  'money',
  'reference',
] as const
export type PropertyType = (typeof propertyTypes)[number]

export interface PropertyChoice {
  value: string
  label: string
  /** Records keep an archived choice, but none can newly get it. */
  archived: boolean
}

/** The index of a property. Each write maintains it; filters use it once it is ready. */
export interface PropertyIndex {
  /** Uuid. */
  id: string
  isReady: boolean
}

/** The definition of a custom property, as it is stored for the writes of its resource. */
export interface PropertyDefinition {
  /** Uuid. */
  id: string
  key: string
  type: PropertyType
  label: string
  description: string | null
  choices: readonly PropertyChoice[]
  /** The resource whose records a reference names, with the prefix of their ids. */
  references: { resource: string; idPrefix: string } | null
  required: boolean
  unique: boolean
  /** The value of a new record if none is sent; null for none. */
  default: JsonValue
  indexed: boolean
  index: PropertyIndex | null
  archived: boolean
  /** A decimal. */
  position: string
}

/** A custom property with a definition. Its values follow the rules of a field of the same type. */
export interface DeclaredProperty extends PropertyDefinition {
  field: Field
  /** The fields of an object, each with its name: those of an amount of money. */
  parts: Readonly<Record<string, Field>>
}

/** The definitions of a resource's custom properties in one organization. */
export interface PropertySet {
  /** Increases with each change of a definition or a setting. */
  revision: number
  /** Are keys without a definition refused? */
  refusesUndeclared: boolean
  properties: ReadonlyMap<string, DeclaredProperty>
}

export function declaredProperty(stored: PropertyDefinition): DeclaredProperty {
  return { ...stored, field: fieldOf(stored), parts: stored.type === 'money' ? moneyParts : {} }
}

const maxTextLength = 10_000

function fieldOf({ type, label, choices, references }: Omit<PropertyDefinition, 'id'>): Field {
  const options = { label }
  const values = choices.map(({ value }) => value)
  switch (type) {
    case 'text':
      return { ...text({ ...options, max: maxTextLength }), normalize: normalizers.multiLine }
    case 'number':
      return field<number, typeof options>(
        { type: 'number', filter: 'number', schema: { type: 'number' }, databaseType: 'numeric' },
        options,
      )
    case 'boolean':
      return flag(options)
    case 'date':
      return date(options)
    case 'instant':
      return instant(options)
    case 'choice':
      return choice(values, options)
    case 'multiChoice':
      return withItems(stringList(options), { type: 'string', enum: values })
    case 'url':
      return url(options)
    case 'email':
      return email(options)
    case 'phone':
      return phone(options)
    case 'money':
      return field<object, typeof options>(
        {
          type: 'document',
          filter: 'none',
          schema: moneySchema,
          databaseType: 'jsonb',
          normalize: normalizeMoney,
          sortable: false,
        },
        options,
      )
    case 'reference':
      return reference(references?.idPrefix ?? '', options)
  }
}

const withItems = (list: Field, items: Schema): Field => ({ ...list, schema: { ...list.schema, items } })

/** The fields of an amount of money, by name. */
const moneyParts = {
  amount: decimal({ label: 'Amount', nullable: false }),
  currency: currency({ label: 'Currency', nullable: false }),
}

const moneySchema: Schema = {
  type: 'object',
  required: ['amount', 'currency'],
  additionalProperties: false,
  properties: { amount: moneyParts.amount.schema, currency: { type: 'string', maxLength: 3 } },
  examples: [{ amount: '1250.50', currency: 'EUR' }],
}

/** The schema has checked that both are strings. */
function normalizeMoney(value: JsonValue): Normalized {
  const { amount = null, currency: code = null } = value as { amount?: JsonValue; currency?: JsonValue }
  const [readAmount, readCurrency] = [normalizers.decimal(amount), normalizers.currency(code)]
  if ('fault' in readAmount) return { fault: `amount: ${readAmount.fault}` }
  if ('fault' in readCurrency) return { fault: `currency: ${readCurrency.fault}` }
  return { value: { amount: readAmount.value, currency: readCurrency.value } }
}
