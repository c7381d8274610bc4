import { queryOptions } from '@tanstack/react-query'
import { send } from '../api/client.ts'
import { byOthers, ofResources } from '../live/refetch.ts'

/** The query key of suggestions and analyses next to their notes; refetched after each decision. */
export const suggestionsKey = ['suggestions'] as const

export const pending = { status: 'pending' } as const

export const followsSuggestions = { follows: byOthers(ofResources('suggestion')) }

/** The number of pending suggestions. */
export const pendingCountQuery = queryOptions({
  queryKey: [...suggestionsKey, 'count'],
  queryFn: async ({ signal }) => {
    const query = new URLSearchParams(pending)
    return (await send<{ count: number }>('GET', '/v5/suggestions/count', { query, signal })).body.count
  },
  meta: followsSuggestions,
})
