import { useQueryClient } from '@tanstack/react-query'
import { useTranslations } from 'use-intl'
import { type Answer, send } from '../../api/client.ts'
import type { RecordData } from '../../api/schema.ts'
import { recordChanged, reportFailure } from '../../views/changes.ts'
import { backTo, sendMove, useMoved } from './moves.ts'
import { type Deal, type Stage, useDeals } from './records.ts'
import type { AskReason } from './use-board.ts'

/** Moves a deal to the top of a stage from its own page; asks for the reason if it is lost. */
export function useMoveDeal(askReason: AskReason) {
  const t = useTranslations('deals')
  const queryClient = useQueryClient()
  const afterMove = useMoved()
  const deals = useDeals()
  return async (deal: Deal, stage: Stage): Promise<void> => {
    const answer = stage.kind === 'lost' && deal.status !== 'lost' ? await askReason(deal.name) : {}
    if (!answer) return
    try {
      // Undo returns it to where it was in its column.
      const above = await dealAbove(deal)
      const moved = await sendMove(deal.id, { stageId: stage.id, ...answer }, deal.stageId)
      if (moved.stageId === stage.id) afterMove(deal, moved, stage, backTo(deal, { afterId: above }))
      else recordChanged(deals, moved as unknown as RecordData)
    } catch (error) {
      reportFailure(t('notMoved', { name: deal.name }), error)
      void queryClient.invalidateQueries({ queryKey: ['nested'] })
    }
  }
}

async function dealAbove({ id, stageId }: Deal): Promise<string | undefined> {
  const query = new URLSearchParams({ stageId, orderBy: 'position', sort: 'asc', endingBefore: id, limit: '1' })
  const { body }: Answer<Deal[]> = await send('GET', '/v5/deals', { query })
  return body[0]?.id
}
