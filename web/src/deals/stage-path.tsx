import { useNow, useTranslations } from 'use-intl'
import type { RecordData } from '../api/schema.ts'
import { durationOf } from '../messages/duration.ts'
import { classes } from '../ui/classes.ts'
import tags from '../ui/tag.module.css'
import { useLostReason } from './lost-reason.tsx'
import { type Deal, stageTint, useDeals, useStages } from './records.ts'
import styles from './stage-path.module.css'
import { useMoveDeal } from './use-move-deal.ts'

/** The stages of the deal's pipeline as a bar; a click on a stage moves the deal there. */
export function StagePath({ record }: { record: RecordData }) {
  const t = useTranslations('deals')
  const sectionTitle = useTranslations('record')
  const now = useNow({ updateInterval: 60_000 })
  const deal = record as unknown as Deal
  const stages = useStages(deal.pipelineId)
  const canMove = useDeals().permissions.update
  const lostReason = useLostReason()
  const move = useMoveDeal(lostReason.ask)
  const current = stages.findIndex(({ id }) => id === deal.stageId)
  const seconds = (now.getTime() - Date.parse(deal.stageChangedAt)) / 1000
  return (
    <>
      <ol className={styles.path} aria-label={sectionTitle('stage')}>
        {stages.map((stage, index) => (
          <li key={stage.id}>
            <button
              type="button"
              data-print
              className={classes(
                styles.stage,
                index < current && stages[current]?.kind !== 'lost' && styles.passed,
                index === current && (stage.kind === 'open' ? styles.current : tags[stageTint(stage)]),
              )}
              aria-current={index === current ? 'step' : undefined}
              disabled={!canMove || index === current}
              onClick={() => void move(deal, stage)}
            >
              <span className="truncate">{stage.name}</span>
            </button>
          </li>
        ))}
      </ol>
      <p className={styles.since}>
        {t('inStageFor', durationOf(seconds))}
        {deal.lostReason !== null && <> · {deal.lostReason}</>}
      </p>
      {lostReason.dialog}
    </>
  )
}
