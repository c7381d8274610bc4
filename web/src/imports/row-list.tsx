import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { Inbox } from 'lucide-react'
import { useRef, useState } from 'react'
import { useFormatter, useNow, useTranslations } from 'use-intl'
import { send } from '../api/client.ts'
import { useShortcuts } from '../shell/shortcuts.tsx'
import { Button } from '../ui/button.tsx'
import { EmptyState, Failure, NoMatch } from '../ui/empty-state.tsx'
import { Tag } from '../ui/tag.tsx'
import { useTop } from '../ui/use-top.ts'
import { type Import, type Row, rowsQuery } from './import-queries.ts'
import styles from './imports.module.css'
import { RecordLink } from './record-link.tsx'
import { rowStatuses, rowTints, sumOf } from './row-states.ts'

interface RowListProps {
  one: Import
  filters: Record<string, string>
  openId: string | undefined
  onOpen(rowId: string): void
}

/** The rows of an import, newest first. New ones appear by themselves and move neither the focus nor what is read. */
export function RowList({ one, filters, openId, onOpen }: RowListProps) {
  const t = useTranslations('imports')
  const navigate = useNavigate()
  const query = useInfiniteQuery({ ...rowsQuery(one.id, filters), placeholderData: keepPreviousData })
  const box = useRef<HTMLDivElement>(null)
  const wanted = JSON.stringify([one.id, filters])
  const [shown, setShown] = useState(wanted)
  if (shown !== wanted && !query.isPlaceholderData) setShown(wanted)
  useTop(box, shown)
  const rows = query.data?.pages.flatMap(({ body }) => body) ?? []
  const step = (by: 1 | -1) => {
    const next = rows[rows.findIndex(({ id }) => id === openId) + by]
    if (next) onOpen(next.id)
  }
  useShortcuts([
    { keys: 'j', label: t('nextRow'), run: () => step(1) },
    { keys: 'k', label: t('previousRow'), run: () => step(-1) },
  ])
  if (query.error && !query.data) return <Failure error={query.error} onRetry={() => void query.refetch()} />
  if (!query.data) return null
  if (rows.length === 0) {
    const hasRows = sumOf(one.stats.counts, rowStatuses) > 0
    if (hasRows || Object.keys(filters).length > 0)
      return <NoMatch onClear={() => void navigate({ to: '.', search: {} })} />
    return <EmptyState icon={Inbox} title={t('waitingTitle')} text={t('waitingText')} />
  }
  return (
    <div ref={box} className={styles.rows}>
      <RowTable rows={rows} openId={openId} />
      {query.hasNextPage && (
        <div className={styles.older}>
          <Button isBusy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            {t('older')}
          </Button>
        </div>
      )}
    </div>
  )
}

function RowTable({ rows, openId }: { rows: readonly Row[]; openId: string | undefined }) {
  const t = useTranslations('imports')
  const names = useContactNames(rows)
  return (
    <table className={styles.table} aria-label={t('rowsTitle')}>
      <thead>
        <tr>
          <th scope="col" className={styles.statusColumn}>
            {t('status')}
          </th>
          <th scope="col" className={styles.timeColumn}>
            {t('received')}
          </th>
          <th scope="col">{t('contact')}</th>
          <th scope="col" className={styles.wide}>
            {t('findings')}
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <RowLine key={row.id} row={row} isOpen={row.id === openId} name={names?.get(row.contactId ?? '')} />
        ))}
      </tbody>
    </table>
  )
}

function RowLine({ row, isOpen, name }: { row: Row; isOpen: boolean; name: string | undefined }) {
  const t = useTranslations('imports')
  const timeOf = useTimeOf()
  const codes = [...new Set([...row.errorCodes, ...row.warningCodes])]
  return (
    <tr className={styles.row} data-open={isOpen || undefined} data-status={row.status}>
      <td>
        <Link
          id={row.id}
          to="."
          search={(search: Record<string, unknown>) => ({ ...search, row: row.id })}
          className={styles.rowLink}
          aria-label={`${t(`statuses.${row.status}`)}, ${timeOf(row.createdAt)}`}
          activeProps={{}}
          preload={false}
          resetScroll={false}
        >
          <Tag tint={rowTints[row.status]} hasDot>
            {t(`statuses.${row.status}`)}
          </Tag>
        </Link>
      </td>
      <td>
        <time dateTime={row.createdAt} className={styles.time}>
          {timeOf(row.createdAt)}
        </time>
      </td>
      <td>{row.contactId !== null && <RecordLink id={row.contactId}>{name ?? t('showContact')}</RecordLink>}</td>
      <td className={`${styles.wide} ${styles.soft}`}>{codes.map((code) => codeName(t, code)).join(', ')}</td>
    </tr>
  )
}

type Translate = ReturnType<typeof useTranslations<'imports'>>

/** A few words about a code; a code that is newer than this page stays as it is. */
export const codeName = (t: Translate, code: string): string =>
  t.has(`codes.${code}` as never) ? t(`codes.${code}` as never) : code

/** The time of today, otherwise the date and time: to the second, because rows arrive quickly. */
export function useTimeOf(): (time: string) => string {
  const format = useFormatter()
  const now = useNow({ updateInterval: 60_000 })
  return (time) => {
    const date = new Date(time)
    const isToday = date.toDateString() === now.toDateString()
    return isToday
      ? format.dateTime(date, { timeStyle: 'medium' })
      : format.dateTime(date, { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit' })
  }
}

/** The names of the contacts that the rows changed; the previous names stay while those of new rows are read. */
function useContactNames(rows: readonly Row[]): ReadonlyMap<string, string> | undefined {
  const ids = [...new Set(rows.flatMap(({ contactId }) => contactId ?? []))].toSorted()
  const { data } = useQuery({
    queryKey: ['contacts', 'names', ids],
    enabled: ids.length > 0,
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    queryFn: async ({ signal }) => {
      const pages = Array.from({ length: Math.ceil(ids.length / 100) }, (_, page) =>
        ids.slice(page * 100, page * 100 + 100),
      )
      const answers = await Promise.all(pages.map((page) => namesOf(page, signal)))
      return new Map(answers.flat())
    },
  })
  return data
}

interface Named {
  id: string
  name: string | null
  email: string | null
}

async function namesOf(ids: readonly string[], signal: AbortSignal): Promise<[string, string][]> {
  const query = new URLSearchParams({ limit: '100', 'filter.id.in': ids.join(',') })
  for (const field of ['id', 'name', 'email']) query.append('select[]', field)
  const { body } = await send<Named[]>('GET', '/v5/contacts', { query, signal })
  return body.map(({ id, name, email }) => [id, name ?? email ?? id])
}
