import { choice, date, email, field, flag, instant, phone } from '../declare/fields.ts'
import { currency, decimal, reference, stringList, text, url } from '../declare/fields.ts'
import { type Normalized, normalizers } from '../../model/normalizers.ts'
import type { JsonValue, Schema } from '../../model/json.ts'
import type { Field, PropertyDefinition, DeclaredProperty } from '../declare/field.ts'

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
  if ('error' in readAmount) return { error: `amount: ${readAmount.error}` }
  if ('error' in readCurrency) return { error: `currency: ${readCurrency.error}` }
  return { value: { amount: readAmount.value, currency: readCurrency.value } }
}
