// From a note to suggested actions: the types that all engines share. `analyser.ts` is the entry.

import { dealStatuses } from '../../crm/stages/resource.ts'

export const intents = [
  'interested',
  'not_now',
  'not_interested',
  'meeting_request',
  'question',
  'out_of_office',
  'wrong_person',
  'referral',
  'opt_out',
  'unclear',
] as const
export type Intent = (typeof intents)[number]

export const actionTypes = [
  'reply',
  'call',
  'schedule_meeting',
  'create_task',
  'wait_until',
  'change_stage',
  'add_contact',
  'stop_campaign',
  'suppress',
] as const
export type ActionType = (typeof actionTypes)[number]

/** The kind of stage that `change_stage` suggests; the pipeline decides which of its stages that is. */
export const stageKinds = dealStatuses
export type StageKind = (typeof stageKinds)[number]

export const priorities = ['low', 'normal', 'high'] as const
export type Priority = (typeof priorities)[number]

export const dueAtSources = ['note', 'default'] as const
export type DueAtSource = (typeof dueAtSources)[number]

export const languages = ['en', 'de', 'other'] as const
export type Language = (typeof languages)[number]

/** A part of the note's text, in UTF-16 code units: `text.slice(start, end)`. */
export interface Span {
  start: number
  end: number
}

/** What each type of action needs besides its date. Addresses, numbers and names occur verbatim in the note. */
export interface ActionParams {
  reply: Record<string, never>
  /** Without a number: the contact's own. */
  call: { phone?: string }
  schedule_meeting: Record<string, never>
  create_task: { title: string }
  wait_until: Record<string, never>
  change_stage: { stageKind: StageKind }
  /** At least one of the three. */
  add_contact: { name?: string; email?: string; phone?: string }
  stop_campaign: Record<string, never>
  suppress: Record<string, never>
}

interface ActionOf<Type extends ActionType> {
  type: Type
  params: ActionParams[Type]
  /** An instant (ISO 8601, UTC). A date without a time is 09:00 in the contact's zone. */
  dueAt?: string
  /** `default`: the note names no date, and `dueAt` is that of `defaultWaitDays`. There whenever `dueAt` is. */
  dueAtSource?: DueAtSource
  priority: Priority
  /** From 0 to 1. */
  confidence: number
  /** The words of the note that are the reason for the action. */
  evidence: Span
}

/** A suggestion, never a command: only `suppress` and an out-of-office `wait_until` may act by themselves. */
export type Action = { [Type in ActionType]: ActionOf<Type> }[ActionType]

/** What a note says, without how that was found. */
export interface Interpretation {
  intent: Intent
  language: Language
  actions: readonly Action[]
  /** At most 280 characters of plain text without links. Never render it as HTML or Markdown. */
  summary?: string
  /** The note addresses a machine or hides text. It has no actions, except that a person may still opt out. */
  suspicious: boolean
}

/** Why the rules answered although a model is configured. */
export const degradations = [
  'budget_used_up',
  'breaker_open',
  'timeout',
  'unreachable',
  'rejected',
  'refusal',
  'invalid_output',
] as const
export type Degradation = (typeof degradations)[number]

/** An interpretation and how it was found, as it is stored with a suggestion. */
export interface Analysis extends Interpretation {
  engine: 'rules' | 'model'
  /** The model that was asked, even if the rules answered; null if none was. */
  model: string | null
  promptVersion: string
  /** SHA-256 (hexadecimal) of everything that decides the result: text, facts, version and model. */
  inputHash: string
  latencyMs: number
  /** Tokens that the model used, including failed attempts. */
  tokens: number
  degraded: boolean
  degradedReason?: Degradation
}

/** The text of one note, from a person who may be unknown: it is data, never an instruction. */
export interface Note {
  organizationId: string
  text: string
}

/** Everything besides the text that an engine may use. */
export interface NoteFacts {
  now: Date
  /** IANA names. Dates are in the contact's zone, or in the organization's if that is unknown. */
  contactTimeZone: string | null
  organizationTimeZone: string
  /** The contact's own addresses and numbers, which are not a new contact. They are not sent to a model. */
  contactEmails: readonly string[]
  contactPhones: readonly string[]
  stageKind: StageKind | null
  hasOwner: boolean
  openTasks: number
}

/** An engine. Rejects only if `signal` aborts. */
export type Analyse = (note: Note, facts: NoteFacts, signal: AbortSignal) => Promise<Analysis>

/** Longer texts are cut: what somebody wants is at the beginning. */
export const maxTextLength = 8192
export const maxActions = 5
export const maxSummaryLength = 280
export const maxTitleLength = 200

/** The note's text as far as it is analysed; never half a character. */
export function analysedText({ text }: Note): string {
  if (text.length <= maxTextLength) return text
  const endsInPair = /[\uD800-\uDBFF]/.test(text.charAt(maxTextLength - 1))
  return text.slice(0, endsInPair ? maxTextLength - 1 : maxTextLength)
}

export const timeZoneOf = ({ contactTimeZone, organizationTimeZone }: NoteFacts): string =>
  contactTimeZone ?? organizationTimeZone

/** The actions that an intent can lead to. Both engines are held to this table. */
export const actionsOfIntent: Readonly<Record<Intent, readonly ActionType[]>> = {
  interested: ['reply', 'call', 'schedule_meeting', 'create_task', 'change_stage', 'add_contact'],
  not_now: ['wait_until', 'reply', 'create_task'],
  not_interested: ['change_stage', 'stop_campaign', 'reply'],
  meeting_request: ['schedule_meeting', 'call', 'reply', 'create_task', 'add_contact'],
  question: ['reply', 'create_task'],
  out_of_office: ['wait_until', 'add_contact'],
  wrong_person: ['stop_campaign', 'add_contact', 'reply'],
  referral: ['add_contact', 'reply', 'stop_campaign'],
  opt_out: ['suppress'],
  unclear: ['call', 'create_task', 'reply'],
}

/** Days to wait if somebody asks to wait but names no date. */
export const defaultWaitDays: Readonly<Partial<Record<Intent, number>>> = { not_now: 90, out_of_office: 7 }
