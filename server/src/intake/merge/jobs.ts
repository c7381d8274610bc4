import { encodeId, newId } from '../../platform/model/ids.ts'
import { companies } from '../../crm/companies/resource.ts'
import { employments, jobKey } from '../../crm/employments/resource.ts'
import { Draft, type RowChange } from './draft.ts'
import { notStored } from './not-stored.ts'
import { type Finding, finding, type MergePolicy } from '../imports/resource.ts'
import type { JsonObject, JsonValue } from '../../platform/model/json.ts'

/** By contact (uuid) and job key. */
export type Jobs = Map<string, Map<string, Draft>>

/** The company that a row found or created, and what the push says about it. */
export interface PushedEmployer {
  company: Draft
  pushed: JsonObject
}

interface JobContext {
  policy: MergePolicy
  employer: PushedEmployer | undefined
  outcome: { warnings: Finding[]; errors: Finding[]; changes: RowChange[] }
}

/**
 * Merges the jobs of a payload into the history of a contact and returns those that were created or changed. An
 * existing job can get an end, which makes it no longer current, and the company of the row. A job that a person
 * changed or deleted stays as it is.
 */
export function mergeJobs(
  jobs: Jobs,
  person: Draft,
  history: readonly { path: string; values: JsonObject }[],
  { policy, employer, outcome }: JobContext,
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
    // If a job occurs twice in a payload, the first one counts.
    const isClosed = isEdited || handledKeys.has(key)
    const isSkipped = isClosed || !isAllowed(draft, update, policy)
    handledKeys.add(key)
    if (isSkipped && update.field)
      outcome.warnings.push(notStored(`${path}.${update.field}`, isEdited ? 'edited' : 'present'))
    if (isClosed) continue
    const accepted = { ...(isSkipped ? {} : update.accepted), ...companyOf(draft, values, employer) }
    const [error] = employments.prepare?.(accepted, draft.state).errors ?? []
    if (error) {
      outcome.errors.push(finding('invalid_employment', path, `${error.field} ${error.message}`))
      continue
    }
    const change = Object.keys(accepted).length === 0 ? undefined : draft.apply(accepted)
    if (!change) continue
    known.set(key, draft)
    touched.push(draft)
    outcome.changes.push(change)
  }
  return touched
}

/** The company of the row, for a job that names none yet, if both have the same name. */
function companyOf({ state }: Draft, { organization }: JsonObject, employer: PushedEmployer | undefined): JsonObject {
  if (!employer || (state.companyId ?? null) !== null) return {}
  const { company, pushed } = employer
  const names = [pushed.name, pushed.nickname, company.state.name, company.state.nickname].map(comparable)
  return names.some((name) => name !== undefined && name === comparable(organization))
    ? { companyId: encodeId(companies.idPrefix, company.id) }
    : {}
}

/** A name without case, accents and repeated spaces; undefined if nothing is left of it. */
const comparable = (name: JsonValue | undefined): string | undefined =>
  typeof name === 'string'
    ? name
        .normalize('NFKD')
        .replace(/\p{Mn}/gu, '')
        .replace(/\s+/g, ' ')
        .toLowerCase()
    : undefined

/** New values of a job and, if it exists already, the payload field that they come from. */
interface JobUpdate {
  accepted: JsonObject
  field?: 'end' | 'current'
}

/**
 * What a payload changes in an existing job: its end, or whether it is current. An end means that the job is not
 * current.
 */
function updateOf({ state }: Draft, { end, current }: JsonObject): JobUpdate {
  if (typeof end === 'string' && end !== state.end) return { accepted: { end, current: false }, field: 'end' }
  if (typeof current === 'boolean' && current !== state.current) return { accepted: { current }, field: 'current' }
  return { accepted: {} }
}

/** An ended job does not become current again. */
function isAllowed({ state }: Draft, { field, accepted }: JobUpdate, policy: MergePolicy): boolean {
  if (field === 'end') return state.end === null || policy === 'overwrite'
  if (field === 'current') return policy === 'overwrite' && (state.end === null || accepted.current === false)
  return true
}
