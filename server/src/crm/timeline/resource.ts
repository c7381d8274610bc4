import { defineResource, type Parent, type Resource } from '../../platform/records/declare/define.ts'
import { choice, id, reference, timestamp } from '../../platform/records/declare/fields.ts'
import { document } from '../../platform/records/declare/object-fields.ts'
import { changeActions, changeSources } from '../../platform/records/declare/event-kinds.ts'
import { companies } from '../companies/resource.ts'
import { contacts } from '../contacts/resource.ts'
import { deals } from '../deals/resource.ts'
import { stageMoves } from '../stage-moves/resource.ts'
import { notes } from '../notes/resource.ts'
import { tasks } from '../tasks/resource.ts'
import type { Schema } from '../../platform/model/json.ts'

/** What an entry is about. `import` is a change that a pushed lead made. */
export const timelineKinds = ['note', 'task', 'change', 'import', 'stage_move'] as const

const idSchema = (prefix: string): Schema => id(prefix).schema
const orNull = (schema: Schema): Schema => ({ ...schema, type: [schema.type, 'null'] })

/** An object with exactly these properties. */
const objectOf = (properties: Record<string, Schema>): Schema => ({
  type: 'object',
  required: Object.keys(properties),
  additionalProperties: false,
  properties,
})

const text = { type: 'string' }

const note = objectOf({ id: idSchema('not'), body: text, source: notes.fields.source.schema })

const task = objectOf({
  id: idSchema('tsk'),
  title: text,
  dueDate: orNull({ type: 'string', format: 'date' }),
  dueAt: orNull({ type: 'string', format: 'date-time' }),
  assigneeId: orNull(idSchema('usr')),
  priority: tasks.fields.priority.schema,
  done: { type: 'boolean' },
  doneAt: orNull({ type: 'string', format: 'date-time' }),
})

const change = objectOf({
  action: { type: 'string', enum: changeActions },
  source: { type: 'string', enum: changeSources },
  changes: {
    type: 'array',
    items: {
      type: 'object',
      required: ['field', 'before', 'after'],
      additionalProperties: false,
      properties: {
        field: { ...text, description: 'For a key of an object, its path, such as `customProperties.plan`' },
        before: { description: 'Any JSON value; null if the field was empty' },
        after: { description: 'Any JSON value; null if the change cleared the field' },
      },
    },
  },
  importId: orNull(idSchema('imp')),
  importRowId: orNull(idSchema('row')),
})

const moveFields = stageMoves.fields
const stageMove = objectOf({
  id: idSchema('mov'),
  fromStageId: moveFields.fromStageId.schema,
  fromStageName: text,
  toStageId: moveFields.toStageId.schema,
  toStageName: text,
  secondsInStage: moveFields.secondsInStage.schema,
})

const only = (label: string, kind: string, schema: Schema) =>
  document({ label, description: `Only for entries of the kind ${kind}; otherwise null`, readOnly: true, schema })

const fields = {
  // Only the order of time has indexes.
  id: { ...id('ent'), order: 'scan' as const },
  kind: choice(timelineKinds, { label: 'Kind', readOnly: true, nullable: false }),
  contactId: reference('con', { label: 'Contact', readOnly: true }),
  companyId: reference('com', { label: 'Company', readOnly: true }),
  dealId: reference('del', { label: 'Deal', readOnly: true }),
  authorId: reference('usr', {
    label: 'By',
    description: 'The person, or the creator of the API key; null for an import and for commands of the operator',
    readOnly: true,
    hasNoForeignKey: true,
  }),
  note: only('Note', '`note`', note),
  task: only('Task', '`task`', task),
  change: only('Change', '`change` or `import`', change),
  stageMove: only('Stage move', '`stage_move`', stageMove),
  createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
}

/**
 * What has happened to a record, read from the tables of notes, tasks, changes and moves through a view: nothing is
 * stored twice, so an entry always shows its current note or task.
 */
const timelineOf = (resource: Resource, view: { table: string; column: string }): Resource =>
  defineResource({
    name: 'timeline-entries',
    table: view.table,
    singular: 'timeline-entry',
    component: 'TimelineEntry',
    idPrefix: 'ent',
    roleGroup: 'visible',
    softDelete: false,
    isUnion: true,
    titleField: 'kind',
    searchedWhenRead: ['kind', 'note.body', 'task.title', 'stageMove.fromStageName', 'stageMove.toStageName'],
    parent: parentOf(resource, view.column),
    reach: {
      follows: [
        { resource: contacts, column: 'contact_id' },
        { resource: companies, column: 'company_id' },
        { resource: deals, column: 'deal_id' },
        // The entry of a task has its id.
        { resource: tasks, column: 'id', when: { column: 'kind', equals: 'task' } },
      ],
    },
    fields,
  })

const parentOf = (resource: Resource, column: string): Parent => ({
  parameter: `${resource.singular}Id`,
  resource,
  column,
  isSmall: true,
})

export const contactTimeline = timelineOf(contacts, { table: 'contact_timeline', column: 'contact_id' })
export const dealTimeline = timelineOf(deals, { table: 'deal_timeline', column: 'deal_id' })
/** Includes the entries of its contacts and deals. */
export const companyTimeline = timelineOf(companies, {
  table: 'company_timeline',
  column: 'timeline_company_id',
})
