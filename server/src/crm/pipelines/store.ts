import type { CrossTenantConnection, Transaction } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/model/errors.ts'
import { newId } from '../../platform/model/ids.ts'
import { sql } from '../../platform/model/sql.ts'
import { standardStore } from '../../platform/records/write/store.ts'
import { recordFirstRecords } from '../../platform/records/write/events.ts'
import { countDealsIn } from '../deals/store.ts'
import { stages } from '../stages/resource.ts'
import { pipelines } from './resource.ts'
import type { PendingChange } from '../../platform/records/declare/changes.ts'

export const pipelineStore = standardStore(pipelines, { beforeWrite: assertEmpty })

/** Deals need a pipeline. It is locked, and new deals lock it too, so none can be added meanwhile. */
async function assertEmpty(transaction: Transaction, pending: readonly PendingChange[]): Promise<void> {
  const deleted = pending.flatMap(({ id, columns }) => (typeof columns.deleted_at === 'string' ? [id] : []))
  if (deleted.length === 0) return
  const count = await countDealsIn(transaction, 'pipeline_id', deleted)
  if (count > 0) {
    throw new ApiError(
      'resource_locked',
      `Deals are still in this pipeline: ${count}. Move or delete them first; deleting a stage can move all of its deals.`,
    )
  }
}

/** Stages of the pipeline that every organization starts with: name, kind, probability and days until deals rot. */
const firstStages = [
  ['Lead', 'open', 10, 14],
  ['Qualified', 'open', 25, 14],
  ['Proposal', 'open', 50, 21],
  ['Negotiation', 'open', 75, 14],
  ['Won', 'won', 100, null],
  ['Lost', 'lost', 0, null],
] as const

/** Adds the pipeline that a new organization starts with. */
export async function insertFirstPipeline(db: CrossTenantConnection, organizationId: string): Promise<void> {
  const pipelineId = newId()
  const rows = firstStages.map(([name, kind, probability, rottingDays], position) => ({
    id: newId(),
    name,
    kind,
    probability,
    rotting_days: rottingDays,
    position,
  }))
  await db.query(sql`
    insert into pipelines (organization_id, id, name) values (${organizationId}::uuid, ${pipelineId}::uuid, 'Sales')`)
  await db.query(sql`
    insert into stages (organization_id, pipeline_id, id, name, position, kind, probability, rotting_days)
    select ${organizationId}::uuid, ${pipelineId}::uuid, id, name, position, kind, probability, rotting_days
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as stage(
      id uuid, name text, position integer, kind text, probability integer, rotting_days integer)`)
  for (const resource of [pipelines, stages]) await recordFirstRecords(db, organizationId, resource)
}
