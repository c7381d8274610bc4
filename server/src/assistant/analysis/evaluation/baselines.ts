import { type ActionType, type Intent, intents } from '../analysis.ts'
import type { Answer } from './figures.ts'
import type { LabelledNote } from './labels.ts'

const usualActions: Readonly<Record<Intent, readonly ActionType[]>> = {
  interested: ['reply'],
  not_now: ['wait_until'],
  not_interested: ['change_stage', 'stop_campaign'],
  meeting_request: ['schedule_meeting'],
  question: ['reply'],
  out_of_office: ['wait_until'],
  wrong_person: ['stop_campaign'],
  referral: ['add_contact'],
  opt_out: ['suppress'],
  unclear: [],
}

const answerWith = (intent: Intent): Answer => ({
  intent,
  actions: usualActions[intent].map((type) => ({ type, evidence: { start: 0, end: 0 } })),
})

/** Always the intent that most of the notes have. */
export function mostFrequent(notes: readonly LabelledNote[]): (note: LabelledNote) => Answer {
  const count = (intent: Intent) => notes.filter((note) => note.intent === intent).length
  const [best = 'unclear'] = [...intents].sort((one, other) => count(other) - count(one))
  return () => answerWith(best)
}

/** What one would write in ten minutes: one expression per intent, without negation, grammar or dates. */
const keywords: readonly (readonly [Intent, RegExp])[] = [
  ['opt_out', /unsubscribe|remove|opt out|stop|abmelden|verteiler|abbestellen|newsletter/i],
  ['out_of_office', /out of office|vacation|holiday|urlaub|abwesen|automatic reply|automatische antwort/i],
  ['not_interested', /not interested|no thanks|kein interesse|nein danke|absage/i],
  ['wrong_person', /wrong person|no longer works|falsche|nicht zuständig/i],
  ['referral', /contact my|colleague|kolleg|wenden/i],
  ['not_now', /later|next year|next month|not now|später|nächstes jahr|im moment/i],
  ['meeting_request', /meet|call|demo|termin|treffen|anruf/i],
  ['interested', /interest|send|more|angebot|gern|infos/i],
  ['question', /\?/],
]

export const byKeywords = ({ text }: LabelledNote): Answer =>
  answerWith(keywords.find(([, pattern]) => pattern.test(text))?.[0] ?? 'unclear')
