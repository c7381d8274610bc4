import { useTranslations } from 'use-intl'
import styles from './home.module.css'

/** Reserves the space of a chart that is not loaded yet. */
export function ChartPlaceholder() {
  const t = useTranslations('common')
  return (
    <div className={styles.place} role="status">
      <span className="visually-hidden">{t('loading')}</span>
    </div>
  )
}
