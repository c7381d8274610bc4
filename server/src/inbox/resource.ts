import { defineResource, type Resource } from '../platform/records/declare/define.ts'
import { choice, flag, id, integer, reference, text, timestamp } from '../platform/records/declare/fields.ts'
import { entryKinds } from './kinds.ts'
import { entryReach } from './reach-store.ts'
import { recordIdOf } from './record-ids-store.ts'
import { entryResources } from './records.ts'

/** Something that concerns a person. */
export const inboxEntries = defineResource({
  name: 'inbox-entries',
  singular: 'inbox-entry',
  component: 'InboxEntry',
  table: 'inbox_entries',
  idPrefix: 'ibx',
  heading: 'What concerns the person of the access token, in the organization of the request.',
  roleGroup: 'administration',
  softDelete: false,
  // They follow from events.
  feed: false,
  reach: entryReach,
  hidden: {
    user_id: 'uuid',
    record_id: 'uuid',
    key: 'text',
    is_listed: 'boolean',
    push_pending: 'boolean',
    digest_pending: 'boolean',
    group_id: 'uuid',
    grouped_at: 'timestamptz',
    updated_at: 'timestamptz',
  },
  fields: {
    id: id('ibx'),
    kind: choice(entryKinds, {
      label: 'Kind',
      description:
        '`assigned`: somebody made a task, deal, contact or company yours. `mentioned`: a note names you. `suggestion`: there is a suggestion for a record of yours, or from your note. `importFailed`: rows of your import failed. `webhookDisabled`: a webhook that you created was disabled. `reminder`: of a task. `taskDue`: a task of yours is overdue',
      readOnly: true,
      nullable: false,
    }),
    resource: choice(entryResources, { label: 'Resource', readOnly: true, nullable: false }),
    recordId: {
      ...text({ label: 'Record', description: 'Id of the record', readOnly: true, nullable: false }),
      computed: recordIdOf,
    },
    recordCount: integer({
      label: 'Records',
      description:
        'How many records it is about: what somebody assigns to you at once is one entry, which names the first record',
      min: 1,
      max: 2_147_483_647,
      readOnly: true,
      nullable: false,
      initial: 1,
    }),
    authorId: reference('usr', {
      label: 'Author',
      description: 'The person who has done it, or the creator of the API key; null if nobody has',
      readOnly: true,
      hasNoForeignKey: true,
    }),
    read: flag({ label: 'Read', nullable: false, initial: false }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
  },
})

const titleField = text({
  label: 'Title',
  description: 'That of the record as it is now; null if it is gone, or if you do not see it',
  readOnly: true,
})

/** An entry with the title of its record, which depends on what the person sees. */
export const shownEntries: Resource = {
  ...inboxEntries,
  fields: { ...inboxEntries.fields, title: titleField },
  propertyNames: inboxEntries.propertyNames.flatMap((name) => (name === 'recordId' ? [name, 'title'] : [name])),
}
