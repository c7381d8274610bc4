import {
  defineResource,
  listedAcrossParents,
  type Parent,
  type Prepared,
  type Resource,
} from '../../platform/records/declare/define.ts'
import { choice, id, longText, reference, timestamp } from '../../platform/records/declare/fields.ts'
import { companies } from '../companies/resource.ts'
import { contacts } from '../contacts/resource.ts'
import { deals } from '../deals/resource.ts'
import type { JsonObject } from '../../platform/model/json.ts'

/** Every new text is queued for the reasoning step, from people, programs and imports. */
const prepare = (values: JsonObject): Prepared =>
  values.body === undefined ? { values } : { values, hidden: { reasoning_queued_at: 'now' } }

const parentOf = (parameter: string, resource: Resource, column: string): Parent => ({
  parameter,
  resource,
  column,
  isSmall: true,
})

/** A note on a contact, a company or a deal: entered by hand, or the `note` of a push. */
export const notes = defineResource({
  name: 'notes',
  singular: 'note',
  component: 'Note',
  idPrefix: 'not',
  heading: 'Notes on contacts, companies and deals, written by people or pushed to an import.',
  roleGroup: 'records',
  isErasable: true,
  hasViews: true,
  titleField: 'body',
  search: ['body'],
  history: { except: [] },
  parents: [
    parentOf('contactId', contacts, 'contact_id'),
    parentOf('companyId', companies, 'company_id'),
    parentOf('dealId', deals, 'deal_id'),
  ],
  prepare,
  fields: {
    id: id('not'),
    contactId: reference('con', {
      label: 'Contact',
      description: 'A note is on exactly one contact, company or deal',
      readOnly: true,
      equality: 'indexed',
    }),
    companyId: reference('com', { label: 'Company', readOnly: true, equality: 'indexed' }),
    dealId: reference('del', { label: 'Deal', readOnly: true, equality: 'indexed' }),
    body: longText({
      label: 'Text',
      description: 'Markdown, stored and returned unchanged. Applications that show it must not run HTML in it',
      required: true,
      max: 100_000,
      searched: true,
    }),
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

/** The notes on all contacts, companies and deals that are not deleted. */
export const allNotes = listedAcrossParents(notes)
