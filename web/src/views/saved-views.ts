import { queryOptions, useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { type Schemas, send } from '../api/client.ts'
import { conditionOf, type Filter, filterOf, type FilterNode, joined, partOf, partsOf } from '../api/filter-tree.ts'
import { useMe, useRole } from '../api/me.ts'
import { queryClient } from '../api/query-client.ts'
import { type ResourceSchema, schemaQuery, useResource } from '../api/schema.ts'
import { byOthers, ofResources } from '../live/refetch.ts'
import { resourceViews } from '../registry/resources.ts'
import { columnFor, defaultBase, defaultColumns, isColumn, type ListBase, treeOf, writeColumns } from './list-state.ts'

export type View = Schemas['View']

export const viewsPath = '/v5/views'
const pageSize = 100

/** The views of a resource that are visible to the person, in order. */
export const viewsQuery = (resource: string) =>
  queryOptions({
    queryKey: ['views', resource],
    queryFn: async ({ signal }): Promise<View[]> => {
      const views: View[] = []
      const query = new URLSearchParams({ resource, orderBy: 'position', sort: 'asc', limit: String(pageSize) })
      for (;;) {
        const { body } = await send<View[]>('GET', viewsPath, { query, signal })
        views.push(...body)
        const last = body.at(-1)
        if (!last || body.length < pageSize) return views
        query.set('startingAfter', last.id)
      }
    },
    meta: { follows: byOthers(ofResources('view')), waits: true },
  })

/** Loads the views before the list appears, so that nothing moves. */
export async function preloadViews(resource: string): Promise<void> {
  // The page shows the error.
  const schema = await queryClient.ensureQueryData(schemaQuery).catch(() => [])
  const sees = schema.find(({ name }) => name === 'views')?.permissions.list
  const hasViews = schema.find(({ name }) => name === resource)?.views
  if (sees && hasViews) await queryClient.prefetchQuery(viewsQuery(resource))
}

/** The views of a resource; undefined while loading, or if the person may not see views. */
export function useViews(resource: ResourceSchema) {
  const sees = useResource('views')?.permissions.list === true
  return useQuery({ ...viewsQuery(resource.name), enabled: sees && resource.views })
}

/** One of these views, which may be newer than the loaded list. */
export function useView(resource: ResourceSchema, id: string | undefined) {
  const { data, error, isFetching, isStale, isEnabled, refetch } = useViews(resource)
  const view = data?.find((one) => one.id === id)
  const mayBeNew = isEnabled && id !== undefined && !view && isStale
  useEffect(() => {
    if (mayBeNew) void refetch()
  }, [mayBeNew, refetch])
  return { view, error, isLoading: isFetching || (mayBeNew && !error), retry: () => void refetch() }
}

/** Shows a view from the service's response before the list of views is refetched. */
export function putView(view: View): void {
  queryClient.setQueryData(viewsQuery(view.resource).queryKey, (views) =>
    views?.some(({ id }) => id === view.id)
      ? views.map((one) => (one.id === view.id ? view : one))
      : [...(views ?? []), view],
  )
}

/** May the person change this view? */
export function useMayChange(): (view: View) => boolean {
  const me = useMe()
  const role = useRole()
  const mayUpdate = useResource('views')?.permissions.update === true
  return ({ ownerId }) => mayUpdate && (role === 'owner' || role === 'admin' || ownerId === me.id)
}

/** The list state of a view. */
export function baseOf(resource: ResourceSchema, view: View): ListBase {
  const initial = defaultBase(resource)
  const { filters, parts } = splitFilter(view.filter as FilterNode)
  const layout = resourceViews[resource.name]?.boardOf === undefined ? 'table' : view.layout
  const pipeline = layout === 'board' ? boardFilter(resource, filters) : undefined
  return {
    query: view.query ?? '',
    filters: filters.filter((filter) => filter !== pipeline),
    parts,
    orderBy: view.orderBy ?? initial.orderBy,
    sort: view.sort ?? initial.sort,
    columns: columnsOf(resource, view),
    layout,
    board: pipeline?.value,
  }
}

/** Splits the conditions that a URL can express from all others. */
function splitFilter(tree: FilterNode): Pick<ListBase, 'filters' | 'parts'> {
  const parts = partsOf(tree).map((part) => {
    const condition = conditionOf(part)
    return { part, filter: condition && filterOf(condition) }
  })
  return {
    filters: parts.flatMap(({ filter }) => filter ?? []),
    parts: parts.flatMap(({ part, filter }) => (filter ? [] : [part])),
  }
}

/** The reference that selects a board: the pipeline of deals. */
function boardField(resource: ResourceSchema): string | undefined {
  const boardOf = resourceViews[resource.name]?.boardOf
  return resource.embedded.find(({ name }) => name === boardOf)?.through
}

const boardFilter = (resource: ResourceSchema, filters: readonly Filter[]): Filter | undefined =>
  filters.find(({ field, operator }) => field === boardField(resource) && operator === 'equals')

function columnsOf(resource: ResourceSchema, { columns, columnWidths, pinnedColumns }: View): ListBase['columns'] {
  const widths = columnWidths as Readonly<Record<string, number>>
  const names = columns.filter((name) => isColumn(resource, name))
  const shown =
    names.length === 0
      ? defaultColumns(resource)
      : names.map((name, index) => columnFor(resource, name, index < pinnedColumns))
  return shown.map((column) => ({ ...column, width: widths[column.name] ?? column.width }))
}

/** The content of a view for the current list state. */
export function contentOf(resource: ResourceSchema, state: ListBase) {
  const { columns, layout, board, orderBy, sort, query } = state
  const isDefault = writeColumns(columns) === writeColumns(defaultColumns(resource))
  const pipeline = boardField(resource)
  const isBoard = layout === 'board'
  const onBoard =
    isBoard && pipeline !== undefined && board !== undefined
      ? [partOf(resource, { field: pipeline, operator: 'equals', value: board })]
      : []
  return {
    filter: joined([...onBoard, ...partsOf(treeOf(resource, state))]),
    query: query === '' ? null : query,
    columns: isDefault ? [] : columns.map(({ name }) => name),
    columnWidths: isDefault ? {} : Object.fromEntries(columns.map(({ name, width }) => [name, width])),
    pinnedColumns: isDefault ? 0 : columns.filter(({ isPinned }) => isPinned).length,
    orderBy,
    sort,
    layout,
    groupBy: (isBoard && resourceViews[resource.name]?.groupedBy) || null,
  }
}

/** The body of a PATCH of the view: only what has changed, so that an untouched filter stays exactly as it is. */
export function changesOf(resource: ResourceSchema, view: View, state: ListBase): Partial<View> {
  const [before, after] = [contentOf(resource, baseOf(resource, view)), contentOf(resource, state)]
  const changed = Object.entries(after).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name as keyof typeof before]),
  )
  return Object.fromEntries(changed)
}

/** The same records in another layout: the pipeline of a board becomes a filter of a table. */
export function inLayout(resource: ResourceSchema, state: ListBase, layout: ListBase['layout']): Partial<ListBase> {
  const field = boardField(resource)
  if (field === undefined || layout === state.layout) return { layout }
  if (layout === 'table' && state.board !== undefined)
    return {
      layout,
      board: undefined,
      filters: [...state.filters, { field, operator: 'equals', value: state.board }],
    }
  const pipeline = boardFilter(resource, state.filters)
  return layout === 'board' && pipeline
    ? { layout, board: pipeline.value, filters: state.filters.filter((filter) => filter !== pipeline) }
    : { layout }
}

/** A position for an index among the other views, between its neighbours' positions. */
export function positionAt(others: readonly View[], index: number): string {
  const positions = others.map(({ position }) => Number(position))
  const before = positions[index - 1]
  if (before === undefined) return decimal((positions[0] ?? 1) - 1)
  // Personal views of different people can have the same position.
  const after = positions.slice(index).find((position) => position > before)
  return decimal(after === undefined ? before + 1 : (before + after) / 2)
}

const decimal = (value: number): string => value.toFixed(12).replace(/\.?0+$/, '')
