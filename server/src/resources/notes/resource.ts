import { defineResource, listedAcrossParents, type Prepared } from '../../platform/model/define.ts'
import { choice, id, longText, reference, timestamp, type JsonObject } from '../../platform/model/fields.ts'
import { contacts } from '../contacts/resource.ts'

/** Every new text is queued for the reasoning step, from people, programs and imports. */
const prepare = (values: JsonObject): Prepared =>
  values.body === undefined ? { values } : { values, hidden: { reasoning_queued_at: 'now' } }

/** A note on a contact: entered by hand, or the `note` of a push. */
export const notes = defineResource({
  name: 'notes',
  singular: 'note',
  component: 'Note',
  idPrefix: 'not',
  heading: 'Notes on contacts, written by people or pushed to an import.',
  roleGroup: 'records',
  titleField: 'body',
  search: ['body'],
  parent: { parameter: 'contactId', resource: contacts, column: 'contact_id', isSmall: true },
  prepare,
  fields: {
    id: id('not'),
    contactId: reference('con', { label: 'Contact', readOnly: true, nullable: false, equality: 'indexed' }),
    body: longText({ label: 'Text', required: true, max: 100_000, searched: true }),
    source: choice(['manual', 'import'] as const, {
      label: 'Source',
      description: '`manual`: entered by a person, or by a program on their behalf; `import`: pushed with a lead',
      readOnly: true,
      nullable: false,
      initial: 'manual',
    }),
    authorId: reference('usr', {
      label: 'Author',
      description: 'The member who wrote it; null for an import, and after the member has left the organization',
      readOnly: true,
      hasNoForeignKey: true,
      equality: 'indexed',
    }),
    importRowId: reference('row', {
      label: 'Import row',
      description: 'The push that created it; it is purged earlier than the note',
      readOnly: true,
      hasNoForeignKey: true,
    }),
    reasoningQueuedAt: timestamp({
      label: 'Queued for reasoning at',
      description: 'Since when its text has been waiting for the reasoning step; null once it has been read',
      readOnly: true,
    }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
  },
})

/** The notes of all contacts that are not deleted. */
export const allNotes = listedAcrossParents(notes)
