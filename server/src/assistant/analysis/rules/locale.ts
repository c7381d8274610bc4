/** What a phrase says. Besides the intents, some decide actions only. */
export const meanings = [
  'opt_out',
  // The author asks for themselves: it counts even in a note with an injection.
  'opt_out_self',
  'out_of_office',
  'wrong_person',
  'referral',
  'not_now',
  'not_interested',
  'meeting_request',
  'interested',
  'question',
  // The conversation should be by phone.
  'call',
  'purchase',
  'task',
  // A person asks that something be done by a date: a task, although they are interested.
  'reported_wish',
  'try_again',
  'urgent',
] as const
export type Meaning = (typeof meanings)[number]

/** What a negation in front of a phrase does to it. */
export const whenNegated = ['dropped', 'not_interested', 'unchanged'] as const

export interface PhraseGroup {
  meaning: Meaning
  /** 3: says exactly this. 2: usually means it. 1: a hint, which anything stronger overrules. */
  strength: 1 | 2 | 3
  whenNegated: (typeof whenNegated)[number]
  phrases: readonly string[]
}

/** The lists of words of a language; server/data/README.md describes each. */
export const wordLists = [
  'commonWords',
  'negations',
  'falseNegations',
  'clauseBreaks',
  'nameLeads',
  'ordinaryWords',
  'relativeDays',
  'largeNumbers',
  'currencies',
] as const

/** The phrases of one language, from its data file; `pattern.ts` explains the notation. */
export interface Locale extends Record<(typeof wordLists)[number], readonly string[]> {
  language: 'en' | 'de'
  groups: readonly PhraseGroup[]
}
