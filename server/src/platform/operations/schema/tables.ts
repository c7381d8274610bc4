import { columnOf, columnTypes, isElsewhere, parentsOf, type Resource } from '../../records/declare/define.ts'
import type { Field } from '../../records/declare/field.ts'

export interface Column {
  name: string
  type: string
  required: boolean
  /** SQL of a constant, or `now()`. */
  initial?: string
}

export interface ForeignKey {
  column: string
  table: string
  key: string
  /** Never `set null`, which not every engine supports: maintenance releases what refers to a purged record. */
  onDelete: 'cascade' | 'no action'
}

export interface Index {
  name: string
  unique: boolean
  method: 'btree' | 'gin'
  /** Key columns and expressions, as PostgreSQL prints them. */
  keys: readonly string[]
  /** The operator class of the last key of a GIN index. */
  operators?: string
  where?: string
  /** Other keys that serve the same purpose, if an index was written by hand. */
  alternatives?: readonly (readonly string[])[]
}

export interface Table {
  name: string
  columns: readonly Column[]
  foreignKeys: readonly ForeignKey[]
  checks: readonly string[]
  indexes: readonly Index[]
  /** The text expressions in the search column; undefined for a resource without search. */
  search: readonly string[] | undefined
}

export const hasSearchText = ({ search, searchKey }: Resource): boolean => search.length > 0 && searchKey === undefined

const typeNames: Readonly<Record<string, string>> = { timestamptz: 'timestamp(3) with time zone' }

/** The table of a resource. `views` are the resources over the same table that have a list. */
export function tableOf(resource: Resource, views: readonly Resource[]): Table {
  return {
    name: resource.table,
    columns: columnsOf(resource),
    foreignKeys: foreignKeysOf(resource),
    checks: checksOf(resource),
    indexes: resource.isSmall ? [...uniquesOf(resource), ...deletedIndex(resource)] : indexesOf(resource, views),
    search: hasSearchText(resource) ? resource.search.map((name) => searchText(resource, name)) : undefined,
  }
}

function columnsOf(resource: Resource): Column[] {
  const { fields, hidden, softDelete } = resource
  const parents = parentsOf(resource).map(({ column }) => column)
  const stored = Object.entries(fields).filter(([, field]) => field.computed === undefined)
  const byColumn = new Map(stored.map(([name, field]) => [columnOf(name), field]))
  const names = new Set(['id', ...Object.keys(columnTypes(resource))])
  const own = [...names]
    .filter((name) => name !== 'id' && !times.includes(name))
    .map((name): Column => {
      const field = byColumn.get(name)
      const type = typeName(field?.databaseType ?? hidden[name] ?? 'uuid')
      return {
        name,
        type,
        required: (parents.length === 1 && parents[0] === name) || (field ? !field.nullable && !field.list : false),
        ...initialOf(field),
      }
    })
  return [
    { name: 'organization_id', type: 'uuid', required: true },
    { name: 'id', type: 'uuid', required: true },
    ...own,
    { name: 'revision', type: 'integer', required: true, initial: '1' },
    ...times
      .filter((name) => byColumn.has(name) || name in hidden)
      .map((name) => ({ name, type: typeName('timestamptz'), required: true, initial: 'now()' })),
    ...(softDelete ? [{ name: 'deleted_at', type: typeName('timestamptz'), required: false }] : []),
  ]
}

/** The times of every record, which the table sets. */
const times = ['created_at', 'updated_at']

const typeName = (type: string): string => typeNames[type] ?? type

function initialOf(field: Field | undefined): { initial?: string } {
  const value = field?.initial
  if (value === undefined || value === null) return {}
  if (typeof value === 'object')
    return { initial: Array.isArray(value) && field?.databaseType === 'json' ? `'[]'` : `'{}'` }
  return { initial: typeof value === 'string' ? `'${value.replaceAll(`'`, `''`)}'` : String(value) }
}

/** Includes the organization, so that no record can reference one of another organization. */
function foreignKeysOf(resource: Resource): ForeignKey[] {
  const parents = parentsOf(resource)
  const together = parents.filter((parent) => !isElsewhere(parent, resource))
  const ofParents = together.map(({ column, resource: parent }): ForeignKey => ({
    column,
    table: parent.table,
    key: 'id',
    onDelete: 'cascade',
  }))
  const references = Object.entries(resource.fields).flatMap(
    ([name, { references: target, hasNoForeignKey }]): ForeignKey[] => {
      const column = columnOf(name)
      if (!target || hasNoForeignKey || parents.some((parent) => parent.column === column)) return []
      const onDelete = target.cascades ? 'cascade' : 'no action'
      return [{ column, table: target.table, key: target.key, onDelete }]
    },
  )
  return [...ofParents, ...references]
}

/** A record with several possible parents has exactly one. */
function checksOf(resource: Resource): string[] {
  const columns = parentsOf(resource).map(({ column }) => column)
  return columns.length > 1 ? [`num_nonnulls(${columns.join(', ')}) = 1`] : []
}

function indexesOf(resource: Resource, views: readonly Resource[]): Index[] {
  const all = [
    ...uniquesOf(resource),
    ...views.flatMap(ordersOf),
    ...foreignKeysOf(resource).map(({ column }) => btree(resource, withoutId(column), [column], { isWhole: true })),
    ...equalitiesOf(resource),
    ...searchKeyOf(resource),
    ...ginsOf(resource),
    ...deletedIndex(resource),
    ...views.flatMap(deletedListIndex),
  ]
  // If an index is a prefix of an earlier one, only the earlier one is needed: longer keys come first.
  return all.filter((index, place) => !all.slice(0, place).some((earlier) => isServedBy(index, earlier)))
}

/** Does an existing index serve the purpose of the wanted one? */
export function isServedBy(wanted: Index, existing: Pick<Index, 'method' | 'keys' | 'unique' | 'where'>): boolean {
  if (isOfDeleted(wanted) !== isOfDeleted(existing)) return false
  if (wanted.method !== existing.method || (wanted.unique && !existing.unique)) return false
  if (wanted.unique && wanted.keys.length !== existing.keys.length) return false
  return [wanted.keys, ...(wanted.alternatives ?? [])].some((keys) =>
    keys.every((key, place) => existing.keys[place] === key),
  )
}

const onlyDeleted = 'deleted_at is not null'

/** Does the index contain only deleted records? PostgreSQL prints the condition in another form. */
const isOfDeleted = ({ where }: Pick<Index, 'where'>): boolean =>
  where?.toLowerCase().replace(/[()]/g, '') === onlyDeleted

const notDeleted = ({ softDelete }: Resource): { where?: string } => (softDelete ? { where: 'deleted_at is null' } : {})

function btree(
  resource: Resource,
  suffix: string,
  keys: readonly string[],
  { isWhole = false, alternatives = [] as (readonly string[])[] } = {},
): Index {
  return {
    name: `${resource.table}_${suffix}`,
    unique: false,
    method: 'btree',
    keys: ['organization_id', ...keys],
    alternatives: alternatives.map((other) => ['organization_id', ...other]),
    // A foreign key also needs the deleted records.
    ...(isWhole ? {} : notDeleted(resource)),
  }
}

function uniquesOf(resource: Resource): Index[] {
  return Object.entries(resource.uniques).map(([name, { columns, folded }]) => ({
    name,
    unique: true,
    method: 'btree',
    keys: ['organization_id', ...columns.map((column) => (folded ? `fold(${column})` : column))],
    ...notDeleted(resource),
  }))
}

/** An index for each indexed order, within the parent or the organization. */
function ordersOf(view: Resource): Index[] {
  const within = view.parent && !view.viewOf ? [view.parent.column] : []
  return Object.entries(view.fields).flatMap(([name, field]) => {
    const column = columnOf(name)
    if (field.order !== 'indexed' || name === 'id' || !view.propertyNames.includes(name)) return []
    const key = field.filter === 'string' ? `sort_key(${column})` : column
    const keys = [...within, key, 'id']
    const alternatives = view.parent
      ? [
          [view.parent.column, key, 'id'],
          [key, 'id'],
        ]
      : []
    // Also serves the foreign key to the parent.
    const isOfParent = within.length > 0 && name === 'createdAt'
    const suffix = isOfParent ? withoutId(within[0] ?? '') : withoutAt(column)
    return [btree(view, suffix, keys, { alternatives, isWhole: isOfParent })]
  })
}

const withoutId = (column: string): string => column.replace(/_id$/, '')
const withoutAt = (column: string): string => column.replace(/_at$/, '')

function equalitiesOf(resource: Resource): Index[] {
  return Object.entries(resource.fields).flatMap(([name, { equality, filter, lookup, computed, indexedAlong }]) => {
    const column = columnOf(name)
    const isOfParent = column === resource.parent?.column
    // The index of a condition is written by hand.
    const isOther = name === 'id' || filter === 'array' || lookup !== undefined || computed || isOfParent
    // The few records of a parent are read as a whole.
    if (equality !== 'indexed' || isOther || resource.parent?.isSmall) return []
    const along = indexedAlong === undefined ? [] : [columnOf(indexedAlong)]
    const within = resource.parent ? [resource.parent.column] : []
    const keys = [column, ...along]
    return [btree(resource, `${withoutId(column)}_equals`, keys, { alternatives: [[...within, ...keys]] })]
  })
}

const searchKeyOf = (resource: Resource): Index[] =>
  resource.searchKey
    ? [
        btree(resource, resource.searchKey.column, [
          ...(resource.parent ? [resource.parent.column] : []),
          resource.searchKey.column,
        ]),
      ]
    : []

/** Without the organization on purpose (docs/decisions/0005-gin-without-organization.md). */
function ginsOf(resource: Resource): Index[] {
  const gin = (column: string, operators?: string): Index => ({
    name: `${resource.table}_${column}`,
    unique: false,
    method: 'gin',
    keys: [column],
    ...(operators !== undefined && { operators }),
    ...notDeleted(resource),
  })
  const fields = Object.entries(resource.fields).flatMap(([name, { filter, equality, indexedAlong }]) => {
    if (filter === 'properties') return [gin(columnOf(name), 'jsonb_path_ops')]
    return filter === 'array' && equality === 'indexed' && indexedAlong === undefined ? [gin(columnOf(name))] : []
  })
  return hasSearchText(resource) ? [gin('search', 'gin_trgm_ops'), ...fields] : fields
}

/** Finds the records to purge, in all organizations. */
function deletedIndex({ table, softDelete }: Resource): Index[] {
  if (!softDelete) return []
  const keys = ['deleted_at', 'id']
  return [{ name: `${table}_deleted`, unique: false, method: 'btree', keys, where: onlyDeleted }]
}

/** The default order of the list of deleted records. */
function deletedListIndex({ table, isRestorable, fields, parent }: Resource): Index[] {
  if (!isRestorable || !('createdAt' in fields)) return []
  const name = `${table}_deleted_${parent ? `of_${withoutId(parent.column)}` : 'list'}`
  const keys = ['organization_id', ...(parent ? [parent.column] : []), 'created_at', 'id']
  return [{ name, unique: false, method: 'btree', keys, where: onlyDeleted }]
}

function searchText(resource: Resource, name: string): string {
  const field = resource.fields[name]
  if (!field) throw new Error(`${resource.name} has no field ${name} to search`)
  const column = columnOf(name)
  if (field.filter === 'array') return `tag_lines(${column})`
  return field.nullable ? `coalesce(${column}, '')` : column
}
