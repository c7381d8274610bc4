import type { Transaction } from '../../platform/database/database.ts'
import { prepared, raw, type Sql, sql } from '../../platform/model/sql.ts'
import type { DealStatus } from './resource.ts'

/** A stage as deals need it; ids are uuids. */
export interface FoundStage {
  id: string
  pipeline_id: string
  name: string
  kind: DealStatus
  /** True for the first stage of its pipeline. */
  is_first: boolean
  /** True for the stages of the organization's oldest pipeline. */
  is_default: boolean
  /** A position above all of its deals; null if that was not wanted. */
  top_position: string | null
}

export interface StageQuery {
  ids: readonly string[]
  pipelineIds: readonly string[]
  withDefault: boolean
  withTop: boolean
}

/**
 * A position above all deals of a stage. The random part makes positions of concurrent moves differ, without a lock that
 * would make them wait for each other.
 */
export const topOf = (organization: Sql, stage: Sql): Sql => sql`(
      coalesce((
        select position from deals
        where organization_id = ${organization} and stage_id = ${stage} and deleted_at is null
        order by position limit 1), 0)
      - 1 - round(random()::numeric, 6))`

/**
 * These stages (uuids), the first one of each of these pipelines (uuids) and, if wanted, that of the oldest pipeline.
 * They cannot be changed or deleted until the transaction ends.
 */
export function findStages(
  transaction: Transaction,
  { ids, pipelineIds, withDefault, withTop }: StageQuery,
): Promise<FoundStage[]> {
  const { organization } = transaction
  return transaction.query<FoundStage>(
    prepared(sql`
    with oldest as materialized (
      select id from pipelines where organization_id = ${organization} and deleted_at is null
      order by created_at, id limit 1)
    select stage.id, stage.pipeline_id, stage.name, stage.kind, stage.position = 0 as is_first,
      stage.pipeline_id is not distinct from (select id from oldest) as is_default,
      case when ${withTop}::boolean then ${topOf(organization, raw('stage.id'))}::text end as top_position
    from stages stage
    join pipelines pipeline on pipeline.organization_id = ${organization} and pipeline.id = stage.pipeline_id
      and pipeline.deleted_at is null
    where stage.organization_id = ${organization} and stage.deleted_at is null and (
      stage.id = any(${ids}::uuid[])
      or stage.position = 0 and stage.pipeline_id = any(${pipelineIds}::uuid[])
      or ${withDefault}::boolean and stage.position = 0 and stage.pipeline_id = (select id from oldest))
    order by stage.id for share of stage, pipeline`),
  )
}
