import { authRoute, bodyOf, wordOf } from '../../platform/access/forms.ts'
import { keySetMaxAge } from '../../platform/access/signing-keys.ts'
import { assertOwnPage, endCookie, makeCookie, readCookie } from '../../platform/http/cookies.ts'
import { byPerson } from '../../platform/audit/actor.ts'
import { recordPersonEvent } from '../../platform/audit/store.ts'
import type { PublicRequest, PublicRoute } from '../../platform/http/route.ts'
import { missingAuthorization } from '../../platform/access/refusals.ts'
import { secretText } from '../../platform/resource/fields.ts'
import { showId } from '../../platform/resource/ids.ts'
import { asks } from './forms.ts'

const tokensSchema = {
  type: 'object',
  required: ['userId', 'sessionId', 'accessToken', 'refreshToken'],
  additionalProperties: false,
  properties: {
    userId: { type: 'string' },
    sessionId: { type: 'string' },
    accessToken: { type: 'string', description: 'JWT, good for 24 hours' },
    refreshToken: { type: 'string', description: 'Replaces the one that was sent' },
  },
}

const cookieTokensSchema = {
  type: 'object',
  required: ['userId', 'sessionId', 'accessToken'],
  additionalProperties: false,
  properties: {
    userId: { type: 'string' },
    sessionId: { type: 'string' },
    accessToken: { type: 'string', description: 'JWT, good for 24 hours; keep it in memory alone' },
  },
}

export const refreshRoute: PublicRoute = authRoute({
  path: '/auth',
  operation: 'refreshTokens',
  summary: 'Trade a refresh token for a new pair of tokens',
  description:
    'Both tokens of the answer are new. The last refresh token presented again within 30 seconds, its successor unused, gives the same successor; later, or once the successor was used, the session ends.',
  body: bodyOf('RefreshRequest', { token: secretText({ label: 'Refresh token', required: true }) }),
  answers: { 200: { kind: 'schema', component: 'Tokens', schema: tokensSchema } },
  errors: [401],
  handle: async ({ services, body }) => ({
    status: 200,
    text: JSON.stringify(await services.sessions.refresh(wordOf(body, 'token'))),
  }),
})

/** The refresh token never comes to where a script could read it: in a cookie, out in a cookie. */
export const refreshCookieRoute = authRoute({
  path: '/auth/refresh',
  operation: 'refreshCookie',
  summary: 'Get an access token for the refresh token in the cookie',
  description:
    'For our own pages: takes the cookie, with an `Origin` of ours and the JSON body `{}`, and puts its successor in its place.',
  body: bodyOf('CookieRefreshRequest', {}),
  answers: { 200: { kind: 'schema', component: 'CookieTokens', schema: cookieTokensSchema } },
  errors: [401, 403],
  async handle({ services, client }) {
    assertOwnPage(services, client)
    const token = readCookie(services, client, 'refresh')
    if (token === undefined) throw missingAuthorization()
    const { refreshToken, ...shown } = await services.sessions.refresh(token)
    return {
      status: 200,
      text: JSON.stringify(shown),
      cookies: [makeCookie(services, client, 'refresh', refreshToken)],
    }
  },
})

export const logoutRoute = authRoute({
  path: '/auth/logout',
  operation: 'logOut',
  summary: 'End the session of a refresh token',
  description:
    'The token stands in the body or, from our own pages, in the cookie. Its access tokens are good no more. A token of no session is answered alike.',
  body: bodyOf('Logout', {
    token: { ...asks.token, required: false, label: 'Refresh token', description: 'Absent: the cookie’s' },
  }),
  answers: { 204: { kind: 'none' } },
  errors: [403],
  async handle(request) {
    const { services, client, body } = request
    const isCookie = body.token === undefined
    if (isCookie) assertOwnPage(services, client)
    const token = isCookie ? readCookie(services, client, 'refresh') : wordOf(body, 'token')
    if (token !== undefined) await logOut(request, token)
    return { status: 204, ...(isCookie && { cookies: [endCookie(services, client, 'refresh')] }) }
  },
})

async function logOut({ services, client }: PublicRequest, token: string): Promise<void> {
  const ended = await services.sessions.end(token)
  if (!ended) return
  const { userId, sessionId } = ended
  const event = {
    action: 'session.ended',
    ...byPerson(userId, client),
    recordType: 'session',
    recordId: showId('session', sessionId),
  } as const
  await services.database.spanningTransaction('log in', (db) => recordPersonEvent(db, userId, event))
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
  summary: 'Get the public keys of access tokens',
  tag: 'authentication',
  params: {},
  query: { kind: 'none' },
  answers: { 200: { kind: 'schema', component: 'KeySet', schema: keySetSchema } },
  handle: async ({ services }) => ({
    status: 200,
    text: JSON.stringify(await services.tokens.jwks()),
    headers: { 'cache-control': `public, max-age=${keySetMaxAge}` },
  }),
}
