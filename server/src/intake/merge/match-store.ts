import type { Transaction } from '../../platform/database/database.ts'
import { identifier, isOneOfMany, join, raw, type Sql, sql } from '../../platform/model/sql.ts'
import { lockSelected } from '../../platform/records/write/current.ts'
import { columnOf, type Resource } from '../../platform/records/declare/define.ts'
import { digestOf, type Edits, readEdits } from '../../platform/records/write/edits.ts'
import { decodeId, encodeId } from '../../platform/model/ids.ts'
import { emailKey } from '../../platform/model/normalizers.ts'
import { companies, domainKey } from '../../crm/companies/resource.ts'
import { contacts } from '../../crm/contacts/resource.ts'
import { employments, jobKey } from '../../crm/employments/resource.ts'
import { identityOf } from './company-identity.ts'
import { Draft, objectOf } from './draft.ts'
import type { Jobs } from './jobs.ts'
import { contactKeys, handleFields, loneExternalIds } from './match.ts'
import type { PreloadedRecords, LeadRow } from './reconcile.ts'
import type { CurrentRow } from '../../platform/records/declare/changes.ts'
import type { JsonValue, JsonObject } from '../../platform/model/json.ts'

/** The records as they were read and locked, by uuid. */
export interface Locked {
  people: ReadonlyMap<string, CurrentRow>
  employers: ReadonlyMap<string, CurrentRow>
}

/** Reads and locks the contacts and companies that these rows may match, until the transaction ends. */
export async function preloadRecords(
  transaction: Transaction,
  rows: readonly LeadRow[],
): Promise<Omit<PreloadedRecords, 'holders'> & Locked> {
  const people = await findContacts(transaction, rows)
  const employers = await findCompanies(transaction, rows, people)
  const ids = people.map(({ id }) => id)
  const [contactEdits, companyEdits, jobs, notes] = await Promise.all([
    readEdits(transaction, contacts, ids),
    readEdits(
      transaction,
      companies,
      employers.map(({ id }) => id),
    ),
    readJobs(transaction, rows.some(({ lead }) => lead.history.length > 0) ? ids : []),
    readNotes(
      transaction,
      ids,
      rows.flatMap(({ lead }) => lead.note ?? []),
    ),
  ])
  const drafts = (resource: Resource, found: readonly CurrentRow[], edits: Map<string, Edits>) =>
    found.map(({ id, record }) => new Draft(resource, id, { state: record, edits: edits.get(id) }))
  return {
    contacts: drafts(contacts, people, contactEdits),
    companies: drafts(companies, employers, companyEdits),
    jobs,
    notes,
    people: byId(people),
    employers: byId(employers),
  }
}

const byId = (rows: readonly CurrentRow[]) => new Map(rows.map((row) => [row.id, row]))

/** External ids as records for jsonb_to_recordset. */
const externalIdsOf = (record: JsonObject | undefined) =>
  Object.entries(objectOf(record?.externalIds)).map(([provider, value]) => ({ provider, value: String(value) }))

async function findContacts(transaction: Transaction, rows: readonly LeadRow[]): Promise<CurrentRow[]> {
  const addresses = rows.flatMap(({ lead: { contact }, teamId }) =>
    typeof contact.email === 'string' ? [{ team_id: uuid('tea', teamId), email_key: emailKey(contact.email) }] : [],
  )
  const externals = rows.flatMap(({ lead: { contact }, teamId }) =>
    externalIdsOf(contact).map((external) => ({ team_id: uuid('tea', teamId), ...external })),
  )
  const created = rows.flatMap(({ createdContactId }) =>
    createdContactId === null ? [] : uuid('con', createdContactId),
  )
  const lone = rows.flatMap(({ lead }) => loneExternalIds(lead.contact))
  // Handles are used only if nothing more reliable identifies the contact.
  const matchedByHandle = rows.filter(({ lead, teamId }) => contactKeys(lead.contact, teamId).length === 0)
  const byHandle = handleFields.map((name) => {
    const handles = matchedByHandle.flatMap(({ lead }) =>
      typeof lead.contact[name] === 'string' ? [lead.contact[name]] : [],
    )
    const column = identifier(columnOf(name))
    return sql`
    union
    select contact.id from unnest(${handles}::text[]) as wanted (handle)
    join contacts contact on contact.organization_id = ${transaction.organization}
      and fold(contact.${column}) = fold(wanted.handle) and contact.${column} is not null and contact.deleted_at is null`
  })
  return lockSelected(
    transaction,
    contacts,
    sql`
    select contact.id from ${recordset(addresses, 'wanted (team_id uuid, email_key text)')}
    join contacts contact on contact.organization_id = ${transaction.organization}
      and contact.email_key = wanted.email_key and contact.team_id = wanted.team_id and contact.deleted_at is null
    union
    select further.contact_id from ${recordset(addresses, 'wanted (team_id uuid, email_key text)')}
    join contact_emails further on further.organization_id = ${transaction.organization}
      and further.email_key = wanted.email_key and further.team_id = wanted.team_id
    union
    select owner.contact_id from ${recordset(externals, 'wanted (team_id uuid, provider text, value text)')}
    join contact_external_ids owner on owner.organization_id = ${transaction.organization}
      and owner.team_id = wanted.team_id and owner.provider = wanted.provider and owner.value = wanted.value
    ${created.length > 0 ? createdBefore(transaction, created) : raw('')}
    ${lone.length > 0 ? formerHolders(transaction, contacts, 'externalIds', lone) : raw('')}
    ${matchedByHandle.length > 0 ? join(byHandle, '') : raw('')}`,
  )
}

/** Adds contacts (uuids) that earlier runs of the rows created. */
const createdBefore = (transaction: Transaction, ids: readonly string[]): Sql => sql`
    union
    select contact.id from contacts contact where contact.organization_id = ${transaction.organization}
      and ${isOneOfMany(raw('contact.id'), ids, 'uuid')} and contact.deleted_at is null`

/** Adds records from which a person removed one of these values. */
function formerHolders(
  transaction: Transaction,
  { singular }: Resource,
  field: string,
  digests: readonly string[],
): Sql {
  return sql`
    union
    select edited.${identifier(`${singular}_id`)} from unnest(${[...new Set(digests)]}::text[]) as wanted (digest)
    join ${identifier(`${singular}_edited_values`)} edited on edited.organization_id = ${transaction.organization}
      and edited.field = ${raw(`'${field}'`)} and edited.digest = decode(wanted.digest, 'hex')`
}

/** Includes the companies of these contacts: a change of a contact is activity of its company. */
async function findCompanies(
  transaction: Transaction,
  rows: readonly LeadRow[],
  people: readonly CurrentRow[],
): Promise<CurrentRow[]> {
  const wanted = rows.flatMap(({ lead: { company } }) => (company ? [company] : []))
  const employerIds = people.flatMap(({ record }) => decodeId(companies.idPrefix, String(record.companyId)) ?? [])
  if (wanted.length === 0 && employerIds.length === 0) return []
  const identities = wanted.map(identityOf)
  const domains = identities.flatMap(({ domain }) => (domain === undefined ? [] : [domainKey(domain)]))
  const names = [...new Set(identities.flatMap(({ name }) => (name === undefined ? [] : [name])))]
  return lockSelected(
    transaction,
    companies,
    sql`
    select company.id from unnest(${[...new Set(domains)]}::text[]) as wanted (key)
    join companies company on company.organization_id = ${transaction.organization}
      and company.domain_key = wanted.key and company.deleted_at is null
    union
    select owner.company_id from ${recordset(wanted.flatMap(externalIdsOf), 'wanted (provider text, value text)')}
    join company_external_ids owner on owner.organization_id = ${transaction.organization}
      and owner.provider = wanted.provider and owner.value = wanted.value
    union
    select company.id from unnest(${names}::text[]) as wanted (name)
    join companies company on company.organization_id = ${transaction.organization}
      and company.name = wanted.name and company.deleted_at is null
    union
    select unnest(${employerIds}::uuid[])
    ${formerHolders(transaction, companies, 'name', names.map(digestOf))}`,
  )
}

/** The employments of these contacts (uuids). */
async function readJobs(transaction: Transaction, contactIds: readonly string[]): Promise<Jobs> {
  if (contactIds.length === 0) return new Map()
  const rows = await transaction.query<JobRow>(sql`
    select job.id, job.contact_id, job.organization, company.id as company_id, job.title, job."current", job."start",
      job."end"
    from employments job
    left join companies company on company.organization_id = ${transaction.organization} and company.id = job.company_id
      and company.deleted_at is null
    where job.organization_id = ${transaction.organization}
      and ${isOneOfMany(raw('job.contact_id'), contactIds, 'uuid')} and job.deleted_at is null
    order by job.created_at, job.id`)
  const jobs: Jobs = new Map()
  for (const { id, contact_id: contactId, company_id: companyId, ...job } of rows) {
    const state = { ...job, companyId: companyId === null ? null : encodeId(companies.idPrefix, companyId) }
    const known = jobs.get(contactId) ?? new Map<string, Draft>()
    jobs.set(contactId, known)
    const key = jobKey(state)
    if (!known.has(key)) known.set(key, new Draft(employments, id, { state }))
  }
  return jobs
}

interface JobRow {
  id: string
  contact_id: string
  organization: string
  /** Null for a deleted company, too. */
  company_id: string | null
  title: string | null
  current: boolean
  start: string | null
  end: string | null
}

/** Which of these texts exist as notes on these contacts (uuids). */
async function readNotes(
  transaction: Transaction,
  contactIds: readonly string[],
  texts: readonly string[],
): Promise<Set<string>> {
  if (contactIds.length === 0 || texts.length === 0) return new Set()
  const rows = await transaction.query<{ contact_id: string; body: string }>(sql`
    select contact_id, body from notes
    where organization_id = ${transaction.organization} and ${isOneOfMany(raw('contact_id'), contactIds, 'uuid')}
      and body = any(${texts}::text[]) and deleted_at is null`)
  return new Set(rows.map(({ contact_id: contactId, body }) => `${contactId} ${body}`))
}

const recordset = (records: readonly Record<string, JsonValue>[], columns: string): Sql =>
  sql`jsonb_to_recordset(${JSON.stringify(records)}::jsonb) as ${raw(columns)}`

function uuid(prefix: string, publicId: string): string {
  const id = decodeId(prefix, publicId)
  if (id === undefined) throw new Error(`${publicId} is not a valid id`)
  return id
}
