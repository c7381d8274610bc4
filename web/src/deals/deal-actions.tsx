import { CircleCheck, CircleX, RotateCcw } from 'lucide-react'
import { useTranslations } from 'use-intl'
import type { RecordData } from '../api/schema.ts'
import { Button } from '../ui/button.tsx'
import { useLostReason } from './lost-reason.tsx'
import { type Deal, useDeals, useStages } from './records.ts'
import { useMoveDeal } from './use-move-deal.ts'

/** Won and Lost for an open deal, Reopen for a closed one. */
export function DealActions({ record }: { record: RecordData }) {
  const t = useTranslations('deals')
  const deal = record as unknown as Deal
  const stages = useStages(deal.pipelineId)
  const lostReason = useLostReason()
  const move = useMoveDeal(lostReason.ask)
  const [open, won, lost] = (['open', 'won', 'lost'] as const).map((kind) => stages.find((one) => one.kind === kind))
  if (!useDeals().permissions.update) return undefined
  const isOpen = deal.status === 'open'
  return (
    <>
      {isOpen && won && (
        <Button icon={CircleCheck} onClick={() => void move(deal, won)}>
          {t('markWon')}
        </Button>
      )}
      {isOpen && lost && (
        <Button icon={CircleX} onClick={() => void move(deal, lost)}>
          {t('markLost')}
        </Button>
      )}
      {!isOpen && open && (
        <Button icon={RotateCcw} onClick={() => void move(deal, open)}>
          {t('reopen')}
        </Button>
      )}
      {lostReason.dialog}
    </>
  )
}
