import { useTranslations } from 'use-intl'
import type { RecordData } from '../api/schema.ts'
import { Markdown } from '../ui/markdown.tsx'
import styles from './tasks.module.css'

/** The texts of a task besides its title. */
export function TaskText({ record: { body } }: { record: RecordData }) {
  const t = useTranslations('tasks')
  if (typeof body !== 'string' || body.trim() === '') return <p className={styles.soft}>{t('noText')}</p>
  return <Markdown text={body} />
}
