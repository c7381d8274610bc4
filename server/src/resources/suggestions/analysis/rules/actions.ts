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
import { datesIn, type FoundDate } from './dates.ts'
import type { Decision } from './decision.ts'
import { type Details, emailIn, nameIn, phoneIn } from './details.ts'
import type { Match } from './matches.ts'
import type { Sentence } from './text.ts'

/** What the actions of a note are derived from. */
export interface Reading {
  text: string
  sentences: readonly Sentence[]
  matches: readonly Match[]
  language: 'en' | 'de'
  nameLeads: ReadonlySet<string>
  facts: NoteFacts
}

type Common = Pick<Action, 'priority' | 'confidence' | 'evidence' | 'dueAt'>

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
      return [waitAction(reading, intent, base, dateNear(reading, reasons))]
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
    const phone = phoneIn(reading.text, { contactPhone: null })
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

const withoutLinks = (text: string): string => text.replaceAll(/\b(?:https?:|www\.)\S+/gi, '…')

function conversation(reading: Reading, base: Common, reasons: readonly Match[]): Action {
  const call = reasons.find(({ meaning }) => meaning === 'call')
  const date = due(dateNear(reading, reasons))
  if (!call) return { type: 'schedule_meeting', params: {}, ...base, ...date }
  const phone = phoneIn(reading.text, { contactPhone: null })
  return { type: 'call', params: phone === undefined ? {} : { phone }, ...base, evidence: spanOf(call), ...date }
}

function waitAction(reading: Reading, intent: Intent, base: Common, date: FoundDate | undefined): Action {
  return {
    type: 'wait_until',
    params: {},
    ...base,
    dueAt: (date?.instant ?? defaultWait(intent, reading.facts)).toISOString(),
  }
}

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
  const behind = [...first].flatMap(([sentence, start]) =>
    datesOf(reading, sentence).filter(({ end }) => sentence.start + end > start),
  )
  const indexes = [...first.keys()].map(({ index }) => index)
  const near = [...indexes, ...indexes.map((index) => index + 1), ...indexes.map((index) => index - 1)]
  for (const dates of [behind, ...[...new Set(near)].map((index) => datesAt(reading, index))]) {
    const [next] = dates
    if (next) return dates.find(({ hasTime }) => hasTime) ?? next
  }
  return undefined
}

function datesAt(reading: Reading, index: number): FoundDate[] {
  const sentence = reading.sentences[index]
  return sentence ? datesOf(reading, sentence) : []
}

/** When an absent person is back: a date of return, else the end of the absence. */
function returnDate(reading: Reading): FoundDate | undefined {
  const dates = reading.sentences.slice(0, 12).flatMap((sentence) => datesOf(reading, sentence))
  const ends = [...dates].sort((one, other) => other.instant.getTime() - one.instant.getTime())
  return dates.find(({ isReturn }) => isReturn) ?? dates.find(({ isAfterRange }) => isAfterRange) ?? ends[0]
}

const due = (date: FoundDate | undefined): { dueAt?: string } =>
  date === undefined ? {} : { dueAt: date.instant.toISOString() }

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
