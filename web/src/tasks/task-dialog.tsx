import { useQuery } from '@tanstack/react-query'
import { useTranslations } from 'use-intl'
import { editOf, sendEdit } from '../api/edit.ts'
import { useMe } from '../api/me.ts'
import { usePostOnce } from '../api/post-once.ts'
import { useResource } from '../api/schema.ts'
import { useSeen } from '../api/use-seen.ts'
import { useLabel } from '../messages/labels.ts'
import { useDraft } from '../preferences/drafts.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Failure } from '../ui/empty-state.tsx'
import { SelectField, TextAreaField, TextField } from '../ui/field.tsx'
import { Form, type FormValues } from '../ui/form.tsx'
import { useChoiceLabel } from '../views/choices.ts'
import { recordChanged } from '../views/changes.ts'
import { propertyOf } from '../views/columns.tsx'
import { PropertyInput } from '../views/property-input.tsx'
import { reloadLists } from '../views/use-record-window.ts'
import { readTask, type Task, type TaskSubject } from './task-data.ts'
import { SubjectField, subjectNames } from './subject-field.tsx'
import { tasksChanged } from './use-task-actions.ts'
import { usePersonZone } from './person-zone.ts'
import { ScheduleFields } from './schedule-fields.tsx'
import { scheduleOf, scheduleValues } from './schedule.ts'

interface NewTaskProps {
  /** The initial record. */
  subject?: TaskSubject
  /** The initial title. */
  text?: string
  onClose(): void
}

/** Creates a task, wherever that starts. It is assigned to the person at first. */
export function NewTask({ subject = {}, text, onClose }: NewTaskProps) {
  const t = useTranslations('tasks')
  const post = usePostOnce()
  const { id } = useMe()
  return (
    <Dialog title={t('newTask')} isOpen onClose={onClose}>
      <TaskForm
        task={undefined}
        title={text}
        subject={subject}
        assigneeId={id}
        submitLabel={t('addTask')}
        onCancel={onClose}
        onSubmit={async (values) => {
          await post('/v5/tasks', values)
          onClose()
          reloadLists('/v5/tasks')
          await tasksChanged()
        }}
      />
    </Dialog>
  )
}

/** Changes a task, unless someone else has changed it since the form was opened. */
export function EditTask({ id, onClose }: { id: string; onClose(): void }) {
  const t = useTranslations('tasks')
  const tasks = useResource('tasks')
  const { data, error } = useQuery({ queryKey: ['task to edit', id], queryFn: () => readTask(id), gcTime: 0 })
  const save = async (seen: Task, values: object) => {
    const { body } = await sendEdit<Task>({ ...editOf('tasks', seen), values: { ...values } })
    if (tasks) recordChanged(tasks, { ...body })
    await tasksChanged()
    onClose()
  }
  return (
    <Dialog title={t('editTask')} isOpen={data !== undefined || error !== null} onClose={onClose}>
      {error && <Failure error={error} />}
      {data && <EditForm task={data.body} onClose={onClose} onSubmit={save} />}
    </Dialog>
  )
}

interface EditFormProps {
  task: Task
  onClose(): void
  onSubmit(seen: Task, values: object): Promise<void>
}

function EditForm({ task, onClose, onSubmit }: EditFormProps) {
  const common = useTranslations('common')
  const seen = useSeen(task)
  return (
    <TaskForm
      task={seen}
      title={seen.title}
      subject={subjectOf(seen)}
      assigneeId={seen.assigneeId}
      submitLabel={common('save')}
      onCancel={onClose}
      onSubmit={(values) => onSubmit(seen, values)}
    />
  )
}

interface TaskFormProps {
  /** Undefined for a new task. */
  task: Task | undefined
  title: string | undefined
  subject: TaskSubject
  assigneeId: string | null
  submitLabel: string
  onCancel(): void
  onSubmit(values: object): Promise<void>
}

function TaskForm({ task, title, subject: before, assigneeId, submitLabel, onCancel, onSubmit }: TaskFormProps) {
  const labelOf = useLabel()
  const choiceLabel = useChoiceLabel()
  const zone = usePersonZone()
  const tasks = useResource('tasks')
  const draft = `task ${task?.id ?? 'new'}`
  const [assignee, setAssignee] = useDraft<unknown>(`${draft} assignee`, () => assigneeId)
  const [subject, setSubject] = useDraft(`${draft} subject`, () => before)
  const [schedule, setSchedule] = useDraft(`${draft} schedule`, () => scheduleOf(task, zone))
  const property = tasks && propertyOf(tasks, 'assigneeId')
  const priorities = tasks?.fields.find(({ name }) => name === 'priority')?.choices ?? []
  return (
    <Form
      isGuarded
      draft={draft}
      submitLabel={submitLabel}
      onCancel={onCancel}
      onSubmit={(values) =>
        onSubmit({
          ...valuesOf(values),
          ...scheduleValues(schedule, zone),
          ...noSubject,
          ...subject,
          assigneeId: assignee ?? null,
        })
      }
    >
      {(errorOf) => (
        <>
          <TextField label={labelOf('Title')} name="title" defaultValue={title} error={errorOf('title')} spellCheck />
          <ScheduleFields schedule={schedule} errorOf={errorOf} onChange={setSchedule} />
          {property && (
            <PropertyInput property={property} value={assignee} error={errorOf('assigneeId')} onChange={setAssignee} />
          )}
          <SubjectField subject={subject} errorOf={errorOf} onChange={setSubject} />
          <SelectField
            label={labelOf('Priority')}
            name="priority"
            defaultValue={task?.priority ?? 'normal'}
            options={priorities.map((value) => ({ value, label: choiceLabel(value) }))}
            error={errorOf('priority')}
          />
          <TextAreaField
            label={labelOf('Text')}
            name="body"
            isOptional
            defaultValue={task?.body ?? undefined}
            error={errorOf('body')}
          />
        </>
      )}
    </Form>
  )
}

const noSubject = Object.fromEntries(subjectNames.map((name) => [name, null]))

const subjectOf = (task: Task): TaskSubject =>
  Object.fromEntries(subjectNames.flatMap((name) => (task[name] === null ? [] : [[name, task[name]]])))

const valuesOf = ({ title = '', priority, body }: FormValues): object => ({
  title: title.trim(),
  priority,
  body: body ?? null,
})
