import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { ShieldCheck } from 'lucide-react'
import { useTranslations } from 'use-intl'
import { useShortcuts } from '../shell/shortcuts.tsx'
import { Button } from '../ui/button.tsx'
import { EmptyState, Failure, NoMatch } from '../ui/empty-state.tsx'
import { Tag } from '../ui/tag.tsx'
import styles from './imports.module.css'
import { refusedQuery, type RefusedPush } from './refused-queries.ts'
import { useTimeOf } from './row-list.tsx'

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
  const step = (by: 1 | -1) => {
    const next = pushes[pushes.findIndex(({ id }) => id === openId) + by]
    if (next) onOpen(next.id)
  }
  useShortcuts([
    { keys: 'j', label: t('nextRow'), run: () => step(1) },
    { keys: 'k', label: t('previousRow'), run: () => step(-1) },
  ])
  if (query.error && !query.data) return <Failure error={query.error} onRetry={() => void query.refetch()} />
  if (!query.data) return null
  if (pushes.length === 0 && text !== '')
    return <NoMatch onClear={() => void navigate({ to: '.', search: { show: 'refused' } })} />
  if (pushes.length === 0) return <EmptyState icon={ShieldCheck} title={t('refusedNone')} text={t('refusedNoneText')} />
  return (
    <div className={styles.rows}>
      <table className={styles.table} aria-label={t('refusedTitle')}>
        <thead>
          <tr>
            <th scope="col" className={styles.statusColumn}>
              {t('status')}
            </th>
            <th scope="col" className={styles.timeColumn}>
              {t('received')}
            </th>
            <th scope="col">{t('address')}</th>
            <th scope="col" className={styles.wide}>
              {t('reason')}
            </th>
          </tr>
        </thead>
        <tbody>
          {pushes.map((push) => (
            <RefusedRow key={push.id} push={push} isOpen={push.id === openId} />
          ))}
        </tbody>
      </table>
      {query.hasNextPage && (
        <div className={styles.older}>
          <Button isBusy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            {t('olderRefused')}
          </Button>
        </div>
      )}
    </div>
  )
}

function RefusedRow({ push, isOpen }: { push: RefusedPush; isOpen: boolean }) {
  const t = useTranslations('imports')
  const timeOf = useTimeOf()
  const status = t(push.rowId === null ? 'refused' : 'accepted')
  return (
    <tr className={styles.row} data-open={isOpen || undefined} data-refused={push.rowId === null ? 'open' : 'accepted'}>
      <td>
        <Link
          id={push.id}
          to="."
          search={(search: Record<string, unknown>) => ({ ...search, row: push.id })}
          className={styles.rowLink}
          aria-label={`${status}, ${timeOf(push.createdAt)}`}
          activeProps={{}}
          preload={false}
          resetScroll={false}
        >
          <Tag tint={push.rowId === null ? 'red' : 'green'} hasDot>
            {status}
          </Tag>
        </Link>
      </td>
      <td>
        <time dateTime={push.createdAt} className={styles.time}>
          {timeOf(push.createdAt)}
        </time>
      </td>
      <td>{push.email ?? push.sender}</td>
      <td className={`${styles.wide} ${styles.soft}`}>{push.message}</td>
    </tr>
  )
}
