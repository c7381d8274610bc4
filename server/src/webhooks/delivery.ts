import { defineResource, narrowView } from '../platform/records/declare/define.ts'
import { choice, flag, id, integer, reference, text, timestamp } from '../platform/records/declare/fields.ts'
import { documents } from '../platform/records/declare/object-fields.ts'
import type { Schema } from '../platform/model/json.ts'
import { eventPrefix } from '../feed/event.ts'
import { deliveryReach } from './health-store.ts'
import { webhooks } from './resource.ts'

export const deliveryStatuses = ['pending', 'delivering', 'delivered', 'retrying', 'failed', 'skipped'] as const
export type DeliveryStatus = (typeof deliveryStatuses)[number]

/** Maximum bytes of an answer that an attempt shows. */
export const shownAnswer = 1024
/** Maximum attempts that a delivery shows, the last ones. */
export const shownAttempts = 20

const attemptSchema: Schema = {
  type: 'object',
  required: ['at', 'status', 'milliseconds', 'answer', 'error'],
  additionalProperties: false,
  properties: {
    at: { type: 'string', format: 'date-time' },
    status: { type: ['integer', 'null'], description: 'Status of the answer; null if there was none.' },
    milliseconds: { type: 'integer', minimum: 0 },
    answer: { type: ['string', 'null'], description: `The first ${shownAnswer} bytes of the answer, as UTF-8.` },
    error: { type: ['string', 'null'], description: 'Why the attempt failed; null for a success.' },
  },
}

const parent = { parameter: 'webhookId', resource: webhooks, column: 'webhook_id', isSmall: false }

/** An event that is sent to a webhook, with its attempts. */
export const deliveryDetails = defineResource({
  name: 'webhook-deliveries',
  singular: 'webhook-delivery',
  component: 'WebhookDeliveryDetails',
  table: 'webhook_deliveries',
  idPrefix: 'wdl',
  heading: 'Events that were sent to a webhook, or will be.',
  roleGroup: 'administration',
  titleField: 'type',
  softDelete: false,
  // A delivery of an event would be another event.
  feed: false,
  parent,
  reach: deliveryReach,
  hidden: { position: 'bigint', priority: 'smallint', tries: 'integer' },
  fields: {
    // Ids are in creation order, but no index has them for one webhook.
    id: { ...id('wdl'), order: 'scan' },
    webhookId: reference(webhooks.idPrefix, { label: 'Webhook', readOnly: true, nullable: false }),
    eventId: reference(eventPrefix, {
      label: 'Event',
      description: 'Id of the event, which is also the `webhook-id` of each attempt',
      readOnly: true,
      nullable: false,
      hasNoForeignKey: true,
    }),
    type: text({ label: 'Type', description: 'Such as `contact.updated`', readOnly: true, nullable: false }),
    recordId: text({ label: 'Record', description: 'Id of the record', readOnly: true, nullable: false }),
    status: choice(deliveryStatuses, {
      label: 'Status',
      description:
        '`pending`: waits for its first attempt. `delivering`: is being sent. `retrying`: waits for another attempt. `failed`: the last attempt failed. `skipped`: the event is no longer stored, so it cannot be sent',
      readOnly: true,
      nullable: false,
      initial: 'pending',
    }),
    attemptCount: integer({
      label: 'Number of attempts',
      readOnly: true,
      nullable: false,
      initial: 0,
      min: 0,
      max: 2_147_483_647,
    }),
    nextAttemptAt: timestamp({
      label: 'Next attempt at',
      description: 'Earliest time of the next attempt; null if none is planned',
      readOnly: true,
    }),
    error: text({ label: 'Error', description: 'Why the last attempt failed', readOnly: true }),
    isTest: flag({
      label: 'Test',
      description: 'Whether it is a test event',
      readOnly: true,
      nullable: false,
      initial: false,
    }),
    attempts: documents({
      label: 'Attempts',
      description: `The last attempts, at most ${shownAttempts}, oldest first`,
      items: attemptSchema,
    }),
    finishedAt: timestamp({ label: 'Finished at', readOnly: true }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
  },
})

/** Deliveries in lists: without the attempts, which contain answers. */
export const deliveries = narrowView(deliveryDetails, {
  component: 'WebhookDelivery',
  propertyNames: Object.keys(deliveryDetails.fields).filter((name) => name !== 'attempts'),
  writable: [],
  parent,
})
