import { defineResource, narrowView } from '../../platform/records/declare/define.ts'
import {
  choice,
  email,
  id,
  integer,
  reference,
  text,
  timestamp,
  stringList,
} from '../../platform/records/declare/fields.ts'
import { emailKey } from '../../platform/model/normalizers.ts'
import { constantText, document, documents } from '../../platform/records/declare/object-fields.ts'
import { findingSchema } from '../imports/resource.ts'
import { imports, rowStatuses } from '../imports/resource.ts'
import { rowReach } from '../row-reach/store.ts'

const anything = { type: 'object', additionalProperties: true }

/** How a row changed one record: the fields that it set, before and after. */
export const changeSchema = {
  type: 'object',
  required: ['object', 'id', 'action', 'before', 'after'],
  additionalProperties: false,
  properties: {
    object: { type: 'string', enum: ['contact', 'company', 'employment', 'note'] },
    id: { type: 'string' },
    action: { type: 'string', enum: ['created', 'updated'] },
    before: { ...anything, description: 'Previous values of the changed fields; empty for a new record.' },
    after: { ...anything, description: 'New values of the changed fields.' },
  },
}

const parent = { parameter: 'importId', resource: imports, column: 'import_id', isSmall: false }

/** The beginning of an address, as keys have it. */
export function addressStart(word: string): string {
  return word.includes('@') ? emailKey(word) : word.normalize('NFC').toLowerCase()
}

/** A push with its payload, findings and results. */
export const rowDetails = defineResource({
  name: 'rows',
  singular: 'row',
  component: 'ImportRowDetails',
  table: 'import_rows',
  idPrefix: 'row',
  heading: 'Pushes to an import and their results.',
  roleGroup: 'visible',
  softDelete: false,
  // What a row did is a change of a contact or company, whose event names it.
  feed: false,
  parent,
  reach: rowReach,
  hidden: { email_key: 'text', losses: 'integer', lease: 'uuid' },
  search: ['email'],
  searchKey: { column: 'email_key', key: addressStart },
  fields: {
    // Ids are in creation order, but no index has them for one import.
    id: { ...id('row'), order: 'scan' },
    object: {
      ...text({ label: 'Object', description: 'Always `row`', readOnly: true, nullable: false }),
      computed: constantText('row'),
    },
    status: choice(rowStatuses, {
      label: 'Status',
      readOnly: true,
      nullable: false,
      initial: 'PENDING',
      equality: 'indexed',
      indexedAlong: 'createdAt',
    }),
    email: email({
      label: 'Email',
      description: 'The address in the payload; null if it has none',
      readOnly: true,
      equality: 'indexed',
      lookup: { column: 'email_key', key: emailKey },
    }),
    importId: reference('imp', { label: 'Import', readOnly: true, nullable: false }),
    contactId: reference('con', {
      label: 'Contact',
      description: 'Created or matched',
      readOnly: true,
      hasNoForeignKey: true,
      equality: 'indexed',
    }),
    companyId: reference('com', {
      label: 'Company',
      description: 'Created or matched',
      readOnly: true,
      hasNoForeignKey: true,
    }),
    warningCodes: stringList({ label: 'Codes of the warnings', readOnly: true }),
    errorCodes: stringList({ label: 'Codes of the errors', readOnly: true, indexedAlong: 'createdAt' }),
    attempts: integer({
      label: 'Failed attempts',
      min: 0,
      max: 1000,
      readOnly: true,
      nullable: false,
      initial: 0,
    }),
    runAt: timestamp({
      label: 'Run at',
      description:
        'For a waiting row, the earliest time of the next attempt; for a row being processed, the end of its lease',
      readOnly: true,
    }),
    finishedAt: timestamp({ label: 'Finished at', readOnly: true }),
    payload: {
      ...document({
        label: 'Payload',
        description: 'The pushed payload',
        readOnly: true,
        nullable: false,
        schema: anything,
      }),
      // Type `json` keeps the text as it was pushed, including the order of its properties.
      databaseType: 'json',
    },
    parameters: document({
      label: 'Query parameters',
      description: 'Query parameters of the push; `Idempotency-Key` is null if that header was ignored',
      readOnly: true,
      nullable: false,
      schema: anything,
    }),
    warnings: documents({ label: 'Warnings', description: 'Values that were not used', items: findingSchema }),
    errors: documents({
      label: 'Errors',
      description: 'Errors that prevented the row, or a part of it, from being stored',
      items: findingSchema,
    }),
    changes: documents({
      label: 'Changes',
      description: 'Records that the row created or changed',
      items: changeSchema,
    }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
  },
})

/** Rows in lists: without the payload, which can have a megabyte each. */
export const rows = narrowView(rowDetails, {
  component: 'ImportRow',
  propertyNames: [
    'id',
    'object',
    'status',
    'email',
    'importId',
    'contactId',
    'companyId',
    'warningCodes',
    'errorCodes',
    'attempts',
    'runAt',
    'finishedAt',
    'createdAt',
    'updatedAt',
  ],
  writable: [],
  parent,
})
