import { useFormatter, useLocale, useTranslations } from 'use-intl'
import type { FieldSchema, ResourceSchema } from '../api/schema.ts'
import { useLabel } from '../messages/labels.ts'
import { useChoiceLabel } from '../views/choices.ts'
import { dayOf, formatMoney } from '../views/money.ts'
import { countryName, currencyName, formatDecimal } from '../views/value.tsx'
import type { Names } from './names.ts'

/** A changed field, as the API has it. */
export interface FieldChange {
  field: string
  before?: unknown
  after?: unknown
}

/** What a value needs to be shown besides its field. */
interface ValueContext {
  names: Names
  /** Of amounts. */
  currency: string | undefined
}

/** Longer texts are cut: the record has all of it. */
const maxLength = 160

/** A change of a field in words: what the field is called, and both values as text; undefined for none. */
export interface ChangeText {
  field: string
  before: string | undefined
  after: string | undefined
}

/** Describes changes of fields as people read them. */
export function useChangeText(): (
  resource: ResourceSchema | undefined,
  change: FieldChange,
  context: ValueContext,
) => ChangeText {
  const labelOf = useLabel()
  const valueText = useValueText()
  return (resource, { field: path, before, after }, context) => {
    const [name, ...keys] = path.split('.')
    const field = resource?.fields.find((one) => one.name === name)
    const text = (value: unknown) => valueText(keys.length > 0 ? undefined : field, value, context)
    return {
      field: keys.length > 0 ? keys.join('.') : labelOf(field?.label ?? path),
      before: text(before),
      after: text(after),
    }
  }
}

function useValueText() {
  const t = useTranslations('timeline')
  const common = useTranslations('common')
  const format = useFormatter()
  const locale = useLocale()
  const choiceLabel = useChoiceLabel()
  return (field: FieldSchema | undefined, value: unknown, { names, currency }: ValueContext): string | undefined => {
    if (value === null || value === undefined || value === '') return undefined
    if (Array.isArray(value)) return value.length === 0 ? undefined : shorten(value.map(plainText).join(', '))
    if (typeof value === 'boolean') return value ? common('yes') : common('no')
    const text = plainText(value)
    switch (field?.type) {
      case 'date':
        return format.dateTime(dayOf(text), { dateStyle: 'medium', timeZone: 'UTC' })
      case 'timestamp':
        return format.dateTime(new Date(text), { dateStyle: 'medium', timeStyle: 'short' })
      case 'decimal':
        return currency === undefined ? formatDecimal(text, locale) : formatMoney(text, currency, locale)
      case 'currency':
        return currencyName(text, locale)
      case 'country':
        return countryName(text, locale)
      case 'choice':
        return choiceLabel(text)
      case 'reference':
        return names[text] ?? t('missingRecord')
      default:
        return typeof value === 'number' && !field?.name.endsWith('Year') ? format.number(value) : shorten(text)
    }
  }
}

const plainText = (value: unknown): string => (typeof value === 'object' ? JSON.stringify(value) : String(value))

const shorten = (text: string): string => (text.length > maxLength ? `${text.slice(0, maxLength).trimEnd()}…` : text)
