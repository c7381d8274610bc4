import { queryOptions, useSuspenseQuery } from '@tanstack/react-query'
import { api, dataOf, type Schemas } from './client.ts'

/** A resource as the service describes it to this caller, with their permissions. */
export type ResourceSchema = Schemas['ResourceSchema']['resources'][number]
export type FieldSchema = ResourceSchema['fields'][number]

export const schemaQuery = queryOptions({
  queryKey: ['schema'],
  queryFn: async () => (await dataOf(api.GET('/v5/schema'))).resources,
  staleTime: 60_000,
})

/** The description of all resources; loaded before any page is shown. */
export const useSchema = (): readonly ResourceSchema[] => useSuspenseQuery(schemaQuery).data

export const useResource = (name: string): ResourceSchema | undefined =>
  useSchema().find((resource) => resource.name === name)

/** A record of any resource. */
export type RecordData = { id: string } & Record<string, unknown>

/** The value at a field's name or at a dotted path such as `customProperties.plan` or `company.name`. */
export function valueAt(record: RecordData, path: string): unknown {
  let value: unknown = record
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return value
}

/** What people call a record: its title, otherwise something that distinguishes it. */
export function titleOf(resource: ResourceSchema, record: RecordData): string {
  const candidates = [resource.titleField, 'name', 'email', 'phone', 'domain', 'id']
  return String(
    candidates
      .map((name) => valueAt(record, name))
      .find((value) => value !== null && value !== undefined && value !== ''),
  )
}
