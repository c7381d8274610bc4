import { useTranslations } from 'use-intl'
import { Button } from '../ui/button.tsx'
import { CopyField } from '../ui/copy-field.tsx'
import styles from './imports.module.css'

const sample = {
  contact: { email: 'ada@example.com', name: 'Ada Lovelace', note: 'Met at the fair' },
  employment: { title: 'Analyst', seniority: 'SENIOR' },
  company: { name: 'Analytical Engines', domain: 'engines.example' },
}

/** A command that pushes a sample to the URL from any terminal. */
const curlOf = (url: string): string =>
  [`curl '${url}'`, `  --header 'Content-Type: application/json'`, `  --data '${JSON.stringify(sample)}'`].join(' \\\n')

interface TriggerUrlProps {
  url: string
  /** When the previous URL stops working, after a rotation. */
  text: string
  onDone(): void
}

/** The secret URL of an import, shown once, with a command to try it. */
export function TriggerUrl({ url, text, onDone }: TriggerUrlProps) {
  const t = useTranslations('imports')
  const common = useTranslations('common')
  return (
    <section className={styles.secret} aria-labelledby="trigger-url">
      <div className={styles.secretHead}>
        <div className={styles.secretText}>
          <h2 id="trigger-url">{t('urlTitle')}</h2>
          <p className={styles.soft}>{text}</p>
        </div>
        <Button onClick={onDone}>{common('done')}</Button>
      </div>
      <CopyField label={t('url')} value={url} />
      <CopyField label={t('curl')} value={curlOf(url)} />
    </section>
  )
}
