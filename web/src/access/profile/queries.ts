import { queryOptions, useSuspenseQuery } from '@tanstack/react-query'
import { api, dataOf, type Schemas, sendAll } from '../../api/client.ts'
import { queryClient } from '../../api/query-client.ts'

export const factorsQuery = queryOptions({
  queryKey: ['me', 'second-factors'],
  queryFn: () => dataOf(api.GET('/v5/me/second-factors')),
})

/** Log-ins at the providers of organizations that are linked with the account. */
export const identitiesQuery = queryOptions({
  queryKey: ['me', 'identities'],
  queryFn: () => sendAll<Schemas['Identities'][number]>('/v5/me/identities'),
})

export const sessionsQuery = queryOptions({
  queryKey: ['me', 'sessions'],
  queryFn: () => sendAll<Schemas['Sessions'][number]>('/v5/me/sessions'),
})

/** Loads what the profile shows, so that it appears as a whole. */
export const preloadProfile = (): Promise<unknown> =>
  Promise.all([
    queryClient.ensureQueryData(factorsQuery),
    queryClient.ensureQueryData(identitiesQuery),
    queryClient.ensureQueryData(sessionsQuery),
  ])

/** The person's second factors. */
export const useFactors = () => useSuspenseQuery(factorsQuery).data

/** Where the codes come from that are shown once: a first factor and a new set return them. */
export type RecoveryCodes = readonly string[] | null
