import type { Route } from '../../platform/http/route.ts'
import { text } from '../../platform/resource/fields.ts'

const answerSchema = {
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

const keySetSchema = {
  type: 'object',
  required: ['keys'],
  properties: { keys: { type: 'array', items: { type: 'object', additionalProperties: true } } },
}

export const authRoutes: Route[] = [
  {
    kind: 'public',
    host: 'auth',
    method: 'POST',
    path: '/auth',
    operation: 'refreshTokens',
    summary: 'Trade a refresh token for a new pair of tokens',
    description:
      'Both tokens of the answer are new. The last refresh token presented again within 30 seconds, its successor unused, gives the same successor; later, or once the successor was used, the session ends.',
    tag: 'authentication',
    params: {},
    query: { kind: 'none' },
    body: {
      component: 'RefreshRequest',
      shape: {
        mode: 'create',
        readOnly: [],
        fields: { token: text({ label: 'Refresh token', required: true, max: 500 }) },
      },
      required: true,
    },
    answers: { 200: { kind: 'schema', component: 'Tokens', schema: answerSchema } },
    errors: [401],
    handle: async ({ services, body }) => ({
      status: 200,
      text: JSON.stringify(await services.sessions.refresh(String(body.token))),
    }),
  },
  {
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
    handle: async ({ services }) => ({ status: 200, text: JSON.stringify(await services.tokens.jwks()) }),
  },
]
