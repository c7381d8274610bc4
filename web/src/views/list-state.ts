import { type Filter, type FilterNode, isNode, joined, type Json, partOf, partsOf } from '../api/filter-tree.ts'
import { RecordFilter } from '../api/record-filter.ts'
import { addressFields, isAddressList, type ResourceSchema } from '../api/schema.ts'
import { resourceViews } from '../registry/resources.ts'
import type { Search } from '../api/search.ts'

export interface Column {
  /** A field, an embedded record or a dotted path. */
  name: string
  /** In pixels. */
  width: number
  isPinned: boolean
}

/** The list without URL parameters: the defaults of its resource, or a saved view. */
export interface ListBase {
  query: string
  /** The conditions that a URL can express. */
  filters: readonly Filter[]
  /** The other parts of the filter tree. All parts and conditions must match. */
  parts: readonly FilterNode[]
  orderBy: string
  sort: 'asc' | 'desc'
  columns: readonly Column[]
  layout: 'table' | 'board'
  /** The id of the board: the pipeline of deals. */
  board: string | undefined
}

/** The state of a list; all of it is in the URL, named like the parameters of the API. */
export interface ListState extends ListBase {
  /** The id of the saved view from which the state may differ. */
  view: string | undefined
  isDeleted: boolean
  /** The record in the side panel. */
  peek: string | undefined
  /** True if the filter tree in the URL is invalid. */
  isFilterInvalid: boolean
}

/** A change of a list; as a function, it gets the state with all earlier changes applied. */
export type ListChanges = Partial<ListState> | ((state: ListState) => Partial<ListState>)

/** The number of pinned columns, which come first. */
export const pinnedFirst = (columns: readonly Column[]): Column[] => [
  ...columns.filter(({ isPinned }) => isPinned),
  ...columns.filter(({ isPinned }) => !isPinned),
]

const defaultOrder = { orderBy: 'createdAt', sort: 'desc' } as const
const maxDefaultColumns = 7

const textOf = (value: Search[string] | undefined): string | undefined =>
  typeof value === 'string' ? value : value?.[0]

/** The list of all records. */
export const defaultBase = (resource: ResourceSchema): ListBase => ({
  query: '',
  filters: [],
  parts: [],
  ...defaultOrder,
  columns: defaultColumns(resource),
  layout: 'table',
  board: undefined,
})

/** The saved view that a URL names. */
export function viewIdOf(search: Search): string | undefined {
  const name = textOf(search.view)
  return name === 'table' || name === 'board' ? undefined : name
}

/** Parses the URL's parameters; `base` has the values of those that are absent. */
export function parseListState(resource: ResourceSchema, search: Search, base = defaultBase(resource)): ListState {
  const filters = parseFilters(search)
  const tree = parseTree(textOf(search.tree))
  const isFiltered = filters.length > 0 || search.tree !== undefined
  const hasBoard = resourceViews[resource.name]?.boardOf !== undefined
  const layout = textOf(search.layout) ?? textOf(search.view)
  return {
    query: textOf(search.query) ?? base.query,
    filters: isFiltered ? filters : base.filters,
    parts: isFiltered ? partsOf(tree ?? {}) : base.parts,
    orderBy: textOf(search.orderBy) ?? base.orderBy,
    sort: search.sort === undefined ? base.sort : textOf(search.sort) === 'asc' ? 'asc' : 'desc',
    columns: parseColumns(resource, textOf(search.columns)) ?? base.columns,
    layout: hasBoard && (layout === 'table' || layout === 'board') ? layout : base.layout,
    board: textOf(search.board) ?? base.board,
    view: viewIdOf(search),
    isDeleted: textOf(search.deleted) === 'true',
    peek: textOf(search.peek),
    isFilterInvalid: tree === undefined,
  }
}

function parseFilters(search: Search): Filter[] {
  return Object.entries(search).flatMap(([name, values]) => {
    const [prefix, ...path] = name.split('.')
    const operator = path.pop()
    if (prefix !== 'filter' || operator === undefined || path.length === 0) return []
    return [values].flat().map((value): Filter => ({ field: path.join('.'), operator, value }))
  })
}

/** Undefined if the text is not a filter tree. */
function parseTree(text = '{}'): FilterNode | undefined {
  try {
    const tree = JSON.parse(text) as Json
    return isNode(tree) ? tree : undefined
  } catch {
    return undefined
  }
}

/** The URL's parameters for a state; values equal to `base` are omitted. */
export function writeListState(resource: ResourceSchema, state: ListState, base = defaultBase(resource)): Search {
  const changes = writeChanges(state, base)
  const hasBoard = resourceViews[resource.name]?.boardOf !== undefined
  return {
    ...(state.view === undefined ? hasBoard && { view: state.layout } : { view: state.view, ...layoutOf(state, base) }),
    ...changes,
    ...(state.isDeleted && { deleted: 'true' }),
    ...(state.peek !== undefined && { peek: state.peek }),
  }
}

const layoutOf = ({ layout }: ListBase, base: ListBase): Search => (layout === base.layout ? {} : { layout })

/** Does a list differ from its view or, without one, from the list of all records? */
export function isChanged(state: ListState, base: ListBase): boolean {
  const isOtherLayout = state.view !== undefined && state.layout !== base.layout
  return isOtherLayout || Object.keys(writeChanges(state, base)).length > 0
}

function writeChanges(state: ListState, base: ListBase): Search {
  const columns = writeColumns(state.columns)
  const isSameOrder = state.orderBy === base.orderBy && state.sort === base.sort
  return {
    ...(state.query !== base.query && { query: state.query }),
    ...(JSON.stringify(writeFilter(state)) !== JSON.stringify(writeFilter(base)) && filterSearch(state)),
    ...(!isSameOrder && { orderBy: state.orderBy, sort: state.sort }),
    ...(columns !== writeColumns(base.columns) && { columns }),
    ...(state.board !== undefined && state.board !== base.board && { board: state.board }),
  }
}

/** An empty tree overrides the filter of the view. */
function filterSearch(state: ListBase): Search {
  const search = writeFilter(state)
  return Object.keys(search).length > 0 ? search : { tree: '{}' }
}

function writeFilter({ filters, parts }: Pick<ListBase, 'filters' | 'parts'>): Search {
  const values: Record<string, string[]> = {}
  for (const { field, operator, value } of filters) (values[`filter.${field}.${operator}`] ??= []).push(value)
  return {
    ...Object.fromEntries(
      Object.entries(values).map(([name, found]) => [name, found.length === 1 ? (found[0] ?? '') : found]),
    ),
    ...(parts.length > 0 && { tree: JSON.stringify(joined(parts)) }),
  }
}

/** The records of the list, without columns and layout. */
export function recordFilterOf(resource: ResourceSchema, state: ListState): RecordFilter {
  const { query, filters, parts, isDeleted } = state
  const parameters = new URLSearchParams()
  if (query !== '') parameters.set('query', query)
  if (parts.length > 0) {
    const filter = treeOf(resource, state)
    return new RecordFilter(parameters, { ...(query !== '' && { query }), filter, ...(isDeleted && { deleted: true }) })
  }
  for (const { field, operator, value } of filters) parameters.append(`filter.${field}.${operator}`, value)
  if (isDeleted) parameters.set('deleted', 'true')
  return new RecordFilter(parameters)
}

/** The whole filter as a tree. */
export const treeOf = (resource: ResourceSchema, { filters, parts }: ListBase): FilterNode =>
  joined([...filters.map((filter) => partOf(resource, filter)), ...parts])

export const isFiltered = ({ query, filters, parts }: ListBase): boolean =>
  query !== '' || filters.length > 0 || parts.length > 0

/** Shows all records. */
export const noFilter = { query: '', filters: [], parts: [] } as const

export const orderParameters = ({ orderBy, sort }: ListBase): URLSearchParams => new URLSearchParams({ orderBy, sort })

/** The fields that the columns need, and those that identify a row. */
export function selectedFields(resource: ResourceSchema, columns: readonly Column[]): string[] {
  const names = columns.map(({ name }) => name)
  const { boardOf, group, needs = [] } = resourceViews[resource.name] ?? {}
  const known = new Set<string | null | undefined>([
    resource.titleField,
    ...addressFields(resource),
    ...cardFields(resource),
    resource.statusField,
    ...needs,
    resource.fields.find(({ type }) => type === 'currency')?.name,
    resource.embedded.find(({ name }) => name === boardOf)?.through,
  ])
  const always = resource.fields.map(({ name }) => name).filter((name) => name === 'id' || known.has(name))
  const references = resource.embedded.filter(({ name }) => names.includes(name)).map(({ through }) => through)
  const lists = resource.fields.filter(({ name, type }) => isAddressList(type) && names.includes(name.slice(0, -1)))
  const parts = group && names.includes(group.shown) ? group.fields : []
  return [...new Set([...always, ...names, ...references, ...parts, ...lists.map(({ name }) => name)])]
}

/** The paths of the second line of a card. */
export const cardFields = (resource: ResourceSchema): readonly string[] =>
  resourceViews[resource.name]?.card ?? [...resource.subtitleFields, ...addressFields(resource)]

/** By type. */
const defaultWidths: Readonly<Record<string, number>> = {
  email: 230,
  list: 220,
  boolean: 110,
  integer: 120,
  number: 110,
  timestamp: 150,
  date: 150,
  country: 110,
}

/** The default columns of the list. */
export function defaultColumns(resource: ResourceSchema): Column[] {
  const names = resourceViews[resource.name]?.columns ?? firstFields(resource)
  return names.map((name, index) => columnFor(resource, name, index === 0))
}

export function columnFor(resource: ResourceSchema, name: string, isPinned = false): Column {
  const type = resource.fields.find((field) => field.name === name)?.type ?? 'text'
  const { titleWidth = 240, toggle } = resourceViews[resource.name] ?? {}
  const width = name === resource.titleField ? titleWidth : name === toggle ? 90 : (defaultWidths[type] ?? 170)
  return { name, width, isPinned }
}

const firstFields = ({ fields, titleField }: ResourceSchema): string[] => {
  const shown = fields.filter(({ type }) => !['id', 'longText', 'properties', 'document'].includes(type))
  const names = shown.map(({ name }) => name).filter((name) => name !== titleField)
  return [titleField, ...names].slice(0, maxDefaultColumns)
}

/** `name:240!,email:230`: with widths; `!` marks pinned columns. */
export const writeColumns = (columns: readonly Column[]): string =>
  columns.map(({ name, width, isPinned }) => `${name}:${width}${isPinned ? '!' : ''}`).join(',')

function parseColumns(resource: ResourceSchema, text: string | undefined): Column[] | undefined {
  const columns = (text ?? '').split(',').flatMap((part) => {
    const [, name, width, pin] = /^([^:]+):(\d{2,3})(!?)$/.exec(part) ?? []
    return name === undefined || !isColumn(resource, name)
      ? []
      : [{ name, width: Number(width), isPinned: pin === '!' }]
  })
  return columns.length > 0 ? columns : undefined
}

/** Can this be a column: a field, an embedded record or a custom property? */
export const isColumn = (resource: ResourceSchema, name: string): boolean =>
  resource.fields.some((field) => field.name === name) ||
  resource.embedded.some((embedded) => embedded.name === name) ||
  /^customProperties\.[A-Za-z]\w*$/.test(name)
