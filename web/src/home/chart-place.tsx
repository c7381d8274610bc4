import { useTranslations } from 'use-intl'
import styles from './home.module.css'

/** Keeps the place of a chart that is not there yet. */
export function ChartPlace() {
  const t = useTranslations('common')
  return (
    <div className={styles.place} role="status">
      <span className="visually-hidden">{t('loading')}</span>
    </div>
  )
}

/** As many as there will be panels, so that none of them moves another to a different column. */
export const ChartPlaces = ({ count }: { count: number }) =>
  Array.from({ length: count }, (_, at) => <ChartPlace key={at} />)
