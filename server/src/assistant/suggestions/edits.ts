import { isDeepStrictEqual } from 'node:util'
import { type BodyError, invalidBody } from '../../platform/model/errors.ts'
import {
  email,
  instant,
  date,
  longText,
  choice,
  phone,
  reference,
  text,
} from '../../platform/records/declare/fields.ts'
import { bodyShapeOf } from '../../platform/records/request/body.ts'
import { taskPriorities } from '../../crm/tasks/resource.ts'
import type { ActionType } from '../analysis/analysis.ts'
import type { JsonObject } from '../../platform/model/json.ts'
import type { Field } from '../../platform/records/declare/field.ts'

/** The example of the whole body has only what one type of action uses. */
function withoutExample<Value extends Field>(field: Value): Value {
  const { examples: _, ...schema } = field.schema
  return { ...field, schema }
}

/** What a person can send when they accept a suggestion. */
export const acceptanceShape = bodyShapeOf({
  title: text({ label: 'Title', description: 'Of the task' }),
  body: longText({ label: 'Text', description: 'Of the task', max: 100_000 }),
  dueDate: withoutExample(date({ label: 'Due on', description: 'Of the task, instead of the suggested `dueAt`' })),
  dueAt: instant({ label: 'Due at', description: 'Of the task; null for none' }),
  priority: choice(taskPriorities, { label: 'Priority', description: 'Of the task' }),
  assigneeId: reference('usr', { label: 'Assignee', description: 'Of the task; by default the caller' }),
  dealId: reference('del', {
    label: 'Deal',
    description: 'Which deal to move. Required if the contact or company has several open ones',
  }),
  stageId: reference('stg', {
    label: 'Stage',
    description: 'Where to move the deal; by default the next stage, or the first won or lost one of its pipeline',
  }),
  lostReason: text({ label: 'Lost because', description: 'For a move to a lost stage', max: 500 }),
  name: text({ label: 'Name', description: 'Of the new contact' }),
  email: withoutExample(email({ label: 'Email', description: 'Of the new contact' })),
  phone: withoutExample(phone({ label: 'Phone', description: 'Of the new contact' })),
  companyId: reference('com', { label: 'Company', description: 'Of the new contact' }),
  contactId: reference('con', {
    label: 'Contact',
    description: 'Who opts out. Required if the note is on a company or a deal',
  }),
})

export const rejectionShape = bodyShapeOf({
  reason: text({ label: 'Reason', max: 500 }),
})

const ofTasks = ['title', 'body', 'dueDate', 'dueAt', 'priority', 'assigneeId']

/** The properties that make sense for each type of action. */
const allowed: Readonly<Record<ActionType, readonly string[]>> = {
  reply: ofTasks,
  call: ofTasks,
  schedule_meeting: ofTasks,
  create_task: ofTasks,
  wait_until: ofTasks,
  stop_campaign: ofTasks,
  change_stage: ['dealId', 'stageId', 'lostReason'],
  add_contact: ['name', 'email', 'phone', 'companyId'],
  suppress: ['contactId'],
}

/** Throws 422 for properties that this type of action does not use. */
export function checkEdits(type: ActionType, edits: JsonObject): void {
  const errors: BodyError[] = Object.keys(edits)
    .filter((name) => !allowed[type].includes(name))
    .map((field) => ({ field, message: `does not apply to a suggestion of the type ${type}` }))
  if (errors.length > 0) throw invalidBody(errors)
}

/** Naming the record does not change what was suggested. */
const choosing = ['dealId', 'contactId']

/** What differs from the suggestion; null if nothing does. */
export function differencesFrom(suggested: JsonObject, edits: JsonObject): JsonObject | null {
  const different = Object.entries(edits).filter(
    ([name, value]) => !choosing.includes(name) && !isDeepStrictEqual(suggested[name] ?? null, value),
  )
  return different.length === 0 ? null : Object.fromEntries(different)
}
