import { useQuery } from '@tanstack/react-query'
import { send } from '../api/client.ts'
import { type RecordData, titleOf, useResource } from '../api/schema.ts'

/** The name behind an id, such as a team's, an owner's or a company's; the id if it cannot be read. */
export function ReferenceTitle({ resourceName, id }: { resourceName: string | undefined; id: string }) {
  const resource = useResource(resourceName ?? '')
  const path = resource?.permissions.get === true && !resource.path.includes('{') ? resource.path : undefined
  const { data } = useQuery({
    queryKey: ['record', resourceName, id],
    queryFn: async () => (await send<RecordData>('GET', `${path}/${id}`)).body,
    enabled: path !== undefined,
    staleTime: 300_000,
  })
  return <span className="truncate">{resource && data ? titleOf(resource, data) : id}</span>
}
