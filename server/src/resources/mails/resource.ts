import { mailKindNames, mailKinds, mailStatuses } from '../../platform/mail/kinds.ts'
import { defineResource } from '../../platform/resource/define.ts'
import { choice, email, id, integer, text, timestamp } from '../../platform/resource/fields.ts'

const kinds = Object.entries(mailKinds).map(([name, does]) => `\`${name}\`: ${does}`)

/** A mail that the service sends, or would: what it says is apart, at `/v5/mails/{mailId}/content`. */
export const mails = defineResource({
  name: 'mails',
  singular: 'mail',
  component: 'Mail',
  idPrefix: 'mai',
  softDelete: false,
  hidden: {
    user_id: 'uuid',
    record_id: 'uuid',
    recipient_key: 'text',
    facts: 'jsonb',
    body_sealed: 'bytea',
    composed_at: 'timestamptz',
    run_at: 'timestamptz',
    lease: 'uuid',
    ended_at: 'timestamptz',
    dropped_at: 'timestamptz',
  },
  fields: {
    // Ids are in the order of creation.
    id: { ...id('mai'), order: 'scan' },
    kind: choice(mailKindNames, { label: 'Kind', description: kinds.join(' '), readOnly: true, nullable: false }),
    recipient: email({ label: 'Recipient', readOnly: true, nullable: false }),
    subject: text({ label: 'Subject', description: 'Null until it is composed', readOnly: true }),
    status: choice(mailStatuses, {
      label: 'Status',
      description:
        '`queued`: it is to be sent. `sent`: the mail server took it. `kept`: there is no mail server (SMTP_URL), so it is kept for the owners to read. `failed`: it could not be sent. `dropped`: there was nobody to tell any more',
      readOnly: true,
      nullable: false,
      initial: 'queued',
    }),
    attempts: integer({ label: 'Attempts', min: 0, max: 1000, readOnly: true, nullable: false, initial: 0 }),
    lastError: text({ label: 'Last error', description: 'What kept it from being sent', readOnly: true }),
    sentAt: timestamp({ label: 'Sent at', readOnly: true }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
  },
})
