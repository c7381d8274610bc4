import { setTimeout as delay } from 'node:timers/promises'
import { alarmingOptOuts } from '../../server/src/intake/imports/resource.ts'
import type { Client } from './client.ts'
import { forEachConcurrently, type Guarantees } from './scenario.ts'
import {
  type ListedAnalysis,
  type ListedSuggestion,
  wronglyAccepted,
  wronglyAnalysed,
  wrongTasks,
} from './suggestion-ledger.ts'
import type { Writers } from './writers.ts'

export interface AuditOptions {
  client: Client
  writers: Writers
  importId: string
  guarantees: Guarantees
  /** A row whose worker was killed three times becomes DEAD; it is then retried. */
  losesWorkers?: boolean
}

/** Milliseconds within which all notes must be analysed after the faults; a lost lease ends after a minute. */
const timeout = 180_000

/** Each note is analysed once, and each accepted suggestion has exactly one effect. */
export async function auditSuggestions({ client, writers, guarantees }: AuditOptions): Promise<Record<string, number>> {
  const notes = await analysedNotes(client)
  const analyses = await client.all<ListedAnalysis>('/v5/note-analyses', ['id', 'noteId', 'degradedReason'])
  const fields = ['id', 'noteId', 'contactId', 'importId', 'type', 'status', 'waitingReason', 'resultTaskId']
  const suggestions = await client.all<ListedSuggestion>('/v5/suggestions', fields)
  guarantees.checkNone('each note is analysed once', wronglyAnalysed(notes, analyses, suggestions))
  guarantees.check('no analysis is stored without its note', analyses.length === notes.length, {
    notes: notes.length,
    analyses: analyses.length,
  })
  guarantees.checkNone('no suggestion is accepted twice', wronglyAccepted(writers.acceptances, suggestions))
  const tasks = await client.all<{ id: string }>('/v5/tasks', ['id'])
  const taskIds = tasks.map(({ id }) => id)
  guarantees.checkNone('each accepted suggestion created one task', wrongTasks(suggestions, taskIds))
  const suppressed = suggestions.filter(({ type }) => type === 'suppress')
  const wrong: string[] = []
  await forEachConcurrently(suppressed, async ({ contactId, status, waitingReason }) => {
    const { emailOptOut } = await client.read<{ emailOptOut: boolean }>(`/v5/contacts/${contactId}`)
    const { count } = await client.read<{ count: number }>(`/v5/contacts/${contactId}/timeline/count?kind=change`)
    const isWaiting = waitingReason === 'many_opt_outs' && status === 'pending'
    // The contact's creation counts as an import, not as a change.
    if (emailOptOut === isWaiting || count !== (isWaiting ? 0 : 1)) wrong.push(contactId)
  })
  guarantees.checkNone('each contact who asked for it is opted out once, or waits for a person', wrong)
  const waiting = suppressed.filter(({ waitingReason }) => waitingReason !== null)
  const eager = waiting.filter(({ importId }) => optedOut(suppressed, importId) < alarmingOptOuts)
  guarantees.checkNone('opt-outs wait only after many of the same import', eager)
  return {
    'notes analysed': notes.length,
    'suggestions accepted': taskIds.length,
    'contacts opted out': suppressed.length - waiting.length,
    'opt-outs that wait': waiting.length,
  }
}

const optedOut = (suppressed: readonly ListedSuggestion[], importId: string | null): number =>
  suppressed.filter((one) => one.importId === importId && one.waitingReason === null).length

/** The ids of all notes once none is queued. Errors: they are not analysed within the timeout. */
async function analysedNotes(client: AuditOptions['client']): Promise<string[]> {
  for (const deadline = performance.now() + timeout; performance.now() < deadline; await delay(500)) {
    const notes = await client.all<{ id: string; reasoningQueuedAt: string | null }>('/v5/notes', [
      'id',
      'reasoningQueuedAt',
    ])
    if (notes.every(({ reasoningQueuedAt }) => reasoningQueuedAt === null)) return notes.map(({ id }) => id)
  }
  throw new Error(`Not all notes were analysed within ${timeout} ms.`)
}
