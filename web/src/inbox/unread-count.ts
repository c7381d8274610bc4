import { queryOptions } from '@tanstack/react-query'
import { send } from '../api/client.ts'
import { ofResources } from '../live/refetch.ts'

export const inboxKey = ['inbox'] as const

export const followsInbox = { follows: ofResources('inbox'), waits: true }

/** The number of unread entries; the service counts at most 100. */
export const unreadCountQuery = queryOptions({
  queryKey: [...inboxKey, 'count'],
  queryFn: async ({ signal }) => (await send<{ unread: number }>('GET', '/v5/inbox/counts', { signal })).body.unread,
  meta: followsInbox,
})
