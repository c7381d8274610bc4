import { useQuery } from '@tanstack/react-query'
import { ArrowRight } from 'lucide-react'
import { useLocale, useTranslations } from 'use-intl'
import { type Schemas, send } from '../../api/client.ts'
import type { RecordData } from '../../api/schema.ts'
import { Failure } from '../../ui/empty-state.tsx'
import { List, ListRow } from '../../ui/page.tsx'
import { Time } from '../../ui/time.tsx'
import { ReferenceTitle } from '../../views/reference-title.tsx'
import sections from '../sections.module.css'
import styles from './deals.module.css'

type StageMove = Required<Schemas['StageMoveSelection']>

/** The stages that a deal has been in, and for how long; the newest move first. */
export function StageHistory({ record }: { record: RecordData }) {
  const t = useTranslations('deals')
  const locale = useLocale()
  const { data, error, refetch } = useQuery({
    // Another move is another history.
    queryKey: ['stage-moves', record.id, record.stageChangedAt],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams({ limit: '100', orderBy: 'createdAt', sort: 'desc' })
      return (await send<StageMove[]>('GET', `/v5/deals/${record.id}/stage-moves`, { query, signal })).body
    },
    placeholderData: (before) => before,
  })
  if (error && !data) return <Failure error={error} onRetry={() => void refetch()} />
  if (data?.length === 0) return <p className={sections.soft}>{t('noMoves')}</p>
  return (
    <List label={t('history')}>
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
