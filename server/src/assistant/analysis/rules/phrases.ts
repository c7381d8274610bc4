import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Locale, meanings, type PhraseGroup, whenNegated, wordLists } from './locale.ts'

const readLocale = (language: Locale['language']): Locale =>
  parseLocale(language, readFileSync(createRequire(import.meta.url).resolve(`#data/phrases-${language}.json`), 'utf8'))

/** The phrases of a language (server/data/README.md). Throws an error that names what is invalid. */
export function parseLocale(language: Locale['language'], text: string): Locale {
  const { language: named, groups, ...lists } = JSON.parse(text) as Record<string, unknown>
  if (named !== language) throw new Error(`phrases-${language}.json: language: expected "${language}"`)
  const at = (path: string, problem: string): Error => new Error(`phrases-${language}.json: ${path}: ${problem}`)
  const unknown = Object.keys(lists).filter((name) => !wordLists.some((known) => known === name))
  if (unknown.length > 0) throw at(unknown.join(), `unknown; expected ${wordLists.join(', ')}`)
  const texts = (path: string, value: unknown): string[] => {
    if (!Array.isArray(value) || value.length === 0) throw at(path, 'expected a list of texts')
    return value.map((one: unknown, index) => {
      if (typeof one === 'string' && /\S/.test(one) && one === one.toLowerCase()) return one
      throw at(`${path}.${index}`, 'expected a text in lower case')
    })
  }
  const words = {} as Record<WordList, string[]>
  for (const name of wordLists) words[name] = texts(name, lists[name])
  if (!Array.isArray(groups)) throw at('groups', 'expected a list')
  return {
    language,
    ...words,
    groups: groups.map((given: unknown, index): PhraseGroup => {
      const path = `groups.${index}`
      const group = Object(given) as Record<string, unknown>
      const oneOf = <Value>(name: string, values: readonly Value[]): Value => {
        const found = values.find((value) => value === group[name])
        if (found === undefined) throw at(`${path}.${name}`, `expected ${values.join(', ')}`)
        return found
      }
      const phrases = texts(`${path}.phrases`, group.phrases)
      const invalid = phrases.find((phrase) => !isPhrase.test(phrase))
      if (invalid !== undefined) throw at(`${path}.phrases`, `${JSON.stringify(invalid)} is not in the notation`)
      return {
        meaning: oneOf('meaning', meanings),
        strength: oneOf('strength', [1, 2, 3] as const),
        whenNegated: oneOf('whenNegated', whenNegated),
        phrases,
      }
    }),
  }
}

type WordList = (typeof wordLists)[number]

/** Words, optional words and words with alternatives; see `pattern.ts`. */
const isPhrase = /^(?:[^()[\]|]|\[[^()[\]| ]+\]|\((?!\|)(?:[^()[\]|]|\|(?![|)]))+\))+$/

/** The phrases that the rules know. */
export const locales: readonly Locale[] = [readLocale('en'), readLocale('de')]
