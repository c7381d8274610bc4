import {
  type Action,
  actionsOfIntent,
  actionTypes,
  analysedText,
  type Intent,
  type Interpretation,
  intents,
  languages,
  maxActions,
  maxSummaryLength,
  maxTitleLength,
  type Note,
  type NoteFacts,
  priorities,
  type Span,
  stageKinds,
  timeZoneOf,
} from './analysis.ts'
import { startOfDay, wallTimeOf } from './local-time.ts'
import { defaultWait, withoutLinks } from './rules/actions.ts'
import { datesIn, latestDate } from './rules/dates/dates.ts'
import { isOwnEmail, isOwnPhone } from './rules/details.ts'
import { sentencesOf, withSingleSpaces } from './rules/text.ts'
import { isWholeIn, isWordingSupported } from './wording.ts'

/**
 * Checks an interpretation against the note it is about, whichever engine made it, and drops what the note does not
 * support: actions whose words, addresses, numbers, names or dates are not in it, actions that do not follow from the
 * intent, and summaries with links or with a name, day, amount or address that is not in the note. The title of a task
 * that says such a thing is replaced by the words that are the evidence.
 */
export function verify(interpretation: Interpretation, note: Note, facts: NoteFacts): Interpretation {
  const { intent, language, summary, suspicious } = interpretation
  if (!intents.includes(intent) || !languages.includes(language)) return nothing(suspicious)
  const text = analysedText(note)
  // As the rules read it.
  const simple = withSingleSpaces(text).text
  const isNamed = namedDays(simple, facts)
  const actions = interpretation.actions
    .filter((action) => isSupported(action, { interpretation, text, simple, facts, isNamed }))
    .filter((action, index, all) => all.findIndex(({ type }) => type === action.type) === index)
    .slice(0, maxActions)
    .map(withSource)
    .flatMap((action) => withOwnWords(action, text))
  const isSummarySupported =
    summary !== undefined && isPlainText(summary, maxSummaryLength) && isWordingSupported(summary, text)
  return {
    intent,
    language,
    actions,
    suspicious,
    ...(isSummarySupported && { summary }),
  }

  /** A date that the note does not name is the default, whichever engine says it. */
  function withSource(action: Action): Action {
    if (action.dueAt === undefined || action.dueAtSource !== undefined) return action
    return { ...action, dueAtSource: isNamed(dayOf(new Date(action.dueAt), facts)) ? 'note' : 'default' }
  }
}

/** A task whose title says more than the note is called what the note says, if that can be shown. */
function withOwnWords(action: Action, text: string): Action[] {
  if (action.type !== 'create_task' || isWordingSupported(action.params.title, text)) return [action]
  const { start, end } = action.evidence
  const title = withoutLinks(text.slice(start, end).replaceAll(/\s+/g, ' ').trim()).slice(0, maxTitleLength)
  return isPlainText(title, maxTitleLength) ? [{ ...action, params: { title } }] : []
}

const nothing = (suspicious: boolean): Interpretation => ({
  intent: 'unclear',
  language: 'other',
  actions: [],
  suspicious,
})

interface Context {
  interpretation: Interpretation
  text: string
  /** The text with single spaces. */
  simple: string
  facts: NoteFacts
  /** Does the note name this local day? */
  isNamed: (day: number) => boolean
}

function isSupported(action: Action, { interpretation, text, simple, facts, isNamed }: Context): boolean {
  const { intent, suspicious } = interpretation
  const isAllowed = actionTypes.includes(action.type) && actionsOfIntent[intent].includes(action.type)
  if (!isAllowed || (suspicious && action.type !== 'suppress')) return false
  if (!priorities.includes(action.priority) || !(action.confidence >= 0 && action.confidence <= 1)) return false
  if (!isWords(action.evidence, text) || !areParamsSupported(action, { intent, simple, facts })) return false
  if (action.dueAt === undefined) return action.type !== 'wait_until'
  if (!isSoon(action.dueAt, facts)) return false
  const isDefault = action.type === 'wait_until' && action.dueAt === defaultWait(intent, facts).toISOString()
  return isDefault || isNamed(dayOf(new Date(action.dueAt), facts))
}

/** Is this a part of the text that contains more than spaces, and that cuts no character in two? */
function isWords({ start, end }: Span, text: string): boolean {
  const areOffsets = Number.isInteger(start) && Number.isInteger(end) && start >= 0 && start < end && end <= text.length
  const isCut = (at: number) => /[\uD800-\uDBFF]/.test(text.charAt(at - 1)) && /[\uDC00-\uDFFF]/.test(text.charAt(at))
  return areOffsets && !isCut(start) && !isCut(end) && text.slice(start, end).trim() !== ''
}

function areParamsSupported(
  action: Action,
  { intent, simple, facts }: Pick<Context, 'simple' | 'facts'> & { intent: Intent },
): boolean {
  switch (action.type) {
    case 'call':
      return action.params.phone === undefined || isPhoneIn(action.params.phone, simple)
    case 'create_task':
      return isPlainText(action.params.title, maxTitleLength)
    case 'change_stage': {
      const { stageKind } = action.params
      const isLost = stageKind === 'lost'
      // Without an open deal there is nothing to move.
      return facts.stageKind === 'open' && stageKinds.includes(stageKind) && isLost === (intent === 'not_interested')
    }
    case 'add_contact': {
      const { name, email, phone } = action.params
      if (name === undefined && email === undefined && phone === undefined) return false
      const isOther = email === undefined || !isOwnEmail(email, facts)
      const isOtherPhone = phone === undefined || !isOwnPhone(phone, facts)
      return (
        isOther &&
        isOtherPhone &&
        (name === undefined || (isNameIn(name, simple) && isPlainText(name, 100))) &&
        (email === undefined || isEmailIn(email, simple)) &&
        (phone === undefined || isPhoneIn(phone, simple))
      )
    }
    case 'reply':
    case 'schedule_meeting':
    case 'wait_until':
    case 'stop_campaign':
    case 'suppress':
      return true
  }
}

const isNameIn = (name: string, text: string): boolean => isWholeIn(withSingleSpaces(name).text, text, /[\p{L}\p{N}]/u)

/** The whole address: `a@b.example` is not in `xa@b.example`. */
const isEmailIn = (email: string, text: string): boolean =>
  /^[^\s@<>()]+@[^\s@<>()]+$/.test(email) && isWholeIn(email.toLowerCase(), text.toLowerCase(), /[\p{L}\p{N}_%+@.-]/u)

const isPhoneIn = (phone: string, text: string): boolean =>
  /^[+\d][\d ()/.-]{3,30}$/.test(phone) && isWholeIn(withSingleSpaces(phone).text, text, /[\d+]/)

const link =
  /[a-z][a-z+.-]*:\/\/|\bwww\.|\b(?:mailto|javascript|data|tel):|\]\(|<\/?[a-z!]|\b[\p{L}\p{N}-]+\.(?:[a-z]{2,})\/\S|\b[a-z0-9-]+\.(?:com|net|org|io|de|eu|info|biz|co|app|dev|ru|cn|xyz|example)\b/iu

/** Without links, markup and control characters. */
export const isPlainText = (text: string, maxLength: number): boolean =>
  text.trim() !== '' && text.length <= maxLength && !link.test(text) && !/[\p{Cc}\p{Cf}\p{Cs}]/u.test(text)

/** Not over, and not further away than two years. */
function isSoon(dueAt: string, facts: NoteFacts): boolean {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z$/.test(dueAt)) return false
  const time = Date.parse(dueAt)
  if (Number.isNaN(time)) return false
  return dayOf(new Date(time), facts) >= dayOf(facts.now, facts) && time <= latestDate(facts.now).getTime()
}

const dayOf = (instant: Date, facts: NoteFacts): number => startOfDay(wallTimeOf(instant, timeZoneOf(facts)))

/** Reads no more sentences than it has to: dates are what takes longest. */
function namedDays(text: string, facts: NoteFacts): (day: number) => boolean {
  const place = { now: facts.now, zone: timeZoneOf(facts) }
  const named = new Set<number>()
  let unread: Span[] | undefined
  return (day) => {
    unread ??= sentencesOf(text)
    while (!named.has(day)) {
      const sentence = unread.shift()
      if (!sentence) return false
      const part = text.slice(sentence.start, sentence.end)
      const dates = [...datesIn(part, 'en', place), ...datesIn(part, 'de', place)]
      for (const { instant, afterRange = instant } of dates)
        named.add(dayOf(instant, facts)).add(dayOf(afterRange, facts))
    }
    return true
  }
}
