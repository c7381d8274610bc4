import { defineResource } from '../../platform/resource/define.ts'
import { choice, computed, id, reference, text, timestamp, words } from '../../platform/resource/fields.ts'

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
