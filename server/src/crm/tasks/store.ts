import { findCallerMember } from '../../identity/members/store.ts'
import { members } from '../../identity/members/resource.ts'
import { findLocalDays, type LocalDay, type LocalDays } from '../../identity/users/store.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { decodeId, encodeId, newId } from '../../platform/model/ids.ts'
import type { StandardStore } from '../../platform/records/write/store.ts'
import { writeSet } from '../../platform/records/write/write.ts'
import { companies } from '../companies/resource.ts'
import { contacts } from '../contacts/resource.ts'
import { deals } from '../deals/resource.ts'
import { idsOf, updateLastActivity } from '../last-activity/store.ts'
import { reminderOf, unsentAfter } from './reminder.ts'
import { tasks } from './resource.ts'
import { Series } from './series-store.ts'
import type { Change, PendingChange, WriteSteps } from '../../platform/records/declare/changes.ts'
import type { JsonObject } from '../../platform/model/json.ts'

export const taskStore: StandardStore = {
  resource: tasks,
  write: (transaction, changes, options) => {
    const days = new DueDays(transaction, changes)
    const series = new Series(transaction)
    const steps: WriteSteps = {
      readAhead: () => days.readAhead(),
      async beforeWrite(_, pending) {
        const now = Date.now()
        days.assignPeople(pending)
        await days.assignDeadlines(pending)
        pending.forEach((change) => assignReminder(change, now))
        await series.plan(pending, now)
        // Only then, because it takes another round trip.
        if (!series.isEmpty) steps.afterWrite = () => series.write(taskStore)
      },
      alongWrite: (_, pending) => recordActivity(transaction, pending),
    }
    return writeSet(transaction, tasks, changes, { ...options, steps })
  },
}

/** Whose tasks a set of changes makes, and when they are due. */
class DueDays {
  readonly #transaction: Transaction
  readonly #changes: readonly Change[]
  /** One for each change. */
  readonly #keys: readonly string[]
  #caller: string | undefined
  #ofCreated: LocalDays = new Map()

  constructor(transaction: Transaction, changes: readonly Change[]) {
    this.#transaction = transaction
    this.#changes = changes
    this.#keys = changes.map(() => newId())
  }

  /** The caller, if they are a member, and the days of new tasks. */
  async readAhead(): Promise<void> {
    const { userId } = this.#transaction.actor
    const assigneeId = userId === null ? null : encodeId(members.idPrefix, userId)
    const created = this.#changes.flatMap(({ kind, values }, index) =>
      kind === 'create' ? [localDayOf(this.#keys[index] ?? '', { assigneeId, ...values })] : [],
    )
    if (created.length === 0) return
    const reading = [findCallerMember(this.#transaction), findLocalDays(this.#transaction, created)] as const
    ;[this.#caller, this.#ofCreated] = await Promise.all(reading)
  }

  /** A new task is the caller's, unless an assignee or null was sent. */
  assignPeople(pending: readonly PendingChange[]): void {
    pending.forEach(({ before, values, columns }, index) => {
      if (before) return
      columns.created_by_id = this.#transaction.actor.userId
      if ('assigneeId' in (this.#changes[index]?.values ?? {})) return
      values.assigneeId = this.#caller === undefined ? null : encodeId(members.idPrefix, this.#caller)
    })
  }

  /** Stores the time zone in which the due date counts, so that it stays the same while the task does. */
  async assignDeadlines(pending: readonly PendingChange[]): Promise<void> {
    const isChanged = ({ before, values }: PendingChange) =>
      before !== undefined && ['dueDate', 'dueAt', 'assigneeId'].some((name) => name in values)
    const changed = pending.filter(isChanged)
    const ofChanged = await findLocalDays(
      this.#transaction,
      changed.map((change) => localDayOf(change.id, afterOf(change))),
    )
    pending.forEach((change, index) => {
      if (change.before && !isChanged(change)) return
      const found = change.before ? ofChanged.get(change.id) : this.#ofCreated.get(this.#keys[index] ?? '')
      if (!found) throw new Error('every organization has a time zone')
      change.columns.time_zone = found.timeZone
      change.columns.deadline = afterOf(change).dueAt ?? found.end ?? null
      // That of another due date.
      if (change.before) change.columns.recurrence_time = null
    })
  }
}

const remindingFields = ['remindAt', 'remindBefore', 'dueDate', 'dueAt', 'assigneeId']

/** Stores when the task reminds, and what is still to be sent. */
function assignReminder(change: PendingChange, now: number): void {
  const { before, values, columns } = change
  const after = afterOf(change)
  if (!before || remindingFields.some((name) => name in values))
    columns.reminder_at = reminderOf(after, String(columns.time_zone ?? after.timeZone))
  const shown = {
    ...after,
    ...('reminder_at' in columns && { reminderAt: columns.reminder_at ?? null }),
    ...('deadline' in columns && { deadline: columns.deadline ?? null }),
  }
  Object.assign(columns, unsentAfter(before, shown, now))
}

const localDayOf = (id: string, { dueDate, assigneeId }: JsonObject): LocalDay => ({
  id,
  day: typeof dueDate === 'string' ? dueDate : null,
  userId: decodeId(members.idPrefix, String(assigneeId)) ?? null,
})

/** A task counts as activity of its record when it is created and when it is done. */
function recordActivity(transaction: Transaction, pending: readonly PendingChange[]): void {
  const active = pending.filter(({ before, values }) => !before || (values.done === true && before.done !== true))
  const idsIn = (name: string, prefix: string) =>
    idsOf(active.flatMap((change) => decodeId(prefix, String(afterOf(change)[name])) ?? []))
  // Before the insert, whose foreign keys would lock the records in the order of the tasks.
  updateLastActivity(transaction, {
    deals: idsIn('dealId', deals.idPrefix),
    contacts: idsIn('contactId', contacts.idPrefix),
    companies: idsIn('companyId', companies.idPrefix),
  })
}

const afterOf = ({ before, values }: PendingChange): JsonObject => ({ ...before, ...values })
