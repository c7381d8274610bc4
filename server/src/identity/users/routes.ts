import type { Route } from '../../platform/http/route.ts'
import { languages } from '../../platform/model/languages.ts'
import { memberRoles } from '../../platform/model/scopes.ts'
import { profile } from './store.ts'

const profileSchema = {
  type: 'object',
  required: ['id', 'email', 'name', 'timeZone', 'language', 'organizationId', 'organizations', 'credential'],
  additionalProperties: false,
  properties: {
    id: { type: 'string', pattern: '^usr_[0-9a-f]{32}$' },
    email: { type: 'string' },
    name: { type: 'string' },
    timeZone: {
      type: ['string', 'null'],
      description: 'The person’s own IANA time zone; null for the time zone of each organization.',
    },
    language: {
      type: ['string', 'null'],
      enum: [...languages, null],
      description: 'In which mails and notifications reach the person; null if they have not chosen one.',
    },
    organizationId: {
      type: 'string',
      pattern: '^org_[0-9a-f]{32}$',
      description: 'The organization of the request: that of the header, or the session’s current one.',
    },
    organizations: {
      type: 'array',
      items: {
        type: 'object',
        required: ['id', 'name', 'role'],
        additionalProperties: false,
        properties: {
          id: { type: 'string', pattern: '^org_[0-9a-f]{32}$' },
          name: { type: 'string' },
          role: { type: 'string', enum: [...memberRoles, 'none'] },
        },
      },
    },
    credential: {
      type: 'object',
      description: 'The credential of the request and its permissions in this organization.',
      required: ['kind', 'id', 'name', 'scopes', 'expiresAt'],
      additionalProperties: false,
      properties: {
        kind: { type: 'string', enum: ['key', 'session'] },
        id: { type: 'string', pattern: '^(key|session)_[0-9a-f]{32}$' },
        name: { type: ['string', 'null'], description: 'Name of the API key.' },
        scopes: { type: 'array', items: { type: 'string' } },
        expiresAt: {
          type: ['string', 'null'],
          format: 'date-time',
          description: 'When it expires; a session expires then unless it is refreshed before.',
        },
      },
    },
  },
}

export const userRoutes: Route[] = [
  {
    kind: 'read',
    method: 'GET',
    path: '/v5/me',
    operation: 'getMe',
    summary: 'Get the caller’s profile',
    description:
      'With an API key, returns the person who created the key, with only the key’s organization. `credential` describes the credential of the request.',
    tag: 'users',
    params: {},
    scope: 'user:get:read',
    query: { kind: 'none' },
    responses: { 200: { kind: 'schema', component: 'User', schema: profileSchema } },
    handle: async ({ services, caller }) => ({ status: 200, text: await profile(services.database, caller) }),
  },
]
