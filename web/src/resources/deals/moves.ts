import { useRef } from 'react'
import { useTranslations } from 'use-intl'
import { send } from '../../api/client.ts'
import { ApiError } from '../../api/error.ts'
import { queryClient } from '../../api/query-client.ts'
import type { RecordData } from '../../api/schema.ts'
import { notify, notifyError } from '../../ui/toast.tsx'
import { offerUndo, recordChanged, reportFailure } from '../../views/changes.ts'
import { type Deal, type Stage, useDeals } from './records.ts'

/** The body of a move. */
export interface DealMove {
  stageId: string
  afterId?: string | undefined
  beforeId?: string | undefined
  lostReason?: string | undefined
}

/**
 * Moves a deal next to another one, above it or below. If that one has left the stage meanwhile, the deal moves to the
 * top.
 */
export async function sendMove(id: string, move: DealMove): Promise<Deal> {
  const { stageId, afterId, beforeId, lostReason } = move
  const neighbor = afterId === undefined ? { beforeId } : { afterId }
  const post = async (place: object) =>
    (await send<Deal>('POST', `/v5/deals/${id}/move`, { body: { stageId, ...place, lostReason } })).body
  try {
    return await post(neighbor)
  } catch (error) {
    const isNeighbor =
      error instanceof ApiError && error.details.some(({ field }) => /^(?:after|before)Id$/.test(field))
    if (!isNeighbor) throw error
    return post({})
  }
}

/** The move that takes a deal back to where it was. */
export const backTo = (
  { stageId, lostReason }: Pick<Deal, 'stageId' | 'lostReason'>,
  neighbors: Pick<DealMove, 'afterId' | 'beforeId'> = {},
): DealMove => ({ stageId, ...neighbors, lostReason: lostReason ?? undefined })

/** What follows a move: everything that shows the deal learns of it, and it can be taken back for a while. */
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
      recordChanged(deals, (await sendMove(moved.id, back)) as unknown as RecordData)
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
    offerUndo(t(key, { name, stage: stage.name }), () => void undo(moved, back))
  }
}

/** Runs moves one after the other: each one names a neighbour that the one before may have moved. */
export function useQueue(): <T>(work: () => Promise<T>) => Promise<T> {
  const last = useRef<Promise<unknown>>(Promise.resolve())
  return (work) => {
    const result = last.current.then(work, work)
    last.current = result.catch(() => undefined)
    return result
  }
}
