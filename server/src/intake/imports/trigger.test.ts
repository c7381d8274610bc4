import { expect, test } from 'vitest'
import { sha256 } from '../../platform/secret/encryption.ts'
import { generateTriggerSecret, triggerUrl } from './trigger.ts'

test('secrets are unique and always have 43 base62 characters', () => {
  const secrets = Array.from({ length: 2000 }, generateTriggerSecret)
  expect(secrets.filter((secret) => !/^[0-9A-Za-z]{43}$/.test(secret))).toEqual([])
  expect(new Set(secrets).size).toBe(secrets.length)
})

test('each of the 256 bits of a secret is set about half of the time', () => {
  const rounds = 2000
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  const valueOf = (secret: string) =>
    [...secret].reduce((value, character) => value * 62n + BigInt(alphabet.indexOf(character)), 0n)
  const values = Array.from({ length: rounds }, () => valueOf(generateTriggerSecret()))
  expect(values.filter((value) => value >= 1n << 256n)).toEqual([])
  for (let bit = 0n; bit < 256n; bit++) {
    const set = values.filter((value) => (value >> bit) & 1n).length
    // Eight standard deviations: not by chance.
    expect(Math.abs(set - rounds / 2), `bit ${bit}`).toBeLessThan(4 * Math.sqrt(rounds))
  }
})

test('secrets are stored as their SHA-256 hash', () => {
  expect(sha256('a').toString('hex')).toBe('ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb')
})

test('the trigger URL matches the contract', () => {
  const url = triggerUrl('https://crm.example/v5', 'imp_1', 'secret')
  expect(url).toBe('https://crm.example/v5/imports/imp_1/trigger/secret')
})
