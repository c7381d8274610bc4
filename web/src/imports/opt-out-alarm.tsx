import { Link } from '@tanstack/react-router'
import { TriangleAlert } from 'lucide-react'
import { useTranslations } from 'use-intl'
import { DecideAll } from './decide-opt-outs.tsx'
import type { Import } from './import-queries.ts'
import styles from './imports.module.css'
import { useTimeOf } from './row-table.tsx'

/** Says that opt-outs wait for a person, because anyone who knows the URL can have pushed them. */
export function OptOutAlarm({ one: { id, optOuts } }: { one: Import }) {
  const t = useTranslations('imports')
  const timeOf = useTimeOf()
  const { waiting, since } = optOuts
  if (since === null) return null
  return (
    <div className={styles.alarm} role="status">
      <TriangleAlert size={16} strokeWidth={1.75} aria-hidden />
      <div>
        <p>
          <strong>{t('optOutsWait', { count: waiting, since: timeOf(since) })}</strong> {t('optOutsWaitText')}
        </p>
        <Link to="/suggestions" className={styles.cellLink}>
          {t('decideOptOuts')}
        </Link>
        <DecideAll id={id} waiting={waiting} />
      </div>
    </div>
  )
}
