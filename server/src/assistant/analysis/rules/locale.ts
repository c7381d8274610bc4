/** What a phrase says. Besides the intents, some decide actions only. */
export type Meaning =
  | 'opt_out'
  /** The author asks for themselves: it counts even in a note with an injection. */
  | 'opt_out_self'
  | 'out_of_office'
  | 'wrong_person'
  | 'referral'
  | 'not_now'
  | 'not_interested'
  | 'meeting_request'
  | 'interested'
  | 'question'
  /** The conversation should be by phone. */
  | 'call'
  | 'purchase'
  | 'task'
  /** A person asks that something be done by a date: a task, although they are interested. */
  | 'reported_wish'
  | 'try_again'
  | 'urgent'

/** What a negation in front of a phrase does to it. */
export type WhenNegated = 'dropped' | 'not_interested' | 'unchanged'

export interface PhraseGroup {
  meaning: Meaning
  /** 3: says exactly this. 2: usually means it. 1: a hint, which anything stronger overrules. */
  strength: 1 | 2 | 3
  whenNegated: WhenNegated
  phrases: readonly string[]
}

/** The phrases of one language, as data; `pattern.ts` explains the notation. */
export interface Locale {
  language: 'en' | 'de'
  /** Frequent words that hardly any other language has. */
  commonWords: readonly string[]
  negations: readonly string[]
  /** They contain a negation but negate nothing. */
  falseNegations: readonly string[]
  /** Where the reach of a negation ends. */
  clauseBreaks: readonly string[]
  groups: readonly PhraseGroup[]
  /** Words in front of a person's name. */
  nameLeads: readonly string[]
}
