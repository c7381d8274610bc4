import type { Database, Transaction } from '../../platform/database/database.ts'
import { serviceActor } from '../../platform/model/caller.ts'
import { newId } from '../../platform/model/ids.ts'
import { identifier, raw, sql } from '../../platform/model/sql.ts'
import type { Lease } from '../../platform/queue/queue.ts'
import { contactStore } from '../../crm/contacts/store.ts'
import { endOpenSuggestions, leaveAnalysisQueue } from '../../crm/notes/store.ts'
import { causeOf, creationEventsSql } from '../../platform/records/write/events.ts'
import { suggestions } from '../suggestions/resource.ts'
import type { ClaimedNote } from './claim-store.ts'
import { findHeldBack, type HeldBack, lockImports } from './held-back-store.ts'
import {
  actsAlone,
  analysisColumns,
  analysisRow,
  type Effects,
  type Finding,
  type LockedNote,
  type StoredAnalysis,
  suggestionColumns,
  suggestionRow,
} from './result-rows.ts'
import type { JsonObject } from '../../platform/model/json.ts'

/** A claimed note and what was found in it; `failed` if it could not be analysed. */
export interface AnalysedNote {
  note: ClaimedNote
  analysis: StoredAnalysis
}

/**
 * Stores what was found in the notes of a claim and takes them out of the queue, in one transaction: each result is
 * stored once, however often this is repeated. A result is dropped if the note was changed or deleted meanwhile, or if
 * the lease was lost; a changed note is analysed again. Returns the imports (uuids) whose opt-outs wait from now on.
 */
export async function storeAnalyses(
  database: Database,
  { organizationId, lease }: Lease,
  analysed: readonly AnalysedNote[],
): Promise<readonly string[]> {
  return database.transaction(serviceActor('analysis', organizationId), async (transaction) => {
    const ids = analysed.map(({ note }) => note.id)
    const locked = await lockNotes(transaction, lease, ids)
    const findings = locked.flatMap((record): Finding[] => {
      const found = analysed.find(({ note }) => note.id === record.id && note.revision === record.revision)
      return found ? [{ ...record, text: found.note.text, analysis: found.analysis, analysisId: newId() }] : []
    })
    const alarmed = await storeFindings(transaction, findings)
    await transaction.query(sql`
      delete from note_leases
      where organization_id = ${transaction.organization} and lease = ${lease}::uuid and note_id = any(${ids}::uuid[])`)
    return alarmed
  })
}

function lockNotes(transaction: Transaction, lease: string, ids: readonly string[]): Promise<LockedNote[]> {
  return transaction.query<LockedNote>(sql`
    select note.id, note.revision, note.contact_id as "contactId", note.company_id as "companyId",
      note.deal_id as "dealId", note.source = 'import' as "isPushed",
      (select import_id from import_rows pushed
        where pushed.organization_id = ${transaction.organization} and pushed.id = note.import_row_id) as "importId"
    from notes note
    join note_leases lease on lease.organization_id = ${transaction.organization} and lease.note_id = note.id
      and lease.lease = ${lease}::uuid
    where note.organization_id = ${transaction.organization} and note.id = any(${ids}::uuid[])
      and note.deleted_at is null and note.reasoning_queued_at is not null
    order by note.id for no key update of note, lease`)
}

async function storeFindings(transaction: Transaction, findings: readonly Finding[]): Promise<readonly string[]> {
  if (findings.length === 0) return []
  const noteIds = findings.map(({ id }) => id)
  endOpenSuggestions(transaction, noteIds, 'superseded')
  const { alarmed, ...effects } = await optOut(transaction, findings)
  await insertRows(transaction, 'note_analyses', analysisColumns, findings.map(analysisRow))
  const rows = findings.flatMap((finding) =>
    finding.analysis.actions.map((action) => suggestionRow(finding, action, effects)),
  )
  if (rows.length > 0) {
    await insertRows(transaction, 'suggestions', suggestionColumns, rows)
    const isNew = sql`record.id = any(${rows.map(({ id }) => String(id))}::uuid[])`
    await transaction.query(creationEventsSql(suggestions, transaction.organization, causeOf(transaction), isNew))
  }
  await leaveAnalysisQueue(transaction, sql`id = any(${noteIds}::uuid[])`)
  return alarmed
}

/** Opts out the contacts who ask for it, unless a person has to decide, and locks all records. */
async function optOut(
  transaction: Transaction,
  findings: readonly Finding[],
): Promise<Effects & Pick<HeldBack, 'alarmed'>> {
  const acting = findings.flatMap((finding) =>
    finding.analysis.actions.filter((action) => actsAlone(finding, action)).map((action) => ({ finding, action })),
  )
  const optingOut = acting.filter(({ action }) => action.type === 'suppress')
  const imports = await lockImports(transaction, optingOut)
  const [, contacts] = await lockRecords(transaction, findings, optingOut.length > 0)
  const open = new Set(contacts.flatMap(({ id, mayOptOut }) => (mayOptOut ? id : [])))
  const { reasons, alarmed } = await findHeldBack(transaction, acting, { imports, open })
  const asking = new Set(optingOut.flatMap(({ finding, action }) => (reasons.has(action) ? [] : finding.contactId)))
  const changed = [...open].filter((id) => asking.has(id))
  if (changed.length > 0) {
    await contactStore.write(
      transaction,
      changed.map((id) => ({ kind: 'update', id, values: { emailOptOut: true } })),
    )
  }
  return { optedOut: new Set(changed), reasons, alarmed }
}

interface LockedContact {
  id: string
  mayOptOut: boolean
}

/** In the order in which every transaction locks records, so that the foreign keys of the new rows cannot deadlock. */
function lockRecords(transaction: Transaction, findings: readonly Finding[], willChange: boolean) {
  const { organization } = transaction
  const lock = (table: string, ids: readonly (string | null)[], isChanged = false) =>
    transaction.query<LockedContact>(sql`
      select id, ${raw(table === 'contacts' ? 'deleted_at is null and not email_opt_out' : 'false')} as "mayOptOut"
      from ${identifier(table)}
      where organization_id = ${organization} and id = any(${ids.filter((id) => id !== null)}::uuid[])
      order by id ${raw(isChanged ? 'for update' : 'for key share')}`)
  return Promise.all([
    lock(
      'deals',
      findings.map(({ dealId }) => dealId),
    ),
    lock(
      'contacts',
      findings.map(({ contactId }) => contactId),
      willChange,
    ),
    lock(
      'companies',
      findings.map(({ companyId }) => companyId),
    ),
  ] as const)
}

async function insertRows(
  { query, organization }: Transaction,
  table: string,
  types: Readonly<Record<string, string>>,
  rows: readonly JsonObject[],
): Promise<void> {
  const names = raw(Object.keys(types).join(', '))
  const columns = raw(
    Object.entries(types)
      .map((column) => column.join(' '))
      .join(', '),
  )
  await query(sql`
    insert into ${identifier(table)} (organization_id, ${names})
    select ${organization}, ${names} from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as given(${columns})`)
}
