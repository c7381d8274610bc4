import { useFormatter, useLocale, useTranslations } from 'use-intl'
import { exactNumber, parseLocalNumber, writeNumber } from './numbers.ts'

/** Invalid input, with the reason in the page's language. */
export class Unreadable {
  readonly entered: unknown
  readonly problem: string

  constructor(entered: unknown, problem: string) {
    this.entered = entered
    this.problem = problem
  }
}

export interface NumberRules {
  isWhole?: boolean
  /** Is a percent sign allowed after it? */
  isPercent?: boolean
  minimum?: number | undefined
  maximum?: number | undefined
  /** The currency of the amount, if it is entered in another field. */
  currency?: string | undefined
}

const maxDigits = 20
const maxFraction = 19

/** Parses and formats numbers in the page's locale. */
export function useNumbers() {
  const t = useTranslations('numbers')
  const format = useFormatter()
  const locale = useLocale()
  const read = (text: string, rules: NumberRules = {}) => {
    const { isWhole = false, minimum = -Infinity, maximum = Infinity, currency } = rules
    const number = parseLocalNumber(rules.isPercent ? text.replace(/[%٪]\s*$/, '') : text, locale)
    const unreadable = (problem: string) => new Unreadable(text, problem)
    const example = isWhole ? format.number(1234) : format.number(1234.56)
    if (!number) return unreadable(t(isWhole ? 'notWhole' : 'notNumber', { text, example }))
    const [whole = '', fraction = ''] = number.decimal.replace('-', '').split('.')
    if (isWhole && /[1-9]/.test(fraction)) return unreadable(t('notWhole', { text, example }))
    if (fraction.length > maxFraction || whole.length + fraction.length > maxDigits)
      return unreadable(t('tooManyDigits'))
    if (Number(number.decimal) < minimum) return unreadable(t('tooSmall', { limit: format.number(minimum) }))
    if (Number(number.decimal) > maximum) return unreadable(t('tooLarge', { limit: format.number(maximum) }))
    if (currency !== undefined && number.currency !== undefined && number.currency !== currency)
      return unreadable(t('otherCurrency', { currency }))
    return { ...number, decimal: isWhole ? (number.decimal.split('.')[0] ?? '') : number.decimal }
  }
  return {
    /** A decimal string, as in the API: nothing is rounded. */
    read,
    /** A JSON number. */
    readJson(text: string, rules?: NumberRules): number | Unreadable {
      const found = read(text, rules)
      if (found instanceof Unreadable) return found
      return exactNumber(found.decimal) ?? new Unreadable(text, t('tooExact'))
    },
    /** As an input shows it. */
    write: (value: unknown): string =>
      value === null || value === undefined ? '' : writeNumber(plainDecimal(value), locale),
  }
}

/** Nobody types a number as `1e21`. */
const plainDecimal = (value: unknown): string =>
  typeof value === 'number' && /e/.test(String(value))
    ? new Intl.NumberFormat('en', { useGrouping: false, maximumFractionDigits: 20 }).format(value)
    : String(value)
