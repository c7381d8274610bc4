import { toRoute } from '../access/account-route.ts'
import type { PublicRoute, Route } from '../../platform/http/route.ts'
import { handleCallback } from './callback.ts'
import { connectionRoutes } from './connection-routes.ts'
import { domainRoutes } from './domain-routes.ts'
import { beginLogin } from './flow.ts'
import { identityRoutes } from './identities.ts'

const flowRoute = {
  kind: 'public',
  host: 'auth',
  method: 'GET',
  tag: 'authentication',
  params: { connectionId: { prefix: 'sso', resource: 'sso-connection' } },
  responses: { 303: { kind: 'none' } },
} satisfies Partial<PublicRoute>

/** Routes that browsers open: links and redirects. */
const singleSignOnPages: readonly PublicRoute[] = [
  {
    ...flowRoute,
    path: '/auth/sso/{connectionId}',
    operation: 'beginSingleSignOn',
    summary: 'Log in at the organization’s provider',
    query: {
      kind: 'parameters',
      parameters: {
        returnTo: 'Path on this service to continue to; default `/account`.',
        link: 'Token that `POST /v5/me/identities` adds to its URL.',
      },
      examples: { returnTo: '/contacts' },
      allowsOthers: false,
    },
    handle: beginLogin,
  },
  {
    ...flowRoute,
    path: '/auth/sso/callback/{connectionId}',
    operation: 'endSingleSignOn',
    summary: 'Return from the organization’s provider',
    query: {
      kind: 'parameters',
      parameters: {
        state: 'The state that was sent to the provider.',
        code: 'The authorization code.',
        iss: 'The issuer of the response (RFC 9207).',
        error: 'The error code, if there is no authorization code.',
        error_description: 'Description of the error.',
        error_uri: 'URL with more information about the error.',
      },
      allowsOthers: true,
    },
    handle: handleCallback,
  },
]

export const singleSignOnRoutes: Route[] = [
  ...singleSignOnPages,
  ...identityRoutes.map(toRoute),
  ...connectionRoutes,
  ...domainRoutes,
]
