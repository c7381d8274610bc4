import { actorKinds, auditActionNames } from '../../platform/audit/actions.ts'
import { defineResource } from '../../platform/resource/define.ts'
import { choice, document, id, text, timestamp } from '../../platform/resource/fields.ts'

const served = { readOnly: true, equality: 'indexed', indexedAlong: 'createdAt' } as const

/** What was done in the organization, by whom and from where. Events are only ever added. */
export const auditEvents = defineResource({
  name: 'audit-log',
  singular: 'audit-event',
  component: 'AuditEvent',
  table: 'audit_events',
  idPrefix: 'evt',
  softDelete: false,
  fields: {
    // Ids are in the order of creation.
    id: { ...id('evt'), order: 'scan' },
    action: choice(auditActionNames, { label: 'Action', description: 'What happened', nullable: false, ...served }),
    actorKind: choice(actorKinds, {
      label: 'Kind of actor',
      description:
        'Who did it: a person (`user`), an API key (`key`), someone at the machine itself (`command`), or nobody knows who (`anonymous`)',
      readOnly: true,
      nullable: false,
    }),
    actorId: text({ label: 'Actor', description: 'The id of the person or the key', ...served }),
    recordType: text({ label: 'Kind of record', description: 'What kind of record it is about', readOnly: true }),
    recordId: text({ label: 'Record', description: 'The id of the record that it is about', ...served }),
    address: text({ label: 'Address', description: 'The IP address that it came from', readOnly: true }),
    requestId: text({ label: 'Request', description: 'The `X-Request-Id` of the request that did it', readOnly: true }),
    details: document({
      label: 'Details',
      description:
        'What else there is to say, such as the names of the `fields` that changed, or the `scope` that was lacking. Never a secret, and no values of fields',
      readOnly: true,
      nullable: false,
      schema: { type: 'object', additionalProperties: true },
    }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
  },
})
