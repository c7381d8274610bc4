import { newId, decodeId, encodeId } from '../../platform/model/ids.ts'
import { companies } from '../../crm/companies/resource.ts'
import { contacts } from '../../crm/contacts/resource.ts'
import { notes } from '../../crm/notes/resource.ts'
import { asName, identityOf } from './company-identity.ts'
import { Draft, type Merge, merge, objectOf, type RowChange } from './draft.ts'
import { type Jobs, mergeJobs } from './jobs.ts'
import {
  companyKeys,
  companyNameKey,
  contactIdKey,
  contactKeys,
  contradictions,
  findCompanies,
  formerCompanyNameKey,
  formerContactKeys,
  handleFields,
  handleKeys,
  KeyedDrafts,
  searchKeys,
  loneExternalIds,
  withoutFurther,
} from './match.ts'
import { allNotStored, externalIdPath, isAllStored, notStored } from './not-stored.ts'
import type { Lead } from '../payload/payload.ts'
import type { UniqueHolders } from './unique-holders.ts'
import { type Finding, finding, type MergePolicy, type RowStatus } from '../imports/resource.ts'
import type { Change } from '../../platform/records/declare/changes.ts'
import type { JsonObject } from '../../platform/model/json.ts'

/** A row with its parsed payload and the settings of its import. */
export interface LeadRow {
  id: string
  lead: Lead
  /** Uuid. */
  importId: string
  /** In the form of the API. */
  teamId: string
  tags: readonly string[]
  mergePolicy: MergePolicy
  /** The contact that an earlier run of the row created, in the form of the API; null if none did. */
  createdContactId: string | null
}

/** The stored contacts and companies that a batch may match. */
export interface PreloadedRecords {
  contacts: readonly Draft[]
  companies: readonly Draft[]
  jobs: Jobs
  /** `<contact uuid> <text>` of each existing note. */
  notes: Set<string>
  holders: UniqueHolders
}

/** The result of a row. */
export interface Outcome {
  rowId: string
  status: RowStatus
  contactId: string | null
  companyId: string | null
  warnings: Finding[]
  errors: Finding[]
  changes: RowChange[]
}

/** Everything to write for a batch: one set of changes per resource, and the outcome of each row. */
export interface Plan {
  companies: Change[]
  contacts: Change[]
  employments: Change[]
  notes: Change[]
  /** Records (uuids) with activity that are not written otherwise. */
  active: { contactIds: string[]; companyIds: string[] }
  outcomes: Outcome[]
}

/**
 * Processes the rows in order, each seeing the changes of the previous ones, so that a batch has the same result as its
 * rows one by one. Pure: nothing is read or written. docs/guides/imports.md describes matching and merging.
 */
export function reconcile(rows: readonly LeadRow[], preloaded: PreloadedRecords): Plan {
  const batch = new Batch(preloaded)
  const outcomes = rows.map((row) => batch.processRow(row))
  return { ...batch.changes, outcomes }
}

class Batch {
  readonly #preloaded: PreloadedRecords
  readonly #contacts = new KeyedDrafts()
  readonly #companies = new KeyedDrafts()
  readonly #changed = new Set<Draft>()
  /** Contacts that a row has created or changed, with their jobs and notes. */
  readonly #active = new Set<Draft>()
  readonly #notes: Change[] = []

  constructor(preloaded: PreloadedRecords) {
    this.#preloaded = preloaded
    for (const draft of preloaded.contacts) this.#contacts.put(draft, contactKeysOf(draft))
    for (const draft of preloaded.companies) this.#companies.put(draft, companyKeysOf(draft))
  }

  get changes(): Omit<Plan, 'outcomes'> {
    const of = (name: string) =>
      [...this.#changed].flatMap(({ resource, change }) => (resource.name === name && change ? [change] : []))
    return {
      companies: of('companies'),
      contacts: of('contacts'),
      employments: of('employments'),
      notes: this.#notes,
      active: this.#activeRecords,
    }
  }

  /** Activity on a contact counts for its company too. */
  get #activeRecords(): Plan['active'] {
    const changedIds = new Set([...this.#changed].map(({ id }) => id))
    const isUnchanged = (id: string) => !changedIds.has(id)
    const active = [...this.#active]
    const companyIds = new Set(
      active.flatMap(({ state }) => decodeId(companies.idPrefix, String(state.companyId)) ?? []),
    )
    return {
      contactIds: active.map(({ id }) => id).filter(isUnchanged),
      companyIds: [...companyIds].filter(isUnchanged),
    }
  }

  processRow(row: LeadRow): Outcome {
    const { lead } = row
    const people = this.#findPeople(row)
    const employers = lead.company ? findCompanies(this.#companies, lead.company) : []
    const errors = [...this.#contactConflicts(row, people), ...companyConflicts(lead, employers)]
    const outcome: Outcome = {
      rowId: row.id,
      status: errors.length > 0 ? 'CONFLICT' : 'PROCESSED',
      contactId: null,
      companyId: null,
      warnings: [...lead.warnings],
      errors: errors.length > 0 ? errors : [...lead.errors],
      changes: [],
    }
    if (errors.length > 0) return outcome
    const [contact] = people
    const employer = this.#mergeCompany(row, { found: employers[0], contact }, outcome)
    const person = this.#mergeContact(row, contact, employer, outcome)
    this.#mergeJobs(row, person, employer, outcome)
    this.#addNote(row, person, outcome)
    if (outcome.changes.some(({ object }) => object !== companies.singular)) this.#active.add(person)
    outcome.contactId = encodeId('con', person.id)
    if (employer) outcome.companyId = encodeId('com', employer.id)
    if (outcome.errors.length > 0) outcome.status = 'PARTIAL'
    else if (outcome.changes.length === 0 && isAllStored(outcome.warnings)) outcome.status = 'DUPLICATE'
    return outcome
  }

  /** A corrected row whose new keys match nobody keeps the contact that it created before. */
  #findPeople({ lead, teamId, createdContactId }: LeadRow): Draft[] {
    const people = this.#contacts.find(searchKeys(lead.contact, teamId))
    return people.length > 0 || createdContactId === null
      ? people
      : this.#contacts.find([contactIdKey(createdContactId)])
  }

  /**
   * An external id that a person removed from a contact no longer matches it, but suggests that a new contact may be
   * the same person.
   */
  #contactConflicts({ lead: { contact }, teamId }: LeadRow, people: readonly Draft[]): Finding[] {
    const found = conflictsOf('contact', people, contact)
    if (people.length > 0) return found
    const former = this.#contacts.find(formerContactKeys(loneExternalIds(contact), teamId))
    return former.map(({ resource, id }) =>
      finding(
        'external_id_conflict',
        'contact',
        `a person removed this external id from ${encodeId(resource.idPrefix, id)}`,
      ),
    )
  }

  /** A company is created only for a contact that will work there, not for one that keeps its current company. */
  #mergeCompany(
    row: LeadRow,
    { found, contact }: { found: Draft | undefined; contact: Draft | undefined },
    outcome: Outcome,
  ): Draft | undefined {
    const { lead, mergePolicy } = row
    if (!lead.company) return undefined
    const identity = identityOf(lead.company)
    if (!found && identity.name === undefined) {
      outcome.errors.push(finding('company_without_name', 'company', 'has neither a name nor a domain'))
      return undefined
    }
    const draft = found ?? new Draft(companies, newId(), { columns: {} })
    const link = { companyId: encodeId('com', draft.id) }
    const rejectedLink = !found && contact ? merge(contact, link, mergePolicy).notStored : []
    if (rejectedLink.length > 0) {
      outcome.warnings.push(...allNotStored('contact', rejectedLink))
      return undefined
    }
    const incoming = found ? lead.company : { ...lead.company, ...identity }
    const { accepted, notStored } = this.#merge(draft, incoming, mergePolicy, outcome)
    outcome.warnings.push(...allNotStored('company', notStored))
    this.#change(row, draft, accepted, outcome)
    this.#companies.put(draft, companyKeysOf(draft))
    return draft
  }

  #mergeContact(row: LeadRow, found: Draft | undefined, employer: Draft | undefined, outcome: Outcome): Draft {
    const { lead, tags, teamId, mergePolicy } = row
    const draft = found ?? new Draft(contacts, newId(), { columns: { import_id: row.importId } })
    const pushedTags = Array.isArray(lead.contact.tags) ? lead.contact.tags.map(String) : []
    const incoming: JsonObject = {
      ...withoutFurther(draft.state, lead.contact),
      ...(tags.length + pushedTags.length > 0 && { tags: [...new Set([...pushedTags, ...tags])] }),
      ...(employer && { companyId: encodeId('com', employer.id) }),
    }
    if (!found) Object.assign(incoming, fallbackName(lead.contact, outcome))
    const { accepted, notStored } = this.#merge(draft, incoming, mergePolicy, outcome)
    // The other tags come from the import, not from the push.
    const isOfPush = pushedTags.some((tag) => draft.edits.hasValue('tags', tag))
    const ofPush = notStored.filter(({ field, reason }) => field !== 'tags' || reason === 'full' || isOfPush)
    outcome.warnings.push(...allNotStored('contact', ofPush))
    // The team determines matching, so it is not a value to merge.
    this.#change(row, draft, found ? accepted : { ...accepted, teamId }, outcome)
    this.#contacts.put(draft, contactKeysOf(draft))
    return draft
  }

  #mergeJobs(
    { lead, mergePolicy: policy }: LeadRow,
    person: Draft,
    company: Draft | undefined,
    outcome: Outcome,
  ): void {
    const employer = company && { company, pushed: lead.company ?? {} }
    for (const draft of mergeJobs(this.#preloaded.jobs, person, lead.history, { policy, employer, outcome })) {
      this.#changed.add(draft)
    }
  }

  /** The same text is not added twice, nor after a person changed or deleted it. */
  #addNote({ id, lead: { note } }: LeadRow, person: Draft, outcome: Outcome): void {
    if (note === undefined || this.#preloaded.notes.has(`${person.id} ${note}`)) return
    if (person.edits.hasValue('notes', note)) {
      outcome.warnings.push(notStored('contact.note', 'edited'))
      return
    }
    this.#preloaded.notes.add(`${person.id} ${note}`)
    const noteId = newId()
    const columns = { contact_id: person.id, source: 'import', import_row_id: id }
    this.#notes.push({ kind: 'create', id: noteId, values: { body: note }, columns })
    const publicId = encodeId(notes.idPrefix, noteId)
    outcome.changes.push({ object: 'note', id: publicId, action: 'created', before: {}, after: { body: note } })
  }

  #merge(draft: Draft, incoming: JsonObject, policy: MergePolicy, { warnings }: Outcome): Merge {
    return merge(draft, this.#preloaded.holders.withoutTaken(draft, incoming, warnings), policy)
  }

  #change({ id, importId }: LeadRow, draft: Draft, values: JsonObject, outcome: Outcome): void {
    const before = draft.state
    const change = draft.apply(values, { importId, rowId: id })
    if (!change) return
    draft.addColumns({ last_activity_at: 'now' })
    this.#changed.add(draft)
    this.#preloaded.holders.update(draft, before)
    outcome.changes.push(change)
  }
}

/** Conflicts between the push and the matched companies. */
const companyConflicts = ({ company }: Lead, employers: readonly Draft[]): Finding[] =>
  company ? conflictsOf('company', employers, company) : []

const matchKeys = { contact: 'ids and address', company: 'ids, domain and name' } as const

function conflictsOf(part: 'contact' | 'company', found: readonly Draft[], pushed: JsonObject): Finding[] {
  const ids = found.map(({ resource, id }) => encodeId(resource.idPrefix, id)).join(', ')
  const [one, ...others] = found
  if (others.length > 0)
    return [finding(`ambiguous_${part}`, part, `its ${matchKeys[part]} match different records: ${ids}`)]
  const providers = one ? contradictions(one.state, pushed) : []
  return providers.map((provider) =>
    finding('external_id_conflict', externalIdPath(part, provider), `${ids} has a different id of this system`),
  )
}

function contactKeysOf({ id, state, edits }: Draft): string[] {
  const teamId = String(state.teamId)
  const former = formerContactKeys(edits.digests('externalIds'), teamId)
  return [contactIdKey(encodeId('con', id)), ...contactKeys(state, teamId), ...handleKeys(state, teamId), ...former]
}

function companyKeysOf({ state, edits }: Draft): string[] {
  const former = edits.digests('name').map(formerCompanyNameKey)
  return [...companyKeys(state), companyNameKey(String(state.name)), ...former]
}

/** A new contact requires an email, a phone or a name; otherwise, another value is used as its name. */
function fallbackName(contact: JsonObject, outcome: Outcome): JsonObject {
  const sufficient = ['email', 'phone', 'name', 'firstName', 'lastName']
  if (sufficient.some((field) => contact[field] !== undefined)) return {}
  const names = ['nickname', ...handleFields].map((field) => contact[field])
  const name = asName([...names, ...Object.values(objectOf(contact.externalIds))].find((value) => value !== undefined))
  outcome.warnings.push(finding('made_up_name', 'contact.name', `missing; "${String(name)}" is used as the name`))
  return { name: name ?? null }
}
