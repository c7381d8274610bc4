import type { Account } from '../shared/service.ts'

/** Cursors of the service deep in its list of contacts, newest first. */
export interface Depth {
  /** How many records lie before the deepest of them. */
  records: number
  /** Ids of the last records of pages, as `startingAfter` takes them. */
  ids: string[]
  /** The opaque cursors of the same pages' `Link` headers. */
  cursors: string[]
}

const maxDepth = 400_000
const depthShare = 0.8
const maxPageSize = 100
/** Of the pages on the way the last tenth, and at most so many, whose cursors are kept. */
const maxCursors = 200

/** Of an organization with so many contacts: 400,000, or four fifths of what there is. */
export const depthOf = (contacts: number): number => Math.min(maxDepth, Math.floor(contacts * depthShare))

/** Goes there as a caller does, page by page along the `Link` headers. Errors: the list ends, or repeats a record. */
export async function collectDeepCursors(
  port: number,
  { apiKey, organizationId }: Account,
  records: number,
): Promise<Depth> {
  const headers = { authorization: `Bearer ${apiKey}`, 'service-organization-id': organizationId }
  const depth: Depth = { records, ids: [], cursors: [] }
  let last = '~'
  let query = ''
  for (let count = 0; count < records;) {
    const limit = Math.min(maxPageSize, records - count)
    const path = `/v5/contacts?select[]=id&limit=${limit}${query}`
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers })
    const page = (await response.json()) as { id: string }[]
    const cursor = /[?&]startingAfter=([^&>]+)[^>]*>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1]
    if (!response.ok || page.length !== limit || cursor === undefined) throw new Error(`${path}: ${response.status}`)
    // The ids sort by the time of making, as the list does.
    for (const { id } of page) {
      if (id >= last) throw new Error(`The list repeats or misplaces ${id}.`)
      last = id
    }
    count += limit
    query = `&startingAfter=${cursor}`
    depth.ids.push(last)
    depth.cursors.push(cursor)
  }
  const cursorCount = Math.min(maxCursors, Math.ceil(depth.ids.length / 10))
  return { records, ids: depth.ids.slice(-cursorCount), cursors: depth.cursors.slice(-cursorCount) }
}
