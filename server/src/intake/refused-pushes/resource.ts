import { defineResource, narrowView } from '../../platform/records/declare/define.ts'
import { email, flag, id, integer, reference, text, timestamp } from '../../platform/records/declare/fields.ts'
import { emailKey } from '../../platform/model/normalizers.ts'
import { computed, documents } from '../../platform/records/declare/object-fields.ts'
import { imports } from '../imports/resource.ts'
import { addressStart } from '../rows/resource.ts'
import { refusedPushReach, sealedBody } from './reach-store.ts'
import type { Schema } from '../../platform/model/json.ts'

/** Refused pushes are stored for this long, and at most this many of an import: the oldest ones go first. */
export const refusalDays = 30
export const maxRefusals = { items: 1000, bytes: 16 * 1024 * 1024 }
/** Bytes that are stored of a body. */
export const maxStoredBody = 64 * 1024

/** The error of a field, as in the response. */
const detailSchema: Schema = {
  type: 'object',
  required: ['field', 'message'],
  additionalProperties: true,
  properties: { field: { type: 'string' }, message: { type: 'string' } },
}

const parent = { parameter: 'importId', resource: imports, column: 'import_id', isSmall: false }

/** A push that was answered with an error, with its body. */
export const refusedPushDetails = defineResource({
  name: 'refused-pushes',
  table: 'refused_pushes',
  singular: 'refused-push',
  component: 'RefusedPushDetails',
  idPrefix: 'ref',
  heading: `Pushes to an import that were answered with an error. They are stored for ${refusalDays} days, and can be corrected and accepted.`,
  roleGroup: 'visible',
  softDelete: false,
  feed: false,
  titleField: 'code',
  parent,
  search: ['email'],
  searchKey: { column: 'email_key', key: addressStart },
  reach: refusedPushReach,
  hidden: { email_key: 'text', content_sealed: 'bytea' },
  fields: {
    // Ids sort by creation time.
    id: { ...id('ref'), order: 'scan' },
    importId: reference('imp', { label: 'Import', readOnly: true, nullable: false }),
    code: text({ label: 'Error code', readOnly: true, nullable: false }),
    message: text({
      label: 'Message',
      description: 'What the response said',
      readOnly: true,
      nullable: false,
      max: 2000,
    }),
    details: documents({
      label: 'Details',
      description: 'The errors by field, as in the response',
      items: detailSchema,
    }),
    email: email({
      label: 'Email',
      description: 'The first address in the body; null if none was found',
      readOnly: true,
      equality: 'indexed',
      lookup: { column: 'email_key', key: emailKey },
    }),
    sender: text({
      label: 'Sender',
      description: 'The origin of the page that sent it, otherwise the network address',
      readOnly: true,
      nullable: false,
      max: 300,
    }),
    address: text({ label: 'Network address', readOnly: true, nullable: false }),
    userAgent: text({ label: 'User agent', readOnly: true, max: 300 }),
    contentType: text({ label: 'Content type', readOnly: true, max: 300 }),
    bodyBytes: integer({
      label: 'Bytes of the body',
      description: 'Those that are stored',
      min: 0,
      max: maxStoredBody,
      readOnly: true,
      nullable: false,
      initial: 0,
    }),
    isTruncated: flag({
      label: 'Truncated',
      description: `Only the beginning of the body is stored: at most ${maxStoredBody / 1024} KiB`,
      readOnly: true,
      nullable: false,
      initial: false,
    }),
    rowId: reference('row', {
      label: 'Row',
      description: 'The row that it became when it was accepted',
      readOnly: true,
      hasNoForeignKey: true,
    }),
    acceptedAt: timestamp({ label: 'Accepted at', readOnly: true }),
    body: computed({
      label: 'Body',
      description:
        'The body as text, without the secret of the URL; null if it is no longer readable. The URL’s query string is in `query`',
      schema: { type: ['string', 'null'] },
      value: sealedBody,
    }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
  },
})

/** Refused pushes in lists: without the body. */
export const refusedPushes = narrowView(refusedPushDetails, {
  component: 'RefusedPush',
  propertyNames: refusedPushDetails.propertyNames.filter((name) => name !== 'body'),
  writable: [],
  parent,
})
