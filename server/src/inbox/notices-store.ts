import type { Notices } from '../feed/notices.ts'
import { sql } from '../platform/model/sql.ts'
import { countUnread } from './store.ts'

/** What the streams of a person send when their entries change. */
export const inboxNotices: Notices = {
  async readNumbers(database, people) {
    const rows = await database.crossTenantQuery<{ organizationId: string; userId: string; number: string }>(
      'follow the feed',
      sql`select change.organization_id as "organizationId", change.user_id as "userId", change.number
        from unnest(${people.map(({ organizationId }) => organizationId)}::uuid[],
          ${people.map(({ userId }) => userId)}::uuid[]) as given (organization_id, user_id)
        join inbox_changes change on change.organization_id = given.organization_id and change.user_id = given.user_id`,
      'read changes of inboxes',
    )
    return rows.map(({ number, ...person }) => ({ ...person, number: Number(number) }))
  },
  async read(db, userId) {
    const { organization } = db
    const [change] = await db.query<{ number: string }>(sql`
      select number from inbox_changes where organization_id = ${organization} and user_id = ${userId}::uuid`)
    // Counted afterwards: a change in between is reported again.
    return { number: Number(change?.number ?? 0), event: 'inbox', data: { unread: await countUnread(db, userId) } }
  },
}
