import { recordLimit } from '../../identity/access/record-limit-store.ts'
import { defineResource } from '../../platform/records/declare/define.ts'
import { id, text, timestamp } from '../../platform/records/declare/fields.ts'

/** The way of a kind of deal, as ordered stages. Every organization starts with one. */
export const pipelines = defineResource({
  name: 'pipelines',
  singular: 'pipeline',
  component: 'Pipeline',
  idPrefix: 'pip',
  heading: 'The ordered stages that deals go through.',
  roleGroup: 'visible',
  limit: recordLimit(100),
  audited: {
    create: 'A pipeline was created.',
    update: 'A pipeline was changed.',
    delete: 'A pipeline was deleted.',
    restore: 'A deleted pipeline was restored.',
  },
  isSmall: true,
  uniques: { pipelines_name_unique: { field: 'name', columns: ['name'], folded: true } },
  fields: {
    id: id('pip'),
    name: text({ label: 'Name', required: true, max: 100 }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
  },
})
