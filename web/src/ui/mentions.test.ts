import fc from 'fast-check'
import { expect, test } from 'vitest'
import { partsOf } from './markdown-inline.ts'
import { mentionAt, mentionOf, mentionsIn, plainMentions, withPlainMentions } from './mentions.ts'

const anna = `usr_${'a1'.repeat(16)}`
const ben = `usr_${'b2'.repeat(16)}`

test('a mention is read as it was written, whatever the name', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 100 }), (name) => {
      const text = mentionOf(name, anna)
      expect(mentionAt(text, 0)).toMatchObject({ userId: anna, length: text.length })
      expect(mentionsIn(`Ask ${text}, please`)).toEqual([{ userId: anna, name: mentionAt(text, 0)?.name }])
    }),
  )
  expect(mentionOf('Anna [Sales]\nBerg', anna)).toBe(`@[Anna (Sales) Berg](${anna})`)
})

test('a mention is a part of its own in Markdown, except in code and after a backslash', () => {
  const mention = mentionOf('Anna_Berg_', anna)
  const part = { type: 'mention', userId: anna, parts: [{ type: 'text', text: '@Anna_Berg_' }] }
  expect(partsOf(`Ask ${mention}.`)).toEqual([{ type: 'text', text: 'Ask ' }, part, { type: 'text', text: '.' }])
  expect(partsOf(`**${mention}**`)).toEqual([{ type: 'strong', parts: [part] }])
  expect(partsOf(`\`${mention}\``)).toEqual([{ type: 'code', text: mention }])
  for (const text of [`\\${mention}`, '@[Anna](usr_1)', `@[Anna](con_${'a1'.repeat(16)})`, `@[Anna](${anna}`])
    expect(JSON.stringify(partsOf(text))).not.toContain('mention')
})

test('plain texts have names instead of ids, and keep what was marked in the source', () => {
  const source = `Hi ${mentionOf('Anna Berg', anna)} and ${mentionOf('', ben)}: call me, says ${mentionOf('Ben', ben)}`
  expect(withPlainMentions(source)).toBe('Hi @Anna Berg and @: call me, says @Ben')
  const { text, indexOf } = plainMentions(source)
  for (const words of ['Hi ', ' and ', 'call me', ', says']) {
    const start = source.indexOf(words)
    expect(text.slice(indexOf(start), indexOf(start + words.length))).toBe(words)
  }
})
