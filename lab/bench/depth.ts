import type { Account } from '../shared/service.ts'

/** Cursors deep in the service's list of contacts. */
export interface Depth {
  /** Number of records before the deepest one. */
  records: number
  /** Ids of the last records of pages, for `startingAfter`. */
  ids: string[]
  /** The opaque cursors from the `Link` headers of the same pages. */
  cursors: string[]
}

const maxDepth = 400_000
const depthShare = 0.8
const maxPageSize = 100
/** Cursors of the last tenth of the pages are stored, at most this many. */
const maxCursors = 200

/** 400,000 records, or four fifths of the contacts if that is less. */
export const depthOf = (contacts: number): number => Math.min(maxDepth, Math.floor(contacts * depthShare))

/** Follows the `Link` headers page by page, as a client does. Errors: the list ends or repeats a record. */
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
    const path = `/v5/contacts?select[]=id&select[]=createdAt&limit=${limit}${query}`
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers })
    const page = (await response.json()) as { id: string; createdAt: string }[]
    const cursor = /[?&]startingAfter=([^&>]+)[^>]*>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1]
    if (!response.ok || page.length !== limit || cursor === undefined) throw new Error(`${path}: ${response.status}`)
    for (const { id, createdAt } of page) {
      const place = `${createdAt} ${id}`
      if (place >= last) throw new Error(`The list repeats or misplaces ${id}.`)
      last = place
    }
    count += limit
    query = `&startingAfter=${cursor}`
    depth.ids.push(page.at(-1)!.id)
    depth.cursors.push(cursor)
  }
  const cursorCount = Math.min(maxCursors, Math.ceil(depth.ids.length / 10))
  return { records, ids: depth.ids.slice(-cursorCount), cursors: depth.cursors.slice(-cursorCount) }
}
