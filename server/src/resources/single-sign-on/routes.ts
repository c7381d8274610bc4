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

/** Where browsers go: links and redirects, which are no operations of the API. */
export const singleSignOnPages: readonly PublicRoute[] = [
  {
    ...flowRoute,
    path: '/auth/sso/{connectionId}',
    operation: 'beginSingleSignOn',
    summary: 'Log in at the organization’s provider',
    query: {
      kind: 'words',
      words: {
        returnTo: 'A path of this service to go on to afterwards; `/account` unless said.',
        link: 'What `POST /v5/me/identities` puts into its address.',
      },
      takesOthers: false,
    },
    handle: begin,
  },
  {
    ...flowRoute,
    path: '/auth/sso/callback/{connectionId}',
    operation: 'endSingleSignOn',
    summary: 'Come back from the organization’s provider',
    query: {
      kind: 'words',
      words: {
        state: 'As the provider got it.',
        code: 'What the provider trades for who the person is.',
        iss: 'The provider that answers (RFC 9207).',
        error: 'Why there is no code.',
        error_description: 'The same in words.',
        error_uri: 'Where more is written of it.',
      },
      takesOthers: true,
    },
    handle: callback,
  },
]

export const singleSignOnRoutes: Route[] = [...identityRoutes, ...connectionRoutes, ...domainRoutes]
