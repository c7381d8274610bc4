import { Link } from '@tanstack/react-router'
import { useTranslations } from 'use-intl'
import { ReferenceTitle } from '../../views/reference-title.tsx'
import styles from './properties.module.css'

/** A record whose value does not fit a definition. */
export interface Misfit {
  id: string
  message: string
}

interface MisfitsProps {
  resource: string
  /** How many there are. */
  summary: string
  /** The first of them. */
  misfits: readonly Misfit[]
}

/** Which values prevent a definition: each leads to its record, where it can be corrected. */
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
