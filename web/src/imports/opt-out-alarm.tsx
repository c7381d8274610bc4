import { Link } from '@tanstack/react-router'
import { TriangleAlert } from 'lucide-react'
import { useTranslations } from 'use-intl'
import { DecideAll } from './decide-opt-outs.tsx'
import type { Import } from './import-queries.ts'
import styles from './imports.module.css'
import { useTimeOf } from './row-table.tsx'

/** Warns that opt-outs need a person's decision, because anyone who knows the URL can push them. */
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
