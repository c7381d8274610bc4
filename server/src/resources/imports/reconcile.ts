import type { AnyRow } from '../../platform/resource/define.ts'
import type { JsonValue } from '../../platform/resource/fields.ts'
import { newId, showId } from '../../platform/resource/ids.ts'
import type { Change } from '../../platform/resource/write.ts'
import { companies } from '../companies/resource.ts'
import { contacts } from '../contacts/resource.ts'
import { notes } from '../notes/resource.ts'
import { Draft, mergeable, objectOf, type RowChange } from './draft.ts'
import { type Jobs, keepJobs } from './jobs.ts'
import {
  companyKeys,
  companyNameKey,
  contactKeys,
  findCompany,
  handleFields,
  handleKeys,
  KeyedDrafts,
  lookedForBy,
} from './match.ts'
import type { Lead } from './payload.ts'
import { type Finding, finding, type MergePolicy, type RowStatus } from './resource.ts'

/** A row with its payload read, and what its import says about it. */
export interface LeadRow {
  id: string
  lead: Lead
  /** In the form of the answers. */
  teamId: string
  tags: readonly string[]
  mergePolicy: MergePolicy
}

/** What the database knows of the people and companies that a batch may be about. */
export interface Known {
  contacts: readonly Draft[]
  companies: readonly Draft[]
  jobs: Jobs
  /** `<contact uuid> <text>` of each note that there is, deleted ones too. */
  notes: Set<string>
}

/** What became of a row. */
export interface Outcome {
  rowId: string
  status: RowStatus
  contactId: string | null
  companyId: string | null
  warnings: Finding[]
  errors: Finding[]
  changes: RowChange[]
}

/** What is to be written for a batch: one set for each resource, and the end of each row. */
export interface Plan {
  companies: Change[]
  contacts: Change[]
  employments: Change[]
  notes: Change[]
  outcomes: Outcome[]
}

/**
 * Goes through the rows in their order, each seeing what those before it did, so that a batch comes to the same as its
 * rows one by one. Pure: nothing is read or written. Matching and merging are those of docs/guides/imports.md.
 */
export function reconcile(rows: readonly LeadRow[], known: Known): Plan {
  const batch = new Batch(known)
  const outcomes = rows.map((row) => batch.take(row))
  return { ...batch.changes, outcomes }
}

class Batch {
  readonly #known: Known
  readonly #contacts = new KeyedDrafts()
  readonly #companies = new KeyedDrafts()
  readonly #touched = new Set<Draft>()
  readonly #notes: Change[] = []

  constructor(known: Known) {
    this.#known = known
    for (const draft of known.contacts) this.#contacts.put(draft, contactKeysOf(draft))
    for (const draft of known.companies) this.#companies.put(draft, companyKeysOf(draft))
  }

  get changes(): Omit<Plan, 'outcomes'> {
    const of = (name: string) =>
      [...this.#touched].flatMap(({ resource, change }) => (resource.name === name && change ? [change] : []))
    return {
      companies: of('companies'),
      contacts: of('contacts'),
      employments: of('employments'),
      notes: this.#notes,
    }
  }

  take(row: LeadRow): Outcome {
    const { lead } = row
    const [contact, ...others] = this.#contacts.find(lookedForBy(lead.contact, row.teamId))
    if (others.length > 0) return this.#conflict(row, 'ambiguous_contact', 'contact', [contact, ...others])
    const company = lead.company && findCompany(this.#companies, lead.company)
    if (company === 'ambiguous') return this.#conflict(row, 'ambiguous_company', 'company', [])

    const outcome: Outcome = {
      rowId: row.id,
      status: 'PROCESSED',
      contactId: null,
      companyId: null,
      warnings: [...lead.warnings],
      errors: [...lead.errors],
      changes: [],
    }
    const employer = this.#takeCompany(row, company, outcome)
    const person = this.#takeContact(row, contact, employer, outcome)
    this.#takeJobs(row, person, outcome)
    this.#takeNote(row, person, outcome)
    outcome.contactId = showId('con', person.id)
    if (employer) outcome.companyId = showId('com', employer.id)
    if (outcome.errors.length > 0) outcome.status = 'PARTIAL'
    else if (outcome.changes.length === 0) outcome.status = 'DUPLICATE'
    return outcome
  }

  #takeCompany({ lead, mergePolicy }: LeadRow, found: Draft | undefined, outcome: Outcome): Draft | undefined {
    if (!lead.company) return undefined
    const name = lead.company.name ?? lead.company.nickname ?? asName(lead.company.domain)
    if (!found && name === undefined) {
      outcome.errors.push(finding('company_without_name', 'company', 'has neither a name nor a domain'))
      return undefined
    }
    const draft = found ?? new Draft(companies, newId(), { columns: {} })
    const incoming = found || name === undefined ? lead.company : { ...lead.company, name }
    const values = mergeable(draft, incoming, mergePolicy, leftOutOf('company', outcome))
    this.#change(draft, values, outcome)
    this.#companies.put(draft, companyKeysOf(draft))
    return draft
  }

  #takeContact(row: LeadRow, found: Draft | undefined, employer: Draft | undefined, outcome: Outcome): Draft {
    const { lead, tags, teamId, mergePolicy } = row
    const draft = found ?? new Draft(contacts, newId(), { columns: {} })
    const incoming: AnyRow = {
      ...lead.contact,
      ...(tags.length > 0 && { tags: [...tags] }),
      ...(employer && { companyId: showId('com', employer.id) }),
    }
    if (!found) Object.assign(incoming, { teamId }, madeUpName(lead.contact, outcome))
    const values = mergeable(draft, incoming, mergePolicy, leftOutOf('contact', outcome))
    // Its team decides whom a contact is matched with, so it is no value to merge.
    this.#change(draft, found ? values : { ...values, teamId }, outcome)
    this.#contacts.put(draft, contactKeysOf(draft))
    return draft
  }

  #takeJobs({ lead, mergePolicy }: LeadRow, person: Draft, outcome: Outcome): void {
    for (const draft of keepJobs(this.#known.jobs, person.id, lead.history, mergePolicy, outcome)) {
      this.#touched.add(draft)
    }
  }

  /** The same words are not noted twice, nor again after someone deleted them. */
  #takeNote({ id, lead: { note } }: LeadRow, person: Draft, outcome: Outcome): void {
    if (note === undefined || this.#known.notes.has(`${person.id} ${note}`)) return
    this.#known.notes.add(`${person.id} ${note}`)
    // As the note's store would do, but in the contact's own write.
    person.along({ last_activity_at: 'now' })
    const noteId = newId()
    const columns = { contact_id: person.id, source: 'import', import_row_id: id }
    this.#notes.push({ kind: 'create', id: noteId, values: { body: note }, columns })
    const shown = showId(notes.idPrefix, noteId)
    outcome.changes.push({ object: 'note', id: shown, action: 'created', before: {}, after: { body: note } })
  }

  #change(draft: Draft, values: AnyRow, outcome: Outcome): void {
    const change = draft.take(values)
    if (!change) return
    this.#touched.add(draft)
    outcome.changes.push(change)
  }

  #conflict(
    { id, lead }: LeadRow,
    code: 'ambiguous_contact' | 'ambiguous_company',
    path: string,
    found: readonly (Draft | undefined)[],
  ): Outcome {
    const ids = found.flatMap((draft) => (draft ? [showId(draft.resource.idPrefix, draft.id)] : []))
    const message = `its keys belong to different records${ids.length > 0 ? `: ${ids.join(', ')}` : ''}`
    const errors = [finding(code, path, message)]
    return {
      rowId: id,
      status: 'CONFLICT',
      contactId: null,
      companyId: null,
      warnings: lead.warnings,
      errors,
      changes: [],
    }
  }
}

function contactKeysOf({ state }: Draft): string[] {
  const teamId = String(state.teamId)
  return [...contactKeys(state, teamId), ...handleKeys(state, teamId)]
}

function companyKeysOf({ state }: Draft): string[] {
  const name = companyNameKey(state)
  return name === undefined ? companyKeys(state) : [...companyKeys(state), name]
}

/** A new contact needs an address or a name: without either, what it has stands for the name. */
function madeUpName(contact: AnyRow, outcome: Outcome): AnyRow {
  if (contact.email !== undefined || contact.phone !== undefined || contact.name !== undefined) return {}
  const known = ['nickname', ...handleFields].map((field) => contact[field])
  const name = asName([...known, ...Object.values(objectOf(contact.externalIds))].find((value) => value !== undefined))
  outcome.warnings.push(finding('made_up_name', 'contact.name', `there is none; "${String(name)}" stands for it`))
  return { name: name ?? null }
}

/** A value that was none as a name may have: one line of at most 200 characters. */
function asName(value: JsonValue | undefined): string | undefined {
  if (typeof value !== 'string') return undefined
  // eslint-disable-next-line no-control-regex -- control characters are what it takes out
  return [...value.replace(/[\u0000-\u001f\u007f]+/g, ' ')].slice(0, 200).join('')
}

const leftOutOf =
  (object: string, { warnings }: Outcome) =>
  (name: string) =>
    void warnings.push(
      finding('unusable_value', `${object}.${name}`, 'would be more than the record may hold; none was added'),
    )
