import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from './client.ts'
import type { Laws } from './scenario.ts'
import type { KnownContact, Writers } from './writers.ts'

interface Shown {
  id: string
  email: string | null
  nickname: string | null
}

export interface AuditOptions {
  client: Client
  writers: Writers
  importId: string
  laws: Laws
  /** A row that is worked on when its process is killed three times counts as poison; it is retried then. */
  losesWorkers?: boolean
}

/** Contacts whose revision is read one by one, at most. */
const sampled = 1000
/** Milliseconds in which all rows come to an end once the faults are over. */
const patience = 180_000

/**
 * Compares the ledger with what the service shows: what was acknowledged is there, and nothing else but what is unknown;
 * then each unknown is repeated, and after that exactly what the ledger says is there, once.
 */
export async function audit(options: AuditOptions): Promise<Record<string, number>> {
  const { client, writers, laws } = options
  const pushed = new Set(writers.pushes.map(({ email }) => email))
  const before = await contactsOf(client)
  laws.none('what was acknowledged is there', missing(writers.contacts, before))
  laws.none('what is there was asked for', strangers(writers.contacts, before, pushed))
  const unknown = writers.contacts.filter(({ open }) => open).length
  const unknownPushes = writers.pushes.filter(({ rowId }) => rowId === undefined).length
  await writers.settle()
  const rows = await checkRows(options)
  const after = await contactsOf(client)
  laws.none('each unknown change, repeated with its key, is made once', missing(writers.contacts, after))
  laws.none('nothing is there but what the ledger says', strangers(writers.contacts, after, pushed))
  await checkRevisions(client, writers.contacts, laws)
  await checkPushes(options, after)
  return { ...rows, contacts: after.size, 'unknown changes repeated': unknown + unknownPushes }
}

/** By address, where there is one; an address that is there twice is a broken law of its own. */
async function contactsOf(client: Client): Promise<Map<string, Shown[]>> {
  const found = new Map<string, Shown[]>()
  for (const contact of await client.all<Shown>('/v5/contacts', ['id', 'email', 'nickname'])) {
    if (contact.email !== null) found.set(contact.email, [...(found.get(contact.email) ?? []), contact])
  }
  return found
}

/** Known contacts that are shown in no state that they may be in. */
function missing(contacts: readonly KnownContact[], found: Map<string, Shown[]>): object[] {
  return contacts.flatMap((known) => {
    const { email, nickname, isThere, open } = known
    const shown = found.get(email) ?? []
    const [first] = shown
    if (shown.length > 1) return { email, shown }
    const wasNotMade = isThere ? first !== undefined && first.nickname === nickname : first === undefined
    const wasMade =
      open !== undefined && (open.kind === 'delete' ? first === undefined : first?.nickname === open.nickname)
    return wasNotMade || wasMade ? [] : { known, shown }
  })
}

function strangers(contacts: readonly KnownContact[], found: Map<string, Shown[]>, pushed: Set<string>): string[] {
  const asked = new Set(contacts.map(({ email }) => email))
  return [...found.keys()].filter((email) => !asked.has(email) && !pushed.has(email))
}

/** A change that was made twice would have counted twice. */
async function checkRevisions(client: Client, contacts: readonly KnownContact[], laws: Laws): Promise<void> {
  const changed = contacts.filter(({ isThere, revision }) => isThere && revision > 1)
  const step = Math.max(1, Math.floor(changed.length / sampled))
  const wrong: object[] = []
  for (let index = 0; index < changed.length; index += step) {
    const known = changed[index]
    const { headers } = await client.send({ method: 'GET', path: `/v5/contacts/${known?.id}` })
    const revision = Number(/"(\d+)-/.exec(headers.get('etag') ?? '')?.[1])
    if (revision !== known?.revision) wrong.push({ known, revision })
  }
  laws.none('each change was made once', wrong)
}

type RowCounts = Record<string, number>

async function checkRows({ client, writers, importId, laws, losesWorkers }: AuditOptions): Promise<RowCounts> {
  const pushes = writers.pushes.length
  let counts = await untilRowsEnd(client, importId)
  const lost = losesWorkers ? (counts.DEAD ?? 0) : 0
  if (lost > 0) {
    const filters = 'filter.status.equals=DEAD&filter.errorCodes.has=worker_lost'
    await client.send({ method: 'POST', path: `/v5/imports/${importId}/rows/retry?${filters}` })
    counts = await untilRowsEnd(client, importId)
  }
  const others = Object.entries(counts).filter(([status, count]) => count > 0 && status !== 'PROCESSED')
  laws.none('every row ends as processed', others)
  laws.hold('every push is one row', counts.PROCESSED === pushes, { pushes, counts })
  const figures = { 'rows processed': counts.PROCESSED ?? 0 }
  return losesWorkers ? { ...figures, 'of them retried, their worker was killed three times': lost } : figures
}

/** How many rows are in each state, once all came to an end. Errors: they do not. */
async function untilRowsEnd(client: Client, importId: string): Promise<RowCounts> {
  for (const deadline = performance.now() + patience; performance.now() < deadline; await delay(200)) {
    const { stats } = await client.read<{ stats: { counts: RowCounts } }>(`/v5/imports/${importId}`)
    const { PENDING = 0, PROCESSING = 0, RETRYING = 0 } = stats.counts
    if (PENDING + PROCESSING + RETRYING === 0) return stats.counts
  }
  throw new Error(`Rows have not come to an end within ${patience} ms.`)
}

async function checkPushes(
  { client, writers, importId, laws }: AuditOptions,
  found: Map<string, Shown[]>,
): Promise<void> {
  const { pushes } = writers
  const rows = new Set((await client.all<{ id: string }>(`/v5/imports/${importId}/rows`, ['id'])).map(({ id }) => id))
  const said = pushes.map(({ rowId }) => rowId ?? '')
  laws.none(
    'each acknowledged push is a row',
    said.filter((id) => !rows.has(id)),
  )
  laws.hold('no two pushes are one row', new Set(said).size === said.length)
  laws.none(
    'each row made one contact',
    pushes.filter(({ email }) => found.get(email)?.length !== 1),
  )
  const { count: notes } = await client.read<{ count: number }>('/v5/notes/count')
  const { count: companies } = await client.read<{ count: number }>('/v5/companies/count')
  laws.hold('each row had its effects once', notes === pushes.length && companies === pushes.length, {
    pushes: pushes.length,
    notes,
    companies,
  })
}
