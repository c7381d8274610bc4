import { useQuery } from '@tanstack/react-query'
import { send } from '../api/client.ts'
import { type RecordData, titleOf, useResource } from '../api/schema.ts'
import { useNestedRecords } from './nested-records.ts'

/** The name behind an id, such as a team's, an owner's or a company's; undefined until it is read, or if it cannot be. */
export function useReferenceTitle(resourceName: string | undefined, id: string | undefined): string | undefined {
  const resource = useResource(resourceName ?? '')
  const path = resource?.permissions.get === true && !resource.path.includes('{') ? resource.path : undefined
  const { data } = useQuery({
    queryKey: ['record', resourceName, id],
    queryFn: async () => (await send<RecordData>('GET', `${path}/${id}`)).body,
    enabled: path !== undefined && id !== undefined,
    staleTime: 300_000,
  })
  const nested = useNestedRecords(resource?.parent && id !== undefined ? resource : undefined)
  const record = data ?? nested.find((one) => one.record.id === id)?.record
  return resource && record ? titleOf(resource, record) : undefined
}

/** The name behind an id; the id if it cannot be read. */
export function ReferenceTitle({ resourceName, id }: { resourceName: string | undefined; id: string }) {
  return <span className="truncate">{useReferenceTitle(resourceName, id) ?? id}</span>
}
