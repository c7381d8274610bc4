import type { JsonObject } from '../src/platform/model/fields.ts'
import { expect } from 'vitest'
import type { Resource } from '../src/platform/model/define.ts'
import type { Edits } from '../src/platform/resource/edits.ts'
import { newId, showId } from '../src/platform/model/ids.ts'
import { companies } from '../src/resources/companies/resource.ts'
import { contacts } from '../src/resources/contacts/resource.ts'
import { employments, jobKey } from '../src/resources/employments/resource.ts'
import { Draft } from '../src/resources/imports/merge/draft.ts'
import type { Jobs } from '../src/resources/imports/merge/jobs.ts'
import { readPush } from '../src/resources/imports/payload/payload.ts'
import { type PreloadedRecords, type LeadRow, type Plan, reconcile } from '../src/resources/imports/merge/reconcile.ts'

/** What the database would hold, by uuid. */
export interface World {
  contacts: Map<string, JsonObject>
  companies: Map<string, JsonObject>
  employments: Map<string, { contactId: string; record: JsonObject }>
  notes: Set<string>
  edits: Map<string, Edits>
}

export const newWorld = (): World => ({
  contacts: new Map(),
  companies: new Map(),
  employments: new Map(),
  notes: new Set(),
  edits: new Map(),
})

export const teamId = showId('tea', newId())

export function rowOf(payload: JsonObject, settings: Partial<LeadRow> = {}): LeadRow {
  const read = readPush(payload, {})
  if ('faults' in read) throw new Error(`${JSON.stringify(payload)}: ${JSON.stringify(read.faults)}`)
  return { id: newId(), lead: read.lead, teamId, tags: [], mergePolicy: 'fill', ...settings }
}

export function knownOf(world: World): PreloadedRecords {
  const drafts = (resource: Resource, records: Map<string, JsonObject>) =>
    [...records].map(([id, state]) => new Draft(resource, id, { state: { ...state }, edits: world.edits.get(id) }))
  const jobs: Jobs = new Map()
  for (const [id, { contactId, record }] of world.employments) {
    const known = jobs.get(contactId) ?? new Map<string, Draft>()
    jobs.set(contactId, known.set(jobKey(record), new Draft(employments, id, { state: { ...record } })))
  }
  return {
    contacts: drafts(contacts, world.contacts),
    companies: drafts(companies, world.companies),
    jobs,
    notes: new Set(world.notes),
  }
}

/** Writes the plan as the stores would. */
function apply(world: World, plan: Plan): void {
  const initial = (resource: Resource) => new Draft(resource, '', { columns: {} }).state
  const set = (resource: Resource, records: Map<string, JsonObject>, changes: Plan['contacts']) => {
    for (const change of changes) {
      if (change.id === undefined) throw new Error('a planned change names its record')
      expect(records.has(change.id)).toBe(change.kind === 'update')
      records.set(change.id, { ...(records.get(change.id) ?? initial(resource)), ...change.values })
    }
  }
  set(companies, world.companies, plan.companies)
  set(contacts, world.contacts, plan.contacts)
  for (const change of plan.employments) {
    const before = world.employments.get(change.id ?? '')
    const columns = change.kind === 'create' ? change.columns : undefined
    const contactId = before?.contactId ?? String(columns?.contact_id)
    world.employments.set(change.id ?? '', {
      contactId,
      record: { ...(before?.record ?? initial(employments)), ...change.values },
    })
  }
  for (const change of plan.notes) {
    const columns = change.kind === 'create' ? change.columns : undefined
    world.notes.add(`${String(columns?.contact_id)} ${String(change.values.body)}`)
  }
}

export function run(world: World, ...rows: LeadRow[]): Plan['outcomes'] {
  const plan = reconcile(rows, knownOf(world))
  apply(world, plan)
  return plan.outcomes
}

/** The world without its ids: two that say the same are equal. */
export function canonical({ contacts: people, companies: employers, employments: jobs, notes }: World) {
  const company = (id: unknown) => [...employers].find(([uuid]) => showId('com', uuid) === id)?.[1] ?? null
  const person = (id: string) => JSON.stringify(shown(people.get(id) ?? {}))
  const shown = (record: JsonObject) =>
    Object.entries({ ...record, companyId: company(record.companyId) })
      .filter(([, value]) => value !== null)
      .sort(([left], [right]) => (left < right ? -1 : 1))
  const sorted = (items: unknown[]) => items.map((item) => JSON.stringify(item)).sort()
  return {
    people: sorted([...people.values()].map(shown)),
    employers: sorted([...employers.values()].map(shown)),
    jobs: sorted([...jobs.values()].map(({ contactId, record }) => [person(contactId), shown(record)])),
    notes: sorted([...notes].map((note) => [person(note.slice(0, 36)), note.slice(37)])),
  }
}

/** The paths of what a lead says and the records do not hold. */
export function notStoredOf(
  world: World,
  lead: LeadRow['lead'],
  { contactId, companyId }: Plan['outcomes'][number],
): string[] {
  const recordOf = (records: Map<string, JsonObject>, prefix: string, shown: unknown) =>
    [...records].find(([id]) => showId(prefix, id) === shown) ?? ['', {}]
  const [id, person] = recordOf(world.contacts, 'con', contactId)
  const [, employer] = recordOf(world.companies, 'com', companyId)
  const missing = [
    ...fieldsMissing('contact', lead.contact, person),
    ...(companyId === null ? [] : fieldsMissing('company', lead.company ?? {}, employer)),
  ]
  if (companyId === null ? lead.company && isNamed(lead.company) : person.companyId !== companyId)
    missing.push('company')
  for (const { path, values } of lead.history) {
    const stored = [...world.employments.values()].find(
      ({ contactId: owner, record }) => owner === id && jobKey(record) === jobKey(values),
    )?.record
    if (!stored) missing.push(path)
    else if (values.end !== undefined && values.end !== stored.end) missing.push(`${path}.end`)
    else if (values.current !== undefined && values.current !== stored.current) missing.push(`${path}.current`)
  }
  if (lead.note !== undefined && !world.notes.has(`${id} ${lead.note}`)) missing.push('contact.note')
  return missing.sort()
}

const isNamed = ({ name, domain }: JsonObject) => name !== undefined || domain !== undefined

const movedTo: Record<string, string> = { 'contact.employmentTitle': 'employment.title' }

const fieldsMissing = (part: string, said: JsonObject, record: JsonObject): string[] =>
  Object.entries(said)
    .filter(([name, value]) => JSON.stringify(plain(name, record[name])) !== JSON.stringify(plain(name, value)))
    .filter(([name, value]) => {
      const [all, some] = [record[name], value]
      return (
        name !== 'externalIds' || !Object.entries(some ?? {}).every(([provider, id]) => Object(all)[provider] === id)
      )
    })
    .filter(([name]) => name !== 'tags' || !Object(said.tags).every((tag: string) => Object(record.tags).includes(tag)))
    .map(([name]) => movedTo[`${part}.${name}`] ?? `${part}.${name}`)

/** What of a value counts. */
const plain = (name: string, value: unknown): unknown => {
  if (typeof value !== 'string') return value
  if (name === 'domain') return value.replace(/^www\./, '')
  return name === 'email' ? value.toLowerCase() : value
}
