import { queryOptions, useQuery } from '@tanstack/react-query'
import { send } from '../api/client.ts'
import { type RecordData, type ResourceSchema, titleOf, useSchema } from '../api/schema.ts'

/** A record that belongs to another one, such as a stage of a pipeline. */
export interface NestedRecord {
  record: RecordData
  parent: RecordData
  parentTitle: string
}

const pageSize = '100'

/** All records of a resource that is nested in another one, in order. There are few of both. */
export const nestedRecordsQuery = (schema: readonly ResourceSchema[], target: ResourceSchema | undefined) => {
  const container = schema.find(({ name }) => name === target?.parent?.resource)
  return queryOptions({
    queryKey: ['nested', target?.name],
    queryFn: async ({ signal }): Promise<NestedRecord[]> => {
      if (!target?.parent || !container) return []
      const { parameter } = target.parent
      const order = target.fields.some(({ name }) => name === 'position') && { orderBy: 'position', sort: 'asc' }
      const query = new URLSearchParams({ limit: pageSize, ...order })
      const inOrder = new URLSearchParams({ limit: pageSize, orderBy: 'createdAt', sort: 'asc' })
      const { body: parents } = await send<RecordData[]>('GET', container.path, { query: inOrder, signal })
      const lists = await Promise.all(
        parents.map(async (parent) => {
          const path = target.path.replace(`{${parameter}}`, parent.id)
          const { body } = await send<RecordData[]>('GET', path, { query, signal })
          return body.map((record) => ({ record, parent, parentTitle: titleOf(container, parent) }))
        }),
      )
      return lists.flat()
    },
    meta: {
      follows: ({ recordId }) => [target, container].some((one) => one && recordId.startsWith(`${one.idPrefix}_`)),
    },
    enabled: container !== undefined,
  })
}

/** The records of a nested resource; empty for other resources. */
export function useNestedRecords(target: ResourceSchema | undefined): readonly NestedRecord[] {
  return useQuery(nestedRecordsQuery(useSchema(), target)).data ?? []
}
