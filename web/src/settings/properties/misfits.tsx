import { Link } from '@tanstack/react-router'
import { useTranslations } from 'use-intl'
import type { Schemas } from '../../api/client.ts'
import { ReferenceTitle } from '../../views/reference-title.tsx'
import styles from './properties.module.css'

/** The existing values at a definition's key, and the ones that do not fit it. */
export type Check = Schemas['PropertyCheck']

const maxShownLength = 100

/** The result of a check, in the language of the page. */
export function CheckMisfits({ resource, check }: { resource: string; check: Check }) {
  const t = useTranslations('properties')
  const misfits = check.records.map(({ id, value, reason }) => ({
    id,
    message: t(`misfitReasons.${reason}`, { value: shorten(JSON.stringify(value)) }),
  }))
  const summary = t('unfitSummary', { unfit: check.unfit, duplicates: check.duplicates })
  return <Misfits resource={resource} summary={summary} misfits={misfits} />
}

interface MisfitsProps {
  resource: string
  /** Their number, as a sentence. */
  summary: string
  /** The first ones. */
  misfits: readonly { id: string; message: string }[]
}

/** The values that prevent a definition; each links to its record, where it can be corrected. */
export function Misfits({ resource, summary, misfits }: MisfitsProps) {
  const t = useTranslations('properties')
  return (
    <div role="alert" className={styles.misfits}>
      <p>{summary}</p>
      <ul aria-label={t('misfits')}>
        {misfits.map(({ id, message }) => (
          <li key={`${id} ${message}`}>
            <Link to="/$resource/$recordId" params={{ resource, recordId: id }} target="_blank">
              <ReferenceTitle resourceName={resource} id={id} />
            </Link>
            <span>{message}</span>
          </li>
        ))}
      </ul>
    </div>
  )
}

const shorten = (text: string): string => (text.length > maxShownLength ? `${text.slice(0, maxShownLength)}…` : text)
