import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { type Schemas, send } from '../api/client.ts'
import { importsKey, pathOf } from './import-queries.ts'

export type RefusedPushDetails = Schemas['RefusedPushDetails']
export type RefusedPush = Omit<RefusedPushDetails, 'body'>

export const refusedPathOf = (importId: string): string => `${pathOf(importId)}/refused-pushes`

const pageSize = 50
/** Milliseconds between refetches; a refused push appears within two seconds. */
const interval = 1500

/** The refused pushes to an import, newest first. */
export const refusedQuery = (importId: string, filters: Readonly<Record<string, string>>) =>
  infiniteQueryOptions({
    queryKey: [...importsKey, importId, 'refused', filters],
    initialPageParam: '',
    queryFn: async ({ pageParam, signal }) => {
      const query = new URLSearchParams({ ...filters, limit: String(pageSize) })
      if (pageParam !== '') query.set('startingAfter', pageParam)
      return (await send<RefusedPush[]>('GET', refusedPathOf(importId), { query, signal })).body
    },
    getNextPageParam: (page) => (page.length < pageSize ? undefined : page.at(-1)?.id),
    refetchInterval: ({ state }) => interval * Math.max(1, state.data?.pages.length ?? 1),
  })

/** One refused push with its body. */
export const refusedPushQuery = (importId: string, id: string) =>
  queryOptions({
    queryKey: [...importsKey, importId, 'refused push', id],
    queryFn: async ({ signal }) =>
      (await send<RefusedPushDetails>('GET', `${refusedPathOf(importId)}/${id}`, { signal })).body,
  })
