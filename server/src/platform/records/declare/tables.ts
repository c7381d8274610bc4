import type { Resource } from './define.ts'

/** The stored JSON of each record: for a resource with a `renderingVersion`. */
export const renderingsTable = ({ singular }: Resource): string => `${singular}_renderings`

/** What makes external ids unique: for a resource with the field `externalIds`. */
export const externalIdsTable = ({ singular }: Resource): string => `${singular}_external_ids`

/** The unique values of custom properties: for a resource with a field whose keys organizations can define. */
export const uniqueValuesTable = ({ singular }: Resource): string => `${singular}_unique_values`

/** The tables that follow from a declaration, the resource's own first. All of them have the same place. */
export const tablesOf = (resource: Resource): string[] => [
  resource.table,
  ...(resource.renderingVersion === undefined ? [] : [renderingsTable(resource)]),
  ...('externalIds' in resource.fields ? [externalIdsTable(resource)] : []),
  ...(Object.values(resource.fields).some(({ definable }) => definable) ? [uniqueValuesTable(resource)] : []),
]
