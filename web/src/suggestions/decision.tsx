import { Link } from '@tanstack/react-router'
import { useTranslations } from 'use-intl'
import { useMe } from '../api/me.ts'
import type { Names } from '../api/names.ts'
import { Time } from '../ui/time.tsx'
import type { Suggestion } from './suggestion-data.ts'
import styles from './suggestions.module.css'

/** The outcome of a suggestion, the person who decided, and a link to what was created or changed. */
export function Decision({ suggestion, names }: { suggestion: Suggestion; names: Names }) {
  const t = useTranslations('suggestions')
  const me = useMe()
  const { status, decidedById, decidedAt, edits } = suggestion
  if (status !== 'accepted' && status !== 'rejected') return <p className={styles.decision}>{t(`states.${status}`)}</p>
  const name = decidedById === me.id ? me.name : (names[decidedById ?? ''] ?? t('someone'))
  const state = status === 'accepted' && edits !== null ? 'edited' : status
  return (
    <p className={styles.decision} data-status={status}>
      <span>{t(`states.${state}`, { name })}</span>
      {decidedAt !== null && <Time value={decidedAt} />}
      {status === 'accepted' && <Result suggestion={suggestion} />}
    </p>
  )
}

function Result({ suggestion: { contactId, ...suggestion } }: { suggestion: Suggestion }) {
  const t = useTranslations('suggestions')
  const results = [
    ['tasks', suggestion.resultTaskId, t('showTask')],
    ['deals', suggestion.resultDealId, t('showDeal')],
    // On the contact's own page, a link to the contact is useless.
    ['contacts', suggestion.resultContactId === contactId ? null : suggestion.resultContactId, t('showContact')],
  ] as const
  return results.map(
    ([resource, id, label]) =>
      id !== null && (
        <Link key={resource} to="/$resource/$recordId" params={{ resource, recordId: id }} className={styles.link}>
          {label}
        </Link>
      ),
  )
}
