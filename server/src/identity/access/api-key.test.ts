import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sha256 } from '../../platform/secret/encryption.ts'
import { apiKeyHash, generateApiKey } from './api-key.ts'

test('a new key is svc_ followed by 40 base62 characters, and its hash can be computed from its text', () => {
  const key = generateApiKey()
  expect(key).toMatch(/^svc_[0-9A-Za-z]{40}$/)
  expect(apiKeyHash(key)).toEqual(sha256(key))
  expect(apiKeyHash(key)).toHaveLength(32)
})

test('no two keys are equal', () => {
  expect(new Set(Array.from({ length: 500 }, generateApiKey)).size).toBe(500)
})

test('a key with one wrong character is rejected by its checksum', () => {
  fc.assert(
    fc.property(fc.nat(43), fc.constantFrom(...'0aZ_- é'), (position, character) => {
      const key = generateApiKey()
      fc.pre(key[position] !== character)
      expect(apiKeyHash(key.slice(0, position) + character + key.slice(position + 1))).toBeUndefined()
    }),
  )
})

test('a text that is too short, too long or padded is not a key', () => {
  const key = generateApiKey()
  for (const text of ['', 'svc_', key.slice(0, -1), `${key}0`, ` ${key}`, `${key}\n`, key.slice(4)]) {
    expect(apiKeyHash(text), JSON.stringify(text)).toBeUndefined()
  }
})
