import { defineResource, type Fields } from '../../platform/records/declare/define.ts'
import { choice, flag, id, integer, number, reference, text, timestamp } from '../../platform/records/declare/fields.ts'
import { document } from '../../platform/records/declare/object-fields.ts'
import { companies } from '../../crm/companies/resource.ts'
import { contacts } from '../../crm/contacts/resource.ts'
import { deals } from '../../crm/deals/resource.ts'
import { allNotes } from '../../crm/notes/resource.ts'
import { tasks } from '../../crm/tasks/resource.ts'
import {
  actionTypes,
  degradations,
  dueAtSources,
  intents,
  languages,
  maxSummaryLength,
  priorities,
  stageKinds,
} from '../analysis/analysis.ts'
import type { Schema } from '../../platform/model/json.ts'

/** `auto_applied`: it took effect without a person, and people can still accept or reject it. */
export const suggestionStatuses = ['pending', 'accepted', 'rejected', 'expired', 'superseded', 'auto_applied'] as const
export type SuggestionStatus = (typeof suggestionStatuses)[number]

/** Why an action that can take effect without a person waits for one. */
export const waitingReasons = ['decided_before', 'import_setting', 'many_opt_outs'] as const
export type WaitingReason = (typeof waitingReasons)[number]

export const engines = ['rules', 'model'] as const

/** What follows from a note belongs to the note and its record, and cannot be seen without them. */
const requiredParents = [
  { resource: allNotes, column: 'note_id' },
  { resource: contacts, column: 'contact_id' },
  { resource: companies, column: 'company_id' },
  { resource: deals, column: 'deal_id' },
]

const references = {
  noteId: reference('not', {
    label: 'Note',
    table: 'notes',
    cascades: true,
    readOnly: true,
    nullable: false,
    equality: 'indexed',
  }),
  contactId: reference('con', {
    label: 'Contact',
    description: 'The record of the note: exactly one contact, company or deal',
    table: 'contacts',
    cascades: true,
    readOnly: true,
    equality: 'indexed',
  }),
  companyId: reference('com', {
    label: 'Company',
    table: 'companies',
    cascades: true,
    readOnly: true,
    equality: 'indexed',
  }),
  dealId: reference('del', { label: 'Deal', table: 'deals', cascades: true, readOnly: true, equality: 'indexed' }),
} satisfies Fields

const intent = choice(intents, {
  label: 'Intent',
  description: 'What the author of the note wants',
  readOnly: true,
  nullable: false,
})

const engine = choice(engines, {
  label: 'Engine',
  description: '`rules`: phrases and dates, on this machine; `model`: the language model of the operator',
  readOnly: true,
  nullable: false,
})

const maxCount = 2_147_483_647

/** What the service found in a note. A note whose text changes is analysed again. */
export const noteAnalyses = defineResource({
  name: 'note-analyses',
  table: 'note_analyses',
  singular: 'note-analysis',
  component: 'NoteAnalysis',
  idPrefix: 'ana',
  heading: 'What the service found in each note, and how. `/v5/suggestions` has the actions that follow.',
  roleGroup: 'visible',
  softDelete: false,
  titleField: 'intent',
  // Replaced whenever a note is analysed again.
  feed: false,
  requiredParents,
  fields: {
    id: id('ana'),
    ...references,
    intent,
    language: choice(languages, { label: 'Language', readOnly: true, nullable: false }),
    summary: text({
      label: 'Summary',
      description:
        'Plain text without links, from a model. Applications that show it must not render it as HTML or Markdown',
      readOnly: true,
      max: maxSummaryLength,
    }),
    suspicious: flag({
      label: 'Suspicious',
      description:
        'The note addresses a machine or hides text. It gets no suggestions, except that a contact may opt out',
      readOnly: true,
      nullable: false,
    }),
    engine,
    model: text({
      label: 'Model',
      description: 'The model that was asked, even if the rules answered; null if none was asked',
      readOnly: true,
    }),
    promptVersion: text({ label: 'Version of the rules and the prompt', readOnly: true, nullable: false }),
    inputHash: text({
      label: 'Hash of the input',
      description: 'SHA-256 of the text, the facts, the version and the model',
      readOnly: true,
      nullable: false,
    }),
    latencyMs: integer({ label: 'Milliseconds', readOnly: true, nullable: false, min: 0, max: maxCount }),
    tokens: integer({
      label: 'Tokens',
      description: 'Tokens that the model used, including failed attempts',
      readOnly: true,
      nullable: false,
      min: 0,
      max: maxCount,
    }),
    degraded: flag({
      label: 'Degraded',
      description: 'The rules answered because the model did not',
      readOnly: true,
      nullable: false,
    }),
    degradedReason: choice([...degradations, 'failed'] as const, {
      label: 'Reason',
      description: 'Why the model did not answer; `failed`: the note could not be analysed at all',
      readOnly: true,
    }),
    createdAt: timestamp({ label: 'Analysed at', readOnly: true, nullable: false, order: 'indexed' }),
  },
})

const string = { type: 'string' }

const paramsSchema: Schema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    title: { ...string, description: 'For `create_task`' },
    stageKind: { ...string, enum: stageKinds, description: 'For `change_stage`' },
    name: { ...string, description: 'For `add_contact`, as in the note' },
    email: { ...string, description: 'For `add_contact`, as in the note' },
    phone: { ...string, description: 'For `add_contact` and `call`, as in the note' },
  },
}

const evidenceSchema: Schema = {
  type: 'object',
  required: ['start', 'end', 'text'],
  additionalProperties: false,
  properties: {
    start: { type: 'integer', minimum: 0, description: 'In UTF-16 code units from the beginning of the note' },
    end: { type: 'integer', minimum: 1, description: 'The code unit after the last one' },
    text: { ...string, description: 'The words between them' },
  },
}

/** An action that follows from a note. A person accepts, edits or rejects it. */
export const suggestions = defineResource({
  name: 'suggestions',
  singular: 'suggestion',
  component: 'Suggestion',
  idPrefix: 'sug',
  heading: 'Next actions that the service found in notes. People accept or reject them.',
  ownEventKinds: ['accepted', 'rejected'],
  eventKind: ({ values: { status } }) => (status === 'accepted' || status === 'rejected' ? status : undefined),
  roleGroup: 'records',
  isErasable: true,
  softDelete: false,
  titleField: 'type',
  searchedWhenRead: ['intent', 'type', 'status', 'evidence.text', 'params.title', 'params.name', 'rejectionReason'],
  requiredParents,
  embedded: {
    analysis: {
      label: 'Analysis',
      through: 'analysisId',
      resource: noteAnalyses,
      show: [
        'id',
        'language',
        'summary',
        'suspicious',
        'model',
        'promptVersion',
        'inputHash',
        'latencyMs',
        'tokens',
        'degraded',
        'degradedReason',
      ],
      orderBy: 'language',
      always: true,
    },
    resultTask: {
      label: 'Created task',
      through: 'resultTaskId',
      resource: tasks,
      show: ['id', 'title', 'done'],
      orderBy: 'title',
    },
    resultDeal: {
      label: 'Moved deal',
      through: 'resultDealId',
      resource: deals,
      show: ['id', 'name'],
      orderBy: 'name',
    },
    resultContact: {
      label: 'Created or changed contact',
      through: 'resultContactId',
      resource: contacts,
      show: ['id', 'name', 'email'],
      orderBy: 'name',
    },
  },
  fields: {
    id: id('sug'),
    ...references,
    analysisId: reference('ana', {
      label: 'Analysis',
      table: 'note_analyses',
      softDeleted: false,
      cascades: true,
      readOnly: true,
      nullable: false,
    }),
    intent,
    engine,
    type: choice(actionTypes, { label: 'Action', readOnly: true, nullable: false }),
    params: document({
      label: 'Parameters',
      description: 'Addresses, numbers and names are in the note, word for word',
      readOnly: true,
      nullable: false,
      schema: paramsSchema,
    }),
    dueAt: timestamp({
      label: 'Due at',
      description:
        'When to act; for `wait_until`, when the wait ends. A date without a time is 09:00 in the zone of the contact. `dueAtSource` says whether the note names it',
      readOnly: true,
    }),
    dueAtSource: choice(dueAtSources, {
      label: 'Source of the due date',
      description:
        '`note`: the note names the date; `default`: it names none, and `dueAt` is the usual wait (90 days, 7 for an absence). Null without `dueAt`, and for suggestions from before this field',
      readOnly: true,
    }),
    priority: choice(priorities, {
      label: 'Priority',
      description: 'Lists sort by urgency, not by letters',
      readOnly: true,
      nullable: false,
      isRanked: true,
    }),
    confidence: number({ label: 'Confidence', readOnly: true, nullable: false, min: 0, max: 1 }),
    evidence: document({
      label: 'Evidence',
      description: 'The words of the note that are the reason for the action',
      readOnly: true,
      nullable: false,
      schema: evidenceSchema,
    }),
    status: choice(suggestionStatuses, {
      label: 'Status',
      description:
        '`superseded`: the note was changed before anyone decided; `expired`: it was deleted; `auto_applied`: the service applied it, because it only stops mail',
      readOnly: true,
      nullable: false,
      initial: 'pending',
    }),
    waitingReason: choice(waitingReasons, {
      label: 'Waits because',
      description:
        'Why it was not applied by itself: `decided_before`: a person decided against the same words of a push before; `import_setting`: `notesMayOptOut` of the import is false; `many_opt_outs`: the import opted out many contacts within an hour. Null for all others',
      readOnly: true,
    }),
    importId: reference('imp', {
      label: 'Import',
      description:
        'The import whose push contained the note; null for other notes, and for suggestions from before this field',
      readOnly: true,
      hasNoForeignKey: true,
      equality: 'indexed',
    }),
    decidedById: reference('usr', {
      label: 'Decided by',
      description: 'The person, or the creator of the API key; null if nobody has decided',
      readOnly: true,
      hasNoForeignKey: true,
    }),
    decidedAt: timestamp({ label: 'Decided at', readOnly: true }),
    edits: document({
      label: 'Edits',
      description: 'What a person changed when accepting it, as sent; null if they accepted it as it was',
      readOnly: true,
      schema: { type: 'object', additionalProperties: true },
    }),
    rejectionReason: text({ label: 'Rejected because', readOnly: true, max: 500 }),
    resultTaskId: reference('tsk', {
      label: 'Created task',
      description: 'The task that accepting it created; null if there is none, or if it was deleted',
      readOnly: true,
      hasNoForeignKey: true,
    }),
    resultDealId: reference('del', {
      label: 'Moved deal',
      description: 'The deal that accepting it moved; null if there is none, or if it was deleted',
      readOnly: true,
      hasNoForeignKey: true,
    }),
    resultContactId: reference('con', {
      label: 'Created or changed contact',
      description: 'The contact that it added or opted out; null if there is none, or if it was deleted',
      readOnly: true,
      hasNoForeignKey: true,
    }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
  },
})
