import type { Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/model/ids.ts'
import { prepared, type Sql, sql } from '../../platform/model/sql.ts'

/** A move to record; ids are uuids. */
export interface StageMove {
  dealId: string
  fromStageId: string
  toStageId: string
  /** When the deal entered the stage that it leaves, as in the API. */
  since: string
}

/**
 * When a deal, which is locked, moves: after its last move, also if that one is of a transaction that began later, so that
 * the moves of a deal are a chain in the order of their times.
 */
export const afterLastMove = ({ organization }: Transaction, dealId: Sql): Sql => sql`greatest(now(), (
  select max(last.created_at) + interval '1 millisecond' from stage_moves last
  where last.organization_id = ${organization} and last.deal_id = ${dealId}))`

/** Records moves that this transaction makes. The names of the stages are those of today. */
export function insertStageMoves(transaction: Transaction, moves: readonly StageMove[]): void {
  if (moves.length === 0) return
  const { organization, actor } = transaction
  const rows = moves.map(({ dealId, fromStageId, toStageId, since }) => ({
    id: newId(),
    deal_id: dealId,
    from_stage_id: fromStageId,
    to_stage_id: toStageId,
    since,
  }))
  transaction.send(
    prepared(sql`
    insert into stage_moves (organization_id, id, deal_id, from_stage_id, from_stage_name, to_stage_id, to_stage_name,
      seconds_in_stage, moved_by_id, created_at)
    select ${organization}, move.id, move.deal_id, move.from_stage_id, previous.name, move.to_stage_id, entered.name,
      greatest(0, extract(epoch from now() - move.since))::integer, ${actor.userId}::uuid,
      ${afterLastMove(transaction, sql`move.deal_id`)}
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as move(
      id uuid, deal_id uuid, from_stage_id uuid, to_stage_id uuid, since timestamptz)
    join stages previous on previous.organization_id = ${organization} and previous.id = move.from_stage_id
    join stages entered on entered.organization_id = ${organization} and entered.id = move.to_stage_id
    returning id`),
  )
}
