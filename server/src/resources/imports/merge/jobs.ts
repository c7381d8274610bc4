import type { JsonObject } from '../../../platform/model/fields.ts'
import { newId } from '../../../platform/model/ids.ts'
import { employments, jobKey } from '../../employments/resource.ts'
import { Draft, type RowChange } from './draft.ts'
import { notStored } from './not-stored.ts'
import { type Finding, finding, type MergePolicy } from '../resource.ts'

/** By contact (uuid) and by what makes two jobs one. */
export type Jobs = Map<string, Map<string, Draft>>

/**
 * Adds the jobs of a payload to a contact's history and returns those that were made or changed. A job that is known is
 * filled in: one that has ended is no longer current. One that a person changed or deleted is left as it is.
 */
export function mergeJobs(
  jobs: Jobs,
  person: Draft,
  history: readonly { path: string; values: JsonObject }[],
  policy: MergePolicy,
  outcome: { warnings: Finding[]; errors: Finding[]; changes: RowChange[] },
): Draft[] {
  const known = jobs.get(person.id) ?? new Map<string, Draft>()
  jobs.set(person.id, known)
  const touched: Draft[] = []
  const handledKeys = new Set<string>()
  for (const { path, values } of history) {
    const key = jobKey(values)
    const found = known.get(key)
    const isEdited = person.edits.hasValue('employments', key)
    if (!found && isEdited) {
      outcome.warnings.push(notStored(path, 'edited'))
      continue
    }
    const draft = found ?? new Draft(employments, newId(), { columns: { contact_id: person.id } })
    const update = found ? updateOf(found, values) : { accepted: values }
    // Said twice in one payload, the first counts.
    const isSkipped = isEdited || handledKeys.has(key) || !isAllowed(draft, update, policy)
    handledKeys.add(key)
    if (isSkipped) {
      if (update.field) outcome.warnings.push(notStored(`${path}.${update.field}`, isEdited ? 'edited' : 'present'))
      continue
    }
    const [fault] = employments.prepare?.(update.accepted, draft.state).faults ?? []
    if (fault) {
      outcome.errors.push(finding('invalid_employment', path, `${fault.field} ${fault.message}`))
      continue
    }
    const change = draft.apply(update.accepted)
    if (!change) continue
    known.set(key, draft)
    touched.push(draft)
    outcome.changes.push(change)
  }
  return touched
}

/** What a job is told, and by which field of the payload where it is known already. */
interface JobUpdate {
  accepted: JsonObject
  field?: 'end' | 'current'
}

/** What is said of a job that is known: when it ended, or whether it is held. An end says that the job is over. */
function updateOf({ state }: Draft, { end, current }: JsonObject): JobUpdate {
  if (typeof end === 'string' && end !== state.end) return { accepted: { end, current: false }, field: 'end' }
  if (typeof current === 'boolean' && current !== state.current) return { accepted: { current }, field: 'current' }
  return { accepted: {} }
}

/** A job that has ended is not held again. */
function isAllowed({ state }: Draft, { field, accepted }: JobUpdate, policy: MergePolicy): boolean {
  if (field === 'end') return state.end === null || policy === 'overwrite'
  if (field === 'current') return policy === 'overwrite' && (state.end === null || accepted.current === false)
  return true
}
