import { defineResource, type Prepared, ownedBy } from '../../platform/records/declare/define.ts'
import {
  choice,
  date,
  flag,
  id,
  instant,
  integer,
  longText,
  reference,
  text,
  timestamp,
  timeZone,
} from '../../platform/records/declare/fields.ts'
import { condition } from '../../platform/records/declare/object-fields.ts'
import { companies } from '../companies/resource.ts'
import { contacts } from '../contacts/resource.ts'
import { deals } from '../deals/resource.ts'
import { recurrenceRule } from './recurrence.ts'
import type { JsonObject } from '../../platform/model/json.ts'

export const taskPriorities = ['low', 'normal', 'high', 'urgent'] as const

/** Groups of fields of which at most one has a value. */
const alternatives = [
  ['dueDate', 'dueAt'],
  ['remindAt', 'remindBefore'],
  ['contactId', 'companyId', 'dealId'],
] as const

/** Fields that count from the due date. */
const fromDueDate = ['remindBefore', 'recurrence'] as const

function prepare(values: JsonObject, current: JsonObject | undefined): Prepared {
  const after = { ...current, ...values }
  const hasValue = (name: string) => (after[name] ?? null) !== null
  const conflicts = alternatives.flatMap((names) => {
    const [first, ...others] = names.filter(hasValue)
    // The invalid field is one that was sent.
    const sent = others.find((name) => name in values) ?? first
    const other = [first, ...others].find((name) => name !== sent)
    return sent !== undefined && other !== undefined
      ? [{ field: sent, message: `cannot be combined with ${other}; set that to null` }]
      : []
  })
  const dangling = ['dueDate', 'dueAt'].some(hasValue) ? [] : fromDueDate.filter(hasValue)
  const errors = [
    ...conflicts,
    ...dangling.map((name) =>
      name in values
        ? { field: name, message: 'counts from the due date: send dueDate or dueAt, too' }
        : { field: dueFieldOf(values), message: `is needed by ${name}; set that to null, too` },
    ),
  ]
  const isDone = values.done ?? current?.done
  const hidden = isDone === (current?.done ?? false) ? {} : { done_at: isDone ? 'now' : null }
  return { values, hidden, errors }
}

const dueFieldOf = (values: JsonObject): string => ('dueAt' in values && !('dueDate' in values) ? 'dueAt' : 'dueDate')

/** Something that a person has to do, about a contact, a company, a deal or nothing in particular. */
export const tasks = defineResource({
  name: 'tasks',
  singular: 'task',
  component: 'Task',
  idPrefix: 'tsk',
  heading: 'What people have to do, about a contact, a company, a deal or nothing in particular.',
  roleGroup: 'records',
  isErasable: true,
  hasViews: true,
  titleField: 'title',
  due: { field: 'deadline', overdueField: 'overdue' },
  search: ['title'],
  reach: ownedBy('assigneeId'),
  history: { except: [] },
  hidden: {
    // Instants whose messages were not sent yet.
    unsent_reminder_at: 'timestamptz',
    unsent_deadline_at: 'timestamptz',
    // The time of the day of a series, on a day whose clocks skip it.
    recurrence_time: 'text',
  },
  prepare,
  requiredParents: [
    { resource: contacts, column: 'contact_id' },
    { resource: companies, column: 'company_id' },
    { resource: deals, column: 'deal_id' },
  ],
  fields: {
    id: id('tsk'),
    title: text({ label: 'Title', required: true, searched: true }),
    body: longText({
      label: 'Text',
      description: 'Markdown, stored and returned unchanged. Applications that show it must not run HTML in it',
      max: 100_000,
    }),
    dueDate: date({
      label: 'Due on',
      description: 'The task is overdue when this day ends in `timeZone`. Cannot be combined with `dueAt`',
    }),
    dueAt: {
      ...instant({
        label: 'Due at',
        description: 'The task is overdue after this instant. Cannot be combined with `dueDate`',
      }),
      // Without an example: that of a body has a due date.
      schema: { type: 'string', format: 'date-time' },
    },
    timeZone: timeZone({
      label: 'Time zone',
      description:
        'In which `dueDate` ends: that of the assignee, otherwise of the organization, when the assignee or the due date was last changed',
      readOnly: true,
      nullable: false,
    }),
    deadline: timestamp({
      label: 'Deadline',
      description: '`dueAt`, or the instant when `dueDate` ends in `timeZone`',
      readOnly: true,
      order: 'indexed',
    }),
    remindAt: {
      ...instant({
        label: 'Remind at',
        description: 'The assignee is reminded at this instant. Cannot be combined with `remindBefore`',
      }),
      // Without an example: that of a body has `remindBefore`.
      schema: { type: 'string', format: 'date-time' },
    },
    remindBefore: integer({
      label: 'Remind before',
      description:
        'The assignee is reminded so many minutes before `dueAt`, or before the end of `dueDate` by the clocks in `timeZone`. Needs a due date',
      min: 0,
      max: 40_320,
    }),
    reminderAt: timestamp({
      label: 'Reminder',
      description: 'When the assignee is reminded, by `remindAt` or `remindBefore`',
      readOnly: true,
    }),
    recurrence: {
      ...text({
        label: 'Repeats',
        description:
          'A recurrence rule of RFC 5545 (RRULE) with FREQ (DAILY, WEEKLY, MONTHLY or YEARLY), INTERVAL, BYMONTH, BYMONTHDAY, BYDAY, BYSETPOS, COUNT, UNTIL and WKST. When the task is done, the next one is created. Needs a due date',
        max: 300,
      }),
      schema: { type: 'string', minLength: 1, maxLength: 300, examples: ['FREQ=WEEKLY;BYDAY=MO'] },
      normalize: recurrenceRule,
    },
    nextTaskId: reference('tsk', {
      label: 'Next task',
      description: 'The one that was created when this one was done, if it repeats',
      readOnly: true,
      hasNoForeignKey: true,
    }),
    assigneeId: reference('usr', {
      label: 'Assignee',
      description: 'By default the person who creates it, or the creator of the API key; null for nobody',
      table: 'members',
      key: 'user_id',
      softDeleted: false,
      hasNoForeignKey: true,
      equality: 'indexed',
    }),
    priority: choice(taskPriorities, {
      label: 'Priority',
      description: 'Lists sort by urgency, not by letters',
      nullable: false,
      initial: 'normal',
      isRanked: true,
    }),
    done: flag({ label: 'Done', nullable: false, initial: false }),
    doneAt: timestamp({ label: 'Done at', description: 'Null while it is open', readOnly: true }),
    overdue: condition({
      label: 'Overdue',
      description: 'True if it is open and its deadline has passed',
      equality: 'indexed',
      call: 'task_is_overdue',
      of: ['done', 'deadline'],
    }),
    contactId: reference('con', {
      label: 'Contact',
      description:
        'A task is on at most one contact, company or deal; while that is deleted, the task is not found, and it is purged with it',
      table: 'contacts',
      cascades: true,
      equality: 'indexed',
    }),
    companyId: reference('com', { label: 'Company', table: 'companies', cascades: true, equality: 'indexed' }),
    dealId: reference('del', { label: 'Deal', table: 'deals', cascades: true, equality: 'indexed' }),
    createdById: reference('usr', {
      label: 'Created by',
      description: 'The person, or the creator of the API key; null if a command created it',
      readOnly: true,
      hasNoForeignKey: true,
    }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
  },
})
