import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from './client.ts'
import {
  byAddress,
  type ContactsByAddress,
  type ExpectedContact,
  appliedTwice,
  alreadyApplied,
  missing,
  pushesWithoutContact,
  pushesWithoutRow,
  type ListedContact,
  unexpectedAddresses,
  wrongRevisions,
} from './ledger.ts'
import { forEachConcurrently, type Guarantees } from './scenario.ts'
import type { Writers } from './writers.ts'

export interface AuditOptions {
  client: Client
  writers: Writers
  importId: string
  guarantees: Guarantees
  /** A row that is worked on when its process is killed three times counts as poison; it is retried then. */
  losesWorkers?: boolean
}

/** Milliseconds in which all rows come to an end once the faults are over. */
const timeout = 180_000

/**
 * Compares the ledger with what the service shows: what was acknowledged is there, and nothing else but what is unknown;
 * then each unknown is repeated, and after that exactly what the ledger says is there, once.
 */
export async function audit(options: AuditOptions): Promise<Record<string, number>> {
  const { client, writers, guarantees } = options
  const { contacts, pushes } = writers
  const before = await contactsOf(client)
  guarantees.checkNone('what was acknowledged is there', missing(contacts, before))
  guarantees.checkNone('what is there was asked for', unexpectedAddresses(contacts, pushes, before))
  const unknown =
    contacts.filter(({ unknownChange }) => unknownChange).length +
    pushes.filter(({ rowId }) => rowId === undefined).length
  const applied = alreadyApplied(contacts, pushes, before)
  guarantees.checkNone(
    'a change that was made is not made again when it is repeated',
    appliedTwice(await writers.repeatUnknown(applied)),
  )
  const rows = await checkRows(options)
  const after = await contactsOf(client)
  guarantees.checkNone('each unknown change, repeated with its key, is made once', missing(contacts, after))
  guarantees.checkNone('nothing is there but what the ledger says', unexpectedAddresses(contacts, pushes, after))
  await checkRevisions(client, contacts, guarantees)
  await checkPushes(options, after)
  guarantees.checkNone('every answer can be read', client.invalidJson)
  return { ...rows, contacts: after.size, 'unknown changes repeated': unknown, 'of them made before': applied.size }
}

const contactsOf = async (client: Client): Promise<ContactsByAddress> =>
  byAddress(await client.all<ListedContact>('/v5/contacts', ['id', 'email', 'nickname']))

/** Looks at each contact that was updated: a list does not tell revisions. */
async function checkRevisions(
  client: Client,
  contacts: readonly ExpectedContact[],
  guarantees: Guarantees,
): Promise<void> {
  const updated = contacts.filter(({ exists, revision }) => exists && revision > 1)
  const revisions = new Map<string, number>()
  await forEachConcurrently(updated, async ({ id = '' }) => {
    const { headers } = await client.send({ method: 'GET', path: `/v5/contacts/${id}` })
    revisions.set(id, Number(/"(\d+)-/.exec(headers.get('etag') ?? '')?.[1]))
  })
  guarantees.checkNone('each contact is at the revision that its changes give', wrongRevisions(updated, revisions))
}

type RowCounts = Record<string, number>

async function checkRows({ client, writers, importId, guarantees, losesWorkers }: AuditOptions): Promise<RowCounts> {
  const pushes = writers.pushes.length
  let counts = await waitForRows(client, importId)
  const lost = losesWorkers ? (counts.DEAD ?? 0) : 0
  if (lost > 0) {
    const filters = 'filter.status.equals=DEAD&filter.errorCodes.has=worker_lost'
    await client.send({ method: 'POST', path: `/v5/imports/${importId}/rows/retry?${filters}` })
    counts = await waitForRows(client, importId)
  }
  const others = Object.entries(counts).filter(([status, count]) => count > 0 && status !== 'PROCESSED')
  guarantees.checkNone('every row ends as processed', others)
  guarantees.check('every push is one row', counts.PROCESSED === pushes, { pushes, counts })
  const figures = { 'rows processed': counts.PROCESSED ?? 0 }
  return losesWorkers ? { ...figures, 'of them retried, their worker was killed three times': lost } : figures
}

/** How many rows are in each state, once all came to an end. Errors: they do not. */
async function waitForRows(client: Client, importId: string): Promise<RowCounts> {
  for (const deadline = performance.now() + timeout; performance.now() < deadline; await delay(200)) {
    const { stats } = await client.read<{ stats: { counts: RowCounts } }>(`/v5/imports/${importId}`)
    const { PENDING = 0, PROCESSING = 0, RETRYING = 0 } = stats.counts
    if (PENDING + PROCESSING + RETRYING === 0) return stats.counts
  }
  throw new Error(`Rows have not come to an end within ${timeout} ms.`)
}

async function checkPushes(
  { client, writers, importId, guarantees }: AuditOptions,
  found: ContactsByAddress,
): Promise<void> {
  const { pushes } = writers
  const rows = new Set((await client.all<{ id: string }>(`/v5/imports/${importId}/rows`, ['id'])).map(({ id }) => id))
  guarantees.checkNone('each acknowledged push is a row of its own', pushesWithoutRow(pushes, rows))
  guarantees.checkNone('each row made one contact', pushesWithoutContact(pushes, found))
  const { count: notes } = await client.read<{ count: number }>('/v5/notes/count')
  const { count: companies } = await client.read<{ count: number }>('/v5/companies/count')
  guarantees.check('each row had its effects once', notes === pushes.length && companies === pushes.length, {
    pushes: pushes.length,
    notes,
    companies,
  })
}
