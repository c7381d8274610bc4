import { defineResource } from '../../platform/resource/define.ts'
import { choice, id, longText, reference, timestamp } from '../../platform/resource/fields.ts'
import { contacts } from '../contacts/resource.ts'

/** What is worth remembering of a contact: entered by hand, or the `note` of a push. */
export const notes = defineResource({
  name: 'notes',
  singular: 'note',
  component: 'Note',
  idPrefix: 'not',
  search: ['body'],
  parent: { parameter: 'contactId', resource: contacts, column: 'contact_id', few: true },
  fields: {
    id: id('not'),
    contactId: reference('con', { label: 'Contact', readOnly: true, nullable: false }),
    body: longText({ label: 'Text', required: true, max: 100_000, searched: true }),
    source: choice(['manual', 'import'] as const, {
      label: 'Source',
      description: '`manual`: entered by a person or a program in their name; `import`: pushed with a lead',
      readOnly: true,
      nullable: false,
      initial: 'manual',
    }),
    authorId: reference('usr', { label: 'Author', readOnly: true }),
    importRowId: reference('row', { label: 'Import row', description: 'The push that brought it', readOnly: true }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
  },
})
