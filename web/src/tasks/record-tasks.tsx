import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import { queryClient } from '../api/query-client.ts'
import { type RecordData, useResource } from '../api/schema.ts'
import { useShortcuts } from '../ui/shortcuts.tsx'
import { Button, buttonClasses } from '../ui/button.tsx'
import { Failure } from '../ui/empty-state.tsx'
import { NewTask } from './task-dialog.tsx'
import {
  doneTasksQuery,
  forgetFinished,
  openTasksQuery,
  pageSize,
  type TaskList,
  type TaskSubject,
} from './task-data.ts'
import { TaskRow } from './task-row.tsx'
import styles from './tasks.module.css'

export const ContactTasks = ({ record }: { record: RecordData }) => <RecordTasks subject={{ contactId: record.id }} />
export const CompanyTasks = ({ record }: { record: RecordData }) => <RecordTasks subject={{ companyId: record.id }} />
export const DealTasks = ({ record }: { record: RecordData }) => <RecordTasks subject={{ dealId: record.id }} />

export const loadTasks = (subject: TaskSubject): Promise<void> => queryClient.prefetchQuery(openTasksQuery(subject))

/** The open tasks of a record, and the done ones on request. */
function RecordTasks({ subject }: { subject: TaskSubject }) {
  const t = useTranslations('tasks')
  const mayCreate = useResource('tasks')?.permissions.create === true
  const { data, error, refetch } = useQuery(openTasksQuery(subject))
  const [isDoneShown, setDoneShown] = useState(false)
  const [isCreating, setCreating] = useState(false)
  const newButton = useRef<HTMLButtonElement>(null)
  useEffect(() => forgetFinished, [])
  const create = () => setCreating(true)
  const close = () => {
    setCreating(false)
    requestAnimationFrame(() => newButton.current?.focus())
  }
  useShortcuts(mayCreate ? [{ keys: 't', label: t('newTask'), run: create }] : [])
  if (error && !data) return <Failure error={error} onRetry={() => void refetch()} />
  return (
    <>
      {data?.tasks.length === 0 && <p className={styles.soft}>{t('noOpenTasks')}</p>}
      {data && data.tasks.length > 0 && <TaskItems label={t('openTasks')} list={data} subject={subject} />}
      <div className={styles.buttons}>
        {mayCreate && (
          <Button ref={newButton} icon={Plus} onClick={create}>
            {t('newTask')}
          </Button>
        )}
        <Button kind="quiet" aria-expanded={isDoneShown} onClick={() => setDoneShown(!isDoneShown)}>
          {t(isDoneShown ? 'hideDone' : 'showDone')}
        </Button>
      </div>
      {isDoneShown && <DoneTasks subject={subject} />}
      {isCreating && <NewTask subject={subject} onClose={close} />}
    </>
  )
}

function DoneTasks({ subject }: { subject: TaskSubject }) {
  const t = useTranslations('tasks')
  const { data, error, refetch } = useQuery(doneTasksQuery(subject))
  if (error && !data) return <Failure error={error} onRetry={() => void refetch()} />
  if (!data) return undefined
  if (data.tasks.length === 0) return <p className={styles.soft}>{t('noDoneTasks')}</p>
  return <TaskItems label={t('doneTasks')} list={data} subject={subject} />
}

interface TaskItemsProps {
  label: string
  list: TaskList
  subject: TaskSubject
}

function TaskItems({ label, list: { tasks, names }, subject }: TaskItemsProps) {
  const t = useTranslations('tasks')
  const [filter] = Object.entries(subject)
  return (
    <>
      <ul className={styles.list} aria-label={label}>
        {tasks.map((task) => (
          <li key={task.id}>
            <TaskRow task={task} assignee={names[task.assigneeId ?? '']} />
          </li>
        ))}
      </ul>
      {tasks.length >= pageSize && filter && (
        <p>
          <Link
            to="/$resource"
            params={{ resource: 'tasks' }}
            search={{ [`filter.${filter[0]}.equals`]: filter[1] } as never}
            className={buttonClasses('quiet')}
          >
            {t('allInList')}
          </Link>
        </p>
      )}
    </>
  )
}
