import { inPages } from '../../platform/records/routes/array-pages.ts'
import type { PublicRequest, Route } from '../../platform/http/route.ts'
import { roles, type RoleScopes } from '../../platform/model/scopes.ts'
import { listScopes } from './catalogue.ts'

const segment = { type: 'string', pattern: '^(\\*|[a-z][a-z0-9-]*)$' }

const scopesSchema = {
  type: 'array',
  items: {
    type: 'object',
    required: ['id', 'scope', 'resource', 'action', 'permission', 'description', 'guarded', 'grantableBy', 'endpoints'],
    additionalProperties: false,
    properties: {
      id: { type: 'string', description: 'The same as `scope`, for pages.' },
      scope: { type: 'string', pattern: '^urn:service:[a-z0-9*-]+:[a-z0-9*-]+:(read|write)$' },
      resource: segment,
      action: segment,
      permission: { type: 'string', enum: ['read', 'write'] },
      description: { type: 'string', description: 'Description of what the scope allows.' },
      guarded: {
        type: 'boolean',
        description: 'True if no wildcard in the resource position covers it; a logged-in owner grants it by name.',
      },
      grantableBy: {
        type: 'array',
        items: { type: 'string', enum: roles },
        description: 'Roles whose members can grant it to an API key.',
      },
      endpoints: {
        type: 'array',
        items: { type: 'string' },
        description: 'Requests that need it, as method and path; for a wildcard, those that it currently covers.',
      },
    },
  },
}

/** The scopes that keys can have, derived from the routes. */
export const scopeRoutes = (routes: () => readonly Route[], roleScopes: () => RoleScopes): Route[] => {
  let text: string | undefined
  return [
    {
      kind: 'public',
      host: 'api',
      method: 'GET',
      path: '/v5/scopes',
      operation: 'listScopes',
      summary: 'List the scopes that an API key can have',
      description:
        'Each scope with the requests that need it, and the wildcards that cover several. `*` matches any value in its position; `*:*` also covers the permission.',
      tag: 'api-keys',
      params: {},
      query: { kind: 'array', item: scopesSchema.items },
      responses: { 200: { kind: 'schema', component: 'Scopes', schema: scopesSchema } },
      handle: inPages<PublicRequest>(scopesSchema.items, async () => ({
        status: 200,
        text: (text ??= JSON.stringify(
          listScopes(routes(), roleScopes()).map((listed) => ({ id: listed.scope, ...listed })),
        )),
      })),
    },
  ]
}
