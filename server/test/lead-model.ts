import { expect } from 'vitest'
import type { Resource } from '../src/platform/records/declare/define.ts'
import type { Edits } from '../src/platform/records/write/edits.ts'
import { newId, encodeId } from '../src/platform/model/ids.ts'
import { companies } from '../src/crm/companies/resource.ts'
import { contacts } from '../src/crm/contacts/resource.ts'
import { employments, jobKey } from '../src/crm/employments/resource.ts'
import { Draft } from '../src/intake/merge/draft.ts'
import type { Jobs } from '../src/intake/merge/jobs.ts'
import { parsePush } from '../src/intake/payload/payload.ts'
import { UniqueHolders } from '../src/intake/merge/unique-holders.ts'
import { type PreloadedRecords, type LeadRow, type Plan, reconcile } from '../src/intake/merge/reconcile.ts'
import type { JsonObject } from '../src/platform/model/json.ts'

/** The records of an organization, by uuid, instead of the database. */
export interface StoredRecords {
  contacts: Map<string, JsonObject>
  companies: Map<string, JsonObject>
  employments: Map<string, { contactId: string; record: JsonObject }>
  notes: Set<string>
  edits: Map<string, Edits>
}

export const noRecords = (): StoredRecords => ({
  contacts: new Map(),
  companies: new Map(),
  employments: new Map(),
  notes: new Set(),
  edits: new Map(),
})

export const teamId = encodeId('tea', newId())

export function leadRow(payload: JsonObject, settings: Partial<LeadRow> = {}): LeadRow {
  const read = parsePush(payload, {})
  if ('errors' in read) throw new Error(`${JSON.stringify(payload)}: ${JSON.stringify(read.errors)}`)
  const about = { importId: newId(), teamId, tags: [], mergePolicy: 'fill', createdContactId: null } as const
  return { id: newId(), lead: read.lead, ...about, ...settings }
}

export function preloadedRecords(model: StoredRecords): PreloadedRecords {
  const drafts = (resource: Resource, records: Map<string, JsonObject>) =>
    [...records].map(([id, state]) => new Draft(resource, id, { state: { ...state }, edits: model.edits.get(id) }))
  const jobs: Jobs = new Map()
  for (const [id, { contactId, record }] of model.employments) {
    const jobsOfContact = jobs.get(contactId) ?? new Map<string, Draft>()
    jobs.set(contactId, jobsOfContact.set(jobKey(record), new Draft(employments, id, { state: { ...record } })))
  }
  return {
    contacts: drafts(contacts, model.contacts),
    companies: drafts(companies, model.companies),
    jobs,
    notes: new Set(model.notes),
    holders: new UniqueHolders(),
  }
}

/** Applies the plan as the stores do. */
function apply(model: StoredRecords, plan: Plan): void {
  const initial = (resource: Resource) => new Draft(resource, '', { columns: {} }).state
  const set = (resource: Resource, records: Map<string, JsonObject>, changes: Plan['contacts']) => {
    for (const change of changes) {
      if (change.id === undefined) throw new Error('a planned change has no id')
      expect(records.has(change.id)).toBe(change.kind === 'update')
      records.set(change.id, { ...(records.get(change.id) ?? initial(resource)), ...change.values })
    }
  }
  set(companies, model.companies, plan.companies)
  set(contacts, model.contacts, plan.contacts)
  for (const change of plan.employments) {
    const before = model.employments.get(change.id ?? '')
    const columns = change.kind === 'create' ? change.columns : undefined
    const contactId = before?.contactId ?? String(columns?.contact_id)
    model.employments.set(change.id ?? '', {
      contactId,
      record: { ...(before?.record ?? initial(employments)), ...change.values },
    })
  }
  for (const change of plan.notes) {
    const columns = change.kind === 'create' ? change.columns : undefined
    model.notes.add(`${String(columns?.contact_id)} ${String(change.values.body)}`)
  }
}

export function reconcileAndApply(model: StoredRecords, ...rows: LeadRow[]): Plan['outcomes'] {
  const plan = reconcile(rows, preloadedRecords(model))
  apply(model, plan)
  return plan.outcomes
}

/** The records without their ids, so that models with the same content are equal. */
export function withoutIds({ contacts: people, companies: employers, employments: jobs, notes }: StoredRecords) {
  const company = (id: unknown) => [...employers].find(([uuid]) => encodeId('com', uuid) === id)?.[1] ?? null
  const keyOfPerson = (id: string) => JSON.stringify(withCompany(people.get(id) ?? {}))
  const withCompany = (record: JsonObject) =>
    Object.entries({ ...record, companyId: company(record.companyId) })
      .filter(([, value]) => value !== null)
      .sort(([left], [right]) => (left < right ? -1 : 1))
  const sorted = (items: unknown[]) => items.map((item) => JSON.stringify(item)).sort()
  return {
    people: sorted([...people.values()].map(withCompany)),
    employers: sorted([...employers.values()].map(withCompany)),
    jobs: sorted([...jobs.values()].map(({ contactId, record }) => [keyOfPerson(contactId), withCompany(record)])),
    notes: sorted([...notes].map((note) => [keyOfPerson(note.slice(0, 36)), note.slice(37)])),
  }
}

/** The paths of values of a lead that are not stored in the records. */
export function notStoredOf(
  model: StoredRecords,
  lead: LeadRow['lead'],
  { contactId, companyId }: Plan['outcomes'][number],
): string[] {
  const recordOf = (records: Map<string, JsonObject>, prefix: string, withCompany: unknown) =>
    [...records].find(([id]) => encodeId(prefix, id) === withCompany) ?? ['', {}]
  const [id, keyOfPerson] = recordOf(model.contacts, 'con', contactId)
  const [, employer] = recordOf(model.companies, 'com', companyId)
  const missing = [
    ...fieldsMissing('contact', lead.contact, keyOfPerson),
    ...(companyId === null ? [] : fieldsMissing('company', lead.company ?? {}, employer)),
  ]
  if (companyId === null ? lead.company && isNamed(lead.company) : keyOfPerson.companyId !== companyId)
    missing.push('company')
  for (const { path, values } of lead.history) {
    const stored = [...model.employments.values()].find(
      ({ contactId: owner, record }) => owner === id && jobKey(record) === jobKey(values),
    )?.record
    if (!stored) missing.push(path)
    else if (values.end !== undefined && values.end !== stored.end) missing.push(`${path}.end`)
    else if (values.current !== undefined && values.current !== stored.current) missing.push(`${path}.current`)
  }
  if (lead.note !== undefined && !model.notes.has(`${id} ${lead.note}`)) missing.push('contact.note')
  return missing.sort()
}

const isNamed = ({ name, domain }: JsonObject) => name !== undefined || domain !== undefined

const renamedPaths: Record<string, string> = { 'contact.employmentTitle': 'employment.title' }

const fieldsMissing = (part: string, given: JsonObject, record: JsonObject): string[] =>
  Object.entries(given)
    .filter(
      ([name, value]) => JSON.stringify(normalized(name, record[name])) !== JSON.stringify(normalized(name, value)),
    )
    .filter(([name, value]) => {
      const [all, some] = [record[name], value]
      return (
        name !== 'externalIds' || !Object.entries(some ?? {}).every(([provider, id]) => Object(all)[provider] === id)
      )
    })
    .filter(
      ([name]) => name !== 'tags' || !Object(given.tags).every((tag: string) => Object(record.tags).includes(tag)),
    )
    .map(([name]) => renamedPaths[`${part}.${name}`] ?? `${part}.${name}`)

/** The form in which two values are compared. */
const normalized = (name: string, value: unknown): unknown => {
  if (typeof value !== 'string') return value
  if (name === 'domain') return value.replace(/^www\./, '')
  return name === 'email' ? value.toLowerCase() : value
}
