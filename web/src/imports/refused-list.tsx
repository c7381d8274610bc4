import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { ShieldCheck } from 'lucide-react'
import { useTranslations } from 'use-intl'
import { EmptyState, Failure, NoMatch } from '../ui/empty-state.tsx'
import styles from './imports.module.css'
import { refusedQuery } from './refused-queries.ts'
import { OlderRows, RowLine, RowTable, useRowKeys } from './row-table.tsx'

interface RefusedListProps {
  importId: string
  query: string
  openId: string | undefined
  onOpen(id: string): void
}

/** The refused pushes to an import, newest first. */
export function RefusedList({ importId, query: text, openId, onOpen }: RefusedListProps) {
  const t = useTranslations('imports')
  const navigate = useNavigate()
  const filters: Record<string, string> = text === '' ? {} : { query: text }
  const query = useInfiniteQuery({ ...refusedQuery(importId, filters), placeholderData: keepPreviousData })
  const pushes = query.data?.pages.flat() ?? []
  useRowKeys(pushes, openId, onOpen)
  if (query.error && !query.data) return <Failure error={query.error} onRetry={() => void query.refetch()} />
  if (!query.data) return null
  if (pushes.length === 0 && text !== '')
    return <NoMatch onClear={() => void navigate({ to: '.', search: { show: 'refused' } })} />
  if (pushes.length === 0) return <EmptyState icon={ShieldCheck} title={t('refusedNone')} text={t('refusedNoneText')} />
  return (
    <div className={styles.rows}>
      <RowTable label={t('refusedTitle')} headings={[t('address'), t('reason')]}>
        {pushes.map((push) => (
          <RowLine
            key={push.id}
            row={push}
            isOpen={push.id === openId}
            {...(push.rowId === null
              ? { state: 'refused', status: t('refused'), tint: 'red' }
              : { state: 'accepted', status: t('accepted'), tint: 'green' })}
            who={push.email ?? push.sender}
            what={push.message}
          />
        ))}
      </RowTable>
      <OlderRows label={t('olderRefused')} query={query} />
    </div>
  )
}
