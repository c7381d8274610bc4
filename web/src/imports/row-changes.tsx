import { useTranslations } from 'use-intl'
import type { Change } from './import-queries.ts'
import styles from './imports.module.css'
import { RecordLink } from './record-link.tsx'

/** The records that a row created or changed, with their old and new values. */
export function RowChanges({ changes }: { changes: readonly Change[] }) {
  const t = useTranslations('imports')
  if (changes.length === 0) return null
  return (
    <section className={styles.part}>
      <h3>{t('changes')}</h3>
      {changes.map((change) => (
        <ChangeTable key={`${change.object} ${change.id} ${change.action}`} change={change} />
      ))}
    </section>
  )
}

function ChangeTable({ change: { object, id, action, before, after } }: { change: Change }) {
  const t = useTranslations('imports')
  const title = t(`changed.${object}.${action}`)
  const fields = Object.entries(after).filter(([, value]) => value !== null && value !== '')
  return (
    <div>
      <p>{object === 'contact' || object === 'company' ? <RecordLink id={id}>{title}</RecordLink> : title}</p>
      {fields.length > 0 && (
        <table className={styles.changed} aria-label={title}>
          <tbody>
            {fields.map(([field, value]) => (
              <tr key={field}>
                <th scope="row">{field}</th>
                <td>
                  {hasValue(before[field]) && <del className={styles.before}>{textOf(before[field])}</del>}{' '}
                  {textOf(value)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  )
}

const hasValue = (value: unknown): boolean => value !== undefined && value !== null && value !== ''

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
