import { useQueryClient } from '@tanstack/react-query'
import { useTranslations } from 'use-intl'
import type { RecordData } from '../api/schema.ts'
import { recordChanged, reportFailure } from '../views/changes.ts'
import { backTo, sendToTop, useMoved } from './moves.ts'
import { type Deal, type Stage, useDeals } from './records.ts'
import type { AskReason } from './use-board.ts'

/** Moves a deal to the top of a stage from the deal's own page; asks for the reason if it is lost. */
export function useMoveDeal(askReason: AskReason) {
  const t = useTranslations('deals')
  const queryClient = useQueryClient()
  const afterMove = useMoved()
  const deals = useDeals()
  return async (deal: Deal, stage: Stage): Promise<void> => {
    const answer = stage.kind === 'lost' && deal.status !== 'lost' ? await askReason(deal.name) : {}
    if (!answer) return
    try {
      const { before, above, moved } = await sendToTop(deal, { stageId: stage.id, ...answer })
      // Undo puts the deal back at its place in the column.
      if (moved.stageId === stage.id) afterMove(before, moved, stage, backTo(before, { afterId: above }))
      else recordChanged(deals, moved as unknown as RecordData)
    } catch (error) {
      reportFailure(t('notMoved', { name: deal.name }), error)
      void queryClient.invalidateQueries({ queryKey: ['nested'] })
    }
  }
}
