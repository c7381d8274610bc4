import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { sha256 } from '../../server/src/platform/secret/encryption.ts'
import type { CrossTenantPurpose } from '../../server/src/platform/database/cross-tenant-purposes.ts'
import { toSql } from '../../server/src/platform/database/fixed-statements.ts'
import type { OrganizationStatement } from '../../server/src/platform/database/fixed-statements.ts'
import type { Sql } from '../../server/src/platform/model/sql.ts'
import { newId } from '../../server/src/platform/model/ids.ts'
import { insertRows } from '../../server/src/intake/accept/intake-store.ts'
import { dayOf } from '../../server/src/intake/accept/push-quota-store.ts'
import { generateTriggerSecret } from '../../server/src/intake/imports/trigger.ts'
import type { Owner } from './records.ts'
import type { Testbed } from './stage.ts'
import type { JsonObject } from '../../server/src/platform/model/json.ts'

/** The maximum that the service inserts with one statement. */
const batch = 500
/** Milliseconds. */
const pollIntervals = { begin: 5, end: 100 }
/** Milliseconds without a finished row. */
const stallTimeout = 60_000

/** An import whose rows wait: UUIDs, and the hash of the secret in its URL. */
export interface Queue {
  organizationId: string
  importId: string
  hash: Buffer
}

/** The queue of the measured organization. */
export function queueOf({ account, measured: { organizationId, importId } }: Testbed): Queue {
  const secret = new URL(account.triggerUrl).pathname.split('/').at(-1) ?? ''
  return { organizationId, importId, hash: sha256(secret) }
}

/** Creates a queue of another organization. */
export async function createQueue({ client }: Testbed, { organizationId, teamId }: Owner): Promise<Queue> {
  const importId = newId()
  const hash = sha256(generateTriggerSecret())
  await client.query(`insert into imports (organization_id, id, name, team_id) values ($1, $2, 'Second', $3)`, [
    organizationId,
    importId,
    teamId,
  ])
  for (const table of ['import_triggers', 'import_secrets'])
    await client.query(
      `insert into ${table} (organization_id, import_id, hash) values ($1, $2, $3) on conflict do nothing`,
      [organizationId, importId, hash],
    )
  return { organizationId, importId, hash }
}

/** Leads to put in a queue. */
export interface Load {
  queue: Queue
  leads: readonly JsonObject[]
}

/** Inserts leads as the service does, but in one transaction, so that none is processed before all are stored. */
export async function enqueue({ client }: Testbed, loads: readonly Load[]): Promise<void> {
  const crossTenantQuery = async <Row extends object>(_purpose: CrossTenantPurpose, statement: Sql): Promise<Row[]> =>
    (await client.query<Row & pg.QueryResultRow>(statement.render())).rows
  const sender = {
    crossTenantQuery,
    writesTablesTogether: true,
    crossTenantBatch: <Row extends object>(purpose: CrossTenantPurpose, all: readonly OrganizationStatement[]) =>
      Promise.all(all.map(({ statement }) => crossTenantQuery<Row>(purpose, toSql(statement)))),
  }
  const rows = loads.flatMap(({ queue: { organizationId, importId, hash }, leads }) =>
    leads.map((lead) => {
      const payload = Buffer.from(JSON.stringify(lead))
      const push = { payload, parameters: '{}', bytes: payload.length + 2, key: undefined }
      return { id: newId(), organizationId, importId, triggerHash: hash, ...push }
    }),
  )
  const count = { day: dayOf(Date.now()), slot: 0, maxBytes: null }
  await client.query('begin')
  for (let first = 0; first < rows.length; first += batch)
    await insertRows(sender, rows.slice(first, first + batch), count)
  await client.query('commit')
}

/** The number of finished rows of these queues' organizations. */
export async function countFinishedRows({ client }: Testbed, queues: readonly Queue[]): Promise<number> {
  const { rows } = await client.query<{ ended: number }>(
    `select coalesce(sum(change), 0)::integer as ended from import_row_counts
     where organization_id = any($1) and status not in ('PENDING', 'PROCESSING', 'RETRYING')`,
    [organizationsOf(queues)],
  )
  return rows[0]?.ended ?? 0
}

/** Resolves when a worker has claimed a row. */
export async function waitUntilClaimed({ client }: Testbed, queues: readonly Queue[]): Promise<void> {
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
  throw new Error('No row was claimed.')
}

/** Resolves when no row of these queues' organizations is waiting. Errors: no progress within the timeout. */
export async function waitUntilFinished(stage: Testbed, queues: readonly Queue[]): Promise<void> {
  // Uses the queue's own index, so that the query does not read finished rows.
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
    if (now === ended) throw new Error(`Rows are waiting, but none was finished in ${stallTimeout / 1000} s.`)
    ;[ended, deadline] = [now, performance.now() + stallTimeout]
  }
}

/** Checks that `count` rows of the queue's organization were created since then, and all were processed. */
export async function assertOutcomes({ client }: Testbed, queue: Queue, since: Date, count: number): Promise<void> {
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
