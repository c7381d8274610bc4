import { recordLimit } from '../access/record-limit-store.ts'
import { defineResource } from '../../platform/records/declare/define.ts'
import { flag, id, text, timestamp } from '../../platform/records/declare/fields.ts'

/** A group within an organization that owns contacts. Each organization has one default team. */
export const teams = defineResource({
  name: 'teams',
  singular: 'team',
  component: 'Team',
  idPrefix: 'tea',
  heading: 'Groups within an organization. Each contact belongs to one team.',
  roleGroup: 'visible',
  limit: recordLimit(500),
  isSmall: true,
  audited: {
    create: 'A team was created.',
    update: 'A team was changed.',
    delete: 'A team was deleted.',
    restore: 'A deleted team was restored.',
  },
  uniques: { teams_name_unique: { field: 'name', columns: ['name'], folded: true } },
  fields: {
    id: id('tea'),
    name: text({ label: 'Name', required: true, max: 200 }),
    isDefault: flag({ label: 'Default team', readOnly: true, nullable: false, initial: false }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
  },
})
