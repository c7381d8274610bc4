import {
  type Action,
  defaultWaitDays,
  type Intent,
  maxTitleLength,
  type NoteFacts,
  type Priority,
  type Span,
  timeZoneOf,
} from '../analysis.ts'
import { atWorkTime, instantOf, wallTimeOf } from '../local-time.ts'
import { datesIn, type FoundDate } from './dates/dates.ts'
import type { Decision } from './decision.ts'
import { type Details, emailIn, nameIn, phoneIn } from './details.ts'
import type { Match } from './matches.ts'
import { quotesIn, type Sentence } from './text.ts'

/** What the actions of a note are derived from. */
export interface Reading {
  text: string
  sentences: readonly Sentence[]
  matches: readonly Match[]
  language: 'en' | 'de'
  nameLeads: ReadonlySet<string>
  facts: NoteFacts
}

type Common = Pick<Action, 'priority' | 'confidence' | 'evidence' | 'dueAt' | 'dueAtSource'>

/** The actions of a note whose intent is known. */
export function actionsOf(reading: Reading, { intent, confidence, reasons }: Decision): Action[] {
  const [reason] = reasons
  if (!reason) return []
  const base = { priority: priorityOf(reading, intent), confidence, evidence: spanOf(reason) }
  switch (intent) {
    case 'opt_out':
      return [{ type: 'suppress', params: {}, ...base, priority: 'high' }]
    case 'out_of_office':
      return [
        waitAction(reading, intent, base, returnDate(reading)),
        ...newContact(reading, base, { needsAddress: true }),
      ]
    case 'not_now':
      return [waitAction(reading, intent, base, endOf(dateNear(reading, reasons)))]
    case 'not_interested':
      return [
        { type: 'change_stage', params: { stageKind: 'lost' }, ...base },
        { type: 'stop_campaign', params: {}, ...base },
      ]
    case 'wrong_person':
      return [{ type: 'stop_campaign', params: {}, ...base }, ...newContact(reading, base, { needsAddress: true })]
    case 'referral':
      return newContact(reading, base, { needsAddress: false })
    case 'meeting_request':
      return [conversation(reading, base, reasons)]
    case 'interested':
      return interestActions(reading, base)
    case 'question':
      return [{ type: 'reply', params: {}, ...base }]
    case 'unclear':
      return []
  }
}

/** What has to be done, in a note that says nothing about the contact's wishes. */
export function plainActions(reading: Reading): Action[] {
  const [again] = reading.matches
    .filter(({ meaning }) => meaning === 'try_again')
    .sort((one, other) => other.strength - one.strength)
  if (again) {
    const phone = phoneIn(reading.text, { contactPhones: [] })
    const common = { priority: 'normal', confidence: 0.6, evidence: spanOf(again) } as const
    return [
      { type: 'call', params: phone === undefined ? {} : { phone }, ...common, ...due(dateNear(reading, [again])) },
    ]
  }
  const task = reading.matches.find(({ meaning }) => meaning === 'task')
  return task ? [taskAction(reading, task)] : []
}

function interestActions(reading: Reading, base: Common): Action[] {
  const wish = reading.matches.find(({ meaning }) => meaning === 'reported_wish')
  const date = wish && dateNear(reading, [wish])
  // Only a colleague writes about the contact in the third person, so there is nobody to reply to.
  if (wish && date) return [taskAction(reading, wish)]
  const purchase = reading.matches.find(({ meaning }) => meaning === 'purchase')
  const reply: Action = { type: 'reply', params: {}, ...base }
  if (!purchase) return [reply]
  return [reply, { type: 'change_stage', params: { stageKind: 'won' }, ...base, evidence: spanOf(purchase) }]
}

function taskAction(reading: Reading, reason: Match): Action {
  const title = reading.text.slice(reason.sentence.start, reason.sentence.end).replaceAll(/\s+/g, ' ')
  return {
    type: 'create_task',
    params: { title: withoutLinks(title).slice(0, maxTitleLength) },
    priority: priorityOf(reading, 'unclear'),
    confidence: 0.6,
    evidence: { start: reason.sentence.start, end: reason.sentence.end },
    ...due(dateNear(reading, [reason])),
  }
}

/** The text with `…` for each link. */
export const withoutLinks = (text: string): string => text.replaceAll(/\b(?:https?:|www\.)\S+/gi, '…')

function conversation(reading: Reading, base: Common, reasons: readonly Match[]): Action {
  const call = reasons.find(({ meaning }) => meaning === 'call')
  const date = due(dateNear(reading, reasons))
  if (!call) return { type: 'schedule_meeting', params: {}, ...base, ...date }
  const phone = phoneIn(reading.text, { contactPhones: [] })
  return { type: 'call', params: phone === undefined ? {} : { phone }, ...base, evidence: spanOf(call), ...date }
}

function waitAction(reading: Reading, intent: Intent, base: Common, date: Date | undefined): Action {
  const dueAt = (date ?? defaultWait(intent, reading.facts)).toISOString()
  return { type: 'wait_until', params: {}, ...base, dueAt, dueAtSource: date ? 'note' : 'default' }
}

/** Who is busy for several days can be asked afterwards. */
const endOf = (date: FoundDate | undefined): Date | undefined => date?.afterRange ?? date?.instant

/** When to look at a note again whose author named no date. */
export function defaultWait(intent: Intent, facts: NoteFacts): Date {
  const zone = timeZoneOf(facts)
  const days = defaultWaitDays[intent] ?? 0
  return instantOf(atWorkTime(wallTimeOf(facts.now, zone) + days * 86_400_000), zone)
}

function newContact(reading: Reading, base: Common, { needsAddress }: { needsAddress: boolean }): Action[] {
  const { text, sentences, facts, nameLeads, matches } = reading
  const own = { start: 0, end: sentences.at(-1)?.end ?? 0 }
  const written = text.slice(own.start, own.end)
  const [email, phone] = [emailIn(written, facts), phoneIn(written, facts)]
  if (needsAddress && email === undefined && phone === undefined) return []
  const reason = matches.find(({ meaning }) => meaning === 'referral')
  const name = nameIn(text, reason ? { start: reason.start, end: own.end } : own, nameLeads)
  const params: Details = {
    ...(name !== undefined && { name }),
    ...(email !== undefined && { email }),
    ...(phone !== undefined && { phone }),
  }
  if (Object.keys(params).length === 0) return []
  const address = email ?? phone ?? name ?? ''
  const at = written.indexOf(address)
  return [
    {
      type: 'add_contact',
      params,
      ...base,
      evidence: reason ? spanOf(reason) : { start: at, end: at + address.length },
    },
  ]
}

const datesOf = (reading: Reading, { start, end }: Span): FoundDate[] =>
  datesIn(reading.text.slice(start, end), reading.language, {
    now: reading.facts.now,
    zone: timeZoneOf(reading.facts),
  })

/** Those after the first few say nothing new. */
const maxReasons = 6

/** The date after the reason in its sentence, in the sentences after and before it, or else before the reason. */
function dateNear(reading: Reading, all: readonly Match[]): FoundDate | undefined {
  const reasons = all.slice(0, maxReasons)
  const first = new Map([...reasons].reverse().map((reason) => [reason.sentence, reason.start]))
  const own = new Map([...first].map(([sentence, start]) => [sentence, datesAround(reading, sentence, start)]))
  const behind = [...first].flatMap(([sentence, start]) =>
    (own.get(sentence) ?? []).filter(({ end }) => sentence.start + end > start),
  )
  const indexes = [...first.keys()].map(({ index }) => index)
  const near = [...new Set([...indexes.map((index) => index + 1), ...indexes.map((index) => index - 1)])]
  for (const dates of [behind, ...own.values(), ...near.map((index) => datesAt(reading, index))]) {
    const [next] = dates
    if (next) return dates.find(({ hasTime }) => hasTime) ?? next
  }
  return undefined
}

/** The dates of the sentence of a reason. Those in quotation marks count only if the reason is in them too. */
function datesAround(reading: Reading, sentence: Sentence, start: number): FoundDate[] {
  const quotes = quotesIn(sentence)
  const quoteOf = (at: number) => quotes.find((quote) => quote.start <= at && at < quote.end)
  const reasonQuote = quoteOf(start - sentence.start)
  return datesOf(reading, sentence).filter((date) => [undefined, reasonQuote].includes(quoteOf(date.start)))
}

/** The dates of a sentence next to that of the reason, unless it asks about something else. */
function datesAt(reading: Reading, index: number): FoundDate[] {
  const sentence = reading.sentences[index]
  if (!sentence || asksFact(sentence.normal)) return []
  const quotes = quotesIn(sentence)
  return datesOf(reading, sentence).filter(({ start }) => !quotes.some((one) => one.start <= start && start < one.end))
}

/** It asks for a fact, not for a time. */
const asksFact = (normal: string): boolean =>
  normal.endsWith('?') &&
  /^(?:\P{L}|and |but |und |aber |or |oder )*(?:is|was|were|are|did|does|has|had|have you|why|what|who|how (?!about)|which|where|when did|ist|war|waren|hat|hatte|haben sie (?!zeit)|warum|wieso|was|wer|wie|wo|welche\p{L}*|wann war)(?!\p{L})/u.test(
    normal,
  ) &&
  !/(?<!\p{L})(?:free|available|possible|work|suit|fine|good|okay|möglich|zeit|recht|passt|frei)(?!\p{L})/u.test(normal)

/** When an absent person is back: a date of return, else the day after the absence. */
function returnDate(reading: Reading): Date | undefined {
  const dates = reading.sentences.slice(0, 12).flatMap((sentence) => datesOf(reading, sentence))
  const ends = [...dates].sort((one, other) => other.instant.getTime() - one.instant.getTime())
  const found = dates.find(({ isReturn }) => isReturn)
  if (found) return found.instant
  return (dates.find(({ afterRange }) => afterRange) ?? ends[0])?.afterRange ?? ends[0]?.instant
}

const due = (date: FoundDate | undefined): Pick<Action, 'dueAt' | 'dueAtSource'> =>
  date === undefined ? {} : { dueAt: date.instant.toISOString(), dueAtSource: 'note' }

const spanOf = ({ start, end }: Span): Span => ({ start, end })

const usual: Readonly<Partial<Record<Intent, Priority>>> = {
  interested: 'high',
  meeting_request: 'high',
  not_now: 'low',
  out_of_office: 'low',
}

function priorityOf({ matches }: Reading, intent: Intent): Priority {
  return matches.some(({ meaning }) => meaning === 'urgent') ? 'high' : (usual[intent] ?? 'normal')
}
