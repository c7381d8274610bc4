import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState, useSyncExternalStore } from 'react'
import { useTranslations } from 'use-intl'
import type { RecordFilter } from '../api/record-filter.ts'
import type { CardPosition } from '../ui/board/board-model.ts'
import { reportFailure } from '../views/changes.ts'
import { type BoardData, boardFor } from './board-data.ts'
import { backTo, sendMove, useMoved, useQueue } from './moves.ts'
import type { Stage } from './records.ts'

/** The deals for these stages and filters. While others load, the previous ones stay: `isStale`. */
export function useBoardData(stages: readonly Stage[], filter: RecordFilter) {
  const wanted = boardFor(stages, filter)
  const [shown, setShown] = useState(wanted)
  useSyncExternalStore(wanted.subscribe, () => wanted.version)
  useSyncExternalStore(shown.subscribe, () => shown.version)
  useEffect(() => wanted.refresh(), [wanted])
  const isReady = wanted.isReady
  if (isReady && shown !== wanted) setShown(wanted)
  return { data: isReady ? wanted : shown, isStale: !isReady && shown !== wanted }
}

/** Asks why a deal is lost; resolves to undefined if the person cancels. */
export type AskReason = (name: string) => Promise<{ lostReason?: string } | undefined>

/** Moves a deal on the screen at once, and back if the service refuses. */
export function useMoveOnBoard(data: BoardData, stages: readonly Stage[], askReason: AskReason) {
  const t = useTranslations('deals')
  const queryClient = useQueryClient()
  const afterOthers = useQueue()
  const afterMove = useMoved()
  return async (id: string, to: CardPosition): Promise<void> => {
    const stage = stages.find((one) => one.id === to.columnId)
    const former = stage && data.place(id, to)
    if (!stage || !former) return
    const { deal: before, ...neighbors } = former
    // The neighbours that the person saw; they may differ when it is this move's turn.
    const target = data.neighborsOf(id)
    const isLoss = stage.kind === 'lost' && before.status !== 'lost'
    const answer = isLoss ? await askReason(before.name) : {}
    if (!answer) return data.putBack(former)
    await afterOthers(async () => {
      try {
        const moved = await sendMove(id, { stageId: stage.id, ...target, ...answer }, before.stageId)
        data.confirm(moved)
        // Somebody else has moved the deal, and the person accepted that.
        if (moved.stageId !== stage.id) return
        afterMove(before, moved, stage, backTo(before, neighbors))
      } catch (error) {
        data.putBack(former)
        reportFailure(t('notMoved', { name: before.name }), error)
        // The board may be out of date, because a stage or a deal was deleted.
        void queryClient.invalidateQueries({ queryKey: ['nested'] })
        void data.reload()
      }
    })
  }
}
