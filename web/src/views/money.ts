import { type RecordData, valueAt } from '../api/schema.ts'
import type { Property } from './property.ts'

/** The currency of an amount: that of its record. Undefined for other properties. */
export function currencyOf({ currencyField }: Property, record: RecordData): string | undefined {
  const code = currencyField === undefined ? undefined : valueAt(record, currencyField)
  return typeof code === 'string' ? code : undefined
}

/** The currency of an amount in an unsaved record: from its own field, otherwise the default. */
export function currencyOfAmount(
  { currencyField }: Property,
  record: Readonly<Record<string, unknown>> | undefined,
  usual: string,
): string | undefined {
  const currency = currencyField === undefined ? undefined : (record?.[currencyField] ?? usual)
  return typeof currency === 'string' ? currency : undefined
}

/** The value of a custom property of type money. */
export interface Money {
  amount: string
  currency: string
}

export function isMoney(value: unknown): value is Money {
  const { amount, currency } = Object(value) as Partial<Record<keyof Money, unknown>>
  return /^-?\d+(?:\.\d+)?$/.test(String(amount)) && /^[A-Z]{3}$/.test(String(currency))
}

/**
 * Formats an amount with its currency for the locale. Keeps all digits except trailing zeros, because numbers would be
 * rounded.
 */
export const formatMoney = (amount: string, currency: string, locale: string): string =>
  new Intl.NumberFormat(locale, {
    style: 'currency',
    currency,
    minimumFractionDigits: /\.0*[1-9]/.test(amount) ? 2 : 0,
    maximumFractionDigits: 19,
  }).format(amount as Intl.StringNumericLiteral)

/** A calendar day as an instant on that day in UTC. */
export const dayOf = (text: string): Date => new Date(`${text}T12:00:00Z`)
