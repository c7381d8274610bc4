import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useTranslations } from 'use-intl'
import { nextCursor, send } from '../api/client.ts'
import { ofResources } from '../live/refetch.ts'
import { Loading } from '../ui/states.tsx'
import { Button } from '../ui/button.tsx'
import { Failure } from '../ui/empty-state.tsx'
import styles from './settings.module.css'

/** The query key of a list or record: for `/v5/teams/tea_1/members`, ['teams', 'tea_1', 'members']. */
const keyOfPath = (path: string): readonly string[] => path.split('/').slice(2)

/** Whose changes a page of the settings shows. The other records of settings have no events. */
const eventsOf: Readonly<Record<string, readonly string[]>> = {
  teams: ['team'],
  pipelines: ['pipeline', 'stage'],
  webhooks: ['webhook'],
}
export const followsSection = (section: string) => ({ follows: ofResources(...(eventsOf[section] ?? [])) })

interface PagesOptions<T> {
  pageSize?: number
  /** Milliseconds until the next refetch of these records, for a list that changes without events. */
  refetchInterval?(records: readonly T[]): number
}

/** Refetching reads all pages so far, so a long list is refetched less often. */
const secondsPerPage = 2

/** A list of the API, page by page. */
export function usePages<T>(
  path: string,
  query: Readonly<Record<string, string>> = {},
  { pageSize = 25, refetchInterval }: PagesOptions<T> = {},
) {
  return useInfiniteQuery({
    queryKey: [...keyOfPath(path), query],
    queryFn: async ({ pageParam, signal }) => {
      const parameters = new URLSearchParams({ ...query, limit: String(pageSize), ...pageParam })
      const { body, link } = await send<T[]>('GET', path, { query: parameters, signal })
      return { records: body, next: nextCursor(link) }
    },
    placeholderData: keepPreviousData,
    meta: followsSection(keyOfPath(path)[0] ?? ''),
    refetchInterval: ({ state: { data } }) => {
      if (!refetchInterval || !data) return false
      const records = data.pages.flatMap((page) => page.records)
      return Math.max(refetchInterval(records), (data.pages.length - 1) * secondsPerPage * 1000)
    },
    initialPageParam: {} as Record<string, string>,
    getNextPageParam: ({ next }) => (next === undefined ? undefined : { startingAfter: next }),
  })
}

export type Pages<T> = ReturnType<typeof usePages<T>>

/** The records of all pages so far. */
export const recordsOf = <T,>(pages: Pages<T>): readonly T[] =>
  pages.data?.pages.flatMap(({ records }) => records) ?? []

interface PagedProps<T> {
  pages: Pages<T>
  /** Shown if the list is empty. */
  empty: ReactNode
  children(records: readonly T[]): ReactNode
}

/** The records of all loaded pages with a button for the next one, or the state: loading, failed or empty. */
export function Paged<T>({ pages, empty, children }: PagedProps<T>) {
  const t = useTranslations('settings')
  if (pages.isPending) return <Loading />
  if (pages.error && !pages.data) return <Failure error={pages.error} onRetry={() => void pages.refetch()} />
  const records = recordsOf(pages)
  if (records.length === 0) return <div className={styles.empty}>{empty}</div>
  return (
    <>
      {children(records)}
      {pages.hasNextPage && (
        <div className={styles.more}>
          <Button isBusy={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
            {t('loadMore')}
          </Button>
        </div>
      )}
    </>
  )
}
