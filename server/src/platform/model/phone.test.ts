import { expect, test } from 'vitest'
import { phoneNumber } from './phone.ts'

test.each([
  ['+49 30 1234567', '+49301234567'],
  ['+49 (30) 123-456', '+4930123456'],
  ['+44 (0)20 7123 4567', '+442071234567'],
  ['+44 020 7123 4567', '+442071234567'],
  ['+4402071234567', '+442071234567'],
  ['+7 8 495 123 45 67', '+74951234567'],
  ['+1 (212) 555-0100', '+12125550100'],
  ['+55 0 11 99999-9999', '+5511999999999'],
])('the number %s is stored as %s', (written, stored) => {
  expect(phoneNumber(written)).toBe(stored)
  expect(phoneNumber(stored)).toBe(stored)
})

test.each(['+39 06 1234 5678', '+378 0549 882345'])('the zero that is part of the number %s is kept', (written) => {
  expect(phoneNumber(written)).toBe(written.replaceAll(' ', ''))
})

test.each([
  ['no country code', '030 1234567'],
  ['an international prefix in place of the plus', '0049 30 1234567'],
  ['an unassigned country code', '+999 123 456 789'],
  ['too few digits for the country', '+1 555 0100'],
  ['too many digits for the country', '+1 212 555 01000'],
  ['more than the 15 digits of E.164', '+49 30 1234567890123'],
  ['letters', '+1 800 FLOWERS'],
  ['an extension', '+1 212 555 0100 ext. 12'],
  ['text around it', 'Phone: +49 30 1234567'],
  ['nothing but a plus', '+'],
])('a number with %s is rejected', (_, written) => {
  expect(phoneNumber(written)).toBeUndefined()
})
