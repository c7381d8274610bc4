import { readJsonDraft, storeDraft } from '../preferences/drafts.ts'

/** The person's correction of a row or a refused push: values by path, or JSON. */
interface Draft {
  texts: Readonly<Record<string, string>>
  json: string | undefined
}

const nothing: Draft = { texts: {}, json: undefined }

const nameOf = (subject: string): string => `payload ${subject}`

/** The draft in this tab. */
export function readDraft(subject: string): Draft {
  const stored = readJsonDraft(nameOf(subject))
  return typeof stored === 'object' && stored !== null ? { ...nothing, ...(stored as Partial<Draft>) } : nothing
}

export const hasDraft = (subject: string): boolean => readDraft(subject) !== nothing

/** Undefined removes the draft. */
export const keepDraft = (subject: string, draft: Draft | undefined): void =>
  storeDraft(nameOf(subject), draft && JSON.stringify(draft))
