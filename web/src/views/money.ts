import { type RecordData, valueAt } from '../api/schema.ts'
import type { Property } from './property.ts'

/** The currency of an amount: that of its record. Undefined for other properties. */
export function currencyOf({ currencyField }: Property, record: RecordData): string | undefined {
  const code = currencyField === undefined ? undefined : valueAt(record, currencyField)
  return typeof code === 'string' ? code : undefined
}

/** The currency that an amount of an unfinished record has: that of its own field, otherwise the usual one. */
export function currencyOfAmount(
  { currencyField }: Property,
  record: Readonly<Record<string, unknown>> | undefined,
  usual: string,
): string | undefined {
  const currency = currencyField === undefined ? undefined : (record?.[currencyField] ?? usual)
  return typeof currency === 'string' ? currency : undefined
}

/** The value of a custom property with an amount. */
export interface Money {
  amount: string
  currency: string
}

export function isMoney(value: unknown): value is Money {
  const { amount, currency } = Object(value) as Partial<Record<keyof Money, unknown>>
  return /^-?\d+(?:\.\d+)?$/.test(String(amount)) && /^[A-Z]{3}$/.test(String(currency))
}

/** An amount with its currency as the locale writes it. All digits stay, except zeros: numbers would be rounded. */
export const formatMoney = (amount: string, currency: string, locale: string): string =>
  new Intl.NumberFormat(locale, {
    style: 'currency',
    currency,
    minimumFractionDigits: /\.0*[1-9]/.test(amount) ? 2 : 0,
    maximumFractionDigits: 19,
  }).format(amount as Intl.StringNumericLiteral)

/** A calendar day as a moment at which it is that day in UTC. */
export const dayOf = (text: string): Date => new Date(`${text}T12:00:00Z`)
