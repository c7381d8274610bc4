import { findCallerMember } from '../../identity/members/store.ts'
import { members } from '../../identity/members/resource.ts'
import { findLocalDays } from '../../identity/users/store.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { decodeId, encodeId } from '../../platform/model/ids.ts'
import type { StandardStore } from '../../platform/records/write/store.ts'
import { writeSet } from '../../platform/records/write/write.ts'
import { companies } from '../companies/resource.ts'
import { contacts } from '../contacts/resource.ts'
import { deals } from '../deals/resource.ts'
import { idsOf, updateLastActivity } from '../last-activity/store.ts'
import { tasks } from './resource.ts'
import type { Change, PendingChange } from '../../platform/records/declare/changes.ts'
import type { JsonObject } from '../../platform/model/json.ts'

export const taskStore: StandardStore = {
  resource: tasks,
  write: (transaction, changes, options) =>
    writeSet(transaction, tasks, changes, {
      ...options,
      steps: {
        async beforeWrite(_, pending) {
          await assignPeople(transaction, changes, pending)
          await assignDeadlines(transaction, pending)
        },
        alongWrite: (_, pending) => recordActivity(transaction, pending),
      },
    }),
}

/** A new task is the caller's, unless an assignee or null was sent. */
async function assignPeople(
  transaction: Transaction,
  changes: readonly Change[],
  pending: readonly PendingChange[],
): Promise<void> {
  const unassigned = pending.filter(({ before }, index) => !before && !('assigneeId' in (changes[index]?.values ?? {})))
  const caller = unassigned.length > 0 ? await findCallerMember(transaction) : undefined
  for (const { values } of unassigned) values.assigneeId = caller ? encodeId(members.idPrefix, caller) : null
  for (const { before, columns } of pending) if (!before) columns.created_by_id = transaction.actor.userId
}

/** Stores the time zone in which the due date counts, so that it stays the same while the task does. */
async function assignDeadlines(transaction: Transaction, pending: readonly PendingChange[]): Promise<void> {
  const changed = pending.filter(
    ({ before, values }) => !before || ['dueDate', 'dueAt', 'assigneeId'].some((name) => name in values),
  )
  const days = changed.map((change) => {
    const { dueDate, assigneeId } = afterOf(change)
    return {
      id: change.id,
      day: typeof dueDate === 'string' ? dueDate : null,
      userId: decodeId(members.idPrefix, String(assigneeId)) ?? null,
    }
  })
  const found = await findLocalDays(transaction, days)
  for (const change of changed) {
    const { timeZone, end } = found.get(change.id) ?? {}
    if (timeZone === undefined) throw new Error('every organization has a time zone')
    change.columns.time_zone = timeZone
    change.columns.deadline = afterOf(change).dueAt ?? end ?? null
  }
}

/** A task counts as activity of its record when it is created and when it is done. */
async function recordActivity(transaction: Transaction, pending: readonly PendingChange[]): Promise<void> {
  const active = pending.filter(({ before, values }) => !before || (values.done === true && before.done !== true))
  const idsIn = (name: string, prefix: string) =>
    idsOf(active.flatMap((change) => decodeId(prefix, String(afterOf(change)[name])) ?? []))
  // Before the insert, whose foreign keys would lock the records in the order of the tasks.
  await updateLastActivity(transaction, {
    deals: idsIn('dealId', deals.idPrefix),
    contacts: idsIn('contactId', contacts.idPrefix),
    companies: idsIn('companyId', companies.idPrefix),
  })
}

const afterOf = ({ before, values }: PendingChange): JsonObject => ({ ...before, ...values })
