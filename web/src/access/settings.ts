import { queryOptions } from '@tanstack/react-query'

/** What the service offers to people who are not logged in. */
export const loginSettingsQuery = queryOptions({
  queryKey: ['login-settings'],
  queryFn: async () => {
    const response = await fetch('/auth/settings')
    return (await response.json()) as { signUp?: 'open' | 'invite' | 'closed' }
  },
  staleTime: Infinity,
})
