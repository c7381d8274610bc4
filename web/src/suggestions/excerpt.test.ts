import { expect, test } from 'vitest'
import { mentionOf } from '../ui/mentions.ts'
import { excerptOf } from './excerpt.ts'

test('an excerpt has names instead of ids, and begins and ends with the same words as the evidence', () => {
  const anna = mentionOf('Anna Berg', `usr_${'a1'.repeat(16)}`)
  const source = `Hi ${anna}, call me, says ${anna}`
  const evidenceFrom = (start: number) => {
    const end = source.indexOf(' me') + 3
    return { start, end, text: source.slice(start, end) }
  }
  const after = ', says @Anna Berg'
  expect(excerptOf(source, evidenceFrom(source.indexOf('call')))).toEqual({
    before: 'Hi @Anna Berg, ',
    words: 'call me',
    after,
  })
  expect(excerptOf(source, evidenceFrom(source.indexOf('Anna')))).toEqual({
    before: 'Hi @',
    words: 'Anna Berg, call me',
    after,
  })
  expect(excerptOf('changed', evidenceFrom(0)).words).toBe('Hi @Anna Berg, call me')
})
