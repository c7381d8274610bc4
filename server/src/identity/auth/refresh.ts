import { authRoute, bodyOf, stringOf } from '../access/forms.ts'
import { keySetMaxAge } from '../access/signing-keys.ts'
import {
  assertSameOrigin,
  clearSiteData,
  clearCookie,
  createCookie,
  parseCookie,
} from '../../platform/http/protocol/cookies.ts'
import { userActor } from '../../platform/audit/actor.ts'
import { recordPersonEvent } from '../audit-log/store.ts'
import type { PublicRequest, PublicRoute } from '../../platform/http/route.ts'
import { missingAuthorization } from '../access/auth-errors.ts'
import { secretText } from '../../platform/records/declare/fields.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { requestFields } from './forms.ts'

const tokensSchema = {
  type: 'object',
  required: ['userId', 'sessionId', 'accessToken', 'refreshToken'],
  additionalProperties: false,
  properties: {
    userId: { type: 'string' },
    sessionId: { type: 'string' },
    accessToken: { type: 'string', description: 'JWT, valid for 24 hours' },
    refreshToken: { type: 'string', description: 'Replaces the one you sent' },
  },
}

const cookieTokensSchema = {
  type: 'object',
  required: ['userId', 'sessionId', 'accessToken'],
  additionalProperties: false,
  properties: {
    userId: { type: 'string' },
    sessionId: { type: 'string' },
    accessToken: { type: 'string', description: 'JWT, valid for 24 hours; store it only in memory' },
  },
}

export const refreshRoute: PublicRoute = authRoute({
  path: '/auth',
  operation: 'refreshTokens',
  summary: 'Exchange a refresh token for new tokens',
  description:
    'Both tokens in the response are new. If you send the previous refresh token again within 30 seconds and its successor is unused, you get the same successor. Otherwise the session ends.',
  body: bodyOf('RefreshRequest', { token: secretText({ label: 'Refresh token', required: true }) }),
  responses: { 200: { kind: 'schema', component: 'Tokens', schema: tokensSchema } },
  errors: [401],
  handle: async ({ services, body }) => ({
    status: 200,
    text: JSON.stringify(await services.sessions.refresh(stringOf(body, 'token'))),
  }),
})

/** The refresh token stays in the cookie, where no script can read it. */
export const refreshCookieRoute = authRoute({
  path: '/auth/refresh',
  operation: 'refreshCookie',
  summary: 'Get an access token for the refresh token in the cookie',
  description:
    'Only for the service’s own pages. Requires the cookie, the service’s own `Origin` and the JSON body `{}`, and replaces the cookie.',
  body: bodyOf('CookieRefreshRequest', {}),
  responses: { 200: { kind: 'schema', component: 'CookieTokens', schema: cookieTokensSchema } },
  errors: [401, 403],
  async handle({ services, client }) {
    assertSameOrigin(services, client)
    const token = parseCookie(services, client, 'refresh')
    if (token === undefined) throw missingAuthorization()
    const { refreshToken, ...tokens } = await services.sessions.refresh(token)
    return {
      status: 200,
      text: JSON.stringify(tokens),
      cookies: [createCookie(services, client, 'refresh', refreshToken)],
    }
  },
})

export const logoutRoute = authRoute({
  path: '/auth/logout',
  operation: 'logOut',
  summary: 'End the session of a refresh token',
  description:
    'Send the token in the body or, from the service’s own pages, in the cookie. The session’s access tokens become invalid. The response is the same for an unknown token.',
  body: bodyOf('LogoutToken', {
    token: {
      ...requestFields.token,
      required: false,
      label: 'Refresh token',
      description: 'If absent, the cookie is used',
    },
  }),
  responses: { 204: { kind: 'none' } },
  errors: [403],
  async handle(request) {
    const { services, client, body } = request
    const isCookie = body.token === undefined
    if (isCookie) assertSameOrigin(services, client)
    const token = isCookie ? parseCookie(services, client, 'refresh') : stringOf(body, 'token')
    if (token !== undefined) await logOut(request, token)
    return {
      status: 204,
      headers: clearSiteData,
      ...(isCookie && { cookies: [clearCookie(services, client, 'refresh')] }),
    }
  },
})

async function logOut({ services, client }: PublicRequest, token: string): Promise<void> {
  const ended = await services.sessions.end(token)
  if (!ended) return
  const { userId, sessionId } = ended
  const event = {
    action: 'session.ended',
    ...userActor(userId, client),
    recordType: 'session',
    recordId: encodeId('session', sessionId),
  } as const
  await services.database.crossTenantTransaction('log in', (db) => recordPersonEvent(db, userId, event))
}

const keySetSchema = {
  type: 'object',
  required: ['keys'],
  properties: { keys: { type: 'array', items: { type: 'object', additionalProperties: true } } },
}

export const keySetRoute: PublicRoute = {
  kind: 'public',
  host: 'api',
  method: 'GET',
  path: '/.well-known/jwks.json',
  operation: 'getKeySet',
  summary: 'Get the public keys for access tokens',
  tag: 'authentication',
  params: {},
  query: { kind: 'none' },
  responses: { 200: { kind: 'schema', component: 'KeySet', schema: keySetSchema } },
  handle: async ({ services }) => ({
    status: 200,
    text: JSON.stringify(await services.tokens.jwks()),
    headers: { 'cache-control': `public, max-age=${keySetMaxAge}` },
  }),
}
