// Not its entry, which reads the names of all countries in eighty languages.
import countries from 'i18n-iso-countries/index.js'
import { bareHandle } from './handle.ts'
import { domainName, emailAddress, webUrl } from './internet-names.ts'
import { phoneNumber } from './phone.ts'
import { isBlank, trimmed, withoutInvisible } from './text.ts'
import { timeZoneName } from './time-zone.ts'
import type { JsonValue } from './json.ts'

export { emailKey } from './internet-names.ts'

/** The value to store, or the error if it is invalid; `at`: the path of what is wrong within the value. */
export type Normalized = { value: JsonValue } | { error: string; at?: string }
export type Normalize = (value: JsonValue) => Normalized

const accept = (value: JsonValue): Normalized => ({ value })
const error = (message: string): Normalized => ({ error: message })

/** Wraps a rule for strings; the schema has already rejected other types. */
const forString =
  (rule: (value: string) => Normalized): Normalize =>
  (value) =>
    typeof value === 'string' ? rule(value) : error('expected a string')

export const normalizers = {
  singleLine: forString((value) => {
    const text = trimmed(value)
    if (text === '') return error('must not be blank')
    // eslint-disable-next-line no-control-regex -- control characters are what it looks for
    return /[\u0000-\u001f\u007f]/.test(text) ? error('expected one line without control characters') : accept(text)
  }),

  multiLine: forString((value) => (isBlank(value) ? error('must not be blank') : accept(value))),

  email: forString((value) => {
    const address = emailAddress(value)
    return address === undefined ? error('expected an email address, such as "ada@example.com"') : accept(address)
  }),

  phone: forString((value) => {
    const number = phoneNumber(value)
    return number === undefined
      ? error('expected a phone number in international form, such as "+49 30 1234567"')
      : accept(number)
  }),

  url: forString((value) => {
    const url = webUrl(value)
    return url === undefined ? error('expected an http or https URL, such as "https://example.com"') : accept(url)
  }),

  domain: forString((value) => {
    const name = domainName(value)
    return name === undefined ? error('expected a domain, such as "example.com"') : accept(name)
  }),

  timeZone: forString((value) => {
    const name = timeZoneName(withoutInvisible(value))
    return name === undefined ? error('expected an IANA time zone, such as "Europe/Berlin"') : accept(name)
  }),

  country: forString((value) => {
    const code = withoutInvisible(value).toUpperCase()
    return /^[A-Z]{2}$/.test(code) && countries.isValid(code)
      ? accept(code)
      : error('expected a two-letter ISO 3166-1 code, such as "DE"')
  }),

  month: forString((value) =>
    /^\d{4}-(0[1-9]|1[0-2])$/.test(value) ? accept(value) : error('expected a month, such as "2024-05"'),
  ),

  date: forString((value) => (isDate(value) ? accept(value) : error('expected a date, such as "2026-12-24"'))),

  instant: forString((value) => {
    const utc = utcInstant(value)
    return utc === undefined
      ? error('expected a timestamp with a UTC offset, such as "2026-12-24T17:30:00+01:00"')
      : accept(utc)
  }),

  currency: forString((value) => {
    const code = withoutInvisible(value).toUpperCase()
    return currencies.has(code) ? accept(code) : error('expected an ISO 4217 currency code, such as "EUR"')
  }),

  decimal: forString((value) =>
    /^-?\d{1,20}(\.\d{1,19})?$/.test(value) && value.replace(/\D/g, '').length <= 20
      ? accept(value.replace(/^(-?)0+(?=\d)/, '$1').replace(/^-(?=[0.]+$)/, ''))
      : error('expected a string with a decimal number of at most 20 digits, such as "1250000.50"'),
  ),

  handle: forString((value) => {
    const bare = bareHandle(withoutInvisible(value))
    return bare === undefined ? error('expected a handle, such as "adalovelace", or a profile URL') : accept(bare)
  }),

  stringList: (value: JsonValue): Normalized => {
    if (!Array.isArray(value)) return error('expected an array of strings')
    const words = value.map((word) => (typeof word === 'string' ? trimmed(word) : ''))
    return words.includes('') ? error('must not contain blank strings') : accept([...new Set(words)])
  },
}

const currencies: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'))

/** A day that exists; PostgreSQL and JavaScript both know the years 1 to 9999. */
function isDate(value: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(value) || value < '0001') return false
  const day = new Date(`${value}T00:00:00Z`)
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(value)
}

const instantForm = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(Z|[+-]\d{2}:\d{2})$/i

/** `2026-12-24T17:30+01:00` becomes `2026-12-24T16:30:00.000Z`; undefined if there is no such instant. */
function utcInstant(value: string): string | undefined {
  const [, day = '', time, seconds = '00', fraction = '', offset = ''] = instantForm.exec(value) ?? []
  if (!isDate(day) || !isOffset(offset)) return undefined
  const instant = new Date(`${day}T${time}:${seconds}.${fraction.slice(0, 3).padEnd(3, '0')}${offset.toUpperCase()}`)
  if (Number.isNaN(instant.getTime())) return undefined
  const utc = instant.toISOString()
  // The offset may lead out of the years 1 to 9999.
  return isDate(utc.slice(0, 10)) ? utc : undefined
}

/** As filters accept them. */
const isOffset = (offset: string): boolean => /^(Z|[+-](0\d|1[0-5]):[0-5]\d)$/i.test(offset)
