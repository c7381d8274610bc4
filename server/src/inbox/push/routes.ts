import { type AccountRoute, accountRoute, toRoute } from '../../identity/access/account-route.ts'
import { bodyOf } from '../../identity/access/forms.ts'
import { deviceName } from '../../identity/auth/devices.ts'
import type { Route, Services } from '../../platform/http/route.ts'
import { ApiError, type BodyError, invalidBody } from '../../platform/model/errors.ts'
import { encodeId, newId } from '../../platform/model/ids.ts'
import { choice, secretText } from '../../platform/records/declare/fields.ts'
import { inPages } from '../../platform/records/routes/array-pages.ts'
import { sha256 } from '../../platform/secret/encryption.ts'
import { isAuth, isPublicKey } from './encryption.ts'
import { readPublicKey } from './key.ts'
import { inboxEntries } from '../resource.ts'
import { languages } from '../../platform/model/languages.ts'
import { addSubscription, findSubscriptions, removeSubscription, type Subscription } from './subscriptions-store.ts'
import { sealTarget } from './target.ts'

const time = { type: 'string', format: 'date-time' }

const subscriptionSchema = {
  type: 'object',
  required: ['id', 'isCurrent', 'device', 'host', 'language', 'lastSuccessAt', 'createdAt'],
  additionalProperties: false,
  properties: {
    id: { type: 'string', pattern: '^psb_[0-9a-f]{32}$' },
    isCurrent: { type: 'boolean', description: 'Whether it belongs to the requesting session' },
    device: { type: 'string', description: 'Program and system, according to the User-Agent header of the session' },
    host: { type: 'string', description: 'The push service of the browser' },
    language: { type: 'string', enum: languages },
    lastSuccessAt: { ...time, type: ['string', 'null'], description: 'When the push service last took a notification' },
    createdAt: time,
  },
}

const keySchema = {
  type: 'object',
  required: ['publicKey'],
  additionalProperties: false,
  properties: {
    publicKey: { type: 'string', description: 'A point of P-256 in base64url: `applicationServerKey` of the Push API' },
  },
}

const fields = {
  endpoint: secretText({ label: 'Endpoint', description: '`endpoint` of the subscription', required: true, max: 2000 }),
  p256dh: secretText({ label: 'Key', description: '`keys.p256dh`, in base64url', required: true, max: 200 }),
  auth: secretText({ label: 'Secret', description: '`keys.auth`, in base64url', required: true, max: 100 }),
  language: choice(languages, {
    label: 'Language',
    description:
      'Language of the notifications, unless the person has chosen another one (`language` of `/v5/me`). Default: `en`',
    nullable: false,
  }),
}

const base = { kind: 'account', tag: inboxEntries.name, params: {}, query: { kind: 'none' } } as const

const keyRoute: AccountRoute = {
  ...base,
  method: 'GET',
  path: '/v5/inbox/push-key',
  operation: 'getPushKey',
  summary: 'Get the key to which browsers subscribe',
  description: 'The same for everybody, as long as the installation keeps its SECRET.',
  responses: { 200: { kind: 'schema', component: 'PushKey', schema: keySchema } },
  async handle({ services, db }) {
    return { status: 200, text: JSON.stringify({ publicKey: await readPublicKey(db, services.secret) }) }
  },
}

const listRoute: AccountRoute = {
  ...base,
  method: 'GET',
  path: '/v5/inbox/push-subscriptions',
  operation: 'listPushSubscriptions',
  summary: 'List the browsers that show your notifications',
  description: 'Those in which you are logged in, newest first.',
  query: { kind: 'array', item: subscriptionSchema },
  responses: {
    200: { kind: 'schema', component: 'PushSubscriptions', schema: { type: 'array', items: subscriptionSchema } },
  },
  handle: inPages(subscriptionSchema, async ({ db, person }) => {
    const found = await findSubscriptions(db, person.userId)
    return { status: 200, text: JSON.stringify(found.map((one) => subscriptionResponse(one, person.sessionId))) }
  }),
}

const addRoute = accountRoute({
  ...base,
  method: 'POST',
  path: '/v5/inbox/push-subscriptions',
  operation: 'createPushSubscription',
  summary: 'Show your notifications in this browser',
  description:
    'Send what `PushManager.subscribe()` returned. It replaces an earlier one of the session or of the browser, and ends with the session.',
  body: bodyOf('NewPushSubscription', fields),
  responses: { 201: { kind: 'schema', component: 'PushSubscription', schema: subscriptionSchema } },
  async handle({ services, db, person, body }) {
    const { endpoint, p256dh, auth, language = 'en' } = body
    const target = { endpoint, p256dh, auth }
    assertTarget(services, target)
    const id = newId()
    await addSubscription(db, {
      id,
      ...person,
      language,
      endpointHash: sha256(endpoint),
      targetSealed: sealTarget(services.secret, id, target),
      host: new URL(endpoint).host,
    })
    const added = (await findSubscriptions(db, person.userId)).find((one) => one.id === id)
    if (!added) throw new Error('the subscription was not stored')
    return { status: 201, text: JSON.stringify(subscriptionResponse(added, person.sessionId)) }
  },
})

const removeRoute: AccountRoute = {
  ...base,
  method: 'DELETE',
  path: '/v5/inbox/push-subscriptions/{pushSubscriptionId}',
  operation: 'deletePushSubscription',
  summary: 'Show no more notifications in a browser',
  params: { pushSubscriptionId: { prefix: 'psb', resource: 'push subscription' } },
  responses: { 204: { kind: 'none' } },
  errors: [404],
  async handle({ db, params, person: { userId } }) {
    const isRemoved = await removeSubscription(db, { id: params.pushSubscriptionId ?? '', userId })
    if (!isRemoved) throw new ApiError('not_found', 'You have no browser with this id.')
    return { status: 204 }
  },
}

/** Notifications of browsers: routes of the person of a session, in whatever organization. */
export const pushRoutes: readonly Route[] = [keyRoute, listRoute, addRoute, removeRoute].map(toRoute)

/** Plain http is allowed only for hosts that the operator has named, as for webhooks. Error: 422. */
function assertTarget(
  { egress }: Pick<Services, 'egress'>,
  { endpoint, p256dh, auth }: { endpoint: string; p256dh: string; auth: string },
): void {
  const errors: BodyError[] = []
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined
  const isOpen = url !== undefined && (url.protocol === 'https:' || (url.protocol === 'http:' && egress.isAllowed(url)))
  if (!url || !isOpen || url.username !== '' || url.password !== '') {
    const message = 'expected a URL that starts with https:// and contains no credentials'
    errors.push({ field: 'endpoint', message })
  }
  if (!isPublicKey(p256dh)) errors.push({ field: 'p256dh', message: 'expected a point of P-256 in base64url' })
  if (!isAuth(auth)) errors.push({ field: 'auth', message: 'expected 16 bytes in base64url' })
  if (errors.length > 0) throw invalidBody(errors)
}

const subscriptionResponse = ({ id, sessionId, userAgent, ...shown }: Subscription, current: string) => ({
  id: encodeId('psb', id),
  isCurrent: sessionId === current,
  device: deviceName(userAgent),
  ...shown,
})
