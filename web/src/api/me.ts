import { queryOptions, useSuspenseQuery } from '@tanstack/react-query'
import { api, dataOf } from './client.ts'

export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: () => dataOf(api.GET('/v5/me')),
  staleTime: 60_000,
})

export const organizationQuery = queryOptions({
  queryKey: ['organization'],
  queryFn: () => dataOf(api.GET('/v5/organization')),
  staleTime: 60_000,
})

/** The person who is logged in. */
export const useMe = () => useSuspenseQuery(meQuery).data

/** The current organization. */
export const useOrganization = () => useSuspenseQuery(organizationQuery).data

/** The person's role in the current organization. */
export function useRole(): string {
  const { id } = useOrganization()
  return useMe().organizations.find((organization) => organization.id === id)?.role ?? 'viewer'
}
