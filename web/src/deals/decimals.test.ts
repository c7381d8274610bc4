import { expect, test } from 'vitest'
import { add, compare, percentOf } from './decimals.ts'

test('decimals are added, multiplied by a percentage and compared exactly', () => {
  expect(add('0.1', '0.2')).toBe('0.3')
  expect(add('12345678901234567890', '0.05')).toBe('12345678901234567890.05')
  expect(add('100', '-100.00')).toBe('0')
  expect(add('-0.05', '0')).toBe('-0.05')
  expect(percentOf('100.15', 10)).toBe('10.015')
  expect(percentOf('12345678901234567890', -75)).toBe('-9259259175925925917.5')
  expect(percentOf('7', 0)).toBe('0')
  expect([compare('-2.418702', '-2.4187019'), compare('10', '9.99'), compare('1.50', '1.5')]).toEqual([-1, 1, 0])
})
