import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Plus, Sun } from 'lucide-react'
import { createElement, useEffect, useRef, useState } from 'react'
import { useFormatter, useNow, useTranslations } from 'use-intl'
import { useMe } from '../api/me.ts'
import { useResource } from '../api/schema.ts'
import { resourceIcon } from '../registry/resources.ts'
import { useShortcuts } from '../ui/shortcuts.tsx'
import { useUndoShortcut } from '../ui/undo.ts'
import { usePersonZone } from '../tasks/person-zone.ts'
import { forgetFinished, pageSize, type Task, type TaskList } from '../tasks/task-data.ts'
import { NewTask } from '../tasks/task-dialog.tsx'
import { TaskRow } from '../tasks/task-row.tsx'
import taskStyles from '../tasks/tasks.module.css'
import type { Names } from '../api/names.ts'
import { Button, buttonClasses } from '../ui/button.tsx'
import { EmptyState, Failure } from '../ui/empty-state.tsx'
import { Panel } from '../ui/page.tsx'
import styles from './home.module.css'
import { byMoment, type Moment, overdueCountQuery, overdueQuery, upcomingQuery } from './my-day.ts'

const moments: readonly Moment[] = ['overdue', 'today', 'soon']

/** The person's tasks: overdue, due today, and due in the next days. */
export function MyDay() {
  const t = useTranslations('home')
  const taskTexts = useTranslations('tasks')
  const { id } = useMe()
  const zone = usePersonZone()
  const now = useNow({ updateInterval: 60_000 })
  const mayCreate = useResource('tasks')?.permissions.create === true
  const overdue = useQuery(overdueQuery(id))
  const upcoming = useQuery(upcomingQuery(id))
  const [isCreating, setCreating] = useState(false)
  const newButton = useRef<HTMLButtonElement>(null)
  useEffect(() => forgetFinished, [])
  useUndoShortcut()
  const create = () => setCreating(true)
  useShortcuts(mayCreate ? [{ keys: 't', label: taskTexts('newTask'), run: create }] : [])
  const close = () => {
    setCreating(false)
    requestAnimationFrame(() => newButton.current?.focus())
  }
  const error = overdue.error ?? upcoming.error
  const retry = () => void Promise.all([overdue.refetch(), upcoming.refetch()])
  const isLoaded = overdue.data !== undefined && upcoming.data !== undefined
  const tasks = [...(overdue.data?.tasks ?? []), ...(upcoming.data?.tasks ?? [])]
  const names = { ...overdue.data?.names, ...upcoming.data?.names }
  // If the list is longer than a page, the last group has more tasks than it shows.
  const isFull = (list: TaskList | undefined) => (list?.answer.body.length ?? 0) >= pageSize
  const overdueCount = useQuery({ ...overdueCountQuery(id), enabled: isFull(overdue.data) }).data
  const groups = byMoment(withoutRepeated(tasks), zone, now)
  const cut: Moment | undefined = isFull(upcoming.data) ? (groups.soon.length > 0 ? 'soon' : 'today') : undefined
  const isEmpty = moments.every((moment) => groups[moment].length === 0)
  return (
    <Panel
      title={t('myDay')}
      actions={
        <>
          <MyTasksLink id={id} text={t('allMyTasks')} />
          {mayCreate && (
            <Button ref={newButton} icon={Plus} onClick={create}>
              {taskTexts('newTask')}
            </Button>
          )}
        </>
      }
    >
      {error && !isLoaded && <Failure error={error} onRetry={retry} />}
      {isLoaded && isEmpty && <EmptyState icon={Sun} title={t('freeDay')} text={t('freeDayText')} />}
      {isLoaded && !isEmpty && (
        <div className={styles.moments}>
          {moments
            .filter((moment) => groups[moment].length > 0)
            .map((moment) => (
              <Group
                key={moment}
                moment={moment}
                tasks={groups[moment]}
                names={names}
                total={moment === 'overdue' && isFull(overdue.data) ? overdueCount : undefined}
                isCut={moment === cut}
              />
            ))}
        </div>
      )}
      {isCreating && <NewTask onClose={close} />}
    </Panel>
  )
}

/** A link to the person's open tasks. */
function MyTasksLink({ id, moment, text }: { id: string; moment?: Moment; text: string }) {
  const search = {
    'filter.assigneeId.equals': id,
    'filter.done.equals': 'false',
    ...(moment === 'overdue' && { 'filter.overdue.equals': 'true' }),
    orderBy: 'deadline',
    sort: 'asc',
  }
  return (
    <Link to="/$resource" params={{ resource: 'tasks' }} search={search as never} className={buttonClasses('quiet')}>
      {text}
    </Link>
  )
}

/** A task that has just become overdue can be in both lists until they are refetched. */
const withoutRepeated = (tasks: readonly Task[]): readonly Task[] => [
  ...new Map(tasks.map((task) => [task.id, task])).values(),
]

interface GroupProps {
  moment: Moment
  tasks: readonly Task[]
  names: Names
  /** The number of open tasks, if there are more than were loaded. */
  total: number | undefined
  /** There are more tasks, but their number is unknown. */
  isCut: boolean
}

/** Tasks beyond this number appear on request, because the charts come below them. */
const shownTasks = 6

function Group({ moment, tasks, names, total, isCut }: GroupProps) {
  const t = useTranslations('home')
  const taskTexts = useTranslations('tasks')
  const format = useFormatter()
  const { id } = useMe()
  const [isComplete, setComplete] = useState(false)
  const shown = isComplete ? tasks : tasks.slice(0, shownTasks)
  const openIn = (list: readonly Task[]) => list.filter(({ done }) => !done).length
  const open = Math.max(total ?? 0, openIn(tasks))
  const more = open - openIn(shown)
  return (
    <div>
      <h3 id={`my-day-${moment}`} className={styles.moment} data-moment={moment}>
        {t(`moments.${moment}`)}{' '}
        <span className={styles.soft}>{isCut ? t('atLeast', { count: open }) : format.number(open)}</span>
      </h3>
      <ul className={taskStyles.list} aria-labelledby={`my-day-${moment}`}>
        {shown.map((task) => (
          <li key={task.id}>
            <TaskRow task={task} assignee={undefined}>
              <TaskRecord task={task} names={names} />
            </TaskRow>
          </li>
        ))}
      </ul>
      {shown.length < tasks.length ? (
        <Button kind="quiet" onClick={() => setComplete(true)}>
          {isCut ? t('manyMoreTasks') : t('moreTasks', { count: more })}
        </Button>
      ) : (
        (isCut || more > 0) && <MyTasksLink id={id} moment={moment} text={taskTexts('allInList')} />
      )}
    </div>
  )
}

/** A link to the record that a task belongs to. */
function TaskRecord({ task: { contactId, companyId, dealId }, names }: { task: Task; names: Names }) {
  const id = contactId ?? companyId ?? dealId
  if (id === null) return undefined
  const resource = id === contactId ? 'contacts' : id === companyId ? 'companies' : 'deals'
  return (
    <Link to="/$resource/$recordId" params={{ resource, recordId: id }} className={taskStyles.subject}>
      {createElement(resourceIcon(resource), { size: 13, strokeWidth: 1.75, 'aria-hidden': true })}
      <span className="truncate">{names[id] ?? id}</span>
    </Link>
  )
}
