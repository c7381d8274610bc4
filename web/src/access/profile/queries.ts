import { queryOptions, useSuspenseQuery } from '@tanstack/react-query'
import { api, dataOf, type Schemas, sendAll } from '../../api/client.ts'
import { queryClient } from '../../api/query-client.ts'

export const factorsQuery = queryOptions({
  queryKey: ['me', 'second-factors'],
  queryFn: () => dataOf(api.GET('/v5/me/second-factors')),
})

/** Log-ins at organizations' identity providers that are linked to the account. */
export const identitiesQuery = queryOptions({
  queryKey: ['me', 'identities'],
  queryFn: () => sendAll<Schemas['Identities'][number]>('/v5/me/identities'),
})

export const sessionsQuery = queryOptions({
  queryKey: ['me', 'sessions'],
  queryFn: () => sendAll<Schemas['Sessions'][number]>('/v5/me/sessions'),
})

/** Loads everything that the profile shows, so that it appears at once. */
export const preloadProfile = (): Promise<unknown> =>
  Promise.all([
    queryClient.ensureQueryData(factorsQuery),
    queryClient.ensureQueryData(identitiesQuery),
    queryClient.ensureQueryData(sessionsQuery),
  ])

/** The person's second factors. */
export const useFactors = () => useSuspenseQuery(factorsQuery).data

/** The location of the recovery codes, which are shown once: returned by a first factor and by a new set. */
export type RecoveryCodes = readonly string[] | null
