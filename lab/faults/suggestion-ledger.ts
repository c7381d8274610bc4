import type { Request } from './client.ts'

/** The notes of pushed leads: each results in one suggestion, a task or an opt-out. */
export const noteTexts = ['Please call me.', 'Please call me tomorrow.', 'Please unsubscribe me.'] as const

/** A request to accept a suggestion whose outcome is success or, until it is repeated, unknown. */
export interface Acceptance {
  suggestionId: string
  request: Request
  isAcknowledged: boolean
}

/** An analysis as the service returns it. */
export interface ListedAnalysis {
  id: string
  noteId: string
  degradedReason: string | null
}

/** A suggestion as the service returns it. */
export interface ListedSuggestion {
  id: string
  noteId: string
  contactId: string
  importId: string | null
  type: string
  status: string
  waitingReason: string | null
  resultTaskId: string | null
}

/** Ids of notes that were never analysed, or several times, or whose analysis does not have exactly one suggestion. */
export function wronglyAnalysed(
  noteIds: readonly string[],
  analyses: readonly ListedAnalysis[],
  suggestions: readonly ListedSuggestion[],
): string[] {
  const analysesOf = byNote(analyses)
  const suggestionsOf = byNote(suggestions)
  return noteIds.filter((id) => {
    const [analysis, ...others] = analysesOf.get(id) ?? []
    // A note whose analysis was killed too often has no suggestion.
    const expected = analysis?.degradedReason === 'failed' ? 0 : 1
    return !analysis || others.length > 0 || (suggestionsOf.get(id) ?? []).length !== expected
  })
}

function byNote<Item extends { noteId: string }>(items: readonly Item[]): ReadonlyMap<string, readonly Item[]> {
  const found = new Map<string, Item[]>()
  for (const item of items) found.set(item.noteId, [...(found.get(item.noteId) ?? []), item])
  return found
}

/**
 * Suggestions whose number of acknowledged acceptances does not match their status: one if accepted, otherwise none.
 */
export function wronglyAccepted(
  acceptances: readonly Acceptance[],
  suggestions: readonly ListedSuggestion[],
): ListedSuggestion[] {
  const acknowledged = acceptances.filter(({ isAcknowledged }) => isAcknowledged)
  return suggestions.filter(({ id, status }) => {
    const times = acknowledged.filter(({ suggestionId }) => suggestionId === id).length
    return times !== (status === 'accepted' ? 1 : 0)
  })
}

/** Accepted suggestions without their own task, and tasks to which no suggestion refers. */
export function wrongTasks(suggestions: readonly ListedSuggestion[], taskIds: readonly string[]): string[] {
  const accepted = suggestions.filter(({ status, type }) => status === 'accepted' && type !== 'suppress')
  const named = accepted.map(({ resultTaskId }) => resultTaskId ?? '')
  const own = accepted.filter(({ resultTaskId }, index) => named.indexOf(resultTaskId ?? '') === index)
  return [
    ...accepted.filter((one) => !own.includes(one) || !taskIds.includes(one.resultTaskId ?? '')).map(({ id }) => id),
    ...taskIds.filter((id) => !named.includes(id)),
  ]
}
