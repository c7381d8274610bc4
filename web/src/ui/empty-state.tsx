import { CircleAlert, Lock, type LucideIcon, SearchX } from 'lucide-react'
import type { ReactNode } from 'react'
import { useTranslations } from 'use-intl'
import { ApiError } from '../api/error.ts'
import { Button } from './button.tsx'
import styles from './empty-state.module.css'

interface EmptyStateProps {
  icon: LucideIcon
  title: string
  text?: ReactNode
  /** Buttons for the next step. */
  children?: ReactNode
}

/** No data yet: says what will be here and offers the next action. */
export function EmptyState({ icon: Icon, title, text, children }: EmptyStateProps) {
  return (
    <div className={styles.empty}>
      <Icon size={28} strokeWidth={1.25} className={styles.icon} aria-hidden />
      <h2>{title}</h2>
      {text !== undefined && <p className={styles.text}>{text}</p>}
      {children !== undefined && <div className={styles.actions}>{children}</div>}
    </div>
  )
}

/** No matches for the filters. */
export function NoMatch({ onClear }: { onClear(): void }) {
  const t = useTranslations('common')
  return (
    <EmptyState icon={SearchX} title={t('noMatch')} text={t('noMatchText')}>
      <Button onClick={onClear}>{t('clearFilters')}</Button>
    </EmptyState>
  )
}

/** No permission, or an error with the request's id and a retry button. */
export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const t = useTranslations('common')
  const isApiError = error instanceof ApiError
  if (isApiError && error.status === 403)
    return <EmptyState icon={Lock} title={t('noPermission')} text={t('noPermissionText')} />
  return (
    <div role="alert">
      <EmptyState
        icon={CircleAlert}
        title={isApiError ? error.title : t('unreachable')}
        text={isApiError ? error.description : t('unreachableText')}
      >
        {onRetry && <Button onClick={onRetry}>{t('tryAgain')}</Button>}
        {isApiError && error.requestId !== undefined && <code className={styles.requestId}>{error.requestId}</code>}
      </EmptyState>
    </div>
  )
}
