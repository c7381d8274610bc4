import { organizationsByRecords } from '../../identity/teams/store.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { serviceActor } from '../../platform/model/caller.ts'
import { join, raw, type Sql, sql } from '../../platform/model/sql.ts'
import type { Queue } from '../../platform/queue/queue.ts'

/** A message about a task, for the inbox of its assignee. All ids are uuids. */
export interface TaskNotice {
  userId: string
  kind: 'reminder' | 'taskDue'
  resource: 'tasks'
  recordId: string
  authorId: null
  /** The same for the same message: what is added twice is there once. */
  key: string
}

/** Stores messages in the transaction that takes them out of the queue. */
export type AddNotices = (transaction: Transaction, notices: readonly TaskNotice[]) => Promise<unknown>

/** Tasks that one transaction looks at. */
export const noticedAtOnce = 200

interface DueTask {
  id: string
  userId: string
  /** Null if it is not due. */
  reminderAt: string | null
  deadline: string | null
}

/**
 * Sends the messages of tasks whose reminder or deadline has come, each once: the row lock and the commit say who does. A
 * task that is gone, done or nobody's sends none. Resolves to the number of tasks.
 */
export async function sendNotices(database: Database, organizationId: string, add: AddNotices): Promise<number> {
  return database.transaction(serviceActor('maintenance', organizationId), async (transaction) => {
    const { organization } = transaction
    const due = await transaction.query<DueTask & { isSent: boolean }>(sql`
      select task.id, task.assignee_id as "userId", ${instantText('task.unsent_reminder_at')} as "reminderAt",
        ${instantText('task.unsent_deadline_at')} as deadline,
        not task.done and task.assignee_id is not null and task.deleted_at is null and ${hasRecord(organization)} as "isSent"
      from tasks task
      where task.organization_id = ${organization} and ${unsent} and ${nextAt} <= now()
      order by ${nextAt} limit ${noticedAtOnce} for no key update of task skip locked`)
    if (due.length === 0) return 0
    const ids = (isDue: (task: DueTask) => boolean) => due.filter(isDue).map(({ id }) => id)
    // Constants only: not every engine accepts a clock in the update of a column.
    await transaction.query(sql`
      update tasks task set
        unsent_reminder_at = case when id <> all(${ids(({ reminderAt }) => reminderAt !== null)}::uuid[])
          then unsent_reminder_at end,
        unsent_deadline_at = case when id <> all(${ids(({ deadline }) => deadline !== null)}::uuid[])
          then unsent_deadline_at end
      where organization_id = ${organization} and id = any(${ids(() => true)}::uuid[])`)
    const notices = due.filter(({ isSent }) => isSent).flatMap(noticesOf)
    if (notices.length > 0) await add(transaction, notices)
    return due.length
  })
}

const unsent = raw('(unsent_reminder_at is not null or unsent_deadline_at is not null)')
const nextAt = raw('least(unsent_reminder_at, unsent_deadline_at)')

const instantText = (column: string): Sql =>
  raw(`case when ${column} <= now() then to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') end`)

/** While a record is deleted, its tasks are not found. */
const hasRecord = (organization: Sql): Sql =>
  join(
    (['contact', 'company', 'deal'] as const).map((name) => {
      const table = { contact: 'contacts', company: 'companies', deal: 'deals' }[name]
      const column = raw(`task.${name}_id`)
      return sql`(${column} is null or exists (select from ${raw(table)} record
        where record.organization_id = ${organization} and record.id = ${column} and record.deleted_at is null))`
    }),
    ' and ',
  )

function noticesOf({ id, userId, reminderAt, deadline }: DueTask): TaskNotice[] {
  const common = { userId, resource: 'tasks' as const, recordId: id, authorId: null }
  return [
    ...(reminderAt === null ? [] : [{ ...common, kind: 'reminder' as const, key: `reminder ${id} ${reminderAt}` }]),
    ...(deadline === null ? [] : [{ ...common, kind: 'taskDue' as const, key: `taskDue ${id} ${deadline}` }]),
  ]
}

const hasDue = (organization: Sql): Sql =>
  sql`exists (select from tasks where tasks.organization_id = ${organization} and ${unsent} and ${nextAt} <= now())`

/** Tasks whose messages are not sent yet. */
export const noticeQueue: Queue = {
  kind: 'reminders',
  hasWork: hasDue,
  findOrganization: async (database, after) => {
    const [found] = await database.crossTenantQuery<{ organizationId: string }>(
      'send reminders',
      // One look at the index for each organization, not one for each of its tasks.
      sql`select home.organization_id as "organizationId" from ${organizationsByRecords} home
        where home.organization_id > ${after}::uuid and ${hasDue(sql`home.organization_id`)}
        order by home.organization_id limit 1`,
      'find due reminders',
    )
    return found?.organizationId
  },
  secondsUntilDue: async (database, organizationId) => {
    const [found] = await database.crossTenantQuery<{ seconds: number | null }>(
      'send reminders',
      sql`select extract(epoch from min(${nextAt}) - now())::float as seconds from tasks
        where organization_id = ${organizationId}::uuid and ${unsent}`,
      'ask for the next reminder',
    )
    return found?.seconds ?? undefined
  },
}
