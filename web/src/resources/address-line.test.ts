import { expect, test } from 'vitest'
import { addressLine } from './address-line.ts'

test.each([
  ['Hauptstr. 5, 10115 Berlin, Germany', 'DE', 'de', 'Hauptstr. 5, 10115 Berlin, Deutschland'],
  ['Hauptstr. 5, 10115 Berlin, Germany', 'DE', 'en', 'Hauptstr. 5, 10115 Berlin, Germany'],
  ['Germany', 'DE', 'de', 'Deutschland'],
  ['12 Main St, Springfield, IL 62704, USA', 'US', 'de', '12 Main St, Springfield, IL 62704, USA'],
  ['Hauptstr. 5, Berlin', null, 'de', 'Hauptstr. 5, Berlin'],
])('%s in %s, for pages in %s', (line, code, locale, expected) => {
  expect(addressLine(line, code, locale)).toBe(expected)
})
