import { useRef } from 'react'
import { useTranslations } from 'use-intl'
import { send } from '../api/client.ts'
import { askAboutConflict } from '../api/conflict.ts'
import { inTurn, isOutdated } from '../api/edit.ts'
import { ApiError } from '../api/error.ts'
import { queryClient } from '../api/query-client.ts'
import { type RecordData, schemaQuery } from '../api/schema.ts'
import { offerUndo } from '../ui/undo.ts'
import { notify, notifyError } from '../ui/toast.tsx'
import { nestedRecordsQuery } from '../views/nested-records.ts'
import { recordChanged, reportFailure } from '../views/changes.ts'
import { type Deal, type Stage, useDeals } from './records.ts'

/** The body of a move. */
export interface DealMove {
  stageId: string
  afterId?: string | undefined
  beforeId?: string | undefined
  lostReason?: string | undefined
}

/**
 * Moves a deal above or below another one, or to the top if that one has left the stage meanwhile. If somebody else has
 * moved the deal since the person saw it in a stage, the person chooses; if they accept the other move, the deal stays
 * where it is.
 */
export const sendMove = (id: string, move: DealMove, seenStageId: string): Promise<Deal> =>
  inTurn(
    pathOf(id),
    (own) => storeMove(pathOf(id), move, String(own.get('stageId') ?? seenStageId)),
    ({ stageId }) => new Map([['stageId', stageId]]),
  )

/** Moves a deal to the top of a stage. `before` and `above`: where the deal was, so that Undo can put it back. */
export const sendToTop = (
  seen: Deal,
  move: DealMove,
): Promise<{ before: Deal; above: string | undefined; moved: Deal }> =>
  inTurn(
    pathOf(seen.id),
    async (own) => {
      const before = own.has('stageId') ? (await send<Deal>('GET', pathOf(seen.id))).body : seen
      const above = await dealAbove(before)
      return {
        before,
        above,
        moved: await storeMove(pathOf(seen.id), move, String(own.get('stageId') ?? seen.stageId)),
      }
    },
    ({ moved }) => new Map([['stageId', moved.stageId]]),
  )

const pathOf = (id: string): string => `/v5/deals/${id}`

async function dealAbove({ id, stageId }: Deal): Promise<string | undefined> {
  const query = new URLSearchParams({ stageId, orderBy: 'position', sort: 'asc', endingBefore: id, limit: '1' })
  const { body } = await send<Deal[]>('GET', '/v5/deals', { query })
  return body[0]?.id
}

async function storeMove(path: string, move: DealMove, seenStageId: string): Promise<Deal> {
  const { stageId, afterId, beforeId, lostReason } = move
  let seen = seenStageId
  let neighbor: object = afterId === undefined ? { beforeId } : { afterId }
  for (;;) {
    const { body: current, etag } = await send<Deal>('GET', path, { precedesChange: true })
    if (current.stageId !== seen && current.stageId !== stageId) {
      const conflict = { resource: 'deals', path, field: 'stageId', mine: stageId, shown: await stageOf(stageId) }
      const choice = await askAboutConflict({ ...conflict, current: current as unknown as RecordData })
      if (choice === 'theirs') return current
      seen = current.stageId
    }
    try {
      const body = { stageId, ...neighbor, lostReason }
      const once = { idempotencyKey: crypto.randomUUID(), ...(etag !== undefined && { ifMatch: etag }) }
      return (await send<Deal>('POST', `${path}/move`, { body, ...once })).body
    } catch (error) {
      if (isOutdated(error)) continue
      const isNeighbor =
        error instanceof ApiError && error.details.some(({ field }) => /^(?:after|before)Id$/.test(field))
      if (!isNeighbor || Object.keys(neighbor).length === 0) throw error
      neighbor = {}
    }
  }
}

/** The stage to which the person moves the deal. */
async function stageOf(stageId: string): Promise<RecordData | undefined> {
  const schema = await queryClient.ensureQueryData(schemaQuery)
  const stages = schema.find(({ name }) => name === 'stages')
  const nested = await queryClient.ensureQueryData(nestedRecordsQuery(schema, stages))
  return nested.find(({ record }) => record.id === stageId)?.record
}

/** The move that takes a deal back. */
export const backTo = (
  { stageId, lostReason }: Pick<Deal, 'stageId' | 'lostReason'>,
  neighbors: Pick<DealMove, 'afterId' | 'beforeId'> = {},
): DealMove => ({ stageId, ...neighbors, lostReason: lostReason ?? undefined })

/** After a move: updates everything that shows the deal, and offers Undo. */
export function useMoved() {
  const t = useTranslations('deals')
  const list = useTranslations('list')
  const deals = useDeals()
  const undo = async (moved: Deal, back: DealMove) => {
    const title = t('notMoved', { name: moved.name })
    try {
      const { body: current } = await send<Deal>('GET', `/v5/deals/${moved.id}`)
      const isSame = current.stageId === moved.stageId && current.position === moved.position
      if (!isSame) return notifyError(title, list('changedMeanwhile'))
      recordChanged(deals, (await sendMove(moved.id, back, moved.stageId)) as unknown as RecordData)
      notify(t('movedBack', { name: moved.name }))
    } catch (error) {
      reportFailure(title, error)
    }
  }
  return (before: Pick<Deal, 'status' | 'stageId'>, moved: Deal, stage: Stage, back: DealMove): void => {
    recordChanged(deals, moved as unknown as RecordData)
    void queryClient.invalidateQueries({ queryKey: ['deals-of'] })
    const { name } = moved
    const closed = stage.kind === 'open' ? 'reopened' : stage.kind
    const key = before.stageId === stage.id ? 'reordered' : before.status === stage.kind ? 'moved' : closed
    offerUndo(t(key, { name, stage: stage.name }), () => undo(moved, back))
  }
}

/** Runs moves one at a time: each names a neighbour that the previous one may have moved. */
export function useQueue(): <T>(work: () => Promise<T>) => Promise<T> {
  const last = useRef<Promise<unknown>>(Promise.resolve())
  return (work) => {
    const result = last.current.then(work, work)
    last.current = result.catch(() => undefined)
    return result
  }
}
