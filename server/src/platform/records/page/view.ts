import type { Connection } from '../../database/database.ts'
import type { Resource } from '../declare/define.ts'
import type { Filter } from '../filter/filter.ts'
import { type Filters, type QueryReader, parseOrder, parseWords } from './parse.ts'
import type { Relations } from '../declare/relations.ts'
import { parseTree } from './tree.ts'
import type { JsonValue } from '../../model/json.ts'

/** What a view adds to a request, as it is stored. */
export interface SavedView {
  filter: JsonValue
  query: string | null
  orderBy: string | null
  sort: string | null
}

/** The views that people have saved, for lists, counts and searches. */
export interface SavedViews {
  /** The scope that using a view needs. */
  scope: string
  /** The view of this resource with this id (`vie_…`), if the caller sees it. */
  find(db: Connection, resource: Resource, id: string): Promise<SavedView | undefined>
}

export interface AppliedView {
  filter: Filter
  words: readonly string[]
  orderBy: string | null
  sort: string | null
}

/** Reads a view with the rules of a search. Adds its errors to `reader`. */
export function readView(
  reader: QueryReader,
  resource: Resource,
  relations: Relations,
  { filter, query, orderBy, sort }: SavedView,
): AppliedView {
  for (const [name, value] of Object.entries({ query, orderBy, sort })) {
    if (value !== null) reader.scalars.set(name, value)
  }
  const tree = parseTree(reader, resource, relations, filter)
  const words = parseWords(reader)
  parseOrder(reader, resource)
  return { filter: tree, words, orderBy, sort }
}

export const withinView = <Request extends Filters>(request: Request, view: AppliedView): Request => ({
  ...request,
  filter: { and: [view.filter, request.filter] },
  words: [...view.words, ...request.words],
})

/** The order of the view, as far as the request, which has these parameters, does not choose another one. */
export function orderOf(view: AppliedView, has: (name: string) => boolean): { orderBy?: string; sort?: string } {
  if (has('orderBy')) return {}
  return {
    ...(view.orderBy !== null && { orderBy: view.orderBy }),
    ...(view.sort !== null && !has('sort') && { sort: view.sort }),
  }
}
