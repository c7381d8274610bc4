import type { Span } from '../analysis.ts'
import type { Locale, Meaning, PhraseGroup } from './locale.ts'
import { compilePhrases } from './pattern.ts'
import type { Sentence } from './text.ts'

/** A phrase that a sentence contains. */
export interface Match extends Span {
  meaning: Meaning
  strength: 1 | 2 | 3
  language: 'en' | 'de'
  sentence: Sentence
}

export interface CompiledLocale {
  language: 'en' | 'de'
  groups: readonly (PhraseGroup & { pattern: RegExp })[]
  negation: RegExp
  falseNegation: RegExp
  clauseBreak: RegExp
}

export function compileLocale({ language, groups, negations, falseNegations, clauseBreaks }: Locale): CompiledLocale {
  return {
    language,
    groups: groups.map((group) => ({ ...group, pattern: compilePhrases(group.phrases) })),
    negation: compilePhrases(negations),
    falseNegation: compilePhrases(falseNegations),
    clauseBreak: compilePhrases(clauseBreaks),
  }
}

/** Everything that the sentences say in this language, with negations applied. */
export const matchesIn = (sentences: readonly Sentence[], locale: CompiledLocale): Match[] =>
  sentences.flatMap((sentence) =>
    locale.groups.flatMap((group) =>
      foundIn(sentence.normal, group.pattern).flatMap((found) => {
        const meaning = meaningOf(
          group,
          locale,
          sentence.normal.slice(Math.max(0, found.index - reachCharacters), found.index),
        )
        if (meaning === undefined) return []
        const start = sentence.start + found.index
        const { strength } = group
        return [{ meaning, strength, language: locale.language, sentence, start, end: start + found[0].length }]
      }),
    ),
  )

/** More of the same in a sentence says nothing new. */
const maxRepetitions = 3

function foundIn(text: string, pattern: RegExp): RegExpExecArray[] {
  const found: RegExpExecArray[] = []
  // `matchAll` would copy the pattern, and V8 would sometimes compile the copy again.
  pattern.lastIndex = 0
  for (let match = pattern.exec(text); match; match = pattern.exec(text))
    if (found.push(match) === maxRepetitions) break
  return found
}

/** Undefined if the words before the phrase negate it. */
function meaningOf({ meaning, whenNegated }: PhraseGroup, locale: CompiledLocale, before: string): Meaning | undefined {
  if (whenNegated === 'unchanged' || !isNegated(locale, before)) return meaning
  return whenNegated === 'dropped' ? undefined : whenNegated
}

/** How many words a negation reaches. */
const reach = 4
const reachCharacters = 100

function isNegated({ negation, falseNegation, clauseBreak }: CompiledLocale, before: string): boolean {
  const clause = (before.split(/[,;:.!?()-] /).at(-1) ?? '').replaceAll(falseNegation, ' ')
  const afterBreak = clause.slice(Math.max(0, ...[...clause.matchAll(clauseBreak)].map((one) => one.index)))
  const words = afterBreak.trim().split(/ +/).slice(-reach).join(' ')
  // Two negations cancel each other.
  return [...words.matchAll(negation)].length % 2 === 1
}
