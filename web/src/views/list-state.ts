import type { ResourceSchema } from '../api/schema.ts'
import { resourceViews } from '../resources/registry.ts'
import type { Search } from '../shell/search.ts'

export interface Filter {
  /** A field or a dotted path, such as `customProperties.plan`. */
  field: string
  operator: string
  value: string
}

export interface Column {
  /** A field, an embedded record or a dotted path. */
  name: string
  /** In pixels. */
  width: number
  isPinned: boolean
}

/** What a list shows; all of it is in the URL, with the parameters of the API. */
export interface ListState {
  query: string
  filters: readonly Filter[]
  orderBy: string
  sort: 'asc' | 'desc'
  isDeleted: boolean
  columns: readonly Column[]
  /** The record in the side panel. */
  peek: string | undefined
  view: 'table' | 'board'
  /** What the board shows: the pipeline of deals. */
  board: string | undefined
}

const defaultOrder = { orderBy: 'createdAt', sort: 'desc' } as const
const maxDefaultColumns = 7

const textOf = (value: Search[string] | undefined): string | undefined =>
  typeof value === 'string' ? value : value?.[0]

/** Reads the URL's parameters. */
export function readListState(resource: ResourceSchema, search: Search): ListState {
  const filters = Object.entries(search).flatMap(([name, values]) => {
    const [prefix, ...path] = name.split('.')
    const operator = path.pop()
    if (prefix !== 'filter' || operator === undefined || path.length === 0) return []
    return [values].flat().map((value): Filter => ({ field: path.join('.'), operator, value }))
  })
  return {
    query: textOf(search.query) ?? '',
    filters,
    orderBy: textOf(search.orderBy) ?? defaultOrder.orderBy,
    sort: textOf(search.sort) === 'asc' ? 'asc' : 'desc',
    isDeleted: textOf(search.deleted) === 'true',
    columns: readColumns(resource, textOf(search.columns)),
    peek: textOf(search.peek),
    view: resourceViews[resource.name]?.boardOf && textOf(search.view) === 'board' ? 'board' : 'table',
    board: textOf(search.board),
  }
}

/** The URL's parameters for a state; what equals the default is left out. */
export function writeListState(resource: ResourceSchema, state: ListState): Search {
  const filters: Record<string, string[]> = {}
  for (const { field, operator, value } of state.filters) (filters[`filter.${field}.${operator}`] ??= []).push(value)
  const columns = writeColumns(state.columns)
  const isDefaultOrder = state.orderBy === defaultOrder.orderBy && state.sort === defaultOrder.sort
  return {
    ...(state.query !== '' && { query: state.query }),
    ...Object.fromEntries(
      Object.entries(filters).map(([name, values]) => [name, values.length === 1 ? (values[0] ?? '') : values]),
    ),
    ...(!isDefaultOrder && { orderBy: state.orderBy, sort: state.sort }),
    ...(state.isDeleted && { deleted: 'true' }),
    ...(columns !== writeColumns(defaultColumns(resource)) && { columns }),
    ...(state.peek !== undefined && { peek: state.peek }),
    ...(resourceViews[resource.name]?.boardOf && { view: state.view }),
    ...(state.board !== undefined && { board: state.board }),
  }
}

/** The filters as parameters of the API. */
export function filterParameters({ query, filters, isDeleted }: ListState): URLSearchParams {
  const parameters = new URLSearchParams()
  if (query !== '') parameters.set('query', query)
  for (const { field, operator, value } of filters) parameters.append(`filter.${field}.${operator}`, value)
  if (isDeleted) parameters.set('deleted', 'true')
  return parameters
}

export const orderParameters = ({ orderBy, sort }: ListState): URLSearchParams => new URLSearchParams({ orderBy, sort })

/** The fields that the columns need, and those by which a row is known. */
export function selectedFields(resource: ResourceSchema, columns: readonly Column[]): string[] {
  const names = columns.map(({ name }) => name)
  const always = [
    'id',
    resource.titleField,
    'name',
    'email',
    'phone',
    'domain',
    'employmentTitle',
    'status',
    'subject',
    'currency',
    'pipelineId',
  ].filter((name) => name === 'id' || resource.fields.some((field) => field.name === name))
  const references = resource.embedded.filter(({ name }) => names.includes(name)).map(({ through }) => through)
  return [...new Set([...always, ...names, ...references])]
}

const defaultWidths: Readonly<Record<string, number>> = {
  name: 240,
  title: 300,
  done: 90,
  email: 230,
  list: 220,
  boolean: 110,
  integer: 120,
  number: 110,
  timestamp: 150,
  date: 150,
  country: 110,
}

/** The columns of the list at first. */
export function defaultColumns(resource: ResourceSchema): Column[] {
  const names = resourceViews[resource.name]?.columns ?? firstFields(resource)
  return names.map((name, index) => columnFor(resource, name, index === 0))
}

export function columnFor(resource: ResourceSchema, name: string, isPinned = false): Column {
  const type = resource.fields.find((field) => field.name === name)?.type ?? 'text'
  return { name, width: defaultWidths[name] ?? defaultWidths[type] ?? 170, isPinned }
}

const firstFields = ({ fields, titleField }: ResourceSchema): string[] => {
  const shown = fields.filter(({ type }) => !['id', 'longText', 'properties', 'document'].includes(type))
  const names = shown.map(({ name }) => name).filter((name) => name !== titleField)
  return [titleField, ...names].slice(0, maxDefaultColumns)
}

/** `name:240!,email:230`: with widths; `!` for pinned. */
const writeColumns = (columns: readonly Column[]): string =>
  columns.map(({ name, width, isPinned }) => `${name}:${width}${isPinned ? '!' : ''}`).join(',')

function readColumns(resource: ResourceSchema, text: string | undefined): Column[] {
  const columns = (text ?? '').split(',').flatMap((part) => {
    const [, name, width, pin] = /^([^:]+):(\d{2,3})(!?)$/.exec(part) ?? []
    return name === undefined || !isColumn(resource, name)
      ? []
      : [{ name, width: Number(width), isPinned: pin === '!' }]
  })
  return columns.length > 0 ? columns : defaultColumns(resource)
}

/** Can this be a column: a field, an embedded record or a custom property? */
const isColumn = (resource: ResourceSchema, name: string): boolean =>
  resource.fields.some((field) => field.name === name) ||
  resource.embedded.some((embedded) => embedded.name === name) ||
  /^customProperties\.[A-Za-z]\w*$/.test(name)
