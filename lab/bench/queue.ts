import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { sha256 } from '../../server/src/platform/secret/encryption.ts'
import type { CrossTenantPurpose } from '../../server/src/platform/database/cross-tenant-purposes.ts'
import type { Sql } from '../../server/src/platform/model/sql.ts'
import type { JsonObject } from '../../server/src/platform/model/fields.ts'
import { newId } from '../../server/src/platform/model/ids.ts'
import { insertRows } from '../../server/src/resources/imports/intake/intake-store.ts'
import { generateTriggerSecret } from '../../server/src/resources/imports/trigger.ts'
import type { Owner } from './records.ts'
import type { Stage } from './stage.ts'

/** As many as the service inserts with one statement at most. */
const batch = 500
/** Milliseconds between two looks at the queue. */
const pollIntervals = { begin: 5, end: 100 }
/** Milliseconds without a row that ends. */
const stallTimeout = 60_000

/** Where rows wait: an import of an organization, as uuids, and the hash of its URL's secret. */
export interface Queue {
  organizationId: string
  importId: string
  hash: Buffer
}

/** That of the organization that is measured. */
export function queueOf({ account, measured: { organizationId, importId } }: Stage): Queue {
  const secret = new URL(account.triggerUrl).pathname.split('/').at(-1) ?? ''
  return { organizationId, importId, hash: sha256(secret) }
}

/** One of another organization of the benchmark, whose team this is. */
export async function createQueue({ client }: Stage, { organizationId, teamId }: Owner): Promise<Queue> {
  const importId = newId()
  const hash = sha256(generateTriggerSecret())
  await client.query(`insert into imports (organization_id, id, name, team_id) values ($1, $2, 'Second', $3)`, [
    organizationId,
    importId,
    teamId,
  ])
  await client.query('insert into import_triggers (organization_id, import_id, hash) values ($1, $2, $3)', [
    organizationId,
    importId,
    hash,
  ])
  return { organizationId, importId, hash }
}

/** Leads that are to wait in a queue. */
export interface Load {
  queue: Queue
  leads: readonly JsonObject[]
}

/** Puts leads on their queues as the service does, but all at once: none is worked on before the last is there. */
export async function enqueue({ client }: Stage, loads: readonly Load[]): Promise<void> {
  const sender = {
    crossTenantQuery: async <Row extends object>(_purpose: CrossTenantPurpose, statement: Sql): Promise<Row[]> =>
      (await client.query<Row & pg.QueryResultRow>(statement.render())).rows,
  }
  const rows = loads.flatMap(({ queue: { organizationId, importId, hash }, leads }) =>
    leads.map((lead) => {
      const payload = Buffer.from(JSON.stringify(lead))
      return { id: newId(), organizationId, importId, triggerHash: hash, payload, parameters: '{}', key: undefined }
    }),
  )
  await client.query('begin')
  for (let first = 0; first < rows.length; first += batch) await insertRows(sender, rows.slice(first, first + batch))
  await client.query('commit')
}

/** How many rows of these queues' organizations have come to their end. */
export async function countFinishedRows({ client }: Stage, queues: readonly Queue[]): Promise<number> {
  const { rows } = await client.query<{ ended: number }>(
    `select coalesce(sum(change), 0)::integer as ended from import_row_counts
     where organization_id = any($1) and status not in ('PENDING', 'PROCESSING', 'RETRYING')`,
    [organizationsOf(queues)],
  )
  return rows[0]?.ended ?? 0
}

/** Resolves when a row is taken to be worked on. */
export async function waitUntilClaimed({ client }: Stage, queues: readonly Queue[]): Promise<void> {
  const statement = `select exists (select from import_rows where organization_id = any($1) and status = 'PROCESSING'
    and run_at > now()) as claimed`
  const values = [organizationsOf(queues)]
  for (
    const deadline = performance.now() + stallTimeout;
    performance.now() < deadline;
    await delay(pollIntervals.begin)
  ) {
    const { rows } = await client.query<{ claimed: boolean }>(statement, values)
    if (rows[0]?.claimed) return
  }
  throw new Error('No row is worked on.')
}

/** Resolves when no row of these queues' organizations waits. Errors: nothing moves. */
export async function waitUntilFinished(stage: Stage, queues: readonly Queue[]): Promise<void> {
  // Through the queue's own index: a look must not cost what the rows that have ended cost.
  const statement = `select from import_rows where organization_id = $1
    and status in ('PENDING', 'RETRYING', 'PROCESSING') order by run_at, id limit 1`
  let [ended, deadline] = [-1, 0]
  const isWaiting = async (organizationId: string) =>
    (await stage.client.query(statement, [organizationId])).rows.length > 0
  const remaining = organizationsOf(queues)
  for (; ; await delay(pollIntervals.end)) {
    while (remaining[0] !== undefined && !(await isWaiting(remaining[0]))) remaining.shift()
    if (remaining.length === 0) return
    if (performance.now() < deadline) continue
    const now = await countFinishedRows(stage, queues)
    if (now === ended) throw new Error(`Rows wait, and none came to an end in ${stallTimeout / 1000} s.`)
    ;[ended, deadline] = [now, performance.now() + stallTimeout]
  }
}

/** All rows of the queue's organization that were made since then, so many of them, were processed. */
export async function assertOutcomes({ client }: Stage, queue: Queue, since: Date, count: number): Promise<void> {
  const { rows } = await client.query<{ status: string; count: number; example: unknown }>(
    `select status, count(*)::integer as count, (array_agg(errors))[1] as example from import_rows
     where organization_id = $1 and created_at >= $2 group by status`,
    [queue.organizationId, since],
  )
  const [row, ...others] = rows
  if (others.length === 0 && row?.status === 'PROCESSED' && row.count === count) return
  throw new Error(`${count} rows should be processed, but they are ${JSON.stringify(rows)}.`)
}

const organizationsOf = (queues: readonly Queue[]): string[] => queues.map(({ organizationId }) => organizationId)
