import { isDeepStrictEqual } from 'node:util'
import { recordLimit } from '../identity/access/record-limit-store.ts'
import { scopeList } from '../identity/access/scope-list.ts'
import { defineResource, type Prepared } from '../platform/records/declare/define.ts'
import { choice, flag, id, reference, stringList, text, timestamp, url } from '../platform/records/declare/fields.ts'
import { computed, document } from '../platform/records/declare/object-fields.ts'
import { rotationBody } from '../platform/records/routes/one-time-secret.ts'
import type { JsonObject, JsonValue } from '../platform/model/json.ts'
import type { Normalized } from '../platform/model/normalizers.ts'
import { healthOf } from './health-store.ts'

export const webhookStatuses = ['enabled', 'paused', 'disabled'] as const

/** Why the service has disabled a webhook. */
export const disableReasons = ['gone', 'failing', 'secret_lost'] as const
export type DisableReason = (typeof disableReasons)[number]

/** Maximum length of a filter as JSON. */
const maxFilterLength = 20_000

const scopes = scopeList({
  description:
    'What the webhook reads: it sends events of the resources whose list its scopes allow, such as `contact:list:read`. Only scopes that end with `:read`, and only those that you have. They cannot be changed later',
})

const readScopes = {
  ...scopes,
  normalize(value: JsonValue): Normalized {
    const normalized = scopes.normalize(value)
    if ('error' in normalized) return normalized
    const other = (normalized.value as string[]).find((scope) => !scope.endsWith(':read'))
    return other === undefined ? normalized : { error: `"${other}" does not end with :read; a webhook changes nothing` }
  },
}

const events = stringList({
  label: 'Events',
  description:
    'Types of events to send: `contact.created`, `contact.*` for all of a resource, or `*` for everything that the scopes show',
  required: true,
  count: 100,
})

function prepare(values: JsonObject, current: JsonObject | undefined): Prepared {
  const errors = []
  if (values.status === 'disabled')
    errors.push({ field: 'status', message: 'expected enabled or paused; only the service disables a webhook' })
  if (current && values.scopes !== undefined && !isDeepStrictEqual(values.scopes, current.scopes))
    errors.push({ field: 'scopes', message: 'cannot be changed; create another webhook' })
  return { values, errors }
}

/** An address to which the service sends the events of an organization. The secret is shown once. */
export const webhooks = defineResource({
  name: 'webhooks',
  singular: 'webhook',
  component: 'Webhook',
  idPrefix: 'whk',
  heading: 'Addresses to which the service sends events, and what was sent to them.',
  roleGroup: 'administration',
  titleField: 'url',
  limit: recordLimit(100),
  audited: {
    create: 'A webhook was created, and its secret was shown.',
    update: 'Settings of a webhook were changed.',
    delete: 'A webhook was deleted.',
    restore: 'A deleted webhook was restored.',
  },
  hidden: { headers_sealed: 'bytea' },
  prepare,
  fields: {
    id: id('whk'),
    url: url({
      label: 'URL',
      description:
        'Where events are sent to; https, unless EGRESS_ALLOW and PLAINTEXT_HOSTS both name the host. Internal addresses need EGRESS_ALLOW',
      required: true,
    }),
    description: text({ label: 'Description', max: 500 }),
    events: {
      ...events,
      schema: { ...events.schema, examples: [['contact.created', 'contact.updated']] },
      normalize: (value: JsonValue): Normalized =>
        Array.isArray(value) && value.length > 0
          ? { value: [...new Set(value)] }
          : { error: 'expected at least one type, such as contact.created' },
    },
    scopes: readScopes,
    filter: {
      ...document({
        label: 'Filter',
        description:
          'The filter tree of a search. An event is sent if its record matches when the event is dispatched; events of purged records are not. Requires events of exactly one resource. It is replaced as a whole',
        nullable: false,
        initial: {},
        schema: { type: 'object', additionalProperties: true },
      }),
      normalize: (value: JsonValue): Normalized =>
        JSON.stringify(value).length > maxFilterLength
          ? { error: `expected at most ${maxFilterLength} characters of JSON` }
          : { value },
    },
    changedFields: stringList({
      label: 'Changed fields',
      description:
        'If given, an update is sent only if it changed one of these fields, such as `email` or `customProperties.plan`; other kinds of events are sent anyway. Requires events of exactly one resource',
    }),
    ordered: flag({
      label: 'Ordered',
      description:
        'If true, the events of a record are sent in their order, one after another: those behind an event that fails wait for its last attempt',
      nullable: false,
      initial: false,
    }),
    status: choice(webhookStatuses, {
      label: 'Status',
      description:
        '`paused`: nothing is sent, and the webhook continues where it stopped once it is enabled. The service sets `disabled`, for a `statusReason`',
      nullable: false,
      initial: 'enabled',
    }),
    statusReason: choice(disableReasons, {
      label: 'Reason of the status',
      description:
        '`gone`: the receiver answered 410. `failing`: everything failed for five days. `secret_lost`: the secret was lost in a restore; rotate it. Null if the service has not disabled it',
      readOnly: true,
    }),
    headerNames: stringList({
      label: 'Names of headers',
      description: 'Names of the headers that are sent in addition; their values are never shown',
      readOnly: true,
    }),
    health: computed({
      label: 'Health',
      description:
        'Number of failures since the last success, when the first of them was, and when the last success was. After 10 failures, one delivery a minute is tried',
      value: healthOf,
      schema: {
        type: 'object',
        required: ['consecutiveFailures', 'failingSince', 'lastSuccessAt'],
        additionalProperties: false,
        properties: {
          consecutiveFailures: { type: 'integer', minimum: 0 },
          failingSince: { type: ['string', 'null'], format: 'date-time' },
          lastSuccessAt: { type: ['string', 'null'], format: 'date-time' },
        },
      },
    }),
    createdBy: reference('usr', {
      label: 'Created by',
      description: 'The person who created it, also with an API key. The webhook stays when they leave',
      readOnly: true,
      nullable: false,
      hasNoForeignKey: true,
    }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
  },
})

/** The body of a rotation. */
export const webhookRotationShape = rotationBody('secrets')
