import type { Connection } from '../../platform/database/database.ts'
import { prepared, raw, sql } from '../../platform/model/sql.ts'
import { andWithinReach } from '../../platform/records/filter/scope.ts'
import { scopeOf } from '../../platform/records/page/read.ts'
import { deals } from './resource.ts'

/**
 * A position above all other deals for each of these deals in its stage (uuids), the last one at the top. The random
 * part makes positions of concurrent moves differ, without a lock that would make them wait for each other.
 */
export async function topPositions(
  db: Connection,
  moves: readonly { id: string; stageId: string }[],
): Promise<Map<string, string>> {
  const rows = await db.query<{ id: string; position: string }>(
    prepared(sql`
    select move.id, (
      coalesce((
        select position from deals
        where organization_id = ${db.organization} and stage_id = move.stage_id and deleted_at is null
        order by position limit 1), 0)
      - move.number - round(random()::numeric, 6))::text as position
    from rows from (jsonb_to_recordset(${JSON.stringify(moves.map(({ id, stageId }) => ({ id, stage_id: stageId })))}::jsonb)
      as (id uuid, stage_id uuid)) with ordinality as move(id, stage_id, number)`),
  )
  return new Map(rows.map(({ id, position }) => [id, position]))
}

/** Where a deal moves to: directly below (`after`) or above (`before`) another deal (uuid). */
export interface Neighbor {
  side: 'after' | 'before'
  id: string
}

/** The stage (uuid) of the neighbor and the position next to it, between it and the next deal on that side. */
export async function positionNextTo(
  db: Connection,
  movedId: string,
  { side, id }: Neighbor,
): Promise<{ stage_id: string; position: string } | undefined> {
  const others = sql`select other.position from deals other
    where other.organization_id = ${db.organization} and other.stage_id = neighbor.stage_id
      and other.deleted_at is null and other.id <> ${movedId}::uuid`
  // A product is exact, a quotient is rounded: there is always a number between two others.
  const position =
    side === 'after'
      ? sql`coalesce((neighbor.position + (${others} and other.position > neighbor.position
          order by other.position limit 1)) * 0.5, neighbor.position + 1)`
      : sql`coalesce((neighbor.position + (${others} and other.position < neighbor.position
          order by other.position desc limit 1)) * 0.5, neighbor.position - 1)`
  const [found] = await db.query<{ stage_id: string; position: string }>(
    prepared(sql`
    select neighbor.stage_id, trim_scale(${position})::text as position from deals neighbor
    where neighbor.organization_id = ${db.organization} and neighbor.id = ${id}::uuid
      and neighbor.id <> ${movedId}::uuid and neighbor.deleted_at is null
      ${andWithinReach(deals, scopeOf(db, undefined), raw('neighbor'))}`),
  )
  return found
}
