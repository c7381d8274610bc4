import { type Interpretation, type NoteFacts, timeZoneOf } from '../analysis.ts'
import { actionsOf, plainActions, type Reading } from './actions.ts'
import { datesIn } from './dates/dates.ts'
import { decide, type Decision, languageOf, questionIn } from './decision.ts'
import { emailIn, phoneIn } from './details.ts'
import { looksLikeInjection } from './injection.ts'
import type { Meaning } from './locale.ts'
import { compileLocale, type Match, matchesIn } from './matches.ts'
import { withoutDoubtfulOptOuts } from './opt-out-doubts.ts'
import { locales } from './phrases.ts'
import { type Sentence, sentencesOf, withSingleSpaces } from './text.ts'

const compiled = locales.map(compileLocale)
const nameLeads = new Set(locales.flatMap((locale) => locale.nameLeads))

export interface RulesResult {
  interpretation: Interpretation
  /** The author says explicitly that they want no more mail. No other engine may overrule it. */
  isHardOptOut: boolean
}

/** Reads a note by its phrases: deterministic, offline. The text has at most `maxTextLength` characters. */
export function interpret(note: string, facts: NoteFacts): RulesResult {
  const { text, originalOf } = withSingleSpaces(note)
  const { interpretation, isHardOptOut } = interpretSimple(text, facts)
  const actions = interpretation.actions.map((action) => ({ ...action, evidence: originalOf(action.evidence) }))
  return { interpretation: { ...interpretation, actions }, isHardOptOut }
}

function interpretSimple(text: string, facts: NoteFacts): RulesResult {
  const sentences = sentencesOf(text)
  if (looksLikeInjection(text)) return interpretSuspicious(text, sentences, facts)
  const found = compiled
    .flatMap((locale) => matchesIn(sentences, locale))
    .filter((match) => !isOnlyAsked(match) && !isSoon(match))
  const phrases = withoutDoubtfulOptOuts(found, sentences)
  const matches = [
    ...phrases,
    ...wholeAnswer(sentences),
    ...foreignAddress(sentences, phrases, facts),
    ...proposedTime(sentences, phrases, facts),
  ]
  const language = languageOf(sentences, matches, locales)
  const reading: Reading = { text, sentences, matches, language: language === 'de' ? 'de' : 'en', nameLeads, facts }
  const decision = decide(matches)
  const question = questionIn(sentences, language)
  if (question && (!decision || decision.intent === 'question' || decision.strength === 1)) {
    const { start, end } = question
    const actions = [
      { type: 'reply', params: {}, priority: 'normal', confidence: 0.7, evidence: { start, end } },
    ] as const
    return result({ intent: 'question', language, actions, suspicious: false })
  }
  const isTask = matches.some(({ meaning, strength }) => meaning === 'task' && strength === 3)
  if (!decision || (isTask && decision.strength < 3)) {
    return result({ intent: 'unclear', language, actions: plainActions(reading), suspicious: false })
  }
  const actions = actionsOf(reading, decision)
  return result({ intent: decision.intent, language, actions, suspicious: false })
}

const result = (interpretation: Interpretation): RulesResult => ({
  interpretation,
  isHardOptOut: interpretation.intent === 'opt_out',
})

/** "Who decides on this?" refers to nobody, and "Can recipients unsubscribe?" is about the product. */
const isOnlyAsked = ({ meaning, sentence: { normal } }: Match): boolean =>
  (meaning === 'referral' && normal.endsWith('?')) ||
  ((meaning === 'opt_out' || meaning === 'opt_out_self') && aboutProduct.test(normal))

/** "Call me in an hour" is not a postponement. */
const isSoon = ({ meaning, sentence, end }: Match): boolean =>
  meaning === 'not_now' &&
  /^(?: in)?(?: \S+){0,3}? ?(?<!\p{L})(?:hours?|minutes?|mins?|hrs?|stunden?|minuten?|viertelstunde)(?!\p{L})/u.test(
    sentence.normal.slice(end - sentence.start),
  )

const aboutProduct =
  /^(?:\S+ ){0,4}?(?:how|can|could|do|does|are|is|whether|if|wie|können|kann|ob) (?:do |does |can )?(?:we|our|your|customers?|clients|recipients?|users|people|subscribers|there|wir|unsere|ihre|abonnenten|empfänger|kunden|man|nutzer)\b/

/** A person may opt out even in such a note, but only for themselves and in a sentence without any sign. */
function interpretSuspicious(text: string, sentences: readonly Sentence[], facts: NoteFacts): RulesResult {
  const harmless = sentences.filter((sentence) => !looksLikeInjection(sentence.text))
  const found = compiled.flatMap((locale) => matchesIn(harmless, locale))
  const reasons = withoutDoubtfulOptOuts(found, sentences).filter(({ meaning }) => meaning === 'opt_out_self')
  const [reason] = reasons
  if (!reason) return result({ intent: 'unclear', language: 'other', actions: [], suspicious: true })
  const { language } = reason
  const decision: Decision = { intent: 'opt_out', confidence: 0.7, strength: 3, reasons }
  const actions = actionsOf({ text, sentences, matches: reasons, language, nameLeads, facts }, decision)
  return result({ intent: 'opt_out', language, actions, suspicious: true })
}

/** Answers of a word or two. Within a sentence, these words may be about something else. */
const wholeAnswers: readonly { meaning: Meaning; pattern: RegExp; language: 'en' | 'de' }[] = [
  {
    meaning: 'opt_out_self',
    language: 'en',
    pattern: /^(?:please |pls )?(?:unsubscribe|stop|remove|opt[- ]?out)(?: please| pls)?$/,
  },
  {
    meaning: 'opt_out_self',
    language: 'de',
    pattern: /^(?:bitte )?(?:stopp|abmelden|abbestellen|austragen|abmeldung)(?: bitte)?$/,
  },
  { meaning: 'opt_out', language: 'en', pattern: /^(?:end|cancel)$/ },
  { meaning: 'not_interested', language: 'en', pattern: /^(?:no|nope|nah)(?:,? (?:thanks|thank you|thx|ty|sorry))?$/ },
  { meaning: 'not_interested', language: 'de', pattern: /^(?:nein|nö|nee|ne)(?:,? (?:danke|sorry|leider nicht))?$/ },
]

function wholeAnswer([first, ...others]: readonly Sentence[]): Match[] {
  if (!first || others.length > 1) return []
  const words = first.normal.replaceAll(/^[^\p{L}]+|[^\p{L}]+$/gu, '').replaceAll(/ +/g, ' ')
  const { start, end } = first
  return wholeAnswers
    .filter(({ pattern }) => pattern.test(words))
    .map(({ meaning, language }) => ({ meaning, strength: 3, language, sentence: first, start, end }))
}

/** Who names somebody else's address in a sentence, or says it after "wrong person", refers to them. */
function foreignAddress(sentences: readonly Sentence[], phrases: readonly Match[], facts: NoteFacts): Match[] {
  const isWrongPerson = phrases.some(({ meaning }) => meaning === 'wrong_person')
  return sentences.flatMap((sentence) => {
    const email = emailIn(sentence.text, facts)
    const address = email ?? (isWrongPerson ? phoneIn(sentence.text, facts) : undefined)
    const isAlone = address === undefined || sentence.text.split(/\s+/).length < 3
    if (isAlone || /\b(?:my|mein|meine)\b/.test(sentence.normal)) return []
    const start = sentence.start + sentence.text.indexOf(address)
    const language = phrases[0]?.language ?? 'en'
    const strength = isWrongPerson ? 3 : 2
    return [{ meaning: 'referral', strength, language, sentence, start, end: start + address.length }]
  })
}

/** Words that make a proposal of a sentence with a time. */
const proposals =
  /\?|\b(?:can|could|would|shall|works?|suits?|free|available|instead|let's|prefer|passt|hätten?|können|könnten|würden?|wollen|ginge|geht|statt|lieber|frei)\b/

/** A sentence that proposes a time asks for a meeting, if nothing else explains it. */
function proposedTime(sentences: readonly Sentence[], phrases: readonly Match[], facts: NoteFacts): Match[] {
  const others = phrases.filter(({ meaning }) => !['question', 'interested', 'urgent'].includes(meaning))
  if (others.length > 0) return []
  for (const sentence of sentences.filter(({ normal }) => proposals.test(normal))) {
    for (const language of ['en', 'de'] as const) {
      const dates = datesIn(sentence.text, language, { now: facts.now, zone: timeZoneOf(facts) })
      const date = dates.find(({ hasTime }) => hasTime)
      if (!date) continue
      const [start, end] = [sentence.start + date.start, sentence.start + date.end]
      return [{ meaning: 'meeting_request', strength: 2, language, sentence, start, end }]
    }
  }
  return []
}
