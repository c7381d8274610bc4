import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { locales, parseLocale } from './phrases.ts'
import { compilePhrases } from './pattern.ts'

const file = (language: 'en' | 'de'): Record<string, unknown> =>
  JSON.parse(readFileSync(`server/data/phrases-${language}.json`, 'utf8'))

test('the data files of both languages have phrases for each meaning, and none twice in a group', () => {
  const [english, german] = locales.map(({ groups }) => new Set(groups.map(({ meaning }) => meaning)))
  expect(german).toEqual(english)
  for (const { groups, ordinaryWords, language } of locales) {
    expect(groups.flatMap(({ phrases }) => phrases).length, language).toBeGreaterThan(300)
    expect(new Set(ordinaryWords).size, language).toBe(ordinaryWords.length)
    for (const { phrases, meaning } of groups)
      expect([meaning, new Set(phrases).size]).toEqual([meaning, phrases.length])
  }
})

test('a phrase of a data file is found in a text', () => {
  const { groups } = parseLocale(
    'en',
    JSON.stringify({
      ...file('en'),
      groups: [{ meaning: 'task', strength: 2, whenNegated: 'dropped', phrases: ['(water|feed) [the] plant*'] }],
    }),
  )
  const pattern = compilePhrases(groups[0]?.phrases ?? [])
  expect('please water the plants today'.match(pattern)).toEqual(['water the plants'])
})

const group = { meaning: 'task', strength: 2, whenNegated: 'dropped', phrases: ['water the plants'] }

test.each([
  [{ language: 'fr' }, 'language: expected "en"'],
  [{ negations: 'not' }, 'negations: expected a list of texts'],
  [{ clauseBreaks: ['but', 'However'] }, 'clauseBreaks.1: expected a text in lower case'],
  [{ nameLead: ['mr'] }, 'nameLead: unknown'],
  [{ groups: [{ ...group, meaning: 'tasks' }] }, 'groups.0.meaning: expected opt_out'],
  [{ groups: [group, { ...group, strength: 4 }] }, 'groups.1.strength: expected 1, 2, 3'],
  [{ groups: [{ ...group, whenNegated: 'kept' }] }, 'groups.0.whenNegated: expected dropped'],
  [{ groups: [{ ...group, phrases: [] }] }, 'groups.0.phrases: expected a list of texts'],
  [{ groups: [{ ...group, phrases: ['(water the plants'] }] }, 'is not in the notation'],
  [{ groups: [{ ...group, phrases: ['(water|) plants'] }] }, 'is not in the notation'],
])('a data file with %j is refused, and the error says where', (change, message) => {
  expect(() => parseLocale('en', JSON.stringify({ ...file('en'), ...change }))).toThrow(`phrases-en.json: `)
  expect(() => parseLocale('en', JSON.stringify({ ...file('en'), ...change }))).toThrow(message)
})
