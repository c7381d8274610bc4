import { send, sendAll } from './client.ts'
import { type FilterNode, joined, type Json, partsOf } from './filter-tree.ts'
import type { RecordData } from './schema.ts'

/** The body of a search, without paging. */
interface Search {
  query?: string
  deleted?: true
  filter: FilterNode
}

/** A request to the API. */
export interface ApiRequest {
  path: string
  query: URLSearchParams
  body?: Json
}

/** The records of a list: URL parameters or, where these cannot express the filter, the body of a search. */
export class RecordFilter {
  /** Equal filters have equal keys. */
  readonly key: string

  readonly #parameters: URLSearchParams
  readonly #search: Search | undefined

  constructor(parameters: URLSearchParams, search?: Search) {
    this.#parameters = parameters
    this.#search = search
    this.key = search ? JSON.stringify(search) : parameters.toString()
  }

  /** Those of the records that have one of these ids. */
  withIds(ids: readonly string[]): RecordFilter {
    return this.with('id', 'in', ids)
  }

  /** The records with these ids, whether they match the filter or not. */
  only(ids: readonly string[]): RecordFilter {
    return new RecordFilter(new URLSearchParams()).withIds(ids)
  }

  /** The records that also match another condition, whose value is an id, a time, or a list of them. */
  with(field: string, operator: string, value: string | readonly string[]): RecordFilter {
    if (this.#search) {
      const parts = [...partsOf(this.#search.filter), { [field]: { [operator]: value } }]
      return new RecordFilter(this.#parameters, { ...this.#search, filter: joined(parts) })
    }
    const condition: [string, string] = [`filter.${field}.${operator}`, String(value)]
    return new RecordFilter(new URLSearchParams([...this.#parameters, condition]))
  }

  /** Does the filter already have a condition on this field of the records? */
  tests(field: string): boolean {
    if (this.#search) return this.key.includes(`"${field}":`)
    return [...this.#parameters.keys()].some((name) => name.startsWith(`filter.${field}.`))
  }

  /** The request for a page. Its parameters are `orderBy`, `sort`, `limit`, `select[]` and a cursor. */
  requestOf(path: string, page: URLSearchParams): ApiRequest {
    if (!this.#search) return { path, query: new URLSearchParams([...this.#parameters, ...page]) }
    const fields = page.getAll('select[]')
    const scalars = [...page].filter(([name]) => name !== 'select[]')
    const body = {
      ...this.#search,
      ...Object.fromEntries(scalars.map(([name, value]) => [name, name === 'limit' ? Number(value) : value])),
      ...(fields.length > 0 && { select: fields }),
    }
    return { path: `${path}/search`, query: new URLSearchParams(), body }
  }

  async page<Row = RecordData>(path: string, page: URLSearchParams): Promise<Row[]> {
    return read<Row[]>(this.requestOf(path, page))
  }

  async count(path: string): Promise<number> {
    const request = this.#search
      ? { path: `${path}/search/count`, query: new URLSearchParams(), body: { ...this.#search } }
      : { path: `${path}/count`, query: this.#parameters }
    return (await read<{ count: number }>(request)).count
  }

  /** The request for an aggregate over all records, such as their sums by group. */
  totals<Item>(path: string, kind: string): Promise<Item[]> {
    return this.#search
      ? sendAll<Item>(`${path}/search/${kind}`, { body: { ...this.#search } })
      : sendAll<Item>(`${path}/${kind}`, { query: this.#parameters })
  }
}

async function read<Result>({ path, query, body }: ApiRequest): Promise<Result> {
  const options = body === undefined ? { query } : { body }
  return (await send<Result>(body === undefined ? 'GET' : 'POST', path, options)).body
}
