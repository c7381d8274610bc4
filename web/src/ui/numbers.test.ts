import { expect, test } from 'vitest'
import { exactNumber, parseLocalNumber, writeNumber } from './numbers.ts'

const read = (text: string, locale: string) => parseLocalNumber(text, locale)?.decimal

test.each([
  ['de-DE', '1.234', '1234'],
  ['de-DE', '1.234,56', '1234.56'],
  ['de-DE', '1234,5', '1234.5'],
  ['de-DE', '1.234.567', '1234567'],
  ['de', ' 1 234 567,80 ', '1234567.80'],
  ['de', '1\u00a0234,5', '1234.5'],
  ['de', '1\u202f234', '1234'],
  ['de-AT', '1.234,56', '1234.56'],
  ['de-AT', '1\u00a0234,56', '1234.56'],
  ['de-CH', "1'234.56", '1234.56'],
  ['de-CH', '1’234.5', '1234.5'],
  ['de-CH', '1234.56', '1234.56'],
  ['en-GB', '1,234.56', '1234.56'],
  ['en-US', '1,234', '1234'],
  ['en-US', '12.30', '12.30'],
  ['en-US', "1'234.5", '1234.5'],
  ['en-IN', '12,34,567.5', '1234567.5'],
  ['en-IN', '1,234,567', '1234567'],
  ['en', '.5', '0.5'],
  ['de', ',5', '0.5'],
  ['en', '5.', '5'],
  ['de', '007', '7'],
  ['de', '−5', '-5'],
  ['de', '–1.000,5', '-1000.5'],
  ['en', '(1,234.50)', '-1234.50'],
  ['en', '1,234-', '-1234'],
  ['en', '+7', '7'],
  ['en', '-0', '0'],
  ['de', '1.234,00\u00a0€', '1234.00'],
  ['de', '€ 5', '5'],
  ['en', '-€1,234.50', '-1234.50'],
  ['en', 'US$1,234', '1234'],
  ['en', 'CHF 12', '12'],
  ['de', '12 eur', '12'],
  ['en', '\u202d1,234.5\u202c', '1234.5'],
  ['de', '١٬٢٣٤', undefined],
  ['de', '١٢٣٤', '1234'],
  ['de', '１２３', '123'],
  ['en', '12345678901234567890.1234567890', '12345678901234567890.1234567890'],
])('in %s, %j is %j', (locale, text, decimal) => expect(read(text, locale)).toBe(decimal))

test.each([
  ['en', '1,23,4'],
  ['en', '1.2.3'],
  ['de', '1.2.3'],
  ['de', '1.23'],
  ['en', '1,5'],
  ['en', '0,500'],
  ['de', '0.500'],
  ['de', '1,234.56'],
  ['en', '1.234,56'],
  ['de-CH', '1,234'],
  ['en-US', '12,34,567'],
  ['en', '1,234 567'],
  ['en', '12 34'],
  ['en', '1e5'],
  ['en', 'abc'],
  ['en', '--5'],
  ['en', '5 apples'],
  ['en', '€'],
  ['en', ''],
  ['en', '-'],
  ['en', '(5'],
])('in %s, %j is not a number', (locale, text) => expect(read(text, locale)).toBeUndefined())

test('a currency next to an amount is recognized if its sign is unambiguous', () => {
  expect(parseLocalNumber('1.234,50 €', 'de')?.currency).toBe('EUR')
  expect(parseLocalNumber('CHF 5', 'de')?.currency).toBe('CHF')
  expect(parseLocalNumber('5', 'de')?.currency).toBeUndefined()
})

test('the format of the list can be parsed, for every currency and amount', () => {
  for (const locale of ['de-DE', 'de-AT', 'de-CH', 'en-US', 'en-GB', 'en-IN', 'en-ZA'])
    for (const currency of Intl.supportedValuesOf('currency'))
      for (const amount of ['1234', '-1234567.89', '0.5', '12345678901234567890.12'] as const) {
        const options = { style: 'currency', currency, maximumFractionDigits: 19, minimumFractionDigits: 0 } as const
        const shown = new Intl.NumberFormat(locale, options).format(amount)
        expect([locale, currency, shown, read(shown, locale)]).toEqual([locale, currency, shown, amount])
      }
})

test('a decimal is formatted with the sign of the locale, and becomes a number only if nothing is lost', () => {
  expect(writeNumber('-1234.50', 'de')).toBe('-1234,50')
  expect(writeNumber('-1234.50', 'de-CH')).toBe('-1234.50')
  expect(writeNumber('1.2.3', 'de')).toBe('1.2.3')
  expect([exactNumber('0.1'), exactNumber('-9007199254740991'), exactNumber('100000000000000000.0')]).toEqual([
    0.1, -9007199254740991, 100000000000000000,
  ])
  expect([exactNumber('9007199254740993'), exactNumber('0.12345678901234567')]).toEqual([undefined, undefined])
})
