import type { Transaction } from '../../platform/database/database.ts'
import { decodeId, newId } from '../../platform/model/ids.ts'
import type { JsonObject, JsonValue } from '../../platform/model/json.ts'
import { dayMilliseconds, instantOf, localTimeOf } from '../../platform/model/local-time.ts'
import { sql } from '../../platform/model/sql.ts'
import type { Change, PendingChange } from '../../platform/records/declare/changes.ts'
import type { StandardStore } from '../../platform/records/write/store.ts'
import { nextOccurrence, type Occurrence } from './recurrence.ts'
import { tasks } from './resource.ts'

/**
 * The next tasks of the recurring ones that a set of changes completes. A task has at most one: `next_task_id` says which,
 * and is set while the task is locked.
 */
export class Series {
  readonly #transaction: Transaction
  readonly #changes: Change[] = []
  /** What the next tasks name: the same records and people as the tasks that are completed. */
  readonly #named = new Set<string>()

  constructor(transaction: Transaction) {
    this.#transaction = transaction
  }

  /** Sets which task follows those that are completed, and that none follows those that are open again. */
  async plan(pending: readonly PendingChange[], now: number): Promise<void> {
    const changed = pending.filter(({ before, values }) => before !== undefined && values.done !== undefined)
    const completed = changed.filter(({ before, values }) => values.done === true && before?.nextTaskId === null)
    const recurring = completed.filter((change) => typeof afterOf(change).recurrence === 'string')
    const times = await this.#findTimes(recurring)
    for (const change of recurring) {
      const task = afterOf(change)
      const timeZone = String(change.columns.time_zone ?? task.timeZone)
      const due = {
        dueDate: textOf(task.dueDate),
        dueAt: textOf(task.dueAt),
        timeZone,
        time: 'recurrence_time' in change.columns ? null : (times.get(change.id) ?? null),
      }
      const next = nextOccurrence(String(task.recurrence), due, now)
      if (!next) continue
      const id = newId()
      change.columns.next_task_id = id
      this.#add(id, task, timeZone, next)
    }
    await this.#takeBack(changed.filter(({ before, values }) => values.done === false && before?.nextTaskId !== null))
  }

  get isEmpty(): boolean {
    return this.#changes.length === 0
  }

  async write(store: StandardStore): Promise<void> {
    await store.write(this.#transaction, this.#changes, { locked: this.#named })
  }

  #add(id: string, task: JsonObject, timeZone: string, { dueDate, dueAt, time, recurrence }: Occurrence): void {
    const copied = Object.fromEntries(copiedFields.map((name) => [name, task[name] ?? null]))
    const values = { ...copied, dueDate, dueAt, recurrence }
    const remindAt = movedReminder(task, values, timeZone)
    this.#changes.push({ kind: 'create', id, values: { ...values, remindAt }, columns: { recurrence_time: time } })
    for (const name of namingFields) {
      const prefix = tasks.fields[name].idPrefix ?? ''
      const named = decodeId(prefix, String(task[name]))
      if (named !== undefined) this.#named.add(named)
    }
  }

  async #findTimes(recurring: readonly PendingChange[]): Promise<ReadonlyMap<string, string | null>> {
    const ids = recurring.filter((change) => typeof afterOf(change).dueAt === 'string').map(({ id }) => id)
    if (ids.length === 0) return new Map()
    const rows = await this.#transaction.query<{ id: string; time: string | null }>(sql`
      select id, recurrence_time as time from tasks
      where organization_id = ${this.#transaction.organization} and id = any(${ids}::uuid[])`)
    return new Map(rows.map(({ id, time }) => [id, time]))
  }

  /** Deletes the next tasks of those that are open again, unless somebody has changed them. */
  async #takeBack(reopened: readonly PendingChange[]): Promise<void> {
    const byNext = new Map(
      reopened.flatMap((change) => {
        const next = decodeId(tasks.idPrefix, String(change.before?.nextTaskId))
        return next === undefined ? [] : [[next, change] as const]
      }),
    )
    if (byNext.size === 0) return
    const untouched = await this.#transaction.query<{ id: string }>(sql`
      select id from tasks where organization_id = ${this.#transaction.organization} and id = any(${[...byNext.keys()]}::uuid[])
        and deleted_at is null and not done and revision = 1
      order by id for update`)
    for (const { id } of untouched) {
      const change = byNext.get(id)
      if (change) change.columns.next_task_id = null
      this.#changes.push({ kind: 'update', id, values: {}, lifecycle: 'delete' })
    }
  }
}

const namingFields = ['assigneeId', 'contactId', 'companyId', 'dealId'] as const
const copiedFields = ['title', 'body', 'priority', 'remindBefore', ...namingFields] as const

const afterOf = ({ before, values }: PendingChange): JsonObject => ({ ...before, ...values })

const textOf = (value: JsonValue | undefined): string | null => (typeof value === 'string' ? value : null)

/** The reminder at a time: as many days before the due date as that of the last task, at the same time of the day. */
function movedReminder(task: JsonObject, next: JsonObject, timeZone: string): string | null {
  if (typeof task.remindAt !== 'string') return null
  const dayOf = ({ dueDate, dueAt }: JsonObject) =>
    Date.parse(textOf(dueDate) ?? localTimeOf(Date.parse(String(dueAt)), timeZone).day)
  const { day, time } = localTimeOf(Date.parse(task.remindAt), timeZone)
  const moved = new Date(Date.parse(day) + dayOf(next) - dayOf(task))
  const last = Date.UTC(9999, 11, 31)
  const movedDay = new Date(Math.min(moved.getTime(), last - dayMilliseconds)).toISOString().slice(0, 10)
  return new Date(instantOf({ day: movedDay, time }, timeZone)).toISOString()
}
