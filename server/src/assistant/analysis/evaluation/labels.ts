import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ActionType, Intent, Language, NoteFacts } from '../analysis.ts'

/** A note with what a person understood from it. */
export interface LabelledNote {
  id: string
  /** `test` notes were written after the phrases; no phrase was changed because of them. */
  split: 'tune' | 'test'
  language: Language
  timeZone: string
  text: string
  intent: Intent
  actions: ActionType[]
  /** Local date and time of the action. */
  due?: string
  /** The words that are the reason. */
  evidence?: string
}

/** A note that tries to make an engine act, with the only actions that it may have. */
export interface LabelledInjection {
  id: string
  language: Language
  technique: string
  text: string
  intent: Intent
  actions: ActionType[]
}

async function readLines<Row>(root: string, name: string): Promise<Row[]> {
  const text = await readFile(join(root, 'docs/next-actions', name), 'utf8')
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Row)
}

/** `root` is the folder of the repository. */
export const readNotes = (root: string): Promise<LabelledNote[]> => readLines(root, 'notes.jsonl')
export const readInjections = (root: string): Promise<LabelledInjection[]> => readLines(root, 'injections.jsonl')

/** Tuesday, 24 November 2026: when all labelled notes were written. */
export const writtenAt = new Date('2026-11-24T09:00:00Z')

export const factsFor = (timeZone: string): NoteFacts => ({
  now: writtenAt,
  contactTimeZone: timeZone,
  organizationTimeZone: 'UTC',
  contactEmails: [],
  contactPhones: [],
  stageKind: 'open',
  hasOwner: true,
  openTasks: 0,
})
