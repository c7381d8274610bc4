import { mailKindNames, mailKinds, mailStatuses } from './kinds.ts'
import { defineResource } from '../../platform/records/declare/define.ts'
import { choice, email, id, integer, text, timestamp } from '../../platform/records/declare/fields.ts'

const kinds = Object.entries(mailKinds).map(([name, does]) => `\`${name}\`: ${does}`)

/** A mail that the service sends, or stores without a mail server. Its contents are at `/v5/mails/{mailId}/content`. */
export const mails = defineResource({
  name: 'mails',
  singular: 'mail',
  component: 'Mail',
  isInDirectory: true,
  idPrefix: 'mai',
  heading: 'Mails that the service sends. Without a mail server, owners read them here.',
  roleGroup: 'administration',
  titleField: 'subject',
  softDelete: false,
  hidden: {
    user_id: 'uuid',
    record_id: 'uuid',
    recipient_key: 'text',
    facts: 'jsonb',
    body_sealed: 'bytea',
    token_hash: 'bytea',
    composed_at: 'timestamptz',
    run_at: 'timestamptz',
    lease: 'uuid',
    ended_at: 'timestamptz',
    dropped_at: 'timestamptz',
  },
  fields: {
    // Ids sort by creation time.
    id: { ...id('mai'), order: 'scan' },
    kind: choice(mailKindNames, { label: 'Kind', description: kinds.join(' '), readOnly: true, nullable: false }),
    recipient: email({ label: 'Recipient', readOnly: true, nullable: false }),
    subject: text({ label: 'Subject', description: 'Null until it is composed', readOnly: true }),
    status: choice(mailStatuses, {
      label: 'Status',
      description:
        '`queued`: waiting to be sent. `sent`: accepted by the mail server. `kept`: stored for the owners to read, because there is no mail server (SMTP_URL). `failed`: could not be sent. `dropped`: no longer has a recipient',
      readOnly: true,
      nullable: false,
      initial: 'queued',
    }),
    attempts: integer({ label: 'Attempts', min: 0, max: 1000, readOnly: true, nullable: false, initial: 0 }),
    lastError: text({ label: 'Last error', description: 'Why it could not be sent', readOnly: true }),
    sentAt: timestamp({ label: 'Sent at', readOnly: true }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
  },
})
