import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from './client.ts'
import {
  alreadyMoved,
  type ExpectedDeal,
  type DealsByName,
  hasExactlyTheseMoves,
  type ListedDeal,
  type ListedMove,
  wrongDeals,
} from './deal-ledger.ts'
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
import { auditSuggestions, type AuditOptions } from './suggestion-audit.ts'

/** Milliseconds within which all rows must be finished after the faults. */
const timeout = 180_000

/**
 * Compares the ledger with the data that the service returns. First, everything acknowledged must exist, and nothing else
 * except unknown changes. Then each unknown change is repeated. After that, the data must match the ledger exactly.
 */
export async function audit(options: AuditOptions): Promise<Record<string, number>> {
  const { client, writers, guarantees } = options
  const { contacts, deals, pushes } = writers
  const [before, dealsBefore] = [await contactsOf(client), await dealsOf(client)]
  guarantees.checkNone('every acknowledged change is stored', missing(contacts, before))
  guarantees.checkNone('every acknowledged move of a deal is stored', wrongDeals(deals, dealsBefore))
  guarantees.checkNone('every stored change was requested', unexpectedAddresses(contacts, pushes, before))
  const unknown =
    contacts.filter(({ unknownChange }) => unknownChange).length +
    deals.filter(({ unknownMove }) => unknownMove).length +
    pushes.filter(({ rowId }) => rowId === undefined).length +
    writers.acceptances.filter(({ isAcknowledged }) => !isAcknowledged).length
  const applied = new Set([...alreadyApplied(contacts, pushes, before), ...alreadyMoved(deals, dealsBefore)])
  guarantees.checkNone(
    'a change that was already made is not made again when it is repeated',
    appliedTwice(await writers.repeatUnknown(applied)),
  )
  const rows = await checkRows(options)
  const after = await contactsOf(client)
  guarantees.checkNone('each unknown change, repeated with its key, is made exactly once', missing(contacts, after))
  guarantees.checkNone('nothing is stored that is not in the ledger', unexpectedAddresses(contacts, pushes, after))
  await checkRevisions(client, contacts, guarantees)
  await checkDeals(options, await dealsOf(client))
  await checkPushes(options, after)
  const suggested = await auditSuggestions(options)
  guarantees.checkNone('every response is valid JSON', client.invalidJson)
  return {
    ...rows,
    ...suggested,
    contacts: after.size,
    'moves of deals': deals.reduce((sum, { stages }) => sum + Math.max(0, stages.length - 1), 0),
    'unknown changes retried': unknown,
    'of them made before the retry': applied.size,
  }
}

const contactsOf = async (client: Client): Promise<ContactsByAddress> =>
  byAddress(await client.all<ListedContact>('/v5/contacts', ['id', 'email', 'nickname']))

async function dealsOf(client: Client): Promise<DealsByName> {
  const found = new Map<string, ListedDeal[]>()
  for (const deal of await client.all<ListedDeal>('/v5/deals', ['id', 'name', 'stageId']))
    found.set(deal.name, [...(found.get(deal.name) ?? []), deal])
  return found
}

/** Each deal is in the stage of its last move, and its record of stages contains each move once. */
async function checkDeals({ client, writers: { deals }, guarantees }: AuditOptions, found: DealsByName): Promise<void> {
  guarantees.checkNone('each unknown move, repeated with its key, is made exactly once', wrongDeals(deals, found))
  guarantees.check('no deal is stored that is not in the ledger', found.size === deals.length, {
    stored: found.size,
    expected: deals.length,
  })
  const wrong: ExpectedDeal[] = []
  await forEachConcurrently(deals, async (deal) => {
    const moves = await client.all<ListedMove & { id: string }>(`/v5/deals/${deal.id}/stage-moves`, [])
    if (!hasExactlyTheseMoves(deal, moves)) wrong.push(deal)
  })
  guarantees.checkNone('each move of a deal is recorded once', wrong)
}

/** Requests each updated contact, because lists contain no revisions; and its history. */
async function checkRevisions(
  client: Client,
  contacts: readonly ExpectedContact[],
  guarantees: Guarantees,
): Promise<void> {
  const updated = contacts.filter(({ exists, revision }) => exists && revision > 1)
  const revisions = new Map<string, number>()
  const histories = new Map<string, number>()
  await forEachConcurrently(updated, async ({ id = '' }) => {
    const { headers } = await client.send({ method: 'GET', path: `/v5/contacts/${id}` })
    revisions.set(id, Number(/"(\d+)-/.exec(headers.get('etag') ?? '')?.[1]))
    const { count } = await client.read<{ count: number }>(`/v5/contacts/${id}/timeline/count?kind=change`)
    histories.set(id, count)
  })
  guarantees.checkNone(
    'the revision of each contact matches the number of its changes',
    wrongRevisions(updated, revisions),
  )
  guarantees.checkNone(
    'the history of each contact has one entry for its creation and one per change',
    wrongRevisions(updated, histories),
  )
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
  guarantees.checkNone('every row is PROCESSED', others)
  guarantees.check('the number of rows matches the pushes', counts.PROCESSED === pushes, { pushes, counts })
  const figures = { 'rows processed': counts.PROCESSED ?? 0 }
  return losesWorkers ? { ...figures, 'retried after three killed workers': lost } : figures
}

/** The number of rows in each state once all are finished. Errors: they are not within the timeout. */
async function waitForRows(client: Client, importId: string): Promise<RowCounts> {
  for (const deadline = performance.now() + timeout; performance.now() < deadline; await delay(200)) {
    const { stats } = await client.read<{ stats: { counts: RowCounts } }>(`/v5/imports/${importId}`)
    const { PENDING = 0, PROCESSING = 0, RETRYING = 0 } = stats.counts
    if (PENDING + PROCESSING + RETRYING === 0) return stats.counts
  }
  throw new Error(`Not all rows were finished within ${timeout} ms.`)
}

async function checkPushes(
  { client, writers, importId, guarantees }: AuditOptions,
  found: ContactsByAddress,
): Promise<void> {
  const { pushes } = writers
  const rows = new Set((await client.all<{ id: string }>(`/v5/imports/${importId}/rows`, ['id'])).map(({ id }) => id))
  guarantees.checkNone('each acknowledged push has its own row', pushesWithoutRow(pushes, rows))
  guarantees.checkNone('each row created one contact', pushesWithoutContact(pushes, found))
  const { count: notes } = await client.read<{ count: number }>('/v5/notes/count')
  const { count: companies } = await client.read<{ count: number }>('/v5/companies/count')
  guarantees.check('each row took effect once', notes === pushes.length && companies === pushes.length, {
    pushes: pushes.length,
    notes,
    companies,
  })
}
