import { queryOptions } from '@tanstack/react-query'
import type { Schemas } from '../api/client.ts'

/** What the service offers to people who are not logged in. */
export const loginSettingsQuery = queryOptions({
  queryKey: ['login-settings'],
  queryFn: async () => {
    const response = await fetch('/auth/settings')
    return (await response.json()) as Partial<Schemas['LoginSettings']>
  },
  staleTime: Infinity,
})
