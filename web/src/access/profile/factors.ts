import { queryOptions, useSuspenseQuery } from '@tanstack/react-query'
import { api, dataOf } from '../../api/client.ts'

export const factorsQuery = queryOptions({
  queryKey: ['me', 'second-factors'],
  queryFn: () => dataOf(api.GET('/v5/me/second-factors')),
})

/** The person's second factors. */
export const useFactors = () => useSuspenseQuery(factorsQuery).data

/** Where the codes come from that are shown once: a first factor and a new set return them. */
export type RecoveryCodes = readonly string[] | null
