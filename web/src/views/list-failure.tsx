import { FilterX } from 'lucide-react'
import { useTranslations } from 'use-intl'
import { ApiError } from '../api/error.ts'
import { Button } from '../ui/button.tsx'
import { EmptyState, Failure } from '../ui/empty-state.tsx'

interface ListFailureProps {
  error: unknown
  onRetry(): void
  onClear(): void
}

/** Why a list cannot be shown. A refused filter can be cleared; everything else can be retried. */
export function ListFailure({ error, onRetry, onClear }: ListFailureProps) {
  const isRefused = error instanceof ApiError && (error.status === 400 || error.status === 422)
  if (!isRefused || error.details.length === 0) return <Failure error={error} onRetry={onRetry} />
  return (
    <InvalidFilter
      text={error.details.map(({ field, message }) => `${field}: ${message}`).join('\n')}
      onClear={onClear}
    />
  )
}

/** Shown instead of the records: showing other records would be wrong. */
export function InvalidFilter({ text, onClear }: { text: string; onClear(): void }) {
  const t = useTranslations('filters')
  const common = useTranslations('common')
  return (
    <div role="alert">
      <EmptyState icon={FilterX} title={t('invalid')} text={text}>
        <Button onClick={onClear}>{common('clearFilters')}</Button>
      </EmptyState>
    </div>
  )
}
