import { actorKinds } from '../../platform/audit/store.ts'
import { auditActions } from './actions.ts'
import { defineResource } from '../../platform/records/declare/define.ts'
import { choice, id, text, timestamp } from '../../platform/records/declare/fields.ts'
import { document } from '../../platform/records/declare/object-fields.ts'

const readOnlyIndexed = { readOnly: true, equality: 'indexed', indexedAlong: 'createdAt' } as const

/** Events of the organization with actor and address, append-only. `actions` are those that other resources declare. */
export const auditEventsWith = (actions: readonly string[]) =>
  defineResource({
    name: 'audit-log',
    singular: 'audit-event',
    component: 'AuditEvent',
    table: 'audit_events',
    idPrefix: 'evt',
    heading: 'Who did what in the organization, and from where.',
    roleGroup: 'administration',
    titleField: 'action',
    softDelete: false,
    feed: false,
    fields: {
      // Ids sort by creation time.
      id: { ...id('evt'), order: 'scan' },
      action: choice([...Object.keys(auditActions), ...actions], {
        label: 'Action',
        description: 'What happened',
        nullable: false,
        ...readOnlyIndexed,
      }),
      actorKind: choice(actorKinds, {
        label: 'Kind of actor',
        description:
          'Who did it: a person (`user`), an API key (`key`), a command on the server (`command`), or unknown (`anonymous`)',
        readOnly: true,
        nullable: false,
      }),
      actorId: text({ label: 'Actor', description: 'Id of the person or the key', ...readOnlyIndexed }),
      recordType: text({ label: 'Kind of record', description: 'Kind of the affected record', readOnly: true }),
      recordId: text({ label: 'Record', description: 'Id of the affected record', ...readOnlyIndexed }),
      address: text({ label: 'Address', description: 'IP address of the caller', readOnly: true }),
      requestId: text({
        label: 'Request',
        description: '`X-Request-Id` of the request',
        readOnly: true,
      }),
      details: document({
        label: 'Details',
        description:
          'More information, such as the names of the changed `fields` or the missing `scope`. Never secrets or field values',
        readOnly: true,
        nullable: false,
        schema: { type: 'object', additionalProperties: true },
      }),
      createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    },
  })
