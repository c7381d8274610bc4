import { expect, test } from 'vitest'
import { choiceValueOf, keyOf, labelOfKey } from './keys.ts'

test('keys and choice values are derived from labels, and labels from keys', () => {
  expect(keyOf('Renewal date')).toBe('renewalDate')
  expect(keyOf('Größe (m²)')).toBe('groesseM')
  expect(keyOf('2nd phone')).toBe('ndPhone')
  expect(keyOf('–')).toBe('')
  expect(choiceValueOf('In Progress')).toBe('in_progress')
  expect(labelOfKey('renewalDate')).toBe('Renewal date')
  expect(labelOfKey('vat_ID')).toBe('Vat id')
})
