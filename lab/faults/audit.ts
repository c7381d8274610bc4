import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from './client.ts'
import {
  byAddress,
  type Found,
  type KnownContact,
  madeAgain,
  madeAlready,
  missing,
  pushesWithoutContact,
  pushesWithoutRow,
  type Shown,
  strangers,
  wrongRevisions,
} from './ledger.ts'
import { eachTogether, type Laws } from './scenario.ts'
import type { Writers } from './writers.ts'

export interface AuditOptions {
  client: Client
  writers: Writers
  importId: string
  laws: Laws
  /** A row that is worked on when its process is killed three times counts as poison; it is retried then. */
  losesWorkers?: boolean
}

/** Milliseconds in which all rows come to an end once the faults are over. */
const patience = 180_000

/**
 * Compares the ledger with what the service shows: what was acknowledged is there, and nothing else but what is unknown;
 * then each unknown is repeated, and after that exactly what the ledger says is there, once.
 */
export async function audit(options: AuditOptions): Promise<Record<string, number>> {
  const { client, writers, laws } = options
  const { contacts, pushes } = writers
  const before = await contactsOf(client)
  laws.none('what was acknowledged is there', missing(contacts, before))
  laws.none('what is there was asked for', strangers(contacts, pushes, before))
  const unknown = contacts.filter(({ open }) => open).length + pushes.filter(({ rowId }) => rowId === undefined).length
  const made = madeAlready(contacts, pushes, before)
  laws.none('a change that was made is not made again when it is repeated', madeAgain(await writers.settle(made)))
  const rows = await checkRows(options)
  const after = await contactsOf(client)
  laws.none('each unknown change, repeated with its key, is made once', missing(contacts, after))
  laws.none('nothing is there but what the ledger says', strangers(contacts, pushes, after))
  await checkRevisions(client, contacts, laws)
  await checkPushes(options, after)
  laws.none('every answer can be read', client.unreadable)
  return { ...rows, contacts: after.size, 'unknown changes repeated': unknown, 'of them made before': made.size }
}

const contactsOf = async (client: Client): Promise<Found> =>
  byAddress(await client.all<Shown>('/v5/contacts', ['id', 'email', 'nickname']))

/** Looks at each contact that was updated: a list does not tell revisions. */
async function checkRevisions(client: Client, contacts: readonly KnownContact[], laws: Laws): Promise<void> {
  const updated = contacts.filter(({ isThere, revision }) => isThere && revision > 1)
  const revisions = new Map<string, number>()
  await eachTogether(updated, async ({ id = '' }) => {
    const { headers } = await client.send({ method: 'GET', path: `/v5/contacts/${id}` })
    revisions.set(id, Number(/"(\d+)-/.exec(headers.get('etag') ?? '')?.[1]))
  })
  laws.none('each contact is at the revision that its changes give', wrongRevisions(updated, revisions))
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

async function checkPushes({ client, writers, importId, laws }: AuditOptions, found: Found): Promise<void> {
  const { pushes } = writers
  const rows = new Set((await client.all<{ id: string }>(`/v5/imports/${importId}/rows`, ['id'])).map(({ id }) => id))
  laws.none('each acknowledged push is a row of its own', pushesWithoutRow(pushes, rows))
  laws.none('each row made one contact', pushesWithoutContact(pushes, found))
  const { count: notes } = await client.read<{ count: number }>('/v5/notes/count')
  const { count: companies } = await client.read<{ count: number }>('/v5/companies/count')
  laws.hold('each row had its effects once', notes === pushes.length && companies === pushes.length, {
    pushes: pushes.length,
    notes,
    companies,
  })
}
