/** Milliseconds during which a change without a revision counts as this page's. */
const memory = 10_000
const maxWrites = 500

interface Write {
  /** The revision that the record has since then; undefined if it has none, or was deleted. */
  revision: number | undefined
  at: number
}

/** By id of a record: what this page has written last. */
const writes = new Map<string, Write>()

/** Remembers a change of this page: what it showed then need not be loaded again when the change is reported. */
export function rememberWrite(path: string, body: unknown, etag: string | undefined): void {
  const id = idIn(body) ?? path.split('/').findLast((part) => /^[a-z]{3}_/.test(part))
  if (id === undefined) return
  const revision = /^(?:W\/)?"(\d+)-/.exec(etag ?? '')?.[1]
  writes.delete(id)
  writes.set(id, { revision: revision === undefined ? undefined : Number(revision), at: Date.now() })
  const [oldest] = writes.keys()
  if (writes.size > maxWrites && oldest !== undefined) writes.delete(oldest)
}

const idIn = (body: unknown): string | undefined =>
  typeof body === 'object' && body !== null && 'id' in body ? String(body.id) : undefined

/** Has this page made the change that led to this revision of a record, or seen it with a later one of its own? */
export function isOwnWrite(id: string, revision: number | null): boolean {
  const write = writes.get(id)
  if (!write) return false
  if (revision !== null && write.revision !== undefined) return revision <= write.revision
  return Date.now() - write.at < memory
}
