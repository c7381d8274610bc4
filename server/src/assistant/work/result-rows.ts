import { newId } from '../../platform/model/ids.ts'
import type { Action, Analysis } from '../analysis/analysis.ts'
import type { WaitingReason } from '../suggestions/resource.ts'
import type { JsonObject } from '../../platform/model/json.ts'

export type StoredAnalysis = Omit<Analysis, 'degradedReason'> & {
  degradedReason?: Analysis['degradedReason'] | 'failed'
}

/** A note that still belongs to the claim, with its record (uuids). */
export interface LockedNote {
  id: string
  revision: number
  contactId: string | null
  companyId: string | null
  dealId: string | null
  /** Anyone who knows the URL of the import can have written it. */
  isPushed: boolean
  /** The import whose push contained it; null for other notes, and if its row was purged. */
  importId: string | null
}

/** What became of the contacts of notes. */
export interface Effects {
  /** Contacts (uuids) that were opted out. */
  optedOut: ReadonlySet<string>
  /** Why actions wait for a person that could act alone. */
  reasons: ReadonlyMap<Action, WaitingReason>
}

export interface Finding extends LockedNote {
  text: string
  analysis: StoredAnalysis
  analysisId: string
}

/** Confidence below which a person decides. */
const minConfidence = 0.7

/**
 * May the action take effect without a person? Only what stops mail, in the words of the contact, as the rules read
 * them: a model or an injection cannot cause it.
 */
export function actsAlone({ analysis, contactId }: Finding, { type, confidence }: Action): boolean {
  const { engine, intent, suspicious } = analysis
  const isTrusted = engine === 'rules' && !suspicious && contactId !== null && confidence >= minConfidence
  return (
    isTrusted &&
    ((intent === 'opt_out' && type === 'suppress') || (intent === 'out_of_office' && type === 'wait_until'))
  )
}

const recordColumns = { note_id: 'uuid', contact_id: 'uuid', company_id: 'uuid', deal_id: 'uuid' }

export const analysisColumns = {
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

export const suggestionColumns = {
  id: 'uuid',
  ...recordColumns,
  analysis_id: 'uuid',
  intent: 'text',
  engine: 'text',
  type: 'text',
  params: 'jsonb',
  due_at: 'timestamptz',
  due_at_source: 'text',
  priority: 'text',
  confidence: 'double precision',
  evidence: 'jsonb',
  status: 'text',
  decided_at: 'timestamptz',
  result_contact_id: 'uuid',
  import_id: 'uuid',
  waiting_reason: 'text',
}

const recordRow = ({ id, contactId, companyId, dealId }: Finding): JsonObject => ({
  note_id: id,
  contact_id: contactId,
  company_id: companyId,
  deal_id: dealId,
})

export function analysisRow(finding: Finding): JsonObject {
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

export function suggestionRow(finding: Finding, action: Action, { optedOut, reasons }: Effects): JsonObject {
  const { analysis, contactId, importId, text } = finding
  const { type, params, dueAt = null, dueAtSource = null, priority, confidence, evidence } = action
  const waitingReason = reasons.get(action) ?? null
  const isApplied = actsAlone(finding, action) && waitingReason === null
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
    due_at_source: dueAtSource,
    priority,
    confidence,
    evidence: { ...evidence, text: text.slice(evidence.start, evidence.end) },
    status: isApplied ? 'auto_applied' : 'pending',
    decided_at: isApplied ? 'now' : null,
    result_contact_id: isChanged ? contactId : null,
    import_id: importId,
    waiting_reason: waitingReason,
  }
}
