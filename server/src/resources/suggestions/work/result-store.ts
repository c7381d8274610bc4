import type { Database, Transaction } from '../../../platform/database/database.ts'
import { serviceActor } from '../../../platform/model/caller.ts'
import type { JsonObject } from '../../../platform/model/fields.ts'
import { newId } from '../../../platform/model/ids.ts'
import { identifier, raw, sql } from '../../../platform/model/sql.ts'
import { contactStore } from '../../contacts/store.ts'
import type { Action, Analysis } from '../analysis/analysis.ts'
import { endOpenSuggestions } from '../store.ts'
import type { Claim, ClaimedNote } from './claim-store.ts'

/** A claimed note and what was found in it; `failed` if it could not be analysed. */
export interface AnalysedNote {
  note: ClaimedNote
  analysis: StoredAnalysis
}

export type StoredAnalysis = Omit<Analysis, 'degradedReason'> & {
  degradedReason?: Analysis['degradedReason'] | 'failed'
}

/** A note that still belongs to the claim, with its record (uuids). */
interface LockedNote {
  id: string
  revision: number
  contactId: string | null
  companyId: string | null
  dealId: string | null
}

interface Finding extends LockedNote {
  text: string
  analysis: StoredAnalysis
  analysisId: string
}

/**
 * Stores what was found in the notes of a claim and takes them out of the queue, in one transaction: each result is
 * stored once, however often this is repeated. A result is dropped if the note was changed or deleted meanwhile, or if
 * the lease was lost; a changed note is analysed again.
 */
export async function storeAnalyses(
  database: Database,
  { organizationId, lease }: Pick<Claim, 'organizationId' | 'lease'>,
  analysed: readonly AnalysedNote[],
): Promise<void> {
  await database.transaction(serviceActor('analysis', organizationId), async (transaction) => {
    const ids = analysed.map(({ note }) => note.id)
    const locked = await lockNotes(transaction, lease, ids)
    const findings = locked.flatMap((record): Finding[] => {
      const found = analysed.find(({ note }) => note.id === record.id && note.revision === record.revision)
      return found ? [{ ...record, text: found.note.text, analysis: found.analysis, analysisId: newId() }] : []
    })
    await storeFindings(transaction, findings)
    await transaction.query(sql`
      delete from note_leases
      where organization_id = ${transaction.organization} and lease = ${lease}::uuid and note_id = any(${ids}::uuid[])`)
  })
}

function lockNotes(transaction: Transaction, lease: string, ids: readonly string[]): Promise<LockedNote[]> {
  return transaction.query<LockedNote>(sql`
    select note.id, note.revision, note.contact_id as "contactId", note.company_id as "companyId",
      note.deal_id as "dealId"
    from notes note
    join note_leases lease on lease.organization_id = ${transaction.organization} and lease.note_id = note.id
      and lease.lease = ${lease}::uuid
    where note.organization_id = ${transaction.organization} and note.id = any(${ids}::uuid[])
      and note.deleted_at is null and note.reasoning_queued_at is not null
    order by note.id for no key update of note, lease`)
}

async function storeFindings(transaction: Transaction, findings: readonly Finding[]): Promise<void> {
  if (findings.length === 0) return
  const noteIds = findings.map(({ id }) => id)
  await endOpenSuggestions(transaction, noteIds, 'superseded')
  const contactIds = await optOut(transaction, findings)
  await insertRows(transaction, 'note_analyses', analysisColumns, findings.map(analysisRow))
  const rows = findings.flatMap((finding) =>
    finding.analysis.actions.map((action) => suggestionRow(finding, action, contactIds)),
  )
  if (rows.length > 0) await insertRows(transaction, 'suggestions', suggestionColumns, rows)
  await transaction.query(sql`
    update notes set reasoning_queued_at = null
    where organization_id = ${transaction.organization} and id = any(${noteIds}::uuid[])`)
}

/** Confidence below which a person decides. */
const minConfidence = 0.7

/**
 * May the action take effect without a person? Only what stops mail, in the words of the contact, as the rules read
 * them: a model or an injection cannot cause it.
 */
function actsAlone({ analysis, contactId }: Finding, { type, confidence }: Action): boolean {
  const { engine, intent, suspicious } = analysis
  const isTrusted = engine === 'rules' && !suspicious && contactId !== null && confidence >= minConfidence
  return (
    isTrusted &&
    ((intent === 'opt_out' && type === 'suppress') || (intent === 'out_of_office' && type === 'wait_until'))
  )
}

/** Opts out the contacts who ask for it, and locks all records; returns the contacts (uuids) whose value changed. */
async function optOut(transaction: Transaction, findings: readonly Finding[]): Promise<ReadonlySet<string>> {
  const optingOut = findings.filter((finding) =>
    finding.analysis.actions.some((action) => action.type === 'suppress' && actsAlone(finding, action)),
  )
  const candidates = new Set(optingOut.map(({ contactId }) => contactId))
  const [, contacts] = await lockRecords(transaction, findings, candidates.size > 0)
  const changed = contacts.filter(({ id, mayOptOut }) => candidates.has(id) && mayOptOut).map(({ id }) => id)
  if (changed.length > 0) {
    await contactStore.write(
      transaction,
      changed.map((id) => ({ kind: 'update', id, values: { emailOptOut: true } })),
    )
  }
  return new Set(changed)
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

const recordColumns = { note_id: 'uuid', contact_id: 'uuid', company_id: 'uuid', deal_id: 'uuid' }

const analysisColumns = {
  id: 'uuid',
  ...recordColumns,
  intent: 'text',
  language: 'text',
  summary: 'text',
  suspicious: 'boolean',
  engine: 'text',
  model: 'text',
  prompt_version: 'text',
  input_hash: 'text',
  latency_ms: 'integer',
  tokens: 'integer',
  degraded: 'boolean',
  degraded_reason: 'text',
}

const suggestionColumns = {
  id: 'uuid',
  ...recordColumns,
  analysis_id: 'uuid',
  intent: 'text',
  engine: 'text',
  type: 'text',
  params: 'jsonb',
  due_at: 'timestamptz',
  priority: 'text',
  confidence: 'double precision',
  evidence: 'jsonb',
  status: 'text',
  decided_at: 'timestamptz',
  result_contact_id: 'uuid',
}

const recordRow = ({ id, contactId, companyId, dealId }: Finding): JsonObject => ({
  note_id: id,
  contact_id: contactId,
  company_id: companyId,
  deal_id: dealId,
})

function analysisRow(finding: Finding): JsonObject {
  const { analysis } = finding
  return {
    id: finding.analysisId,
    ...recordRow(finding),
    intent: analysis.intent,
    language: analysis.language,
    summary: analysis.summary ?? null,
    suspicious: analysis.suspicious,
    engine: analysis.engine,
    model: analysis.model,
    prompt_version: analysis.promptVersion,
    input_hash: analysis.inputHash,
    latency_ms: analysis.latencyMs,
    tokens: analysis.tokens,
    degraded: analysis.degraded,
    degraded_reason: analysis.degradedReason ?? null,
  }
}

function suggestionRow(finding: Finding, action: Action, optedOut: ReadonlySet<string>): JsonObject {
  const { analysis, contactId, text } = finding
  const { type, params, dueAt = null, priority, confidence, evidence } = action
  const isApplied = actsAlone(finding, action)
  const isChanged = isApplied && type === 'suppress' && contactId !== null && optedOut.has(contactId)
  return {
    id: newId(),
    ...recordRow(finding),
    analysis_id: finding.analysisId,
    intent: analysis.intent,
    engine: analysis.engine,
    type,
    params: { ...params },
    due_at: dueAt,
    priority,
    confidence,
    evidence: { ...evidence, text: text.slice(evidence.start, evidence.end) },
    status: isApplied ? 'auto_applied' : 'pending',
    decided_at: isApplied ? 'now' : null,
    result_contact_id: isChanged ? contactId : null,
  }
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
