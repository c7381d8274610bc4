import type { Intent, Language } from '../analysis.ts'
import type { Locale, Meaning } from './locale.ts'
import type { Match } from './matches.ts'
import type { Sentence } from './text.ts'

/** Of equally strong meanings, the first one is the intent: what stops mail comes first, then what is most specific. */
const precedence: readonly { intent: Intent; meanings: readonly Meaning[] }[] = [
  { intent: 'opt_out', meanings: ['opt_out', 'opt_out_self'] },
  { intent: 'out_of_office', meanings: ['out_of_office'] },
  { intent: 'referral', meanings: ['referral'] },
  { intent: 'wrong_person', meanings: ['wrong_person'] },
  { intent: 'not_now', meanings: ['not_now'] },
  { intent: 'not_interested', meanings: ['not_interested'] },
  { intent: 'meeting_request', meanings: ['meeting_request', 'call'] },
  { intent: 'interested', meanings: ['interested', 'purchase', 'reported_wish'] },
  { intent: 'question', meanings: ['question'] },
]

export interface Decision {
  intent: Intent
  /** From 0 to 1. */
  confidence: number
  strength: 1 | 2 | 3
  /** The matches of the intent, the strongest first. */
  reasons: readonly Match[]
}

/** The intent of a note; undefined if no phrase matches. */
export function decide(matches: readonly Match[]): Decision | undefined {
  const candidates = precedence.flatMap(({ intent, meanings }, rank) => {
    const reasons = matches
      .filter(({ meaning }) => meanings.includes(meaning))
      .sort((one, other) => other.strength - one.strength || isSelf(other) - isSelf(one) || one.start - other.start)
    const [strongest] = reasons
    return strongest ? [{ intent, reasons, rank, strength: strongest.strength }] : []
  })
  const best = candidates.sort((one, other) => other.strength - one.strength || one.rank - other.rank)[0]
  if (!best) return undefined
  const isDisputed = candidates.some((other) => other !== best && other.strength >= best.strength)
  const confidence = [0, 0.5, 0.7, 0.85][best.strength] ?? 0
  const { intent, reasons, strength } = best
  if (intent === 'opt_out' && !reasons.some(isSelf)) return { intent, strength, reasons, confidence: doubtful }
  return { intent, strength, reasons, confidence: isDisputed ? confidence - 0.15 : confidence }
}

/** The confidence of an opt-out on which a person decides. */
const doubtful = 0.6

const isSelf = ({ meaning }: Match): number => (meaning === 'opt_out_self' ? 1 : 0)

/** A question mark, or a word that begins questions, in a language that the phrases cover. */
export function questionIn(sentences: readonly Sentence[], language: Language): Sentence | undefined {
  if (language === 'other') return undefined
  const starts = language === 'de' ? germanQuestion : englishQuestion
  return (
    sentences.find(({ normal }) => normal.endsWith('?') && normal.length > 3) ??
    sentences.find(({ normal }) => starts.test(normal.replaceAll(/ +/g, ' ')))
  )
}

const englishQuestion =
  /^(?:(?:hi|hello|hey|and|so|also|quick question)[ ,:-]+)?(?:how(?:'?s| (?:much|many|long|often|do|does|can|is|are|would|fast))|what(?:'?s| (?:is|are|does|do|about|happens|kind|exactly|would))|where(?:'?s| (?:is|are|do|does|can))|which \w+ |who(?:'?s| (?:is|are|can|owns))|when (?:is|are|can|will|does)|why (?:is|are|do|does)|is (?:there|it|this|the)|are (?:there|you)|do (?:you|we|i)|does (?:it|the|your)|can (?:it|you|i|we))\b/
const germanQuestion =
  /^(?:(?:hallo|moin|hi|und|also|kurze frage)[ ,:-]+)?(?:wie (?:lange|viel|viele|hoch|oft|funktioniert|ist|kann|sieht|wird|werden|läuft)|was (?:kostet|ist|bedeutet|passiert|kosten)|wo (?:ist|sind|werden|wird|liegt|finde)|wer (?:ist|kann|hat)|wann (?:ist|kann|wird)|warum |gibt es|gibts|welche[rsn]? |unterstützt |haben sie|kann (?:man|ich|das|die|der|ihr)|läuft (?:das|die|der)|geht das|ist (?:das|die|der|es|eine|ein)|habt ihr|bietet )/

/** The language of the text, by frequent words and phrases; `other` if neither speaks for it. */
export function languageOf(
  sentences: readonly Sentence[],
  matches: readonly Match[],
  locales: readonly Locale[],
): Language {
  const words = new Set(sentences.flatMap(({ normal }) => normal.match(/[\p{L}']+/gu) ?? []))
  const scores = locales.map(({ language, commonWords }) => ({
    language,
    score:
      commonWords.filter((word) => words.has(word)).length +
      2 * matches.filter((match) => match.language === language).length,
  }))
  const best = scores.sort((one, other) => other.score - one.score)[0]
  const needed = Math.min(2, Math.ceil(words.size / 6))
  return best && best.score >= Math.max(1, needed) ? best.language : 'other'
}
