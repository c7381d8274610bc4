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

const deepest = 400_000
const share = 0.8
const largestPage = 100
/** Of the pages on the way the last tenth, and at most so many, whose cursors are kept. */
const mostKept = 200

/** Of an organization with so many contacts: 400,000, or four fifths of what there is. */
export const depthOf = (contacts: number): number => Math.min(deepest, Math.floor(contacts * share))

/** Goes there as a caller does, page by page along the `Link` headers. Errors: the list ends, or repeats a record. */
export async function goDeep(port: number, { apiKey, organizationId }: Account, records: number): Promise<Depth> {
  const headers = { authorization: `Bearer ${apiKey}`, 'service-organization-id': organizationId }
  const depth: Depth = { records, ids: [], cursors: [] }
  let last = '~'
  let query = ''
  for (let seen = 0; seen < records;) {
    const limit = Math.min(largestPage, records - seen)
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
    seen += limit
    query = `&startingAfter=${cursor}`
    depth.ids.push(last)
    depth.cursors.push(cursor)
  }
  const kept = Math.min(mostKept, Math.ceil(depth.ids.length / 10))
  return { records, ids: depth.ids.slice(-kept), cursors: depth.cursors.slice(-kept) }
}
