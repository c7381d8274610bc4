import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { useMe } from '../api/me.ts'
import { useResource } from '../api/schema.ts'
import { useLabel } from '../messages/labels.ts'
import { useDraft } from '../preferences/drafts.ts'
import { usePersonZone } from '../tasks/person-zone.ts'
import taskStyles from '../tasks/tasks.module.css'
import { dayIn, momentOf, timeIn } from '../tasks/zones.ts'
import { Dialog } from '../ui/dialog.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { Form, type FormValues } from '../ui/form.tsx'
import { useChoiceLabel } from '../views/choices.ts'
import { propertyOf } from '../views/columns.tsx'
import { PropertyInput } from '../views/property-input.tsx'
import { DealFields, type EditFieldsProps } from './deal-fields.tsx'
import type { Suggestion } from './suggestion-data.ts'
import { useDecisions } from './use-decisions.ts'

/** On a contact's note, an opt-out has nothing to edit. */
export const canBeEdited = ({ type, contactId }: Suggestion): boolean => type !== 'suppress' || contactId === null

interface EditSuggestionProps {
  suggestion: Suggestion
  /** The display name of its record. */
  name: string | undefined
  /** The service's errors after accepting the suggestion unchanged: a sentence by field. */
  refused: Readonly<Record<string, string>>
  onClose(): void
  onAccepted(): void
}

/** Accepts a suggestion with changes. Sends only what the person changed. */
export function EditSuggestion({ suggestion, name, refused, onClose, onAccepted }: EditSuggestionProps) {
  const t = useTranslations('suggestions')
  const me = useMe()
  const zone = usePersonZone()
  const { accept } = useDecisions()
  const draft = `suggestion ${suggestion.id}`
  const [assignee, setAssignee] = useDraft<unknown>(`${draft} assignee`, () => me.id)
  const [contact, setContact] = useState<unknown>()
  const [shownRefusal, setShownRefusal] = useState(refused)
  const initial = initialValues(suggestion, name, zone)
  const submit = async (values: FormValues) => {
    setShownRefusal({})
    const changed = changedValues(initial, values)
    await accept(suggestion, {
      ...withDue(changed, values, zone),
      ...(assignee !== me.id && { assigneeId: assignee ?? null }),
      ...(contact !== undefined && { contactId: contact }),
    })
    onClose()
    onAccepted()
  }
  return (
    <Dialog title={t('editTitle')} isOpen onClose={onClose}>
      <Form isGuarded draft={draft} submitLabel={t('accept')} onCancel={onClose} onSubmit={submit}>
        {(formErrorOf) => {
          const errorOf = (field: string) => formErrorOf(field) ?? shownRefusal[field]
          switch (suggestion.type) {
            case 'change_stage':
              return <DealFields suggestion={suggestion} errorOf={errorOf} />
            case 'add_contact':
              return <ContactFields suggestion={suggestion} errorOf={errorOf} />
            case 'suppress':
              return <Reference name="contactId" value={contact} errorOf={errorOf} onChange={setContact} />
            default:
              return (
                <>
                  <TaskFields initial={initial} isDefault={suggestion.dueAtSource === 'default'} errorOf={errorOf} />
                  <Reference name="assigneeId" value={assignee} errorOf={errorOf} onChange={setAssignee} />
                </>
              )
          }
        }}
      </Form>
    </Dialog>
  )
}

interface TaskFieldsProps extends Pick<EditFieldsProps, 'errorOf'> {
  initial: FormValues
  /** True if the note contains no date. */
  isDefault: boolean
}

function TaskFields({ initial, isDefault, errorOf }: TaskFieldsProps) {
  const t = useTranslations('tasks')
  const suggestionText = useTranslations('suggestions')
  const labelOf = useLabel()
  const choiceLabel = useChoiceLabel()
  const priorities = useResource('tasks')?.fields.find(({ name }) => name === 'priority')?.choices ?? []
  return (
    <>
      <TextField
        label={labelOf('Title')}
        name="title"
        defaultValue={initial.title}
        error={errorOf('title')}
        spellCheck
      />
      <div className={taskStyles.dueFields}>
        <TextField
          label={t('dueOn')}
          type="date"
          {...(isDefault && { hint: suggestionText('defaultDate') })}
          name="day"
          isOptional
          defaultValue={initial.day}
          error={errorOf('dueDate')}
        />
        <TextField
          label={t('dueTime')}
          type="time"
          name="time"
          isOptional
          defaultValue={initial.time}
          error={errorOf('dueAt')}
        />
      </div>
      <SelectField
        label={labelOf('Priority')}
        name="priority"
        defaultValue={initial.priority}
        options={priorities.map((value) => ({ value, label: choiceLabel(value) }))}
        error={errorOf('priority')}
      />
    </>
  )
}

function ContactFields({ suggestion: { params }, errorOf }: EditFieldsProps) {
  const labelOf = useLabel()
  return (
    <>
      <TextField label={labelOf('Name')} name="name" isOptional defaultValue={params.name} error={errorOf('name')} />
      <TextField
        label={labelOf('Email')}
        name="email"
        type="email"
        isOptional
        defaultValue={params.email}
        error={errorOf('email')}
      />
      <TextField
        label={labelOf('Phone')}
        name="phone"
        type="tel"
        isOptional
        defaultValue={params.phone}
        error={errorOf('phone')}
      />
    </>
  )
}

interface ReferenceProps extends Pick<EditFieldsProps, 'errorOf'> {
  name: 'assigneeId' | 'contactId'
  value: unknown
  onChange(value: unknown): void
}

/** Tasks have the same references. */
function Reference({ name, value, errorOf, onChange }: ReferenceProps) {
  const tasks = useResource('tasks')
  const property = tasks && propertyOf(tasks, name)
  return property && <PropertyInput property={property} value={value} error={errorOf(name)} onChange={onChange} />
}

/** The service's default title for a task. */
const verbs: Readonly<Partial<Record<Suggestion['type'], string>>> = {
  reply: 'Reply to',
  call: 'Call',
  schedule_meeting: 'Schedule a meeting with',
  wait_until: 'Get back to',
  stop_campaign: 'Stop campaigns for',
}

/** The suggested values of the form's inputs. */
function initialValues(
  { type, params, dueAt, priority }: Suggestion,
  name: string | undefined,
  zone: string,
): FormValues {
  if (type === 'add_contact') return { ...params }
  const verb = verbs[type]
  if (verb === undefined && type !== 'create_task') return {}
  const phone = params.phone === undefined ? '' : `: ${params.phone}`
  const due = dueAt === null ? undefined : new Date(dueAt)
  return {
    title: params.title ?? `${verb} ${name ?? 'the contact'}${phone}`,
    priority,
    ...(due && { day: dayIn(zone, due), time: timeIn(zone, due) }),
  }
}

/** Emptied inputs become null. */
const changedValues = (initial: FormValues, values: FormValues): Record<string, string | null> =>
  Object.fromEntries(
    [...new Set([...Object.keys(initial), ...Object.keys(values)])]
      .filter((name) => initial[name] !== values[name])
      .map((name) => [name, values[name]?.trim() ?? null]),
  )

/** A day alone is a due day; with a time, it is an instant. A time alone means today. */
function withDue(changed: Record<string, string | null>, { day, time }: FormValues, zone: string): object {
  const { day: changedDay, time: changedTime, ...others } = changed
  if (changedDay === undefined && changedTime === undefined) return others
  if (time !== undefined) {
    return { ...others, dueAt: momentOf(day ?? dayIn(zone, new Date()), time, zone).toISOString() }
  }
  return { ...others, ...(day === undefined ? { dueAt: null } : { dueDate: day }) }
}
