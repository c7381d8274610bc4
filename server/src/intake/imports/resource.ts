import { recordLimit } from '../../identity/access/record-limit-store.ts'
import { defineResource } from '../../platform/records/declare/define.ts'
import { choice, flag, id, reference, text, timestamp, stringList } from '../../platform/records/declare/fields.ts'
import { computed } from '../../platform/records/declare/object-fields.ts'
import { rotationBody } from '../../platform/records/routes/one-time-secret.ts'
import { importPushedBytes } from './pushed-bytes-store.ts'
import { importOptOuts, importRefusals, importStats } from './stats-store.ts'
import type { Schema } from '../../platform/model/json.ts'

/** Codes of the findings of a row, with hints. The list is closed. */
export const findingCodes = {
  unknown_member: 'The field is stored in the payload but not used. Check its spelling against /v5/docs.',
  unknown_parameter: 'The parameter is stored with the row but not used. Send data in the body.',
  ignored_key:
    'A repetition of this push would become another row. Send 1 to 255 visible ASCII characters, different for each push.',
  unusable_value: 'The value was left out; the rest was stored. Correct it in the source and push again.',
  placeholder:
    'Such words stand for a missing value and would merge different records, so they are left out. Send null instead.',
  shortened_value: 'Only a part of the value can be stored. If that is enough, nothing needs to be done.',
  free_mail_domain: 'Many people share this domain, so it does not identify a company. Send the company’s own domain.',
  made_up_name: 'The name is missing, so another value is used. Push the name with overwrite, or edit the contact.',
  invalid_payload: 'Nothing was stored. Correct the payload in the source and push it again.',
  invalid_employment: 'This employment was left out; the rest was stored. Correct it in the source and push again.',
  company_without_name: 'The company was left out; the rest was stored. Send its name or its domain.',
  existing_value_kept: 'The record already has a different value. Use the merge policy overwrite, or edit the record.',
  edit_kept: 'A person changed or removed this, and imports never undo that. Edit the record to store this value.',
  ambiguous_contact: 'The ids and address in the payload match different contacts. Correct them, then retry the row.',
  ambiguous_company:
    'The ids, domain and name in the payload match different companies. Correct them, then retry the row.',
  external_id_conflict:
    'The record has a different id of this system, or a person removed this id from it. Correct the record or the source, then retry the row.',
  processing_failed: 'An unexpected error occurred. Retry the row; if it fails again, report it with the row’s id.',
  worker_lost: 'The process ended each time it processed this row. Report it with the row’s id before you retry it.',
} as const
export type FindingCode = keyof typeof findingCodes

/** A warning or an error of a row. */
export interface Finding {
  code: FindingCode
  /** Path in the payload, such as `company.website`; empty for the whole payload. */
  path: string
  message: string
  hint: string
}

/** Creates a finding with the hint of its code. */
export const finding = (code: FindingCode, path: string, message: string): Finding => ({
  code,
  path,
  message,
  hint: findingCodes[code],
})

export const findingSchema: Schema = {
  type: 'object',
  required: ['code', 'path', 'message', 'hint'],
  additionalProperties: false,
  properties: {
    code: { type: 'string', enum: Object.keys(findingCodes), description: 'Code for programs; the list is complete.' },
    path: { type: 'string', description: 'Path in the payload; empty for the whole payload.' },
    message: { type: 'string' },
    hint: { type: 'string', description: 'What to do about it.' },
  },
}

/** What an import does to a field that has a value: keep it, or replace it unless a person changed it. */
export const mergePolicies = ['fill', 'overwrite'] as const
export type MergePolicy = (typeof mergePolicies)[number]

/** The states of a row, in the order of its life cycle. */
export const rowStatuses = [
  'PENDING',
  'PROCESSING',
  'RETRYING',
  'PROCESSED',
  'PARTIAL',
  'DUPLICATE',
  'INVALID',
  'CONFLICT',
  'DEAD',
  'CANCELLED',
] as const
export type RowStatus = (typeof rowStatuses)[number]

const count = { type: 'integer', minimum: 0 }
const time = { type: 'string', format: 'date-time' }

/** A sender whose last pushes, at least this many, were all refused is reported. */
export const alarmingRefusals = 5

/** Of an import that opts out this many contacts within an hour, further opt-outs wait for a person. */
export const alarmingOptOuts = 10

/** An import that has received this share of the bytes of a day is reported. */
export const alarmingShare = 0.8

const maxShownOptOuts = 1000

const refusedSender: Schema = {
  type: 'object',
  required: ['sender', 'count', 'since', 'lastAt', 'code', 'message'],
  additionalProperties: false,
  properties: {
    sender: {
      type: ['string', 'null'],
      description: 'Origin of a page, or network address; null: every push to the import was refused, whoever sent it.',
    },
    count: { ...count, description: 'Number of refused pushes since the last accepted one.' },
    since: time,
    lastAt: time,
    code: { type: 'string', description: 'Code of the last error.' },
    message: { type: 'string', description: 'The last error.' },
  },
}

/** A source of leads: other systems push to its secret URL. */
export const imports = defineResource({
  name: 'imports',
  singular: 'import',
  component: 'Import',
  idPrefix: 'imp',
  heading: 'Sources of leads. Each has a secret URL that other systems push to.',
  roleGroup: 'visible',
  limit: recordLimit(500),
  audited: {
    create: 'An import was created, and its trigger URL was shown.',
    update: 'Settings of an import were changed.',
    delete: 'An import was deleted.',
    restore: 'A deleted import was restored.',
  },
  search: ['name'],
  hidden: { is_suspended: 'boolean', created_by_id: 'uuid' },
  fields: {
    id: id('imp'),
    name: text({ label: 'Name', required: true, order: 'indexed', searched: true }),
    teamId: reference('tea', {
      label: 'Team',
      description: 'Team whose contacts are matched and created; the default team if not given',
      table: 'teams',
      nullable: false,
    }),
    tags: stringList({ label: 'Tags', description: 'Added to each contact that is matched or created' }),
    mergePolicy: choice(mergePolicies, {
      label: 'Merge policy',
      description:
        '`fill` sets only empty fields; `overwrite` also replaces values, except those that a person has changed',
      nullable: false,
      initial: 'fill',
    }),
    notesMayOptOut: flag({
      label: 'Notes may opt out',
      description: `Whether a pushed note in which a contact asks for it opts that contact out of email at once. If false, such a note only suggests it. In any case, a person’s decision stays against the same words, and after ${alarmingOptOuts} opt-outs within an hour, further ones wait for a person`,
      nullable: false,
      initial: true,
    }),
    disabledAt: timestamp({
      label: 'Disabled at',
      description: 'Its URL has not accepted pushes since then',
      readOnly: true,
    }),
    stats: computed({
      label: 'Stats',
      description:
        'Number of rows in each state, rows finished per second over the last minute, and when the oldest waiting row was pushed. For a person who does not see all contacts and companies: of the rows that they see, and the other numbers of the import are 0',
      value: importStats(rowStatuses),
      dependsOnReader: true,
      schema: {
        type: 'object',
        required: ['counts', 'rowsPerSecond', 'oldestPendingAt'],
        additionalProperties: false,
        properties: {
          counts: {
            type: 'object',
            required: rowStatuses,
            additionalProperties: false,
            properties: Object.fromEntries(rowStatuses.map((status) => [status, count])),
          },
          rowsPerSecond: { type: 'number', minimum: 0 },
          oldestPendingAt: { type: ['string', 'null'], format: 'date-time' },
        },
      },
    }),
    refused: computed({
      label: 'Refused pushes',
      description: `Number of pushes that were answered with an error in the last 30 days, when the last one was, and the senders whose last pushes, at least ${alarmingRefusals}, were all refused`,
      value: importRefusals(alarmingRefusals),
      dependsOnReader: true,
      schema: {
        type: 'object',
        required: ['count', 'lastAt', 'senders'],
        additionalProperties: false,
        properties: {
          count,
          lastAt: { ...time, type: ['string', 'null'] },
          senders: { type: 'array', items: refusedSender },
        },
      },
    }),
    pushedToday: computed({
      label: 'Pushed today',
      description: `Bytes of the pushes that were accepted today (UTC), and how many the import may receive in a day (\`IMPORT_BYTES_PER_DAY\`): null without a limit, and before the first push. \`isNearLimit\`: at least ${alarmingShare * 100} % of them`,
      value: importPushedBytes(alarmingShare),
      dependsOnReader: true,
      schema: {
        type: 'object',
        required: ['bytes', 'maxBytes', 'isNearLimit'],
        additionalProperties: false,
        properties: {
          bytes: count,
          maxBytes: { ...count, type: ['integer', 'null'] },
          isNearLimit: { type: 'boolean' },
        },
      },
    }),
    optOuts: computed({
      label: 'Opt-outs',
      description: `Number of opt-outs that wait for a person because the import opted out ${alarmingOptOuts} contacts within an hour, at most ${maxShownOptOuts}, and since when the first of them waits. \`/v5/suggestions?importId=…&status=pending\` has them`,
      value: importOptOuts(maxShownOptOuts),
      dependsOnReader: true,
      schema: {
        type: 'object',
        required: ['waiting', 'since'],
        additionalProperties: false,
        properties: { waiting: count, since: { ...time, type: ['string', 'null'] } },
      },
    }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
  },
})

/** Parameters of a rotation, in the API and on the command line. */
export const importRotationShape = rotationBody('URLs')
