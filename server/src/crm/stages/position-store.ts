import type { Transaction } from '../../platform/database/database.ts'
import { raw, sql } from '../../platform/model/sql.ts'
import { changeEventsSql } from '../../platform/records/write/events.ts'
import { stages } from './resource.ts'
import type { PendingChange } from '../../platform/records/declare/changes.ts'

/**
 * Moves each stage of the set to its position, one after the other, and shifts the other stages of the pipeline (uuid) as
 * needed, so that positions have no gaps. The pipeline must be locked.
 */
export async function arrangeStages(
  transaction: Transaction,
  pending: readonly PendingChange[],
  pipelineId: string,
): Promise<void> {
  const moving = pending.filter((one) => !one.before || 'position' in one.values || isDeleted(one) || isRestored(one))
  if (moving.length === 0) return
  const { organization } = transaction
  const present = await transaction.query<{ id: string; position: number }>(sql`
    select id, position from stages
    where organization_id = ${organization} and pipeline_id = ${pipelineId}::uuid and deleted_at is null
    order by position, id`)
  const order = present.map(({ id }) => id)
  for (const one of moving) {
    const current = order.indexOf(one.id)
    if (current >= 0) order.splice(current, 1)
    const wanted = one.values.position ?? (isRestored(one) ? one.before?.position : undefined) ?? order.length
    if (!isDeleted(one)) order.splice(Number(wanted), 0, one.id)
  }
  const positions = new Map(order.map((id, position) => [id, position]))
  for (const one of moving) {
    const position = positions.get(one.id)
    if (position !== undefined) one.values.position = position
  }
  const others = present.filter(({ id, position }) => positions.has(id) && positions.get(id) !== position)
  if (others.length === 0) return
  const changed = raw(`select id, null::integer as revision, now() as at, '[]'::jsonb as changes,
      jsonb_build_object('position', position) as "values" from shifted`)
  await transaction.query(sql`
    with shifted as (
      update stages sibling set position = moved.position
      from jsonb_to_recordset(${JSON.stringify(others.map(({ id }) => ({ id, position: positions.get(id) })))}::jsonb)
        as moved(id uuid, position integer)
      where sibling.organization_id = ${organization} and sibling.id = moved.id
      returning sibling.id, sibling.position)
    ${changeEventsSql(transaction, stages, 'updated', changed)}`)
}

const isDeleted = ({ columns }: PendingChange): boolean => typeof columns.deleted_at === 'string'
const isRestored = ({ before, columns }: PendingChange): boolean => before !== undefined && columns.deleted_at === null
