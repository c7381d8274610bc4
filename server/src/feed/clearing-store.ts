import type { Database } from '../platform/database/database.ts'
import { serviceActor } from '../platform/model/caller.ts'
import { type Sql, sql } from '../platform/model/sql.ts'

/** Events that one step looks at. */
export const clearedAtOnce = 1000

/** As long as retention waits: an event that follows an old one may be older. */
const graceSeconds = 60 * 60

/**
 * Takes the values out of the next events of an organization (uuid) that are older than the feed: timelines show their
 * `changes` only. In the order of the feed, so that a step needs no index of its own. Resolves to false after the last one.
 */
export async function clearNextValues(database: Database, organizationId: string, days: number): Promise<boolean> {
  return database.transaction(serviceActor('maintenance', organizationId), async ({ organization, query }) => {
    const [feed] = await query<{ cleared: string }>(sql`
      select cleared_position as cleared from event_feeds
      where organization_id = ${organization} for no key update`)
    if (!feed) return false
    const [next] = await query<{ until: string | null; count: number }>(nextSql(organization, feed.cleared, days))
    if (!next || next.until === null) return false
    await query(sql`
      update events set "values" = null
      where ${isAfter(organization, feed.cleared)} and "position" <= ${next.until}::bigint and "values" is not null`)
    await query(sql`
      update event_feeds set cleared_position = ${next.until}::bigint where organization_id = ${organization}`)
    return next.count === clearedAtOnce
  })
}

const isAfter = (organization: Sql, position: string): Sql =>
  sql`organization_id = ${organization} and "position" > 0 and "position" > ${position}::bigint`

/** How many of the next events are old, up to the first one that is not, and the position of the last one. */
export const nextSql = (organization: Sql, after: string, days: number): Sql => sql`
  select max("position") filter (where is_old) as until, count(*) filter (where is_old)::int as count from (
    select "position", bool_and(created_at <= now() - make_interval(days => ${days}::int, secs => ${graceSeconds}))
      over (order by "position") as is_old
    from (
      select "position", created_at from events where ${isAfter(organization, after)}
      order by "position" limit ${clearedAtOnce}) next) dated`
