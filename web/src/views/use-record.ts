import { queryOptions, useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { send } from '../api/client.ts'
import type { RecordData, ResourceSchema } from '../api/schema.ts'
import { queryClient } from '../api/query-client.ts'
import { onRecordChanged } from './changes.ts'

export const recordQuery = (resource: ResourceSchema, id: string) =>
  queryOptions({
    queryKey: ['record', resource.name, id],
    queryFn: async ({ signal }) => (await send<RecordData>('GET', `${resource.path}/${id}`, { signal })).body,
  })

/** One record; changes made on this page show at once. */
export function useRecord(resource: ResourceSchema, id: string) {
  useEffect(
    () =>
      onRecordChanged((name, record) => {
        if (name === resource.name && record.id === id) queryClient.setQueryData(['record', name, id], record)
      }),
    [resource.name, id],
  )
  return useQuery(recordQuery(resource, id))
}
