import { queryOptions } from '@tanstack/react-query'
import { meQuery } from '../api/me.ts'
import { queryClient } from '../api/query-client.ts'
import { schemaQuery } from '../api/schema.ts'
import { dueDayOf, isOverdue } from '../tasks/due.tsx'
import { type Task, taskCountQuery, taskListQuery } from '../tasks/task-data.ts'
import { dayAfter, dayIn } from '../tasks/zones.ts'

/** Days after today whose tasks are also shown. */
const soonDays = 7

/** Milliseconds between refetches: no event says that a task becomes overdue. */
const interval = 60_000

const openTasksOf = (userId: string) => ({ assigneeId: userId, done: 'false', orderBy: 'deadline', sort: 'asc' })

/** The person's overdue tasks, oldest first. */
export const overdueQuery = (userId: string) =>
  queryOptions({
    ...taskListQuery(['open', 'overdue', userId], { ...openTasksOf(userId), overdue: 'true' }),
    refetchInterval: interval,
  })

/** Their total number; the list has only the first ones. */
export const overdueCountQuery = (userId: string) =>
  queryOptions({
    ...taskCountQuery({ assigneeId: userId, done: 'false', overdue: 'true' }),
    refetchInterval: interval,
  })

/** The person's other tasks, earliest deadline first; tasks without one come last. */
export const upcomingQuery = (userId: string) =>
  queryOptions({
    ...taskListQuery(['open', 'upcoming', userId], { ...openTasksOf(userId), overdue: 'false' }),
    refetchInterval: interval,
  })

/** Loads the tasks before the start page appears, so that they do not push anything down. */
export async function loadMyDay(): Promise<void> {
  const [me, schema] = await Promise.all([
    queryClient.ensureQueryData(meQuery),
    queryClient.ensureQueryData(schemaQuery),
  ])
  if (!schema.some(({ name, permissions }) => name === 'tasks' && permissions.list)) return
  await Promise.all([overdueQuery(me.id), upcomingQuery(me.id)].map((query) => queryClient.prefetchQuery(query)))
}

export type Moment = 'overdue' | 'today' | 'soon'

/** Groups the tasks of the next days by urgency, in the person's time zone. */
export function byMoment(tasks: readonly Task[], zone: string, now: Date): Readonly<Record<Moment, readonly Task[]>> {
  const today = dayIn(zone, now)
  const last = dayAfter(today, soonDays)
  const momentOf = (task: Task): Moment | undefined => {
    const day = dueDayOf(task, zone)
    if (day === undefined || day > last) return undefined
    // A task that is finished here stays in its group.
    if (isOverdue({ ...task, done: false }, now, today)) return 'overdue'
    return day <= today ? 'today' : 'soon'
  }
  const inMoment = (moment: Moment) => tasks.filter((task) => momentOf(task) === moment)
  return { overdue: inMoment('overdue'), today: inMoment('today'), soon: inMoment('soon') }
}
