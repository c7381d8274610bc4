import { type Route, type WriteRequest, type WriteRoute, writeRoute } from '../platform/http/route.ts'
import { ApiError, invalidBody } from '../platform/model/errors.ts'
import { encodeId } from '../platform/model/ids.ts'
import { covers } from '../platform/model/scopes.ts'
import { listedAcrossParents } from '../platform/records/declare/define.ts'
import { flag, instant, integer, text } from '../platform/records/declare/fields.ts'
import { parseChange } from '../platform/records/page/parse.ts'
import { readRecord } from '../platform/records/page/read.ts'
import { bodyShapeOf } from '../platform/records/request/body.ts'
import { parseDryRun } from '../platform/records/request/dry-run.ts'
import { closedObject } from '../platform/records/routes/daily-statistics.ts'
import { recordWithFields, withResponseFields } from '../platform/records/routes/response-fields.ts'
import { changeOne, RouteGroup, standardRoutes } from '../platform/records/routes/standard-routes.ts'
import type { JsonObject } from '../platform/model/json.ts'
import { deliveries, deliveryDetails } from './delivery.ts'
import {
  addTest,
  deliveryDetailsStore,
  deliveryStore,
  makeDue,
  maxReplayed,
  replayColumns,
  replayMatching,
} from './delivery-store.ts'
import { countReplayed, findReplayed, replayRange } from './replay-store.ts'
import { webhooks } from './resource.ts'
import { assertMaySend } from './rules.ts'
import type { EventSources } from './store.ts'
import { errorOfPattern, eventScope, splitType } from './types.ts'

const path = '/v5/webhooks/{webhookId}/deliveries'
const group = new RouteGroup(deliveryDetailsStore, path)

/** What webhooks have sent, and what is sent again. */
export const deliveryRoutes = (hooks: RouteGroup, sources: EventSources): Route[] => [
  ...standardRoutes(deliveryStore, { path, operations: ['list', 'count'] }),
  replayManyRoute,
  ...standardRoutes(deliveryDetailsStore, { path, operations: ['get'] }),
  replayOneRoute,
  replaySinceRoute(hooks, sources),
  testRoute(hooks, sources),
]

const behind = 'It has the same `webhook-id` as before, and is sent behind new events.'

const replayOneRoute: WriteRoute = {
  ...group.changeRoute('replay'),
  summary: 'Send an event again',
  description: `For a delivery that is delivered, failed, skipped or retrying. ${behind}`,
  audited: 'webhook.replayed',
  async handle(request: WriteRequest) {
    const response = await changeOne(group, request, { values: {}, columns: replayColumns })
    await makeDue(request.db, group.parentId(request.params) ?? '')
    return { ...response, afterCommit: () => request.services.webhooks.wake() }
  },
}

const replayManyRoute: WriteRoute = {
  kind: 'write',
  method: 'POST',
  path: `${path}/replay`,
  operation: group.operation('replay', true),
  summary: 'Send events again',
  description: `Supports the filters of the list, such as \`status=failed\`. One call replays at most ${maxReplayed.toLocaleString('en')} deliveries, oldest first; those that wait are not counted. ${behind}`,
  tag: group.tag,
  params: group.collectionParams,
  scope: group.scope('replay', 'write'),
  query: { kind: 'change', resource: deliveries },
  supportsIfMatch: false,
  audited: 'webhook.replayed',
  responses: {
    200: {
      kind: 'schema',
      component: 'DeliveriesReplayed',
      schema: closedObject({
        dryRun: { type: 'boolean', description: 'True if this was a dry run, which changes nothing.' },
        count: { type: 'integer', minimum: 0, description: 'Number of deliveries; of a dry run, of those that match.' },
        hasMore: { type: 'boolean', description: 'True if there may be more; repeat the call then.' },
      }),
    },
  },
  async handle({ services, db, params, query }) {
    const request = parseChange(deliveries, query)
    const { count, remaining } = await replayMatching(db, params.webhookId ?? '', request)
    return {
      status: 200,
      text: JSON.stringify({ dryRun: request.dryRun, count, hasMore: remaining > 0 }),
      effect: request.dryRun || count === 0 ? 'none' : { details: { count } },
      afterCommit: () => services.webhooks.wake(),
    }
  },
}

const sinceShape = bodyShapeOf({
  since: instant({
    label: 'Since',
    description: 'Events since this time are sent again, as far as the feed reaches back',
    required: true,
  }),
})

/** The webhook, and what is sent again. */
const replayedWebhook = withResponseFields(webhooks, 'ReplayedWebhook', {
  dryRun: flag({
    label: 'Dry run',
    description: 'True if this was a dry run, which sends nothing',
    readOnly: true,
    nullable: false,
  }),
  eventCount: integer({
    label: 'Number of events',
    description: 'Number of events that are sent again, or would be. Those that still wait are included',
    readOnly: true,
    nullable: false,
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
  }),
  isEstimate: flag({
    label: 'Estimate',
    description: 'True if the number is estimated from 20,000 changes of the feed, because there were more since then',
    readOnly: true,
    nullable: false,
  }),
})

const replaySinceRoute = (hooks: RouteGroup, sources: EventSources) =>
  writeRoute({
    ...hooks.changeRoute('replay'),
    // The webhook stays the same.
    supportsIfMatch: false,
    summary: 'Send all events since a time again',
    description: `Also those that were never sent, for example because the webhook had other settings. ${behind}`,
    query: {
      kind: 'parameters',
      parameters: { dryRun: 'If true, sends nothing and only counts the events.' },
      examples: { dryRun: 'true' },
      allowsOthers: false,
    },
    body: { component: 'WebhookReplay', shape: sinceShape, required: true },
    audited: 'webhook.replayed',
    responses: { 200: { kind: 'record', resource: replayedWebhook } },
    errors: [400],
    async handle({ services, db, params, query, body }) {
      const dryRun = parseDryRun(query)
      const webhookId = hooks.id(params)
      const { text, revision } = await readRecord(db, webhooks, webhookId)
      const range = await findReplayed(db, webhookId, new Date(body.since))
      const { count, isEstimate } = await countReplayed(db, sources, JSON.parse(text) as JsonObject, range)
      if (!dryRun) await replayRange(db, webhookId, range)
      return {
        status: 200,
        ...recordWithFields({ text, revision }, { dryRun, eventCount: count, isEstimate }),
        effect: dryRun ? 'none' : { details: { since: body.since, count } },
        afterCommit: () => services.webhooks.wake(),
      }
    },
  })

const type = text({ label: 'Type', description: 'The type of the event, such as `contact.updated`', required: true })

const testShape = bodyShapeOf({ type: { ...type, schema: { ...type.schema, examples: ['contact.updated'] } } })

const testRoute = (hooks: RouteGroup, { followed }: EventSources) =>
  writeRoute({
    ...hooks.changeRoute('test'),
    supportsIfMatch: false,
    summary: 'Send a test event',
    description:
      'Sends an event of any type that the scopes of the webhook show, once, with `"isTest": true` and the latest record of the resource. The response is the delivery; read it again to see the attempt.',
    body: { component: 'WebhookTest', shape: testShape, required: true },
    audited: 'webhook.tested',
    responses: { 201: { kind: 'record', resource: deliveryDetails } },
    async handle({ services, db, caller, params, body }) {
      const webhookId = hooks.id(params)
      const wanted = body.type
      const { scopes, status } = JSON.parse((await readRecord(db, webhooks, webhookId)).text) as JsonObject
      assertMaySend(caller, scopes as string[])
      const resource = followed().find(({ singular }) => singular === splitType(wanted).singular)
      const error = wanted.endsWith('*')
        ? 'expected one type, such as contact.updated'
        : errorOfPattern(wanted, scopes as string[], followed())
      if (error !== undefined || !resource || !covers(scopes as string[], eventScope(resource)))
        throw invalidBody([{ field: 'type', message: error ?? 'unknown type' }])
      if (status !== 'enabled')
        throw new ApiError('resource_locked', `This webhook is ${String(status)}. Enable it before you test it.`)
      const written = await addTest(db, webhookId, { resource: listedAcrossParents(resource), type: wanted })
      const location = `${hooks.path}/${encodeId(webhooks.idPrefix, webhookId)}/deliveries/${encodeId(deliveryDetails.idPrefix, written.id)}`
      return {
        status: 201,
        text: written.text,
        revision: written.revision,
        headers: { location },
        afterCommit: () => services.webhooks.wake(),
      }
    },
  })
