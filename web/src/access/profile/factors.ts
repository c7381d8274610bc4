import { queryOptions, useSuspenseQuery } from '@tanstack/react-query'
import { api, dataOf } from '../../api/client.ts'

export const factorsQuery = queryOptions({
  queryKey: ['me', 'second-factors'],
  queryFn: () => dataOf(api.GET('/v5/me/second-factors')),
})

/** Log-ins at the providers of organizations that are linked with the account. */
export const identitiesQuery = queryOptions({
  queryKey: ['me', 'identities'],
  queryFn: () => dataOf(api.GET('/v5/me/identities')),
})

/** The person's second factors. */
export const useFactors = () => useSuspenseQuery(factorsQuery).data

/** Where the codes come from that are shown once: a first factor and a new set return them. */
export type RecoveryCodes = readonly string[] | null
