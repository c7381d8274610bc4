import type { BodyError } from '../../platform/model/errors.ts'
import { defineResource, type Prepared, ownedBy } from '../../platform/records/declare/define.ts'
import { choice, id, longText, reference, text, timestamp, stringList } from '../../platform/records/declare/fields.ts'
import { document } from '../../platform/records/declare/object-fields.ts'
import type { JsonObject } from '../../platform/model/json.ts'

const statuses = ['draft', 'scheduled', 'preparing', 'running', 'paused', 'completed', 'cancelled', 'failed'] as const

/** Campaigns cannot be sent yet, so the only valid status is draft. */
function prepare(values: JsonObject): Prepared {
  const errors: BodyError[] = []
  if (values.status !== undefined && values.status !== 'draft') {
    errors.push({ field: 'status', message: 'expected draft: this version does not send campaigns yet' })
  }
  return { values, errors }
}

const object = { type: 'object', additionalProperties: true }

export const campaigns = defineResource({
  name: 'campaigns',
  singular: 'campaign',
  component: 'Campaign',
  idPrefix: 'cam',
  heading: 'Messages to many contacts, as drafts.',
  roleGroup: 'records',
  hasViews: true,
  search: ['name', 'subject'],
  subtitleFields: ['subject'],
  reach: ownedBy('ownerId'),
  prepare,
  fields: {
    id: id('cam'),
    name: text({ label: 'Name', required: true, order: 'indexed', searched: true }),
    subject: text({ label: 'Subject', max: 500, searched: true }),
    description: longText({ label: 'Description' }),
    status: choice(statuses, { label: 'Status', nullable: false, initial: 'draft' }),
    statusReason: text({ label: 'Reason of the status', readOnly: true }),
    kind: choice(['broadcast', 'sequence'], { label: 'Kind', nullable: false, initial: 'broadcast' }),
    purpose: choice(['marketing', 'sales', 'transactional'], {
      label: 'Purpose',
      nullable: false,
      initial: 'marketing',
    }),
    ownerId: reference('usr', {
      label: 'Owner',
      table: 'members',
      key: 'user_id',
      softDeleted: false,
      hasNoForeignKey: true,
      equality: 'indexed',
    }),
    tags: stringList({ label: 'Tags', equality: 'indexed' }),
    audience: document({ label: 'Audience', readOnly: true, schema: object }),
    schedule: document({ label: 'Schedule', readOnly: true, schema: object }),
    stats: document({ label: 'Statistics', readOnly: true, schema: object }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false, order: 'indexed' }),
  },
})
