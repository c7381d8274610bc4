import type { IsNeeded } from '../identity/access/scope-list.ts'
import { assertNeeded } from '../identity/access/scope-list.ts'
import type { Part } from '../platform/http/part.ts'
import { type Route, type WriteRequest, writeRoute } from '../platform/http/route.ts'
import { bodyShape } from '../platform/records/request/body.ts'
import { secretText, timestamp } from '../platform/records/declare/fields.ts'
import { encodeId } from '../platform/model/ids.ts'
import { overlapOf, recordWithSecret, withSecretFields } from '../platform/records/routes/one-time-secret.ts'
import { changeOne, RouteGroup, standardRoutes } from '../platform/records/routes/standard-routes.ts'
import type { JsonObject } from '../platform/model/json.ts'
import { deliveryDetails } from './delivery.ts'
import { deliveryRoutes } from './delivery-routes.ts'
import { headersField } from './headers.ts'
import { webhookRotationShape, webhooks } from './resource.ts'
import { assertMaySend, assertUrl } from './rules.ts'
import { createWebhook, type EventSources, headerColumns, rotateSecret, webhookStore } from './store.ts'

const path = '/v5/webhooks'

/** With the headers, which are write-only. */
const withHeaders = { ...webhooks, fields: { ...webhooks.fields, headers: headersField } }

const secretField = {
  ...secretText({
    label: 'Secret',
    description: 'Verifies the signatures (Standard Webhooks). It is shown only once: store it, and keep it secret',
    readOnly: true,
    nullable: false,
  }),
  schema: { type: 'string', pattern: '^whsec_[A-Za-z0-9+/=]{44}$' },
}

const webhookWithSecret = withSecretFields(webhooks, 'WebhookWithSecret', { secret: secretField })

const rotatedWebhook = withSecretFields(webhooks, 'RotatedWebhook', {
  secret: secretField,
  previousSecretExpiresAt: timestamp({
    label: 'Previous secret expires at',
    description: 'Until when the previous secrets sign too; null if they no longer do',
    readOnly: true,
  }),
})

const rules =
  'A person must have re-authenticated recently; a key needs a scope that names `webhook`. Only for people who see all records.'

export function webhookPart(sources: EventSources, isNeeded: IsNeeded): Part {
  const group = new RouteGroup(webhookStore(sources), path)
  const standard = standardRoutes(group.store, { path })
  const others = standard.filter(({ operation }) => !['createWebhook', 'updateWebhook'].includes(operation))
  return {
    resources: [webhooks, deliveryDetails],
    routes: [
      ...others.map(guarded),
      createRoute(group, isNeeded),
      updateRoute(group),
      rotateRoute(group),
      ...deliveryRoutes(group, sources),
    ],
  }
}

/** Changes are for people who have authenticated recently. */
const guarded = (route: Route): Route =>
  route.kind === 'write' ? { ...route, requiresRecentAuthentication: true } : route

const createRoute = (group: RouteGroup, isNeeded: IsNeeded) =>
  writeRoute({
    ...group.changeRoute('create'),
    requiresRecentAuthentication: true,
    summary: 'Create a webhook',
    description: `Only this response contains \`secret\`. If you lose it, rotate it. ${rules}`,
    body: { component: 'WebhookCreate', shape: bodyShape(withHeaders, 'create'), required: true },
    responses: { 201: { kind: 'record', resource: webhookWithSecret } },
    async handle({ services, db, caller, body }) {
      const { headers, ...values } = body as JsonObject
      assertUrl(services, values)
      assertNeeded(values, isNeeded)
      assertMaySend(caller, (values.scopes ?? []) as string[])
      const sealing = { secret: services.secret, headers: headers as JsonObject | undefined }
      const made = await createWebhook(group.store, db, { values, createdBy: caller.userId, ...sealing })
      const { text, headers: tag } = recordWithSecret(made.written, { secret: made.text })
      const location = `${path}/${encodeId(webhooks.idPrefix, made.written.id)}`
      return { status: 201, text, headers: { ...tag, location } }
    },
  })

const updateRoute = (group: RouteGroup) =>
  writeRoute({
    ...group.changeRoute('update'),
    requiresRecentAuthentication: true,
    summary: 'Change a webhook',
    description: `JSON Merge Patch (RFC 7396): only fields that are sent change; null clears a field. ${rules}`,
    body: { component: 'WebhookUpdate', shape: bodyShape(withHeaders, 'update'), required: true },
    async handle(request) {
      const { services, body, caller, params } = request as WriteRequest
      const { headers, ...values } = body
      assertUrl(services, values)
      const columns = (before: JsonObject): JsonObject => {
        assertMaySend(caller, before.scopes as string[])
        const sealing = { secret: services.secret, headers: headers as JsonObject | undefined }
        return headerColumns(group.id(params), sealing)
      }
      const response = await changeOne(group, request as WriteRequest, { values, columns })
      return { ...response, afterCommit: () => services.webhooks.wake() }
    },
  })

const rotateRoute = (group: RouteGroup) =>
  writeRoute({
    ...group.changeRoute('rotate'),
    requiresRecentAuthentication: true,
    summary: 'Rotate the secret of a webhook',
    description: `Attempts are signed with the previous secrets too, for at most \`overlapSeconds\`, so that the receiver has time to switch. ${rules}`,
    body: { component: 'WebhookRotation', shape: webhookRotationShape, required: false },
    audited: 'webhook.rotated',
    responses: { 200: { kind: 'record', resource: rotatedWebhook } },
    async handle({ services, db, params, body, revisions }) {
      const rotation = { webhookId: group.id(params), overlapSeconds: overlapOf(body as JsonObject), revisions }
      const rotated = await rotateSecret(group.store, db, services.secret, rotation)
      const shown = { secret: rotated.text, previousSecretExpiresAt: rotated.previousEndsAt }
      return { status: 200, ...recordWithSecret(rotated.written, shown) }
    },
  })
