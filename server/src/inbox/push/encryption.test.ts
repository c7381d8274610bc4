import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PushService } from '../../../test/push-receiver.ts'
import { encryptMessage, isAuth, isPublicKey, maxMessageBytes } from './encryption.ts'

// RFC 8291, appendix A.
const example = {
  message: 'When I grow up, I want to be a watermelon',
  privateKey: 'yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw',
  p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
  auth: 'BTBZMqHH6r4Tts7J_aSIgg',
  salt: 'DGv6ra1nlYgDCS1FRnbzlw',
  encrypted:
    'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
}
const bytes = (text: string) => Buffer.from(text, 'base64url')

test('the example of RFC 8291 is encrypted byte for byte', () => {
  const ephemeral = { salt: bytes(example.salt), privateKey: bytes(example.privateKey) }
  const encrypted = encryptMessage(Buffer.from(example.message), example, ephemeral)
  expect(encrypted.toString('base64url')).toBe(example.encrypted)
})

test('what is encrypted for a browser, only this browser reads', () => {
  const service = new PushService()
  const [browser, other] = [service.newBrowser(), service.newBrowser()]
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (text) => {
      const encrypted = encryptMessage(Buffer.from(text), browser.keys)
      expect(browser.decrypt(encrypted)).toBe(text)
      expect(() => other.decrypt(encrypted)).toThrow()
    }),
    { numRuns: 50 },
  )
})

test('the longest message fits into what each push service accepts, and a longer one is an error', () => {
  const browser = new PushService().newBrowser()
  const longest = encryptMessage(Buffer.alloc(maxMessageBytes, 'x'), browser.keys)
  expect(longest.length).toBe(4096)
  expect(browser.decrypt(longest)).toBe('x'.repeat(maxMessageBytes))
  expect(() => encryptMessage(Buffer.alloc(maxMessageBytes + 1), browser.keys)).toThrow('too long')
})

test('keys that a message cannot be encrypted to are recognized', () => {
  expect(isPublicKey(example.p256dh)).toBe(true)
  const point = bytes(example.p256dh)
  const moved = Buffer.from(point)
  moved[64] = (moved[64] ?? 0) ^ 1
  for (const text of [
    '',
    'x',
    point.toString('base64'),
    `${example.p256dh}A`,
    example.auth,
    moved.toString('base64url'),
  ])
    expect(isPublicKey(text), text).toBe(false)
  expect([isAuth(example.auth), isAuth(randomBytes(15).toString('base64url')), isAuth('')]).toEqual([
    true,
    false,
    false,
  ])
})
