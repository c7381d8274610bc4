import { useFormatter, useLocale, useTranslations } from 'use-intl'
import type { ResourceSchema } from '../api/schema.ts'
import { usePropertyLabel } from '../messages/labels.ts'
import { useChoiceLabel } from '../views/choices.ts'
import { fieldProperty, shownType } from '../views/columns.tsx'
import { dayOf, formatMoney, type Money } from '../views/money.ts'
import { countryName, currencyName, formatDecimal } from '../views/value.tsx'
import type { Names } from '../api/names.ts'
import type { Property } from '../views/property.ts'

/** A changed field, as in the API. */
export interface FieldChange {
  field: string
  before?: unknown
  after?: unknown
}

/** What is needed to show a value, besides its field. */
interface ValueContext {
  names: Names
  /** The currency of amounts. */
  currency: string | undefined
}

/** Longer texts are shortened; the record shows all of it. */
const maxLength = 160

/** A changed field in words: its label and both values as text; undefined if empty. */
export interface ChangeText {
  field: string
  before: string | undefined
  after: string | undefined
}

/** Describes changed fields for people. */
export function useChangeText(): (
  resource: ResourceSchema | undefined,
  change: FieldChange,
  context: ValueContext,
) => ChangeText {
  const labelOf = usePropertyLabel()
  const valueText = useValueText()
  return (resource, { field: path, before, after }, context) => {
    const field = resource?.fields.find(({ name }) => name === path)
    const property = field && fieldProperty(field)
    const text = (value: unknown) => valueText(property, value, context)
    return {
      field: property ? labelOf(property) : path.replace(/^customProperties\./, ''),
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
  return (property: Property | undefined, value: unknown, { names, currency }: ValueContext): string | undefined => {
    if (value === null || value === undefined || value === '') return undefined
    if (Array.isArray(value)) {
      const texts = value.map((one) => (property?.choiceLabels ? choiceLabel(String(one), property) : plainText(one)))
      return value.length === 0 ? undefined : shorten(texts.join(', '))
    }
    if (typeof value === 'boolean') return value ? common('yes') : common('no')
    const text = plainText(value)
    // The change may be older than the definition of the property.
    switch (property && shownType(property, value)) {
      case 'date':
        return format.dateTime(dayOf(text), { dateStyle: 'medium', timeZone: 'UTC' })
      case 'timestamp':
        return format.dateTime(new Date(text), { dateStyle: 'medium', timeStyle: 'short' })
      case 'decimal':
        return currency === undefined ? formatDecimal(text, locale) : formatMoney(text, currency, locale)
      case 'money': {
        const { amount, currency: code } = value as Money
        return formatMoney(amount, code, locale)
      }
      case 'currency':
        return currencyName(text, locale)
      case 'country':
        return countryName(text, locale)
      case 'choice':
        return choiceLabel(text, property)
      case 'reference':
        return names[text] ?? t('missingRecord')
      default:
        return typeof value === 'number' && !property?.isYear ? format.number(value) : shorten(text)
    }
  }
}

const plainText = (value: unknown): string =>
  typeof value === 'object' ? (addressIn(value) ?? JSON.stringify(value)) : String(value)

/** The address or number of an entry of `emails` or `phones`. */
const addressIn = (value: object | null): string | undefined => {
  const { address, number } = { ...value } as { address?: string; number?: string }
  return address ?? number
}

const shorten = (text: string): string => (text.length > maxLength ? `${text.slice(0, maxLength).trimEnd()}…` : text)
