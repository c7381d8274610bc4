import type { Transaction } from '../../platform/database/database.ts'
import { ApiError, type BodyError, invalidBody } from '../../platform/model/errors.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { identifier, join, raw, sql } from '../../platform/model/sql.ts'
import { reachConditions } from '../../platform/records/filter/scope.ts'
import { textOf } from '../../platform/records/page/select.ts'
import { root } from '../../platform/records/filter/target.ts'
import { scopeOf } from '../../platform/records/page/read.ts'
import { changeEventsSql } from '../../platform/records/write/events.ts'
import { syncExternalIds } from '../../platform/records/write/external-ids.ts'
import { standardStore } from '../../platform/records/write/store.ts'
import { idsOf, updateLastActivity } from '../last-activity/store.ts'
import { referable } from '../properties/store.ts'
import { pipelines } from '../pipelines/resource.ts'
import { afterLastMove, insertStageMoves } from '../stage-moves/store.ts'
import type { FoundStage } from '../stages/store.ts'
import { stages } from '../stages/resource.ts'
import { topPositions } from './position-store.ts'
import { movePrimary } from './primary-contact-store.ts'
import { dealContacts, deals } from './resource.ts'
import { isRestored, StageChoice, stageDeleted, stageFor, uuidOf } from './stage-choice.ts'
import type { PendingChange } from '../../platform/records/declare/changes.ts'

export const dealStore = standardStore(deals, () => {
  const choice = new StageChoice()
  return {
    readAhead: (transaction, changes) => choice.readAhead(transaction, changes),
    beforeWrite: (transaction, pending) => beforeWrite(transaction, pending, choice),
    followWrite,
    lookUps: {
      stageId: async (transaction, pending) => {
        const { found } = await choice.find(transaction, pending)
        return new Set(found.map(({ id }) => id))
      },
    },
    referable,
  }
})

/** The contacts of one deal. */
export const dealContactStore = standardStore(dealContacts, {
  changesSiblings: true,
  beforeWrite: (transaction, pending, dealId = '') => movePrimary(transaction, pending, dealId),
})

async function beforeWrite(
  transaction: Transaction,
  pending: readonly PendingChange[],
  choice: StageChoice,
): Promise<void> {
  const missing = pending.filter(({ before, values }) => !before && (values.currency ?? null) === null)
  // Sent together.
  const [currency] = await Promise.all([
    missing.length === 0 ? undefined : choice.currency(transaction),
    assignStages(transaction, pending, choice),
  ])
  if (currency !== undefined) for (const { values } of missing) values.currency = currency
}

/** Puts each new, moved or restored deal into its stage. Throws 422. */
async function assignStages(
  transaction: Transaction,
  pending: readonly PendingChange[],
  choice: StageChoice,
): Promise<void> {
  const { wishes, found } = await choice.find(transaction, pending)
  const errors: BodyError[] = []
  const moved: { change: PendingChange; stage: FoundStage }[] = []
  for (const wish of wishes) {
    const stage = stageFor(wish, found)
    if ('error' in stage && isRestored(wish.change)) throw stageDeleted()
    if ('error' in stage) errors.push(stage.error)
    else if (enterStage(wish.change, stage)) moved.push({ change: wish.change, stage })
  }
  errors.push(...pending.flatMap(lostReasonError))
  if (errors.length > 0) throw invalidBody(errors)
  await assignPositions(transaction, moved)
}

/** Sets what follows from the stage. False if the deal was already in it. */
function enterStage({ before, values, columns }: PendingChange, stage: FoundStage): boolean {
  const stageId = encodeId(stages.idPrefix, stage.id)
  const isMove = before?.stageId !== stageId
  if (!before || before.status !== stage.kind) {
    values.status = stage.kind
    columns.closed_at = stage.kind === 'open' ? null : 'now'
    if (stage.kind !== 'lost' && (before?.lostReason ?? null) !== null && !('lostReason' in values))
      values.lostReason = null
  }
  if (!isMove) return false
  values.stageId = stageId
  values.pipelineId = encodeId(pipelines.idPrefix, stage.pipeline_id)
  columns.stage_changed_at = 'now'
  if (before) columns.last_activity_at = 'now'
  return true
}

function lostReasonError({ before, values }: PendingChange): BodyError[] {
  const status = values.status ?? before?.status
  const isWithoutLoss = (values.lostReason ?? null) !== null && status !== 'lost'
  return isWithoutLoss ? [{ field: 'lostReason', message: 'only a deal in a lost stage has a reason' }] : []
}

/** A deal that enters a stage is at its top, unless the caller chose another position. */
async function assignPositions(
  transaction: Transaction,
  moved: readonly { change: PendingChange; stage: FoundStage }[],
): Promise<void> {
  const unplaced = moved.filter(({ change }) => change.columns.position === undefined)
  const [first, ...others] = unplaced
  if (!first) return
  if (others.length === 0 && first.stage.top_position !== null) {
    first.change.columns.position = first.stage.top_position
    return
  }
  const positions = await topPositions(
    transaction,
    unplaced.map(({ change, stage }) => ({ id: change.id, stageId: stage.id })),
  )
  for (const { change } of unplaced) change.columns.position = positions.get(change.id) ?? '0'
}

function followWrite(transaction: Transaction, pending: readonly PendingChange[]): void {
  const moves = pending.flatMap(({ id, before, values }) =>
    before && values.stageId !== undefined
      ? [
          {
            dealId: id,
            fromStageId: uuidOf(stages, before.stageId) ?? '',
            toStageId: uuidOf(stages, values.stageId) ?? '',
            since: String(before.stageChangedAt),
          },
        ]
      : [],
  )
  insertStageMoves(transaction, moves)
  touchAround(transaction, pending)
  syncExternalIds(transaction, deals, pending)
}

/** A move is activity of the deal's contacts and company too; the deal itself has been written with it. */
function touchAround(transaction: Transaction, pending: readonly PendingChange[]): void {
  const moved = pending.filter(({ before, values }) => before && values.stageId !== undefined)
  if (moved.length === 0) return
  // A company out of the caller's reach reads as null.
  const mayHaveCompany =
    transaction.actor.reach !== undefined ||
    moved.some(({ before, values }) => (values.companyId ?? before?.companyId ?? null) !== null)
  const ids = moved.map(({ id }) => id)
  updateLastActivity(transaction, {
    contactsOfDeals: idsOf(ids),
    companies: mayHaveCompany
      ? sql`select company_id from deals
          where organization_id = ${transaction.organization} and id = any(${ids}::uuid[])`
      : undefined,
  })
}

/**
 * Number of deals in these stages or pipelines (uuids), without deleted ones. Error: 403 if the caller does not see all
 * of them, because nobody changes records that they do not see.
 */
export async function countDealsIn(
  transaction: Transaction,
  column: 'stage_id' | 'pipeline_id',
  ids: readonly string[],
): Promise<number> {
  const bounds = [raw('true'), ...reachConditions(deals, scopeOf(transaction, undefined), raw('deals'))]
  const [found] = await transaction.query<{ count: string; seen: string }>(sql`
    select count(*)::text as count, (count(*) filter (where ${join(bounds, ' and ')}))::text as seen from deals
    where organization_id = ${transaction.organization} and ${identifier(column)} = any(${ids}::uuid[])
      and deleted_at is null`)
  if (found?.count !== found?.seen) {
    throw new ApiError(
      'insufficient_permissions',
      'There are deals that you do not see. Ask somebody who sees all deals to make this change.',
    )
  }
  return Number(found?.count)
}

/** What changes of the deals in `moved`. */
const movedEvents = sql`
  select id, revision, updated_at as at, case when previous_reason is not null and lost_reason is null
      then jsonb_build_array(jsonb_build_object('field', 'lostReason', 'before', previous_reason, 'after', null))
      else '[]' end as changes,
    ${textOf(deals, ['stageId', 'pipelineId', 'status', 'closedAt', 'lostReason', 'position', 'stageChangedAt'])} as "values"
  from moved ${raw(root)}`

/**
 * Moves all deals of a stage (uuid) to the end of another one, which must be locked; with the same one, only their
 * status follows its kind. One statement, because a stage can have more deals than a request can read. Error: 403 if the
 * caller does not see all of them.
 */
export async function moveAllDeals(transaction: Transaction, from: string, to: FoundStage): Promise<void> {
  const { organization, actor } = transaction
  const isMove = from !== to.id
  await countDealsIn(transaction, 'stage_id', [from])
  const [moved] = await transaction.query<{ at: string }>(sql`
    with moving as materialized (
      select id, stage_changed_at, lost_reason from deals
      where organization_id = ${organization} and stage_id = ${from}::uuid and deleted_at is null
      order by id for update),
    place as materialized (
      select coalesce((select max(position) + 1 from deals
          where organization_id = ${organization} and stage_id = ${to.id}::uuid and deleted_at is null), 0)
        - coalesce((select min(position) from deals
          where organization_id = ${organization} and stage_id = ${from}::uuid and deleted_at is null), 0) as distance,
        -- Read once, so that all times come from one clock; not every engine accepts now() inside of case.
        now() as moved_at),
    moved as (
      update deals record set
        stage_id = ${to.id}::uuid,
        pipeline_id = ${to.pipeline_id}::uuid,
        status = ${to.kind}::text,
        closed_at = case when ${to.kind}::text = 'open' then null
          when record.status = ${to.kind}::text then record.closed_at else place.moved_at end,
        lost_reason = case when ${to.kind}::text = 'lost' then record.lost_reason end,
        position = case when ${isMove}::boolean then record.position + place.distance else record.position end,
        stage_changed_at = case when ${isMove}::boolean then place.moved_at else record.stage_changed_at end,
        last_activity_at = case when ${isMove}::boolean then greatest(record.last_activity_at, place.moved_at) else record.last_activity_at end,
        revision = record.revision + 1, updated_at = place.moved_at
      from moving, place
      where record.organization_id = ${organization} and record.id = moving.id
        and (${isMove}::boolean or record.status <> ${to.kind}::text)
      returning record.*, moving.stage_changed_at as entered_at, moving.lost_reason as previous_reason),
    event as (${changeEventsSql(transaction, deals, isMove ? 'moved' : 'updated', movedEvents)}),
    recorded as (
      insert into stage_moves (organization_id, id, deal_id, from_stage_id, from_stage_name, to_stage_id, to_stage_name,
        seconds_in_stage, moved_by_id, created_at)
      select ${organization}, new_id(), moved.id, previous.id, previous.name, ${to.id}::uuid, ${to.name}::text,
        greatest(0, extract(epoch from place.moved_at - moved.entered_at))::integer, ${actor.userId}::uuid,
        ${afterLastMove(transaction, sql`moved.id`)}
      from moved cross join place
        join stages previous on previous.organization_id = ${organization} and previous.id = ${from}::uuid
      where ${isMove}::boolean)
    select moved_at::text as at from place`)
  if (!isMove || !moved) return
  const movedDeals = sql`from deals where organization_id = ${organization}
    and last_activity_at >= ${moved.at}::timestamptz(3) and stage_id = ${to.id}::uuid and deleted_at is null`
  updateLastActivity(transaction, {
    contactsOfDeals: sql`select id ${movedDeals}`,
    companies: sql`select company_id ${movedDeals}`,
  })
}
