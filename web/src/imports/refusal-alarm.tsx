import { Link } from '@tanstack/react-router'
import { TriangleAlert } from 'lucide-react'
import { useTranslations } from 'use-intl'
import type { Import } from './import-queries.ts'
import styles from './imports.module.css'
import { useTimeOf } from './row-table.tsx'

/** Lists the senders whose pushes are all refused, and why. Omitted if the whole import is refused. */
export function RefusalAlarm({ one }: { one: Import }) {
  const t = useTranslations('imports')
  const timeOf = useTimeOf()
  const { senders } = one.refused
  const known = senders.filter(({ sender }) => sender !== null)
  const shown = known.length > 0 ? known.slice(0, 3) : senders
  if (shown.length === 0) return null
  return (
    <div className={styles.alarm} role="status">
      <TriangleAlert size={16} strokeWidth={1.75} aria-hidden />
      <div>
        {shown.map(({ sender, count, since, message }) => (
          <p key={sender ?? ''}>
            <strong>
              {sender === null
                ? t('allRefused', { count, since: timeOf(since) })
                : t('senderRefused', { sender, count, since: timeOf(since) })}
            </strong>{' '}
            {t('lastReason', { message })}
          </p>
        ))}
        <Link
          to="/imports/$importId"
          params={{ importId: one.id }}
          search={{ show: 'refused' }}
          className={styles.cellLink}
        >
          {t('showRefused')}
        </Link>
      </div>
    </div>
  )
}
