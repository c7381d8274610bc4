import type { Transaction } from '../../platform/database/database.ts'
import { raw, type Sql, sql } from '../../platform/model/sql.ts'
import { alarmingOptOuts } from '../../intake/imports/resource.ts'
import type { Action } from '../analysis/analysis.ts'
import type { WaitingReason } from '../suggestions/resource.ts'
import type { Finding } from './result-rows.ts'

/** An action that may take effect without a person, of a note on a contact. */
export interface ActingAlone {
  finding: Finding
  action: Action
}

/** What an import may do to contacts. */
interface ImportLimits {
  /** Uuid. */
  id: string
  mayOptOut: boolean
  /** Contacts that it has opted out, or asked to, within an hour; no more than matter are counted. */
  recent: number
  /** Do opt-outs of the last hour wait already? */
  isAlarmed: boolean
}

const lastHour = raw(`created_at > now() - interval '1 hour'`)

/** The imports of these notes, locked, so that two processes do not count at the same time. */
export async function lockImports(
  transaction: Transaction,
  acting: readonly ActingAlone[],
): Promise<readonly ImportLimits[]> {
  const { organization } = transaction
  const ids = [...new Set(acting.flatMap(({ finding: { importId } }) => importId ?? []))]
  if (ids.length === 0) return []
  const ofImport = sql`organization_id = ${organization} and import_id = imports.id`
  // Read by a statement of its own: one that waits for the lock would not see what was stored meanwhile.
  const [, limits] = await Promise.all([
    transaction.query(sql`
      select id from imports where organization_id = ${organization} and id = any(${ids}::uuid[])
      order by id for no key update`),
    transaction.query<ImportLimits>(sql`
      select id, notes_may_opt_out as "mayOptOut",
        (select count(*)::integer from (
          select from suggestions where ${ofImport} and ${lastHour} and type = 'suppress'
            and (status <> 'auto_applied' or result_contact_id is not null)
          limit ${raw(String(alarmingOptOuts))}) counted) as recent,
        exists (select from suggestions where ${ofImport} and ${lastHour} and waiting_reason = 'many_opt_outs')
          as "isAlarmed"
      from imports where organization_id = ${organization} and id = any(${ids}::uuid[])`),
  ])
  return limits
}

export interface HeldBack {
  reasons: ReadonlyMap<Action, WaitingReason>
  /** Imports (uuids) that are to be reported from now on. */
  alarmed: readonly string[]
}

/**
 * The actions of pushed notes that wait for a person. Anyone who knows a URL can push: a decision of a person about the same words
 * stays, and an import opts out only a few contacts within an hour. `open`: the contacts (uuids) that get mail.
 */
export async function findHeldBack(
  transaction: Transaction,
  acting: readonly ActingAlone[],
  { imports, open }: { imports: readonly ImportLimits[]; open: ReadonlySet<string> },
): Promise<HeldBack> {
  const pushed = acting.filter(
    ({ finding, action }) => finding.isPushed && (action.type !== 'suppress' || open.has(finding.contactId ?? '')),
  )
  const decided = await findDecided(transaction, pushed)
  const reasons = new Map<Action, WaitingReason>()
  const counts = new Map(imports.map(({ id, recent }) => [id, recent]))
  const alarmed = new Set<string>()
  const optedOut = new Set<string | null>()
  for (const { finding, action } of pushed) {
    const { importId, contactId } = finding
    const limits = imports.find(({ id }) => id === importId)
    if (decided.has(action)) reasons.set(action, 'decided_before')
    else if (action.type === 'suppress' && limits?.mayOptOut === false) reasons.set(action, 'import_setting')
    else if (action.type === 'suppress' && limits && !optedOut.has(contactId)) {
      const count = counts.get(limits.id) ?? 0
      if (count >= alarmingOptOuts) {
        reasons.set(action, 'many_opt_outs')
        if (!limits.isAlarmed) alarmed.add(limits.id)
      } else {
        counts.set(limits.id, count + 1)
        optedOut.add(contactId)
      }
    }
  }
  return { reasons, alarmed: [...alarmed] }
}

/**
 * Those that a person has decided against before: rejected, or opted in again, which only people and their programs do.
 */
async function findDecided(transaction: Transaction, pushed: readonly ActingAlone[]): Promise<ReadonlySet<Action>> {
  if (pushed.length === 0) return new Set()
  const rows = await transaction.query<{ position: number }>(sql`
    select wanted.position::integer as position
    from unnest(${pushed.map(({ finding }) => finding.contactId)}::uuid[],
      ${pushed.map(({ action }) => action.type)}::text[],
      ${pushed.map(({ finding, action }) => wordsOf(finding, action))}::text[])
      with ordinality wanted (contact_id, type, words, position)
    where exists (
      select from suggestions earlier
      where earlier.organization_id = ${transaction.organization} and earlier.contact_id = wanted.contact_id
        and earlier.type = wanted.type
        and (earlier.status = 'rejected'
          or earlier.type = 'suppress' and earlier.status in ('auto_applied', 'accepted'))
        and ${foldedWords(raw(`earlier.evidence->>'text'`))} = ${foldedWords(raw('wanted.words'))})`)
  return new Set(rows.flatMap(({ position }) => pushed[position - 1]?.action ?? []))
}

const wordsOf = ({ text }: Finding, { evidence }: Action): string => text.slice(evidence.start, evidence.end)

/** Case, accents and the spaces between words make no difference. */
const foldedWords = (text: Sql): Sql => sql`fold(regexp_replace(${text}, '[[:space:]]+', ' ', 'g'))`
