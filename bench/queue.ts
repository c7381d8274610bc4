import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { SpanningPurpose } from '../server/src/platform/database/database.ts'
import type { Sql } from '../server/src/platform/database/sql.ts'
import type { JsonObject } from '../server/src/platform/resource/fields.ts'
import { newId } from '../server/src/platform/resource/ids.ts'
import { insertRows } from '../server/src/resources/imports/intake-store.ts'
import { triggerHash } from '../server/src/resources/imports/trigger.ts'
import type { Stage } from './stage.ts'

/** As many as the service inserts with one statement at most. */
const batch = 500
/** Milliseconds between two looks at the queue. */
const pauses = { begin: 5, end: 100 }
/** Milliseconds without a row that ends. */
const patience = 60_000

/** Puts leads on the queue as the service does, but all at once, so that none is worked on before the last is there. */
export async function enqueue({ client, account, measured }: Stage, leads: readonly JsonObject[]): Promise<void> {
  const secret = new URL(account.triggerUrl).pathname.split('/').at(-1) ?? ''
  const hash = triggerHash(secret)
  const { organizationId, importId } = measured
  const sender = {
    spanning: async <Row extends object>(_purpose: SpanningPurpose, statement: Sql): Promise<Row[]> =>
      (await client.query<Row & pg.QueryResultRow>(statement.render())).rows,
  }
  await client.query('begin')
  for (let first = 0; first < leads.length; first += batch) {
    const rows = leads.slice(first, first + batch).map((lead) => {
      const payload = Buffer.from(JSON.stringify(lead))
      return { id: newId(), organizationId, importId, triggerHash: hash, payload, parameters: '{}', key: undefined }
    })
    await insertRows(sender, rows)
  }
  await client.query('commit')
}

/** How many rows of the measured organization have come to their end. */
export async function endedRows({ client, measured }: Stage): Promise<number> {
  const { rows } = await client.query<{ ended: number }>(
    `select coalesce(sum(change), 0)::integer as ended from import_row_counts
     where organization_id = $1 and status not in ('PENDING', 'PROCESSING', 'RETRYING')`,
    [measured.organizationId],
  )
  return rows[0]?.ended ?? 0
}

/** Resolves when a row is taken to be worked on. */
export async function firstClaimed({ client, measured }: Stage): Promise<void> {
  const statement = `select exists (select from import_rows where organization_id = $1 and status = 'PROCESSING'
    and run_at > now()) as claimed`
  const values = [measured.organizationId]
  for (const deadline = performance.now() + patience; performance.now() < deadline; await delay(pauses.begin)) {
    const { rows } = await client.query<{ claimed: boolean }>(statement, values)
    if (rows[0]?.claimed) return
  }
  throw new Error('No row is worked on.')
}

/** Resolves when no row of the measured organization waits. Errors: nothing moves. */
export async function allEnded(stage: Stage): Promise<void> {
  const { client, measured } = stage
  // Through the queue's own index: a look must not cost what the rows that have ended cost.
  const statement = `select from import_rows where organization_id = $1
    and status in ('PENDING', 'RETRYING', 'PROCESSING') order by run_at, id limit 1`
  let [ended, deadline] = [-1, 0]
  for (; ; await delay(pauses.end)) {
    const { rows } = await client.query(statement, [measured.organizationId])
    if (rows.length === 0) return
    if (performance.now() < deadline) continue
    const now = await endedRows(stage)
    if (now === ended) throw new Error(`Rows wait, and none came to an end in ${patience / 1000} s.`)
    ;[ended, deadline] = [now, performance.now() + patience]
  }
}

/** All rows made since then, so many of them, were processed. */
export async function assertOutcomes({ client, measured }: Stage, since: Date, count: number): Promise<void> {
  const { rows } = await client.query<{ status: string; count: number; example: unknown }>(
    `select status, count(*)::integer as count, (array_agg(errors))[1] as example from import_rows
     where organization_id = $1 and created_at >= $2 group by status`,
    [measured.organizationId, since],
  )
  const [row, ...others] = rows
  if (others.length === 0 && row?.status === 'PROCESSED' && row.count === count) return
  throw new Error(`${count} rows should be processed, but they are ${JSON.stringify(rows)}.`)
}
