import { queryOptions } from '@tanstack/react-query'
import { ChangesMeanwhile } from '../api/changes-meanwhile.ts'
import { type Answer, readIfChanged, type Schemas, send } from '../api/client.ts'
import { queryClient } from '../api/query-client.ts'
import { readNames, type Names } from '../api/names.ts'
import { replaceEntries } from '../api/timeline.ts'
import { about, byOthers, ofResources } from '../live/refetch.ts'
import { onRecordChanged } from '../views/changes.ts'

export type Task = Schemas['Task']

/** The displayed properties of a task; a timeline entry has no others. */
export type ShownTask = Pick<Task, 'id' | 'title' | 'dueDate' | 'dueAt' | 'assigneeId' | 'priority' | 'done'> &
  Partial<Task>

/** The record that tasks belong to: `{ companyId: 'com_…' }` */
export type TaskSubject = Readonly<Partial<Record<'contactId' | 'companyId' | 'dealId', string>>>

export interface TaskList {
  /** Tasks that were finished on this page stay in place until it is left. */
  tasks: readonly Task[]
  /** Names of assignees and records. */
  names: Names
  answer: Answer<Task[]>
}

/** The query key of all task lists; invalidated after each change of a task. */
export const tasksKey = ['tasks'] as const

export const pageSize = 50

const changes = new ChangesMeanwhile<TaskList>()

/** Tasks whose new `done` is not stored yet: a response from before must not revert it. */
const pending = new Map<string, boolean>()

/** Fetches a list of tasks with the names in it. `key` distinguishes the list from others. */
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
        // Read the cache again, because the person may have finished a task meanwhile.
        const shown = queryClient.getQueryData<TaskList>(queryKey)?.tasks ?? []
        return { answer, names, tasks: withFinished(answer.body, shown, filters.done === 'false') }
      }),
    meta: followsTasks(filters),
  })
}

/** Changes of the tasks of a record or a person. */
const followsTasks = (filters: Readonly<Record<string, string>>) => {
  const id = Object.values(filters).find((value) => /^[a-z]{3}_/.test(value)) ?? ''
  return { follows: byOthers(about(id, 'task')) }
}

const countKey = ['task count'] as const

/** The number of matching tasks. */
export const taskCountQuery = (filters: Readonly<Record<string, string>>) =>
  queryOptions({
    queryKey: [...countKey, filters],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams(filters)
      return (await send<{ count: number }>('GET', '/v5/tasks/count', { query, signal })).body.count
    },
    meta: { follows: ofResources('task') },
  })

function withFinished(read: readonly Task[], shown: readonly Task[], isOfOpen: boolean): readonly Task[] {
  const current = read.map((task) => ({ ...task, done: pending.get(task.id) ?? task.done }))
  if (!isOfOpen) return current
  const finished = shown.filter(({ id, done }) => done && !read.some((task) => task.id === id))
  return [...current, ...finished].toSorted((one, other) => rankOf(one) - rankOf(other))
}

/** Tasks without a deadline come last. */
const rankOf = ({ deadline }: Task): number => (deadline === null ? Number.MAX_SAFE_INTEGER : Date.parse(deadline))

/** The open tasks of a record, most urgent first. */
export const openTasksQuery = (subject: TaskSubject) =>
  taskListQuery(['open', subject], { ...subject, done: 'false', orderBy: 'deadline', sort: 'asc' })

/** The done tasks of a record, most recent first. */
export const doneTasksQuery = (subject: TaskSubject) =>
  taskListQuery(['done', subject], { ...subject, done: 'true', orderBy: 'doneAt', sort: 'desc' })

/** Updates a task everywhere, possibly before the change is stored. */
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

/** While this runs, the task shows its future state. */
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

/** Fetches a task before it is edited. */
export const readTask = (id: string): Promise<Answer<Task>> => send<Task>('GET', `/v5/tasks/${id}`)
