import type { Transaction } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/model/errors.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { sql } from '../../platform/model/sql.ts'
import { standardStore } from '../../platform/records/write/store.ts'
import { countDealsIn, moveAllDeals } from '../deals/store.ts'
import { arrangeStages } from './position-store.ts'
import { findStages } from './store.ts'
import { stages } from './resource.ts'
import type { PendingChange, WrittenRecord } from '../../platform/records/declare/changes.ts'

/** The stages of one pipeline. */
export const stageStore = standardStore(stages, {
  changesSiblings: true,
  async beforeWrite(transaction, pending, pipelineId = '') {
    await arrangeStages(transaction, pending, pipelineId)
    await assertEmpty(transaction, pending)
  },
  afterWrite: updateDeals,
})

/** The stage is locked, and deals that enter it lock it too, so none can be added meanwhile. */
async function assertEmpty(transaction: Transaction, pending: readonly PendingChange[]): Promise<void> {
  const deleted = pending.flatMap(({ id, columns }) => (typeof columns.deleted_at === 'string' ? [id] : []))
  if (deleted.length === 0) return
  const count = await countDealsIn(transaction, 'stage_id', deleted)
  if (count > 0) {
    throw new ApiError(
      'resource_locked',
      `Deals are still in this stage: ${count}. Name another stage for them with moveDealsTo.`,
      {
        details: [{ field: 'moveDealsTo', message: 'expected the id of the stage that the deals move to' }],
      },
    )
  }
}

/** Deals follow the kind of their stage. */
async function updateDeals(
  transaction: Transaction,
  _: readonly WrittenRecord[],
  pending: readonly PendingChange[],
): Promise<void> {
  const changed = pending.filter(({ before, values }) => before !== undefined && values.kind !== undefined)
  if (changed.length === 0) return
  const found = await findStages(transaction, {
    ids: changed.map(({ id }) => id),
    pipelineIds: [],
    withDefault: false,
    withTop: false,
  })
  for (const stage of found) await moveAllDeals(transaction, stage.id, stage)
}

/** Moves all deals of a stage (uuid) to another one (as in the API). False if there is no such other stage. */
export async function emptyStage(transaction: Transaction, stageId: string, targetId: string): Promise<boolean> {
  const target = decodeId(stages.idPrefix, targetId)
  if (target === undefined || target === stageId) return false
  // Locked first, so that no deal enters it after the others have moved.
  await transaction.query(sql`
    select from stages where organization_id = ${transaction.organization} and id = ${stageId}::uuid for update`)
  const [found] = await findStages(transaction, { ids: [target], pipelineIds: [], withDefault: false, withTop: false })
  if (!found) return false
  await moveAllDeals(transaction, stageId, found)
  return true
}
