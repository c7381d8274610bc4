import { queryOptions, useSuspenseQuery } from '@tanstack/react-query'
import { send } from './client.ts'

/** How a person enters and reads a value. */
export type FieldType =
  | ('id' | 'text' | 'longText' | 'email' | 'phone' | 'url' | 'domain' | 'handle' | 'country' | 'timeZone' | 'month')
  | ('choice' | 'number' | 'integer' | 'decimal' | 'boolean' | 'timestamp' | 'list' | 'reference')
  | ('properties' | 'document')

export interface FieldSchema {
  name: string
  label: string
  description: string | null
  type: FieldType
  required: boolean
  nullable: boolean
  readOnly: boolean
  /** Operators of filters; empty if it cannot be filtered. */
  operators: readonly string[]
  sortable: boolean
  indexed: boolean
  initial: unknown
  limits: { maxLength?: number; minimum?: number; maximum?: number; maxItems?: number; pattern?: string }
  choices: readonly string[] | null
  reference: { resource: string } | null
  example: unknown
}

export interface ResourceSchema {
  name: string
  singular: string
  label: string
  singularLabel: string
  /** With `{parameters}` if it is nested in another resource. */
  path: string
  parent: { parameter: string; resource: string } | null
  idPrefix: string
  search: boolean
  titleField: string
  softDelete: boolean
  restorableDays: number
  /** What the caller may do. */
  permissions: Record<'list' | 'get' | 'create' | 'update' | 'delete' | 'restore', boolean>
  fields: readonly FieldSchema[]
  embedded: readonly { name: string; label: string; through: string; resource: string; show: readonly string[] }[]
  /** Keys of custom properties in use; null if it has none. */
  customProperties: readonly { key: string; type: 'string' | 'number' | 'boolean' | 'other' }[] | null
}

export const schemaQuery = queryOptions({
  queryKey: ['schema'],
  queryFn: async () => (await send<{ resources: ResourceSchema[] }>('GET', '/v5/schema')).body.resources,
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
