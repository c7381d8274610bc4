import { useTranslations } from 'use-intl'
import { Button } from '../ui/button.tsx'
import styles from './list.module.css'

/** Shown above the list of deleted records: how long they can be restored, and a link back. */
export function DeletedNotice({ days, onClose }: { days: number | null; onClose(): void }) {
  const t = useTranslations('list')
  return (
    <div className={styles.notice}>
      <span>{days !== null && t('deletedNotice', { days })}</span>
      <span className={styles.spring} />
      <Button onClick={onClose}>{t('hideDeleted')}</Button>
    </div>
  )
}
