import { recordLimit } from '../access/record-limit-store.ts'
import { memberRoles } from '../../platform/model/scopes.ts'
import { prepareRole, roleId } from '../access/role-fields.ts'
import { defineResource, type Prepared } from '../../platform/records/declare/define.ts'
import { choice, email, id, integer, reference, timestamp } from '../../platform/records/declare/fields.ts'
import { emailKey } from '../../platform/model/normalizers.ts'
import type { JsonObject } from '../../platform/model/json.ts'

const prepare = (values: JsonObject, current: JsonObject | undefined): Prepared => ({
  ...prepareRole(values, current),
  ...(typeof values.email === 'string' && { hidden: { email_key: emailKey(values.email) } }),
})

/** A person who was invited and has not joined yet. */
export const invitations = defineResource({
  name: 'invitations',
  singular: 'invitation',
  component: 'Invitation',
  isInDirectory: true,
  idPrefix: 'inv',
  heading: 'People who have been invited and have not joined yet.',
  roleGroup: 'administration',
  limit: recordLimit(1000),
  titleField: 'email',
  isRestorable: false,
  hidden: { email_key: 'text', by_command: 'boolean' },
  uniques: { invitations_email_unique: { field: 'email', columns: ['email_key'] } },
  prepare,
  fields: {
    id: id('inv'),
    email: email({
      label: 'Email',
      required: true,
      equality: 'indexed',
      lookup: { column: 'email_key', key: emailKey },
    }),
    role: choice(memberRoles, { label: 'Role', description: 'Role of the new member', required: true }),
    roleId,
    teamId: reference('tea', {
      label: 'Team',
      description: 'Team to join in addition to the default team',
      table: 'teams',
      hasNoForeignKey: true,
    }),
    expiresInDays: integer({
      label: 'Expires in days',
      description: 'How long the link is valid each time it is sent',
      min: 1,
      max: 30,
      nullable: false,
      initial: 7,
    }),
    invitedBy: reference('usr', {
      label: 'Invited by',
      description:
        'Who sent it last. It is valid only while that person is allowed to send it; if they are removed or demoted, another admin must resend it',
      readOnly: true,
      hasNoForeignKey: true,
    }),
    sentAt: timestamp({ label: 'Sent at', readOnly: true, nullable: false }),
    expiresAt: timestamp({ label: 'Expires at', readOnly: true, nullable: false }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
  },
})
