import type { Database } from '../database/database.ts'
import { newId } from '../model/ids.ts'
import { join, raw, type Sql, sql } from '../model/sql.ts'
import { findInTurn, nobody, type Queue } from './queue.ts'

/** Seconds after a touch in which further work needs none: a worker postpones the wakeup to their end at most. */
export const coverageSeconds = 0.25

export interface Wakeup {
  kind: string
  organizationId: string
  touch: string
  /** When it was found; 0 or less if the last touch no longer covers further work. */
  coveredSeconds: number
}

/** What a sweep looks for. */
export type SweptQueue = Pick<Queue, 'kind' | 'hasWork'>

/** Makes wakeups due, because there may be work that is committed. */
export async function touch(database: Database, kind: string, organizationIds: readonly string[]): Promise<void> {
  await database.crossTenantQuery(
    'wake up workers',
    sql`insert into wakeups (kind, organization_id, due_at, touched_at, touch)
      select ${kind}, id, now(), now(), ${newId()}::uuid from unnest(${organizationIds}::uuid[]) as given (id) order by id
      on conflict (organization_id, kind) do update set
        due_at = excluded.due_at, touched_at = greatest(wakeups.touched_at, excluded.touched_at), touch = excluded.touch`,
    'touch wakeups',
  )
}

/** The next due wakeup after the organization `last`. */
export const findDue = (database: Database, kind: string, last?: string): Promise<Wakeup | undefined> =>
  findInTurn(last, async (after) => {
    const [found] = await database.crossTenantQuery<Wakeup>(
      'wake up workers',
      sql`select kind, organization_id as "organizationId", touch,
          extract(epoch from touched_at - now())::float8 + ${coverageSeconds} as "coveredSeconds"
        from wakeups where kind = ${kind} and due_at <= now() and organization_id > ${after}::uuid
        order by organization_id limit 1`,
      'find due wakeups',
    )
    return found
  })

/**
 * Makes it due in so many seconds after it was found, not from now: a worker that stalled since then would otherwise put off work that is
 * due by now. Does nothing if it was touched meanwhile, as do `retryLater` and `remove`.
 */
export const postpone = (database: Database, wakeup: Wakeup, seconds: number): Promise<void> =>
  setDue(
    database,
    wakeup,
    sql`touched_at + make_interval(secs => ${coverageSeconds - wakeup.coveredSeconds + seconds})`,
    'postpone a wakeup',
  )

export const retryLater = (database: Database, wakeup: Wakeup, seconds: number): Promise<void> =>
  setDue(database, wakeup, sql`now() + make_interval(secs => ${seconds})`, 'retry a wakeup later')

async function setDue(
  database: Database,
  { kind, organizationId, touch: seen }: Wakeup,
  dueAt: Sql,
  name: string,
): Promise<void> {
  await database.crossTenantQuery(
    'wake up workers',
    sql`update wakeups set due_at = ${dueAt}
      where kind = ${kind} and organization_id = ${organizationId}::uuid and touch = ${seen}::uuid`,
    name,
  )
}

export async function remove(database: Database, { kind, organizationId, touch: seen }: Wakeup): Promise<void> {
  await database.crossTenantQuery(
    'wake up workers',
    sql`delete from wakeups
      where kind = ${kind} and organization_id = ${organizationId}::uuid and touch = ${seen}::uuid`,
    'remove a wakeup',
  )
}

/** Whether this process does the next sweep of this kind: one of all processes, once in this time. */
export async function claimSweep(database: Database, kind: string, intervalSeconds: number): Promise<boolean> {
  const claimed = await database.crossTenantQuery(
    'wake up workers',
    sql`insert into wakeups (kind, organization_id, due_at, touched_at, touch)
      values (${kind}, ${nobody}::uuid, now() + make_interval(secs => ${intervalSeconds}), now(), ${newId()}::uuid)
      on conflict (organization_id, kind) do update set due_at = excluded.due_at
      where wakeups.due_at <= now() returning kind`,
    'claim a sweep',
  )
  return claimed.length > 0
}

/** By kind, the organizations of a relation of all of them that have due work. */
export async function findWork(
  database: Database,
  organizations: Sql,
  kinds: readonly SweptQueue[],
): Promise<Map<string, string[]>> {
  const each = kinds.map(
    ({ hasWork }, index) => sql`
      select home.organization_id, ${raw(String(index))} as kind from ${organizations} home
      where ${hasWork(raw('home.organization_id'))}`,
  )
  const rows = await database.crossTenantQuery<{ organizationId: string; kind: number }>(
    'wake up workers',
    sql`select organization_id as "organizationId", kind from (${join(each, ' union all ')}) found`,
    // Several sweeps share the connections, and each has another statement.
    `find work: ${kinds.map(({ kind }) => kind).join(', ')}`,
  )
  return new Map(
    kinds.map(({ kind }, index) => [
      kind,
      rows.filter((row) => row.kind === index).map(({ organizationId }) => organizationId),
    ]),
  )
}
