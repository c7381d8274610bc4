import { queryOptions } from '@tanstack/react-query'
import { type Schemas, send } from '../api/client.ts'
import { queryClient } from '../api/query-client.ts'
import { schemaQuery } from '../api/schema.ts'
import { about } from '../live/refetch.ts'
import { nestedRecordsQuery } from '../views/nested-records.ts'

export type DealContact = Schemas['DealContact']

const pageSize = '100'

export const dealContactsQuery = (dealId: string) =>
  queryOptions({
    queryKey: ['deal-contacts', dealId],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams({ limit: pageSize, orderBy: 'createdAt', sort: 'asc' })
      return (await send<DealContact[]>('GET', `/v5/deals/${dealId}/contacts`, { query, signal })).body
    },
    meta: { follows: about(dealId, 'deal-contact', 'contact') },
  })

/** Loads what the sections of a deal show, so that they appear together. Each section shows its own failure. */
export async function loadSections(dealId: string): Promise<void> {
  const schema = await queryClient.ensureQueryData(schemaQuery)
  const stages = schema.find(({ name }) => name === 'stages')
  await Promise.all([
    queryClient.prefetchQuery(dealContactsQuery(dealId)),
    queryClient.prefetchQuery(nestedRecordsQuery(schema, stages)),
  ])
}
