import type { AnyRow } from '../../platform/resource/define.ts'
import { newId } from '../../platform/resource/ids.ts'
import { employments } from '../employments/resource.ts'
import { Draft, type RowChange } from './draft.ts'
import { type Finding, finding, type MergePolicy } from './resource.ts'

/** By contact (uuid) and by what makes two jobs one: the job, or `deleted` when someone took it away. */
export type Jobs = Map<string, Map<string, Draft | 'deleted'>>

/** Two jobs are one when employer, title and beginning are the same, whatever the case. */
export const jobKey = ({ organization, title, start }: AnyRow): string =>
  [organization, title, start].map((part) => String(part ?? '').toLowerCase()).join('\n')

/**
 * Adds the jobs of a payload to a contact's history and tells which were made or changed. A job that is known is filled
 * in: one that has ended is no longer current.
 */
export function keepJobs(
  jobs: Jobs,
  contactId: string,
  history: readonly { path: string; values: AnyRow }[],
  policy: MergePolicy,
  outcome: { errors: Finding[]; changes: RowChange[] },
): Draft[] {
  const known = jobs.get(contactId) ?? new Map<string, Draft | 'deleted'>()
  jobs.set(contactId, known)
  const touched: Draft[] = []
  const seen = new Set<string>()
  for (const { path, values } of history) {
    const key = jobKey(values)
    const found = known.get(key)
    // Said twice in one payload, the first counts.
    if (found === 'deleted' || seen.has(key)) continue
    seen.add(key)
    const draft = found ?? new Draft(employments, newId(), { columns: { contact_id: contactId } })
    const taken = found ? merged(found, values, policy) : values
    const [fault] = employments.prepare?.(taken, draft.state).faults ?? []
    if (fault) {
      outcome.errors.push(finding('invalid_employment', path, `${fault.field} ${fault.message}`))
      continue
    }
    const change = draft.take(taken)
    if (!change) continue
    known.set(key, draft)
    touched.push(draft)
    outcome.changes.push(change)
  }
  return touched
}

/** What a job that is known takes: when it ended, or that it is held after all. An end says that the job is over. */
function merged({ state }: Draft, { end, current }: AnyRow, policy: MergePolicy): AnyRow {
  if (typeof end === 'string') return state.end === null || policy === 'overwrite' ? { end, current: false } : {}
  return policy === 'overwrite' && current === true && state.end === null ? { current } : {}
}
