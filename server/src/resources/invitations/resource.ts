import { roles } from '../../platform/access/scopes.ts'
import { type AnyRow, defineResource, type Prepared } from '../../platform/resource/define.ts'
import { choice, email, id, integer, reference, timestamp } from '../../platform/resource/fields.ts'
import { emailKey } from '../../platform/resource/texts.ts'

const prepare = (values: AnyRow): Prepared => ({
  values,
  ...(typeof values.email === 'string' && { hidden: { email_key: emailKey(values.email) } }),
})

/** Somebody who was asked to join and has not yet. */
export const invitations = defineResource({
  name: 'invitations',
  singular: 'invitation',
  component: 'Invitation',
  idPrefix: 'inv',
  hidden: { email_key: 'text' },
  uniques: { invitations_email_unique: { field: 'email', columns: ['email_key'] } },
  prepare,
  fields: {
    id: id('inv'),
    email: email({ label: 'Email', required: true }),
    role: choice(roles, { label: 'Role', description: 'What they will be', required: true }),
    teamId: reference('tea', {
      label: 'Team',
      description: 'Put into it beside the default team',
      table: 'teams',
    }),
    expiresInDays: integer({
      label: 'Expires in days',
      description: 'How long the link is good for each time it is sent',
      min: 1,
      max: 30,
      nullable: false,
      initial: 7,
    }),
    invitedBy: reference('usr', {
      label: 'Invited by',
      description:
        'Who sent it last. It is good as long as they might still send it: one of a person who was removed or is no administrator any more has to be sent again by another',
      readOnly: true,
    }),
    sentAt: timestamp({ label: 'Sent at', readOnly: true, nullable: false }),
    expiresAt: timestamp({ label: 'Expires at', readOnly: true, nullable: false }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
  },
})
