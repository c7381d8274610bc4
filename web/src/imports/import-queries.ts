import { type InfiniteData, infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { type Answer, readIfChanged, type Schemas, send } from '../api/client.ts'
import { type Follows, queryClient } from '../api/query-client.ts'

export type Import = Schemas['Import']
export type ImportWithUrl = Schemas['ImportWithTriggerUrl']
export type RotatedImport = Schemas['RotatedImport']
export type ImportValues = Schemas['ImportUpdate']
export type RowDetails = Schemas['ImportRowDetails']
export type Finding = RowDetails['errors'][number]
export type Change = RowDetails['changes'][number]
export type RowStatus = RowDetails['status']
export type Row = Omit<RowDetails, 'payload' | 'parameters' | 'warnings' | 'errors' | 'changes'>

/** Changes of an import, and of what its rows created or changed. */
export const ofImports: Follows = ({ ids }) => ids.some((id) => id.startsWith('imp_'))

/** Milliseconds between refetches of the rows, which have no events: a push appears within two seconds. */
const interval = 1500

const pageSize = 50

/** The query key of everything about imports; invalidated after each change. */
export const importsKey = ['imports'] as const

export const pathOf = (importId: string): string => `/v5/imports/${importId}`
export const rowsPathOf = (importId: string): string => `${pathOf(importId)}/rows`

/** All imports, by name. */
export const importsQuery = queryOptions({
  queryKey: [...importsKey, 'list'],
  queryFn: async ({ signal }) => {
    const imports: Import[] = []
    for (;;) {
      const query = new URLSearchParams({ limit: '100', orderBy: 'name', sort: 'asc' })
      const last = imports.at(-1)
      if (last) query.set('startingAfter', last.id)
      const { body } = await send<Import[]>('GET', '/v5/imports', { query, signal })
      imports.push(...body)
      if (body.length < 100) return imports
    }
  },
  refetchInterval: 10_000,
  meta: { follows: ofImports },
})

/** Sends the entity tag of this query's previous response. */
async function readAgain<T>(key: readonly unknown[], path: string, signal: AbortSignal): Promise<Answer<T>> {
  return readIfChanged<T>(path, new URLSearchParams(), queryClient.getQueryData<Answer<T>>(key), signal)
}

export const importQuery = (importId: string) => {
  const queryKey = [...importsKey, importId, 'import']
  return queryOptions({
    queryKey,
    queryFn: ({ signal }) => readAgain<Import>(queryKey, pathOf(importId), signal),
    refetchInterval: interval,
  })
}

/** One row with its payload; refetched until it is finished. */
export const rowQuery = (importId: string, rowId: string) => {
  const queryKey = [...importsKey, importId, 'row', rowId]
  return queryOptions({
    queryKey,
    queryFn: ({ signal }) => readAgain<RowDetails>(queryKey, `${rowsPathOf(importId)}/${rowId}`, signal),
    refetchInterval: interval,
  })
}

/** The rows that match the filters, newest first. The more pages, the less often they are refetched. */
export const rowsQuery = (importId: string, filters: Readonly<Record<string, string>>) => {
  const queryKey = [...importsKey, importId, 'rows', filters]
  return infiniteQueryOptions({
    queryKey,
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) => {
      const query = new URLSearchParams({ ...filters, limit: String(pageSize) })
      if (pageParam !== '') query.set('startingAfter', pageParam)
      const before = queryClient.getQueryData<InfiniteData<Answer<Row[]>, string>>(queryKey)
      const previous = before?.pages[before.pageParams.indexOf(pageParam)]
      return readIfChanged(rowsPathOf(importId), query, previous, signal)
    },
    getNextPageParam: ({ body }) => (body.length < pageSize ? undefined : body.at(-1)?.id),
    refetchInterval: ({ state }) => interval * Math.max(1, state.data?.pages.length ?? 1),
  })
}

/** When the newest row of an import was pushed; undefined if it has none. */
export const lastPushQuery = (importId: string) =>
  queryOptions({
    queryKey: [...importsKey, importId, 'last push'],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams({ limit: '1', 'select[]': 'createdAt' })
      const { body } = await send<{ createdAt: string }[]>('GET', rowsPathOf(importId), { query, signal })
      return body[0]?.createdAt ?? null
    },
    refetchInterval: 10_000,
    meta: { follows: ({ ids }) => ids.includes(importId) },
  })

/** How many rows of an import match the filters. */
export const rowCountQuery = (importId: string, filters: Readonly<Record<string, string>>) =>
  queryOptions({
    queryKey: [...importsKey, importId, 'count', filters],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams(filters)
      return (await send<{ count: number }>('GET', `${rowsPathOf(importId)}/count`, { query, signal })).body.count
    },
  })

/** Changes an import or its rows, then refetches everything about imports. */
export async function change<T>(path: string, body?: unknown): Promise<T> {
  return changed(await send<T>('POST', path, { body }))
}

/** Refetches everything about imports, then returns the body of the response to a change. */
export async function changed<T>({ body }: Answer<T>): Promise<T> {
  await queryClient.invalidateQueries({ queryKey: importsKey })
  return body
}

/** Deletes an import. Its rows, which the list still shows, are not refetched, because they no longer exist. */
export async function deleteImport(importId: string): Promise<void> {
  await queryClient.cancelQueries({ queryKey: [...importsKey, importId] })
  await send('DELETE', pathOf(importId))
  const { queryKey } = importsQuery
  queryClient.setQueryData(queryKey, (imports) => imports?.filter(({ id }) => id !== importId))
  await queryClient.invalidateQueries({ queryKey })
}
