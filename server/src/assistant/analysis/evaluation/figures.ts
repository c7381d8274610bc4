import { type Action, type Intent, intents } from '../analysis.ts'
import { wallTimeOf } from '../local-time.ts'
import type { LabelledNote } from './labels.ts'

/** What an engine says about a note, as far as it is measured. */
export interface Answer {
  intent: Intent
  actions: readonly Pick<Action, 'type' | 'dueAt' | 'evidence'>[]
}

export interface Score {
  precision: number
  recall: number
  f1: number
}

export interface Figures {
  notes: number
  accuracy: number
  macroF1: number
  byIntent: ReadonlyMap<Intent, Score & { notes: number }>
  actions: Score
  /** Of the notes with a date: those whose first dated action is due at exactly that time. */
  dueAccuracy: number
  /** Of the notes with an action and evidence: those where an action's evidence overlaps it. */
  evidenceOverlap: number
}

export function measure(notes: readonly LabelledNote[], answerOf: (note: LabelledNote) => Answer): Figures {
  const pairs = notes.map((note) => ({ note, answer: answerOf(note) }))
  const byIntent = new Map(intents.map((intent) => [intent, scoreOfIntent(pairs, intent)]))
  const present = [...byIntent.values()].filter((score) => score.notes > 0)
  const dated = pairs.filter(({ note }) => note.due !== undefined)
  const evident = pairs.filter(({ note }) => note.evidence !== undefined && note.actions.length > 0)
  return {
    notes: notes.length,
    accuracy: share(pairs, ({ note, answer }) => note.intent === answer.intent),
    macroF1: present.reduce((sum, { f1 }) => sum + f1, 0) / present.length,
    byIntent,
    actions: scoreOfActions(pairs),
    dueAccuracy: share(dated, ({ note, answer }) => dueOf(answer, note.timeZone) === note.due),
    evidenceOverlap: share(evident, overlaps),
  }
}

interface Pair {
  note: LabelledNote
  answer: Answer
}

const share = <Item>(items: readonly Item[], holds: (item: Item) => boolean): number =>
  items.length === 0 ? 0 : items.filter(holds).length / items.length

function scoreOf({ right, found, expected }: { right: number; found: number; expected: number }): Score {
  const precision = found === 0 ? 0 : right / found
  const recall = expected === 0 ? 0 : right / expected
  return { precision, recall, f1: right === 0 ? 0 : (2 * precision * recall) / (precision + recall) }
}

function scoreOfIntent(pairs: readonly Pair[], intent: Intent): Score & { notes: number } {
  const count = (holds: (pair: Pair) => boolean) => pairs.filter(holds).length
  const expected = count(({ note }) => note.intent === intent)
  const right = count(({ note, answer }) => note.intent === intent && answer.intent === intent)
  return { ...scoreOf({ right, found: count(({ answer }) => answer.intent === intent), expected }), notes: expected }
}

/** Micro average over the types of actions. */
function scoreOfActions(pairs: readonly Pair[]): Score {
  const sum = (countOf: (pair: Pair) => number) => pairs.reduce((total, pair) => total + countOf(pair), 0)
  return scoreOf({
    right: sum(({ note, answer }) => answer.actions.filter(({ type }) => note.actions.includes(type)).length),
    found: sum(({ answer }) => answer.actions.length),
    expected: sum(({ note }) => note.actions.length),
  })
}

function dueOf({ actions }: Answer, timeZone: string): string | undefined {
  const dueAt = actions.find((action) => action.dueAt !== undefined)?.dueAt
  return dueAt && new Date(wallTimeOf(new Date(dueAt), timeZone)).toISOString().slice(0, 16)
}

function overlaps({ note, answer }: Pair): boolean {
  const start = note.text.indexOf(note.evidence ?? '')
  const end = start + (note.evidence ?? '').length
  return answer.actions.some(({ evidence }) => evidence.start < end && start < evidence.end)
}
