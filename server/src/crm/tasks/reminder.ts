import { dayMilliseconds, instantOf } from '../../platform/model/local-time.ts'
import type { JsonObject, JsonValue } from '../../platform/model/json.ts'

const minuteMilliseconds = 60_000
/** No database has a year 0. */
const firstInstant = Date.parse('0001-01-01T00:00Z')

/**
 * When a task reminds. Before a day that ends, minutes are those of the clock: nine hours before the end of each day are
 * at 15:00, also when summer time begins.
 */
export function reminderOf({ remindAt, remindBefore, dueDate, dueAt }: JsonObject, timeZone: string): string | null {
  if (typeof remindAt === 'string') return remindAt
  if (typeof remindBefore !== 'number') return null
  const before = remindBefore * minuteMilliseconds
  if (typeof dueAt === 'string') return instantText(Date.parse(dueAt) - before)
  if (typeof dueDate !== 'string') return null
  const shown = new Date(Date.parse(`${dueDate}T00:00Z`) + dayMilliseconds - before).toISOString()
  const [day = '', time = ''] = shown.slice(0, -1).split('T')
  // After the year 9999, and before the year 1, days have more digits.
  return day.length > 10 ? null : instantText(instantOf({ day, time }, timeZone))
}

const instantText = (instant: number): string => new Date(Math.max(instant, firstInstant)).toISOString()

/** The instants of a task at which somebody gets a message, by the columns with those that were not sent yet. */
const notices = [
  { column: 'unsent_reminder_at', field: 'reminderAt' },
  { column: 'unsent_deadline_at', field: 'deadline' },
] as const

/**
 * The columns with what is still to be sent after a change. One with another instant or another assignee is to be sent
 * again, unless the instant has passed: who makes such a change knows it.
 */
export function unsentAfter(before: JsonObject | undefined, after: JsonObject, now: number): Record<string, JsonValue> {
  const isOpen = after.done !== true && typeof after.assigneeId === 'string'
  const isSame = (name: string) => before !== undefined && (before[name] ?? null) === (after[name] ?? null)
  return Object.fromEntries(
    notices.flatMap(({ column, field }) => {
      if ([field, 'assigneeId', 'done'].every(isSame)) return []
      const at = after[field]
      return [[column, isOpen && typeof at === 'string' && Date.parse(at) > now ? at : null]]
    }),
  )
}
