import { queryOptions, useQuery } from '@tanstack/react-query'
import { send } from '../api/client.ts'
import { type RecordData, type ResourceSchema, schemaQuery } from '../api/schema.ts'
import { type Follows, queryClient } from '../api/query-client.ts'
import { recordReads } from './changes.ts'

/** Changes of a record by others, and of what it shows of other records. */
export const followsRecord = (id: string): { follows: Follows; waits: true } => ({
  waits: true,
  follows: ({ recordId, ids, isOwn }, mentions) => (recordId === id ? !isOwn : ids.includes(id) || mentions(recordId)),
})

const recordQuery = (resource: ResourceSchema, id: string) =>
  queryOptions({
    queryKey: ['record', resource.name, id],
    queryFn: ({ signal }) =>
      recordReads.during(async () => (await send<RecordData>('GET', `${resource.path}/${id}`, { signal })).body),
    meta: followsRecord(id),
  })

/** Starts to load a record before its page opens, such as when a person points at a link to it. */
export async function preloadRecord(name: string, id: string): Promise<void> {
  const resources = await queryClient.ensureQueryData(schemaQuery)
  const resource = resources.find((one) => one.name === name)
  if (resource) await queryClient.prefetchQuery(recordQuery(resource, id))
}

/** A record; changes made on this page show at once. */
export const useRecord = (resource: ResourceSchema, id: string) => useQuery(recordQuery(resource, id))
