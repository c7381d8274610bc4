import type { Database } from '../../platform/database/database.ts'
import { raw, type Sql, sql } from '../../platform/model/sql.ts'
import { waiting } from '../../intake/imports/store.ts'
import { readDatabaseState } from './store.ts'

/** What waits for background work. */
export interface Queue {
  /** Counted up to 100,000. */
  length: number
  /** How long the first one of these has been overdue. */
  lagSeconds: number
}

/** The states of mails that have ended. */
export const endedMailStates = ['sent', 'failed', 'kept', 'dropped'] as const

export interface Measurements {
  queues: Readonly<Record<'imports' | 'notes' | 'mails' | 'events' | 'webhooks', Queue>>
  /** Mails that ended within a day. */
  mails: Readonly<Record<(typeof endedMailStates)[number], number>>
  databaseBytes: number
  /** Undefined without any. */
  lastBackupAt: Date | undefined
}

const maxCounted = 100_000

/** Measures the database for the metrics of the installation. */
export async function measureDatabase(database: Database): Promise<Measurements> {
  const read = <Row extends object>(statement: Sql): Promise<Row[]> =>
    database.crossTenantQuery<Row>('show the state of the system', statement)
  const queue = async (statement: Sql): Promise<Queue> => {
    const [row] = await read<Queue>(statement)
    return row ?? { length: 0, lagSeconds: 0 }
  }
  const [imports, notes, mails, events, webhooks, ended, state] = await Promise.all([
    queue(importQueue),
    queue(noteQueue),
    queue(mailQueue),
    queue(eventQueue),
    queue(webhookQueue),
    read<{ status: keyof Measurements['mails']; count: number }>(endedMails),
    readDatabaseState(database),
  ])
  const counts = new Map(ended.map(({ status, count }) => [status, count]))
  const count = (status: keyof Measurements['mails']) => counts.get(status) ?? 0
  return {
    queues: { imports, notes, mails, events, webhooks },
    mails: { sent: count('sent'), failed: count('failed'), kept: count('kept'), dropped: count('dropped') },
    databaseBytes: state.sizeBytes,
    lastBackupAt: state.backup.lastAt === null ? undefined : new Date(state.backup.lastAt),
  }
}

/** How long ago the time is, if it has come. */
const lagSince = (time: Sql): Sql => sql`coalesce(greatest(extract(epoch from now() - ${time}), 0), 0)::float8`

/** Partial indexes of the two queues have only the rows that wait. */
const importQueue = sql`
  select count(*)::int as length, ${lagSince(raw('min(run_at)'))} as "lagSeconds"
  from (select run_at from import_rows where ${waiting} limit ${maxCounted}) queued`

const noteQueue = sql`
  select count(*)::int as length, ${lagSince(raw('min(reasoning_queued_at)'))} as "lagSeconds"
  from (select reasoning_queued_at from notes where reasoning_queued_at is not null and deleted_at is null
    limit ${maxCounted}) queued`

const mailQueue = sql`
  select count(*)::int as length, ${lagSince(raw('min(run_at)'))} as "lagSeconds" from mails where status = 'queued'`

/** Changes that have no position in the feed yet. */
const eventQueue = sql`
  select count(*)::int as length, ${lagSince(raw('min(written_at)'))} as "lagSeconds"
  from (select written_at from events where "position" is null limit ${maxCounted}) placed`

/** Deliveries of a receiver that fails wait until it is tried again, and are not overdue before. */
const webhookQueue = sql`
  select waiting.length, due."lagSeconds"
  from (select count(*)::int as length
      from (select from webhook_deliveries where next_attempt_at is not null limit ${maxCounted}) delivery) waiting,
    (select ${lagSince(raw('min(greatest(state.due_at, state.blocked_until))'))} as "lagSeconds"
      from webhook_states state
      join webhooks using (organization_id)
      where webhooks.id = state.webhook_id and webhooks.status = 'enabled' and webhooks.deleted_at is null
        and state.due_at is not null) due`

const endedMails = sql`
  select status, count(*)::int as count from mails where ended_at > now() - interval '1 day' group by status`
