import { queryOptions, useSuspenseQuery } from '@tanstack/react-query'
import { api, dataOf, type Schemas } from './client.ts'
import { declaredField, type DeclaredField, type Definition } from './declared-field.ts'
import { ignoreAnswers, queryClient } from './query-client.ts'

type DescribedResource = Schemas['ResourceSchema']['resources'][number]

/** A resource as the service describes it to this caller, including their permissions. */
export interface ResourceSchema extends Omit<DescribedResource, 'fields'> {
  /** The product's fields, then the custom properties that the organization has defined. */
  fields: FieldSchema[]
  /** Keys in use without a definition; null for resources without custom properties. */
  customProperties: DescribedResource['customProperties']
}
export type FieldSchema = DescribedResource['fields'][number] | DeclaredField

/** Of `emails`, `email` is the primary address. */
export const isAddressList = (type: string): boolean => type === 'emails' || type === 'phones'

/** The list of which a field has the primary address. */
export const addressListOf = (resource: ResourceSchema, primary: string): string | undefined =>
  resource.fields.find(({ name, type }) => isAddressList(type) && name.slice(0, -1) === primary)?.name

export const schemaQuery = queryOptions({
  queryKey: ['schema'],
  queryFn: async () => (await dataOf(api.GET('/v5/schema'))).resources.map(withDeclaredFields),
  staleTime: 60_000,
  meta: { follows: ({ resource, isOwn }) => resource === 'property' && !isOwn, waits: true },
})

/** Converts definitions to fields, so that everything derived from fields also shows and edits custom properties. */
function withDeclaredFields(resource: ResourceSchema | DescribedResource): ResourceSchema {
  const definitions = resource.properties ?? []
  const isDefined = ({ key }: { key: string }) => definitions.some((definition) => definition.key === key)
  return {
    ...resource,
    fields: [...resource.fields.filter((field) => !('declared' in field)), ...definitions.map(declaredField)],
    customProperties: resource.customProperties?.filter((one) => !isDefined(one)) ?? null,
  }
}

/** Shows definitions before the service has stored them, such as a new order. */
export function showDefinitions(name: string, properties: Definition[]): void {
  ignoreAnswers(schemaQuery.queryKey)
  queryClient.setQueryData(schemaQuery.queryKey, (resources) =>
    resources?.map((resource) => (resource.name === name ? withDeclaredFields({ ...resource, properties }) : resource)),
  )
}

/** Reloads the schema after definitions have changed. */
export const schemaChanged = (): Promise<void> => queryClient.invalidateQueries({ queryKey: schemaQuery.queryKey })

/** The schema of all resources; loaded before any page is shown. */
export const useSchema = (): readonly ResourceSchema[] => useSuspenseQuery(schemaQuery).data

export const useResource = (name: string): ResourceSchema | undefined =>
  useSchema().find((resource) => resource.name === name)

/** A record of any resource. */
export type RecordData = { id: string } & Record<string, unknown>

/** The value at a field's name or at a dotted path such as `customProperties.plan` or `company.name`. */
export function valueAt(record: RecordData, path: string): unknown {
  let value: unknown = record
  for (const key of path.split('.')) {
    // A key can be the name of an inherited property, such as `constructor`.
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return value
}

/** The fields with addresses, which distinguish a record. */
export const addressFields = ({ fields }: ResourceSchema): string[] =>
  ['email', 'phone', 'domain'].flatMap((address) =>
    fields.filter((field) => field.type === address && !('declared' in field)).map(({ name }) => name),
  )

/** What people call a record: its title, otherwise something that distinguishes it. */
export function titleOf(resource: ResourceSchema, record: RecordData): string {
  const candidates = [resource.titleField, ...addressFields(resource), 'id']
  return String(
    candidates
      .map((name) => valueAt(record, name))
      .find((value) => value !== null && value !== undefined && value !== ''),
  )
}
