// Numbers in the format of a locale. They stay decimals in strings, as in the API, because a float would round them.

export interface ReadNumber {
  /** In the format of the API: `-1234.56`. */
  decimal: string
  /** The currency written next to the number, if its sign is unambiguous. */
  currency: string | undefined
}

interface Signs {
  decimal: string
  /** The separator between groups in the locale, in numbers or in amounts. */
  groups: ReadonlySet<string>
  /** Do groups before the last one have two digits? */
  isIndian: boolean
}

const signsByLocale = new Map<string, Signs>()

function signsOf(locale: string): Signs {
  const known = signsByLocale.get(locale)
  if (known) return known
  const styles = [{}, { style: 'currency', currency: 'EUR' }] as const
  const parts = styles.flatMap((style) => new Intl.NumberFormat(locale, style).formatToParts(12345678.5))
  const valueOf = (type: string) => parts.filter((part) => part.type === type).map(({ value }) => value)
  const signs = {
    decimal: valueOf('decimal')[0] ?? '.',
    groups: new Set(valueOf('group')),
    isIndian: valueOf('integer')[1]?.length === 2,
  }
  signsByLocale.set(locale, signs)
  return signs
}

/** Spaces of every width and all apostrophes: nobody uses them as a decimal sign, so they can only separate groups. */
const spaces = /[\s\u00a0\u2000-\u200a\u202f\u205f\u3000]/gu
const apostrophes = /['’‘ʼ′`´]/gu
const invisible = /[\u200b-\u200f\u061c\u202a-\u202e\u2060\u2066-\u2069\ufeff]/gu
const minuses = /[−‐‑‒–—﹣-]/gu

/** Parses a number in a locale; undefined if the text is not a number or is ambiguous. */
export function parseLocalNumber(text: string, locale: string): ReadNumber | undefined {
  const plain = westernDigits(text).replaceAll(invisible, '').replaceAll(minuses, '-').replaceAll(spaces, ' ').trim()
  const { number, currency } = withoutCurrency(plain, locale)
  const [, before = '', open = '', digits = '', close = '', after = ''] =
    /^([-+]?) ?(\(?)([\d.,'’‘ʼ′`´ ]*\d[.,]?)(\)?)(-?)$/.exec(number) ?? []
  const isBracketed = open !== '' && close !== ''
  if (digits === '' || (open === '') !== (close === '') || [before, open, after].filter(Boolean).length > 1)
    return undefined
  const decimal = parseDigits(digits.replaceAll(apostrophes, "'"), signsOf(locale))
  if (decimal === undefined) return undefined
  const isNegative = (before === '-' || after === '-' || isBracketed) && /[1-9]/.test(decimal)
  return { decimal: `${isNegative ? '-' : ''}${decimal}`, currency }
}

/** Digits with one kind of group separator and at most one decimal sign. */
function parseDigits(text: string, { decimal, groups, isIndian }: Signs): string | undefined {
  const [whole = '', fraction = '', ...others] = text.split(decimal)
  if (others.length > 0 || !/^\d*$/.test(fraction)) return undefined
  const [separator, ...more] = new Set(whole.replaceAll(/\d/g, ''))
  if (more.length > 0) return undefined
  const isPoint = separator === '.' || separator === ','
  if (separator !== undefined && isPoint && !groups.has(separator)) return undefined
  const parts = separator === undefined ? [whole] : whole.split(separator)
  const [first = '', ...rest] = parts
  const isGrouped =
    rest.length === 0 ||
    // `0.500` is not a group of thousands: the person meant a half.
    (/^[1-9]\d{0,2}$/.test(first) && rest.every((part) => /^\d{3}$/.test(part))) ||
    (isIndian && /^[1-9]\d?$/.test(first) && rest.every((part, at) => part.length === (at === rest.length - 1 ? 3 : 2)))
  if (!isGrouped) return undefined
  const digits = parts.join('').replace(/^0+(?=\d)/, '') || '0'
  return fraction === '' ? digits : `${digits}.${fraction}`
}

/** Converts digits of other scripts, such as Arabic and Devanagari, to 0 to 9, and the signs of Arabic numbers. */
function westernDigits(text: string): string {
  if (!/[\u0660-\uffff]/u.test(text)) return text
  const known = digitsOfScripts()
  return Array.from(text, (character) => known.get(character) ?? character).join('')
}

let scriptDigits: ReadonlyMap<string, string> | undefined
const scripts = ['arab', 'arabext', 'deva', 'beng', 'fullwide', 'thai', 'khmr', 'mymr', 'laoo', 'tibt'] as const

function digitsOfScripts(): ReadonlyMap<string, string> {
  scriptDigits ??= new Map(
    scripts.flatMap((numberingSystem) => {
      const format = new Intl.NumberFormat('en', { numberingSystem, useGrouping: false })
      return Array.from({ length: 10 }, (_, digit): [string, string] => [format.format(digit), String(digit)])
    }),
  )
  return scriptDigits
}

/** The text before or after a number: a code such as EUR, or a sign such as €. */
function withoutCurrency(text: string, locale: string): { number: string; currency: string | undefined } {
  const [, sign = '', before = '', rest = ''] = /^([-+]?)([^\d.,()'+-]*[^\d\s.,()'+-]\.?)(.*)$/u.exec(text) ?? []
  const found = before === '' ? undefined : currencyOf(before, locale)
  if (found) return { number: sign + rest.trim(), currency: found.code }
  const [, start = '', after = ''] = /^(.*[\d.,)-])([^\d.,()'+-]*[^\d\s.,()'+-]\.?)$/u.exec(text) ?? []
  const last = after === '' ? undefined : currencyOf(after, locale)
  return last ? { number: start, currency: last.code } : { number: text, currency: undefined }
}

const signsOfCurrencies = new Map<string, ReadonlyMap<string, ReadonlySet<string>>>()

/** The currency of a sign; without a code if several use it, such as $. */
function currencyOf(sign: string, locale: string): { code: string | undefined } | undefined {
  const known = signsOfCurrencies.get(locale) ?? parseSigns(locale)
  signsOfCurrencies.set(locale, known)
  const codes = known.get(keyOf(sign))
  if (!codes) return /^\p{Sc}$/u.test(sign.trim()) ? { code: undefined } : undefined
  const [only] = codes
  return { code: codes.size === 1 ? only : undefined }
}

const keyOf = (sign: string): string => sign.replaceAll(spaces, '').toUpperCase()

function parseSigns(locale: string): Map<string, Set<string>> {
  const signs = new Map<string, Set<string>>()
  for (const currency of Intl.supportedValuesOf('currency')) {
    const forms = (['code', 'symbol', 'narrowSymbol'] as const).map((form) => [locale, form] as const)
    // Other locales use `US$`.
    const displays = [...forms, ['en-GB', 'symbol'] as const].map(([language, currencyDisplay]) =>
      new Intl.NumberFormat(language, { style: 'currency', currency, currencyDisplay })
        .formatToParts(1)
        .find(({ type }) => type === 'currency'),
    )
    for (const display of displays) {
      const sign = keyOf(display?.value ?? currency)
      signs.set(sign, new Set([...(signs.get(sign) ?? []), currency]))
    }
  }
  return signs
}

/** A decimal as an input of the locale shows it: with all digits, without groups. Other text stays unchanged. */
export const writeNumber = (decimal: string, locale: string): string =>
  /^-?\d+(?:\.\d+)?$/.test(decimal) ? decimal.replace('.', signsOf(locale).decimal) : decimal

/** The number of a decimal, if the conversion is exact. */
export function exactNumber(decimal: string): number | undefined {
  const digits = decimal.replaceAll(/[-.]/g, '').replace(/^0+/, '')
  const significant = decimal.includes('.') ? digits.replace(/0+$/, '') : digits
  const number = Number(decimal)
  return significant.length <= 15 || (!decimal.includes('.') && Number.isSafeInteger(number)) ? number : undefined
}
