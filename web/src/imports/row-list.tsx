import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Inbox } from 'lucide-react'
import { useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import { send } from '../api/client.ts'
import { EmptyState, Failure, NoMatch } from '../ui/empty-state.tsx'
import { useTop } from '../ui/use-top.ts'
import { type Import, type Row, rowsQuery } from './import-queries.ts'
import styles from './imports.module.css'
import { RecordLink } from './record-link.tsx'
import { rowStatuses, rowTints, sumOf } from './row-states.ts'
import { OlderRows, RowLine, RowTable, useRowKeys } from './row-table.tsx'

interface RowListProps {
  one: Import
  filters: Record<string, string>
  openId: string | undefined
  onOpen(rowId: string): void
}

/** The rows of an import, newest first. New rows appear automatically, without moving the focus or the visible rows. */
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
  useRowKeys(rows, openId, onOpen)
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
      <RowTable label={t('rowsTitle')} headings={[t('contact'), t('findings')]}>
        <RowLines rows={rows} openId={openId} />
      </RowTable>
      <OlderRows label={t('older')} query={query} />
    </div>
  )
}

function RowLines({ rows, openId }: { rows: readonly Row[]; openId: string | undefined }) {
  const t = useTranslations('imports')
  const names = useContactNames(rows)
  return rows.map((row) => (
    <RowLine
      key={row.id}
      row={row}
      isOpen={row.id === openId}
      state={row.status}
      status={t(`statuses.${row.status}`)}
      tint={rowTints[row.status]}
      who={
        row.contactId !== null && (
          <RecordLink id={row.contactId}>{names?.get(row.contactId) ?? t('showContact')}</RecordLink>
        )
      }
      what={[...new Set([...row.errorCodes, ...row.warningCodes])].map((code) => codeName(t, code)).join(', ')}
    />
  ))
}

type Translate = ReturnType<typeof useTranslations<'imports'>>

/** A short text for a code; codes that this page does not know are shown unchanged. */
export const codeName = (t: Translate, code: string): string =>
  t.has(`codes.${code}` as never) ? t(`codes.${code}` as never) : code

/** The names of the contacts that the rows changed; the previous names stay until the new ones are loaded. */
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
