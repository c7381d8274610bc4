import { expect, test } from 'vitest'
import { processorTime } from '../../../test/processor-time.ts'
import { composed, isBlank, trimmed, withoutInvisible } from './text.ts'

test.each([
  ['cafe\u0301', 'café'],
  ['Zu\u0308rich', 'Zürich'],
  ['か\u3099', 'が'],
  ['\u1112\u1161\u11ab', '한'],
])('canonically equal text is composed: %j', (text, expected) => {
  expect(composed(text)).toBe(expected)
  expect(trimmed(text)).toBe(expected)
})

test('all texts in a list or an object are composed, keys too', () => {
  expect(composed({ 'e\u0301': ['a\u0308', { deep: 'o\u0308', count: 1, none: null }] })).toEqual({
    é: ['ä', { deep: 'ö', count: 1, none: null }],
  })
})

const spaces = [9, 10, 0x20, 0x85, 0xa0, 0x1680, 0x2000, 0x2009, 0x200a, 0x2028, 0x202f, 0x205f, 0x2800, 0x3000]
const marks = [0xad, 0x34f, 0x61c, 0x115f, 0x180e, 0x200b, 0x200c, 0x200d, 0x200e, 0x202a, 0x202c, 0x202d, 0x2060]
const more = [0x2066, 0x2069, 0x3164, 0xfe0f, 0xfeff, 0xffa0, 0xe0001, 0xe0041, 0xe007f, 0xe0100]

test.each([...spaces, ...marks, ...more])('U+%s is trimmed, and alone it is blank', (code) => {
  const character = String.fromCodePoint(code)
  expect(trimmed(`${character}Ada`)).toBe('Ada')
  expect(isBlank(character)).toBe(true)
  expect(isBlank(`${character} ${character}`)).toBe(true)
  // A variation selector belongs to the character before it.
  const isAttached = code === 0xfe0f || code === 0xe0100
  expect(trimmed(`Ada ${character}`)).toBe('Ada')
  expect(trimmed(`Ada${character}`)).toBe(isAttached ? `Ada${character}` : 'Ada')
})

test.each([
  ['می\u200cخواهم'],
  ['क्\u200dष'],
  ['👩\u200d💻'],
  ['I ❤\ufe0f'],
  ['🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}'],
  ['a\u00adb'],
])('%j stays as it is', (text) => {
  expect(trimmed(text)).toBe(text)
})

test('a long text with spaces inside is trimmed in linear time', () => {
  const text = `x${'\u00a0'.repeat(200_000)}x`
  const took = processorTime(() => expect(trimmed(text)).toBe(text))
  expect(took).toBeLessThan(1000)
})

test.each([
  ['pat@example.com\u200b', 'pat@example.com'],
  ['\u202dpat@exam\u00adple.com\u202c', 'pat@example.com'],
  ['\ufeffcus_1\u2060042', 'cus_1042'],
  ['क्\u200dष@example.com', 'क्\u200dष@example.com'],
])('an identity has no invisible characters: %j', (text, expected) => {
  expect(withoutInvisible(text)).toBe(expected)
})
