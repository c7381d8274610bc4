import { useQuery } from '@tanstack/react-query'
import { ArrowRight } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { useLocale, useTranslations } from 'use-intl'
import type { RecordData } from '../../api/schema.ts'
import { Failure } from '../../ui/empty-state.tsx'
import { List, ListRow } from '../../ui/page.tsx'
import { Time } from '../../ui/time.tsx'
import { ReferenceTitle } from '../../views/reference-title.tsx'
import sections from '../sections.module.css'
import styles from './deals.module.css'
import { stageMovesQuery } from './section-data.ts'

/** The stages that a deal has been in, and for how long; the newest move first. */
export function StageHistory({ record }: { record: RecordData }) {
  const t = useTranslations('deals')
  const sectionTitle = useTranslations('record')
  const locale = useLocale()
  const { data, error, refetch } = useQuery(stageMovesQuery(record.id))
  const changedAt = record.stageChangedAt
  const shownFor = useRef(changedAt)
  useEffect(() => {
    if (shownFor.current === changedAt) return
    shownFor.current = changedAt
    void refetch()
  }, [changedAt, refetch])
  if (error && !data) return <Failure error={error} onRetry={() => void refetch()} />
  if (data?.length === 0) return <p className={sections.soft}>{t('noMoves')}</p>
  return (
    <List label={sectionTitle('history')}>
      {(data ?? []).map((move) => (
        <ListRow
          key={move.id}
          title={
            <span className={styles.move}>
              {move.fromStageName}
              <ArrowRight size={13} strokeWidth={1.75} aria-label={t('to')} role="img" />
              {move.toStageName}
            </span>
          }
          text={t('stayed', { stage: move.fromStageName, time: showDuration(move.secondsInStage, locale) })}
        >
          <span className={styles.moved}>
            <Time value={move.createdAt} isFocusable />
            {move.movedById !== null && <ReferenceTitle resourceName="members" id={move.movedById} />}
          </span>
        </ListRow>
      ))}
    </List>
  )
}

const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

/** `3 days`: in the largest unit, as people say it. */
export function showDuration(seconds: number, locale: string): string {
  const [unit, size] = units.find((found) => seconds >= found[1]) ?? (['minute', 60] as const)
  const amount = Math.max(1, Math.floor(seconds / size))
  return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(amount)
}
