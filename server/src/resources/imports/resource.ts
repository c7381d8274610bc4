import { defineResource } from '../../platform/resource/define.ts'
import { choice, computed, id, reference, type Schema, text, timestamp, words } from '../../platform/resource/fields.ts'
import { rotationShape } from '../../platform/resource/shown-once.ts'

/** What an import can have to say about a row; the list is closed, and the hint tells what can be done. */
export const findingCodes = {
  unknown_member: 'It is kept in the payload and used nowhere. Check its spelling against /v5/docs.',
  unknown_parameter: 'It is kept with the row and used nowhere. Send data in the body.',
  unusable_value: 'The value was left out, the rest was taken. Correct it at its source and push again.',
  free_mail_domain: 'Many people share this domain, so it does not stand for a company. Send the company’s own domain.',
  made_up_name:
    'There was no name, so another value stands for it. Push the name, with overwrite, or edit the contact.',
  invalid_payload: 'Nothing was taken. Correct the payload at its source and push it again.',
  invalid_employment: 'This job was left out, the rest was taken. Correct it at its source and push again.',
  company_without_name: 'The company was left out, the rest was taken. Send its name or its domain.',
  ambiguous_contact: 'The payload’s keys belong to different contacts. Merge or correct them, then retry the row.',
  ambiguous_company: 'The payload’s keys belong to different companies. Merge or correct them, then retry the row.',
  processing_failed: 'Something went wrong here. Retry the row; when it fails again, report it with the row’s id.',
  worker_lost: 'Each time this row was worked on, the process ended. Report it with the row’s id before you retry it.',
} as const
export type FindingCode = keyof typeof findingCodes

/** A warning or an error of a row. */
export interface Finding {
  code: FindingCode
  /** Where in the payload, as `company.website`; empty for the whole of it. */
  path: string
  message: string
  hint: string
}

/** A finding with the hint of its code. */
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
    code: { type: 'string', enum: Object.keys(findingCodes), description: 'For programs; the list is closed.' },
    path: { type: 'string', description: 'Where in the payload; empty for the whole of it.' },
    message: { type: 'string' },
    hint: { type: 'string', description: 'What can be done about it.' },
  },
}

/** What an import may do to a field that holds something: leave it, or replace it unless a person changed it. */
export const mergePolicies = ['fill', 'overwrite'] as const
export type MergePolicy = (typeof mergePolicies)[number]

/** The states of a row, in the order of its life. */
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
  'REVERTED',
] as const
export type RowStatus = (typeof rowStatuses)[number]

const count = { type: 'integer', minimum: 0 }

/** A source of leads: other systems push them at its secret URL. */
export const imports = defineResource({
  name: 'imports',
  singular: 'import',
  component: 'Import',
  idPrefix: 'imp',
  search: ['name'],
  fields: {
    id: id('imp'),
    name: text({ label: 'Name', required: true, order: 'indexed', searched: true }),
    teamId: reference('tea', {
      label: 'Team',
      description: 'Whose contacts it makes and matches; the default team unless said',
      table: 'teams',
      nullable: false,
    }),
    tags: words({ label: 'Tags', description: 'Added to each contact that it makes or matches' }),
    mergePolicy: choice(mergePolicies, {
      label: 'Merge policy',
      description: '`fill` sets only what is empty; `overwrite` replaces, but never what a person has changed',
      nullable: false,
      initial: 'fill',
    }),
    disabledAt: timestamp({ label: 'Disabled at', description: 'Its URL takes nothing since then', readOnly: true }),
    stats: computed({
      label: 'Stats',
      description:
        'Rows in each state, rows ended per second over the last minute, and when the oldest row that waits was pushed',
      call: 'import_stats',
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
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
  },
})

/** What a rotation is asked for with, over HTTP and on the command line. */
export const importRotationShape = rotationShape('URLs')
