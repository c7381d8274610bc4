/** What was typed into the correction of a row or of a refused push: by path, or as JSON. */
interface Draft {
  texts: Readonly<Record<string, string>>
  json: string | undefined
}

const nothing: Draft = { texts: {}, json: undefined }

const nameOf = (subject: string): string => `rapport.draft.${subject}`

/** The draft of this tab. */
export function readDraft(subject: string): Draft {
  try {
    const stored = sessionStorage.getItem(nameOf(subject))
    return stored === null ? nothing : { ...nothing, ...(JSON.parse(stored) as Partial<Draft>) }
  } catch {
    return nothing
  }
}

export const hasDraft = (subject: string): boolean => readDraft(subject) !== nothing

/** Undefined removes the draft. Without storage, it lasts as long as the form is open. */
export function keepDraft(subject: string, draft: Draft | undefined): void {
  try {
    if (draft === undefined) sessionStorage.removeItem(nameOf(subject))
    else sessionStorage.setItem(nameOf(subject), JSON.stringify(draft))
  } catch {
    // As said above.
  }
}
