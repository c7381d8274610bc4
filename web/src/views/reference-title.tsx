import { useQuery } from '@tanstack/react-query'
import { send } from '../api/client.ts'
import { type RecordData, titleOf, useResource } from '../api/schema.ts'
import { useNestedRecords } from './nested-records.ts'
import { followsRecord } from './use-record.ts'

/**
 * The name of a record, such as a team, an owner or a company, by id; undefined while loading, or if it is unavailable.
 */
export function useReferenceTitle(resourceName: string | undefined, id: string | undefined): string | undefined {
  const resource = useResource(resourceName ?? '')
  const path = resource?.permissions.get === true && !resource.path.includes('{') ? resource.path : undefined
  const { data } = useQuery({
    queryKey: ['record', resourceName, id],
    queryFn: async () => (await send<RecordData>('GET', `${path}/${id}`)).body,
    enabled: path !== undefined && id !== undefined,
    staleTime: 300_000,
    meta: followsRecord(id ?? ''),
  })
  const nested = useNestedRecords(resource?.parent && id !== undefined ? resource : undefined)
  const record = data ?? nested.find((one) => one.record.id === id)?.record
  return resource && record ? titleOf(resource, record) : undefined
}

/** The name of a record by id; the id itself if the name is unavailable. */
export function ReferenceTitle({ resourceName, id }: { resourceName: string | undefined; id: string }) {
  return <span className="truncate">{useReferenceTitle(resourceName, id) ?? id}</span>
}
