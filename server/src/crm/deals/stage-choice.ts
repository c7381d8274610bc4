import type { Transaction } from '../../platform/database/database.ts'
import { ApiError, type BodyError } from '../../platform/model/errors.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { readDefaultCurrency } from '../../identity/organizations/store.ts'
import { pipelines } from '../pipelines/resource.ts'
import { findStages, type FoundStage, type StageQuery } from '../stages/store.ts'
import { stages } from '../stages/resource.ts'
import type { Change, PendingChange } from '../../platform/records/declare/changes.ts'
import type { JsonValue } from '../../platform/model/json.ts'

/** Where a change sends a deal (uuids), before the database has been asked. */
export interface Wish {
  change: PendingChange
  stageId: string | undefined
  pipelineId: string | undefined
}

interface Wanted {
  wishes: readonly Wish[]
  found: readonly FoundStage[]
}

/** What a set of changes to deals needs besides them: the stages, and the default currency. */
export class StageChoice {
  #asked: { query: StageQuery; found: Promise<FoundStage[]> } | undefined
  #currency: Promise<string> | undefined
  #wanted: Promise<Wanted> | undefined

  /** Asks for what follows from the changes alone. */
  async readAhead(transaction: Transaction, changes: readonly Change[]): Promise<void> {
    const created = changes.filter(({ kind }) => kind === 'create')
    const query = queryOf(
      changes.flatMap((change) => {
        const [stageId, pipelineId] = [
          uuidOf(stages, change.values.stageId),
          uuidOf(pipelines, change.values.pipelineId),
        ]
        return stageId !== undefined || pipelineId !== undefined || change.kind === 'create'
          ? [{ stageId, pipelineId }]
          : []
      }),
      changes.length === 1 && !changes[0]?.columns,
    )
    if (created.some(({ values }) => (values.currency ?? null) === null))
      this.#currency = readDefaultCurrency(transaction)
    if (query) this.#asked = { query, found: findStages(transaction, query) }
    await Promise.all([this.#currency, this.#asked?.found])
  }

  /** The default currency. */
  currency(transaction: Transaction): Promise<string> {
    return (this.#currency ??= readDefaultCurrency(transaction))
  }

  /** Where the changes send deals, and the stages for that. */
  find(transaction: Transaction, pending: readonly PendingChange[]): Promise<Wanted> {
    return (this.#wanted ??= this.#find(transaction, pending))
  }

  async #find(transaction: Transaction, pending: readonly PendingChange[]): Promise<Wanted> {
    const wishes = pending.flatMap((change) => wishOf(change) ?? [])
    const query = queryOf(wishes, wishes.length === 1)
    if (!query) return { wishes, found: [] }
    const asked = this.#asked
    return {
      wishes,
      found: await (asked && includes(asked.query, query) ? asked.found : findStages(transaction, query)),
    }
  }
}

/** Undefined if no stage is needed. */
function queryOf(wishes: readonly Pick<Wish, 'stageId' | 'pipelineId'>[], withTop: boolean): StageQuery | undefined {
  if (wishes.length === 0) return undefined
  return {
    ids: wishes.flatMap(({ stageId }) => stageId ?? []),
    pipelineIds: wishes.flatMap(({ pipelineId }) => pipelineId ?? []),
    withDefault: wishes.some(({ stageId, pipelineId }) => stageId === undefined && pipelineId === undefined),
    withTop,
  }
}

const includes = (asked: StageQuery, wanted: StageQuery): boolean =>
  wanted.ids.every((id) => asked.ids.includes(id)) &&
  wanted.pipelineIds.every((id) => asked.pipelineIds.includes(id)) &&
  (asked.withDefault || !wanted.withDefault)

/** Undefined if the change leaves the deal where it is. */
function wishOf(change: PendingChange): Wish | undefined {
  const { before, values, columns } = change
  const [stageId, pipelineId] = [textOf(columns.stage_id), textOf(columns.pipeline_id)]
  // The columns only carry the sent ids here; the fields set them.
  delete columns.stage_id
  delete columns.pipeline_id
  if (!before) return { change, stageId, pipelineId }
  if (isRestored(change)) {
    // Empty if it reads as null, because the stage or the pipeline is deleted.
    const [stage, pipeline] = [uuidOf(stages, before.stageId), uuidOf(pipelines, before.pipelineId)]
    if (stage === undefined || pipeline === undefined) throw stageDeleted()
    return { change, stageId: stage, pipelineId: pipeline }
  }
  return 'stageId' in values || 'pipelineId' in values ? { change, stageId, pipelineId } : undefined
}

export const isRestored = ({ before, columns }: PendingChange): boolean =>
  before !== undefined && columns.deleted_at === null

export const stageDeleted = (): ApiError =>
  new ApiError('resource_locked', 'The stage of this deal, or its pipeline, is deleted. Restore that first.')

const textOf = (value: JsonValue | undefined): string | undefined => (typeof value === 'string' ? value : undefined)

export const uuidOf = ({ idPrefix }: { idPrefix: string }, id: JsonValue | undefined): string | undefined =>
  decodeId(idPrefix, String(id))

/** The stage that a deal enters. */
export function stageFor(
  { stageId, pipelineId }: Wish,
  found: readonly FoundStage[],
): FoundStage | { error: BodyError } {
  if (stageId !== undefined) {
    const stage = found.find(({ id }) => id === stageId)
    if (!stage) return { error: { field: 'stageId', message: 'no stage with this id exists' } }
    return pipelineId === undefined || stage.pipeline_id === pipelineId
      ? stage
      : { error: { field: 'stageId', message: 'is not a stage of this pipeline' } }
  }
  const first = found.find(
    (stage) => stage.is_first && (pipelineId === undefined ? stage.is_default : stage.pipeline_id === pipelineId),
  )
  if (first) return first
  return pipelineId === undefined
    ? {
        error: {
          field: 'stageId',
          message: 'the oldest pipeline has no stage, or there is no pipeline; name a stage or add one first',
        },
      }
    : { error: { field: 'pipelineId', message: 'has no stage; add one first' } }
}
