import type { Transaction } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/model/errors.ts'
import type { Row } from '../../platform/records/declare/define.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { raw, type Sql, sql } from '../../platform/model/sql.ts'
import { root } from '../../platform/records/filter/target.ts'
import { textOf } from '../../platform/records/page/select.ts'
import { changeEventsSql } from '../../platform/records/write/events.ts'
import { andWithinReach } from '../../platform/records/filter/scope.ts'
import { lockRecords } from '../../platform/records/write/current.ts'
import { notFound, scopeOf } from '../../platform/records/page/read.ts'
import { companies } from '../../crm/companies/resource.ts'
import { contacts } from '../../crm/contacts/resource.ts'
import { deals } from '../../crm/deals/resource.ts'
import type { StageKind } from '../analysis/analysis.ts'
import { suggestions } from './resource.ts'

export type Suggestion = Row<typeof suggestions>

/** The suggestion, locked until the transaction ends. Throws 404, and 409 if it was decided or is obsolete. */
export async function lockOpenSuggestion(transaction: Transaction, id: string): Promise<Suggestion> {
  const rows = await lockRecords(transaction, suggestions, [{ kind: 'update', id, values: {} }], undefined)
  const suggestion = rows.get(id)?.record as Suggestion | undefined
  if (!suggestion) throw notFound(suggestions)
  const { status } = suggestion
  if (status !== 'pending' && status !== 'auto_applied') throw new ApiError('already_decided', reasons[status])
  return suggestion
}

const reasons = {
  accepted: 'This suggestion has already been accepted.',
  rejected: 'This suggestion has already been rejected.',
  expired: 'This suggestion has expired: its note was deleted.',
  superseded: 'This suggestion is obsolete: its note was changed.',
}

/** The record that the note of a suggestion is on. */
export function recordOf({ contactId, companyId, dealId }: Suggestion) {
  if (contactId !== null) return { resource: contacts, reference: { contactId }, noun: 'contact' }
  if (companyId !== null) return { resource: companies, reference: { companyId }, noun: 'company' }
  if (dealId !== null) return { resource: deals, reference: { dealId }, noun: 'deal' }
  throw new Error('every suggestion is about a record')
}

/** How people call the contact, company or deal of the suggestion. */
export async function readRecordName(transaction: Transaction, suggestion: Suggestion): Promise<string | null> {
  const { organization } = transaction
  const [row] = await transaction.query<{ name: string | null }>(sql`
    select coalesce(
      (select coalesce(name, email, phone) from contacts
        where organization_id = ${organization} and id = ${uuid(contacts, suggestion.contactId)}),
      (select name from companies
        where organization_id = ${organization} and id = ${uuid(companies, suggestion.companyId)}),
      (select name from deals
        where organization_id = ${organization} and id = ${uuid(deals, suggestion.dealId)})) as name`)
  return row?.name ?? null
}

const uuid = ({ idPrefix }: { idPrefix: string }, id: string | null): Sql =>
  sql`${decodeId(idPrefix, id ?? '') ?? null}::uuid`

/**
 * Has somebody else's decision or another note opted out the contact of this suggestion too? A suggestion that the
 * service applied then takes over the change, so that rejecting it reverts that. The contact is locked.
 */
export async function isOptedOutByAnother(transaction: Transaction, suggestion: Suggestion): Promise<boolean> {
  const { organization } = transaction
  const contact = uuid(contacts, suggestion.resultContactId)
  const [, others] = await Promise.all([
    transaction.query(sql`
      select from contacts where organization_id = ${organization} and id = ${contact} for update`),
    transaction.query(sql`
      with other as (
        update suggestions set result_contact_id = ${contact}, updated_at = now(), revision = revision + 1
        where organization_id = ${organization} and id in (
          select id from suggestions
          where organization_id = ${organization} and type = 'suppress' and id <> ${uuid(suggestions, suggestion.id)}
            and (status = 'auto_applied' and contact_id = ${contact}
              or status = 'accepted' and result_contact_id = ${contact})
          order by status, id limit 1 for update)
        returning *)
      ${changeEventsSql(transaction, suggestions, 'updated', takenOver)} returning id`),
  ])
  return others.length > 0
}

const takenOver = sql`
  select id, revision, updated_at as at, '[]'::jsonb as changes, ${textOf(suggestions, ['resultContactId'])} as "values"
  from other ${raw(root)}`

export interface FoundDeal {
  /** Uuid. */
  id: string
  name: string
}

/** Maximum number of deals that an error lists. */
const maxDeals = 20

/** The deal of the note, otherwise the open deals of its contact or company within the caller's reach. */
export function findDeals(transaction: Transaction, suggestion: Suggestion): Promise<FoundDeal[]> {
  const { organization } = transaction
  const { contactId, companyId, dealId } = suggestion
  const ofContact = sql`exists (select from deal_contacts link
    where link.organization_id = ${organization} and link.deal_id = record.id
      and link.contact_id = ${uuid(contacts, contactId)} and link.deleted_at is null)`
  const ofCompany = sql`record.company_id = ${uuid(companies, companyId)}`
  const related = dealId
    ? sql`record.id = ${uuid(deals, dealId)}`
    : sql`record.status = 'open' and ${contactId ? ofContact : ofCompany}`
  return transaction.query<FoundDeal>(sql`
    select record.id, record.name from deals record
    where record.organization_id = ${organization} and record.deleted_at is null and ${related}
      ${andWithinReach(deals, scopeOf(transaction, undefined), raw('record'))}
    order by record.id limit ${maxDeals}`)
}

/**
 * The stage (uuid) of this kind to which the deal (uuid) moves, in its own pipeline: the next one of an open deal,
 * otherwise the first. Undefined if there is none. The deal is locked until the transaction ends.
 */
export async function findTargetStage(
  transaction: Transaction,
  deal: string,
  kind: StageKind,
): Promise<string | undefined> {
  const { organization } = transaction
  // Locked by a statement of its own: one that waits for a lock would join the previous stage.
  const isDeal = sql`record.organization_id = ${organization} and record.id = ${deal}::uuid`
  const [, [current]] = await Promise.all([
    transaction.query(sql`select from deals record where ${isDeal} for update`),
    transaction.query<{ pipelineId: string; kind: StageKind; position: number }>(sql`
    select stage.pipeline_id as "pipelineId", stage.kind, stage.position from deals record
    join stages stage on stage.organization_id = ${organization} and stage.id = record.stage_id where ${isDeal}`),
  ])
  if (!current) return undefined
  const after = kind === 'open' && current.kind === 'open' ? current.position : -1
  const [stage] = await transaction.query<{ id: string }>(sql`
    select id from stages
    where organization_id = ${organization} and pipeline_id = ${current.pipelineId}::uuid and deleted_at is null
      and kind = ${kind} and position > ${after}
    order by position, id limit 1`)
  return stage?.id
}
