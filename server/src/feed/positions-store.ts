import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import type { Connection, Database, Transaction } from '../platform/database/database.ts'
import { type Actor, serviceActor } from '../platform/model/caller.ts'
import { join, type Sql, sql } from '../platform/model/sql.ts'
import type { Queue } from '../platform/queue/queue.ts'
import type { Position } from './position.ts'

/** Maximum number of events that get their positions in one transaction. */
export const placedAtOnce = 2000

/**
 * Gives the next events of the organization (uuid) their positions. An event that is seen comes before all that are not
 * seen yet, and of those that are seen together, one that followed another has the later time: so positions are in the
 * order of commits, although their numbers are not known when events are written. Resolves to how many there were.
 */
export async function placeEvents(database: Database, organizationId: string): Promise<number> {
  return database.transaction(serviceActor('maintenance', organizationId), async (transaction) => {
    const { organization } = transaction
    // Only then does the next statement see what others have placed.
    const { number: last } = await lockFeed(transaction)
    const [placed] = await transaction.query<{ count: number }>(sql`
      with oldest as materialized (
        select record_id, created_at, id, revision, written_at from events
        where organization_id = ${organization} and "position" is null
        order by written_at, id limit ${placedAtOnce}),
      -- A clock that is set back must not change the order of a record's revisions.
      dated as (
        select oldest.*, case when revision is null then written_at
          else max(written_at) over (partition by record_id, revision is null order by revision) end as at
        from oldest),
      waiting as materialized (
        select record_id, created_at, id,
          ${last}::bigint + row_number() over (order by at, revision, written_at, id) as "position"
        from dated),
      placed as (
        update events set "position" = waiting."position" from waiting
        where events.organization_id = ${organization} and events.record_id = waiting.record_id
          and events.created_at = waiting.created_at and events.id = waiting.id
        returning events.id),
      moved as (
        update event_feeds set last_position = ${last}::bigint + (select count(*) from waiting)
        where organization_id = ${organization} and exists (select from waiting))
      select count(*)::integer as count from placed`)
    return placed?.count ?? 0
  })
}

async function lockFeed(transaction: Transaction): Promise<Position> {
  const { organization } = transaction
  const find = () =>
    transaction.query<{ epoch: string; number: string }>(
      sql`select epoch, last_position as number from event_feeds where organization_id = ${organization} for update`,
    )
  const [found] = await find()
  if (!found) {
    const epoch = newEpoch()
    await transaction.query(
      sql`insert into event_feeds (organization_id, epoch) values (${organization}, ${epoch}) on conflict do nothing`,
    )
  }
  const [feed] = found ? [found] : await find()
  if (!feed) throw new Error('the feed of an organization disappeared')
  return { epoch: feed.epoch, number: Number(feed.number) }
}

const newEpoch = (): string => randomBytes(4).toString('hex')

/**
 * Begins new feeds in a restored database, on the session that restores it: they will give positions again that
 * readers already know from before.
 */
export async function beginNewFeeds(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query(`select from pg_class where oid = to_regclass('event_feeds')`)
  // A backup of release 0.1.0 has none.
  if (rows.length > 0) await client.query('update event_feeds set epoch = $1', [newEpoch()])
}

/** Gives all events that have been committed their positions, and resolves to the last one. */
export async function readLastPosition(database: Database, db: Connection): Promise<Position> {
  while ((await placeEvents(database, db.organizationId)) === placedAtOnce);
  const [feed] = await db.query<{ epoch: string; number: string }>(
    sql`select epoch, last_position as number from event_feeds where organization_id = ${db.organization}`,
  )
  if (!feed) throw new Error('the feed of an organization disappeared')
  return { epoch: feed.epoch, number: Number(feed.number) }
}

/** How many of the last events are looked at: first a few, because usually little has happened. */
const lookedAt = [100, 10_000]

/** The position before the events of the last seconds; of more than ten thousand, before the last ones. */
export async function readPositionBefore(database: Database, db: Connection, seconds: number): Promise<Position> {
  const last = await readLastPosition(database, db)
  const numberBefore = async (limit: number) => {
    const [found] = await db.query<{ number: string | null; isOlder: boolean | null }>(sql`
      select min("position") filter (where is_recent) - 1 as number, not bool_and(is_recent) as "isOlder"
      from (select "position", written_at > clock_timestamp() - make_interval(secs => ${seconds}::integer) as is_recent
        from events where organization_id = ${db.organization} and "position" > 0 and "position" <= ${last.number}::bigint
        order by "position" desc limit ${limit}) looked_at`)
    return { number: Number(found?.number ?? last.number), isEnough: found?.isOlder !== false }
  }
  let before = last.number
  for (const limit of lookedAt) {
    const { number, isEnough } = await numberBefore(limit)
    before = number
    if (isEnough) break
  }
  return { epoch: last.epoch, number: before }
}

const hasWaiting = (organization: Sql): Sql =>
  sql`exists (select from events where events.organization_id = ${organization} and events."position" is null)`

/** Events that wait for their positions. */
export const eventQueue: Queue = {
  kind: 'events',
  findOrganization: async (database, after) => {
    const [found] = await database.crossTenantQuery<{ organizationId: string }>(
      'follow the feed',
      sql`select organization_id as "organizationId" from events
        where organization_id > ${after}::uuid and "position" is null order by organization_id limit 1`,
      'find events without a position',
    )
    return found?.organizationId
  },
  secondsUntilDue: async (database, organizationId) => {
    const [found] = await database.crossTenantQuery<{ isWaiting: boolean }>(
      'follow the feed',
      sql`select ${hasWaiting(sql`${organizationId}::uuid`)} as "isWaiting"`,
      'ask for events without a position',
    )
    return found?.isWaiting ? 0 : undefined
  },
  hasWork: hasWaiting,
}

/** A feed that somebody follows. */
export interface FollowedFeed {
  organizationId: string
  lastPosition: number
  isWaiting: boolean
}

/** How far the feeds of these organizations (uuids) have got, and whether events wait for their positions. */
export async function readFollowed(database: Database, organizationIds: readonly string[]): Promise<FollowedFeed[]> {
  const rows = await database.crossTenantQuery<{ organizationId: string; lastPosition: string; isWaiting: boolean }>(
    'follow the feed',
    // A feed begins before anybody waits for it.
    sql`select feed.organization_id as "organizationId", feed.last_position as "lastPosition",
        ${hasWaiting(sql`feed.organization_id`)} as "isWaiting"
      from event_feeds feed where feed.organization_id = any(${organizationIds}::uuid[])`,
    'read followed feeds',
  )
  return rows.map(({ lastPosition, ...feed }) => ({ ...feed, lastPosition: Number(lastPosition) }))
}

/** How many credentials one statement checks. */
const checkedAtOnce = 100

/** Those whose credential is no longer valid. */
export async function findRevoked(database: Database, actors: readonly Actor[]): Promise<Set<Actor>> {
  const revoked = new Set<Actor>()
  for (let first = 0; first < actors.length; first += checkedAtOnce) {
    const checked = actors.slice(first, first + checkedAtOnce)
    const [row] = await database.crossTenantQuery<{ live: (boolean | null)[] }>(
      'follow the feed',
      sql`select array[${join(
        checked.map(({ live }) => sql`(${live})`),
        ', ',
      )}] as live`,
    )
    checked.forEach((actor, index) => {
      if (row?.live[index] !== true) revoked.add(actor)
    })
  }
  return revoked
}
