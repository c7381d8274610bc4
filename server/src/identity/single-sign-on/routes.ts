import { served } from '../access/account-route.ts'
import type { PublicRoute, Route } from '../../platform/http/route.ts'
import { callback } from './callback.ts'
import { connectionRoutes } from './connection-routes.ts'
import { domainRoutes } from './domain-routes.ts'
import { begin } from './flow.ts'
import { identityRoutes } from './identities.ts'

const flowRoute = {
  kind: 'public',
  host: 'auth',
  method: 'GET',
  tag: 'authentication',
  params: { connectionId: { prefix: 'sso', resource: 'sso-connection' } },
  answers: { 303: { kind: 'none' } },
} satisfies Partial<PublicRoute>

/** Where browsers go: links and redirects. */
const singleSignOnPages: readonly PublicRoute[] = [
  {
    ...flowRoute,
    path: '/auth/sso/{connectionId}',
    operation: 'beginSingleSignOn',
    summary: 'Log in at the organization’s provider',
    query: {
      kind: 'words',
      words: {
        returnTo: 'Path on this service to continue to; default `/account`.',
        link: 'Token that `POST /v5/me/identities` adds to its URL.',
      },
      examples: { returnTo: '/contacts' },
      takesOthers: false,
    },
    handle: begin,
  },
  {
    ...flowRoute,
    path: '/auth/sso/callback/{connectionId}',
    operation: 'endSingleSignOn',
    summary: 'Return from the organization’s provider',
    query: {
      kind: 'words',
      words: {
        state: 'The state that was sent to the provider.',
        code: 'The authorization code.',
        iss: 'The issuer of the response (RFC 9207).',
        error: 'The error code, if there is no authorization code.',
        error_description: 'Description of the error.',
        error_uri: 'URL with more information about the error.',
      },
      takesOthers: true,
    },
    handle: callback,
  },
]

export const singleSignOnRoutes: Route[] = [
  ...singleSignOnPages,
  ...identityRoutes.map(served),
  ...connectionRoutes,
  ...domainRoutes,
]
