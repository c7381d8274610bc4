import { queryOptions } from '@tanstack/react-query'
import { ChangesMeanwhile } from '../api/changes-meanwhile.ts'
import { type Answer, readIfChanged, type Schemas, send } from '../api/client.ts'
import { ApiError } from '../api/error.ts'
import { queryClient } from '../api/query-client.ts'
import { readNames, type Names } from '../api/names.ts'
import { replaceEntries } from '../api/timeline.ts'
import { onRecordChanged } from '../views/changes.ts'

export type Task = Schemas['Task']

/** What is shown of a task; an entry of a timeline has no more. */
export type ShownTask = Pick<Task, 'id' | 'title' | 'dueDate' | 'dueAt' | 'assigneeId' | 'priority' | 'done'> &
  Partial<Task>

/** The record that tasks are on: `{ companyId: 'com_…' }` */
export type TaskSubject = Readonly<Partial<Record<'contactId' | 'companyId' | 'dealId', string>>>

export interface TaskList {
  /** Those that were finished on this page stay where they are until it is left. */
  tasks: readonly Task[]
  /** Of assignees and records. */
  names: Names
  answer: Answer<Task[]>
}

/** All lists of tasks; read again after each change of one. */
export const tasksKey = ['tasks'] as const

export const pageSize = 50

/** Milliseconds between two looks at the tasks of a record, as at its timeline. */
const interval = 1500

const changes = new ChangesMeanwhile<TaskList>()

/** Tasks whose `done` is on its way to the service: an answer from before must not take it back. */
const pending = new Map<string, boolean>()

/** Reads a list of tasks with the names in it. `key`: what distinguishes it from the other lists. */
export const taskListQuery = (key: readonly unknown[], filters: Readonly<Record<string, string>>) => {
  const queryKey = [...tasksKey, ...key]
  return queryOptions({
    queryKey,
    queryFn: ({ signal }) =>
      changes.during(async (): Promise<TaskList> => {
        const query = new URLSearchParams({ ...filters, limit: String(pageSize) })
        const before = queryClient.getQueryData<TaskList>(queryKey)
        const answer = await readIfChanged('/v5/tasks', query, before?.answer, signal)
        const names = await readNames(answer.body)
        // Again: the person may have finished one meanwhile.
        const shown = queryClient.getQueryData<TaskList>(queryKey)?.tasks ?? []
        return { answer, names, tasks: withFinished(answer.body, shown, filters.done === 'false') }
      }),
  })
}

const countKey = ['task count'] as const

/** How many tasks match. */
export const taskCountQuery = (filters: Readonly<Record<string, string>>) =>
  queryOptions({
    queryKey: [...countKey, filters],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams(filters)
      return (await send<{ count: number }>('GET', '/v5/tasks/count', { query, signal })).body.count
    },
  })

function withFinished(read: readonly Task[], shown: readonly Task[], isOfOpen: boolean): readonly Task[] {
  const current = read.map((task) => ({ ...task, done: pending.get(task.id) ?? task.done }))
  if (!isOfOpen) return current
  const finished = shown.filter(({ id, done }) => done && !read.some((task) => task.id === id))
  return [...current, ...finished].toSorted((one, other) => rankOf(one) - rankOf(other))
}

/** Without a deadline, a task comes last. */
const rankOf = ({ deadline }: Task): number => (deadline === null ? Number.MAX_SAFE_INTEGER : Date.parse(deadline))

/** The open tasks of a record, the most urgent first. */
export const openTasksQuery = (subject: TaskSubject) => ({
  ...taskListQuery(['open', subject], { ...subject, done: 'false', orderBy: 'deadline', sort: 'asc' }),
  refetchInterval: ({ state }: { state: { error: unknown } }) =>
    state.error instanceof ApiError && state.error.status < 500 ? (false as const) : interval,
})

/** The tasks of a record that are done, the latest first. */
export const doneTasksQuery = (subject: TaskSubject) =>
  taskListQuery(['done', subject], { ...subject, done: 'true', orderBy: 'doneAt', sort: 'desc' })

/** Shows a task everywhere as it is, or will be. */
export function showTask(task: ShownTask): void {
  changeLists((list) => ({
    ...list,
    tasks: list.tasks.map((one) => (one.id === task.id ? { ...one, ...task } : one)),
  }))
  replaceEntries((entry) => (entry.task?.id === task.id ? { ...entry, task: { ...entry.task, ...task } } : entry))
}

/** Removes a task from everything that shows it. */
export function hideTask(id: string): void {
  changeLists((list) => ({ ...list, tasks: list.tasks.filter((one) => one.id !== id) }))
  replaceEntries((entry) => (entry.task?.id === id ? undefined : entry))
}

function changeLists(change: (list: TaskList) => TaskList): void {
  changes.add(change)
  queryClient.setQueriesData<TaskList>({ queryKey: tasksKey }, (list) => list && change(list))
}

/** Finished tasks have left their lists when the person comes back. */
export const forgetFinished = (): void =>
  void queryClient.setQueriesData<TaskList>(
    { queryKey: [...tasksKey, 'open'] },
    (list) => list && { ...list, tasks: list.tasks.filter(({ done }) => !done) },
  )

/** While this runs, the task shows whether it will be done. */
export async function whilePending(id: string, done: boolean, change: () => Promise<void>): Promise<void> {
  pending.set(id, done)
  try {
    await change()
  } finally {
    pending.delete(id)
  }
}

export async function readTasksAgain(): Promise<void> {
  await Promise.all([tasksKey, countKey].map((queryKey) => queryClient.invalidateQueries({ queryKey })))
}

onRecordChanged(({ name }) => {
  if (name === 'tasks') void readTasksAgain()
})

/** A task as it is now, to be edited. */
export const readTask = (id: string): Promise<Answer<Task>> => send<Task>('GET', `/v5/tasks/${id}`)
