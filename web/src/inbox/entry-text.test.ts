import { expect, test } from 'vitest'
import { mentionOf } from '../ui/mentions.ts'
import { titleText } from './entry-text.ts'

test('a title is one line with names instead of ids, also where it ends within a mention', () => {
  const mention = mentionOf('Anna Berg', `usr_${'a1'.repeat(16)}`)
  expect(titleText(`Ask ${mention}\n\nabout it `)).toBe('Ask @Anna Berg about it')
  for (const length of [11, 12, 13, 30, mention.length - 1])
    expect(titleText(`Ask ${mention.slice(0, length)}`)).toBe('Ask @Anna Berg')
  expect(titleText('x'.repeat(200))).toBe(`${'x'.repeat(120)}…`)
})
