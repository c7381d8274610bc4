import { expect, test } from 'vitest'
import { hashPassword, isPassword, passwordFault } from './passwords.ts'

test('a password is kept as argon2id with 19 MiB and two passes, and only that password fits', async () => {
  const stored = await hashPassword('correct horse battery')
  expect(stored).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  expect(await isPassword('correct horse battery', stored)).toBe(true)
  expect(await isPassword('correct horse battery.', stored)).toBe(false)
})

test('the same letters in another Unicode encoding are the same password', async () => {
  expect(await isPassword('pa\u0308ssword with marks', await hashPassword('p\u00e4ssword with marks'))).toBe(true)
})

test('a password has 12 to 128 characters, however many bytes they take', () => {
  expect(passwordFault('a'.repeat(11))).toContain('12 to 128')
  expect(passwordFault('a'.repeat(12))).toBeUndefined()
  expect(passwordFault('😀'.repeat(128))).toBeUndefined()
  expect(passwordFault('a'.repeat(129))).toContain('12 to 128')
})
