import type { OpenApi } from '../../platform/openapi/openapi.ts'
import type { PublicRoute, Route } from '../../platform/http/route.ts'
import { cachedResponse, explorerPage } from './explorer.ts'

const documentSchema = {
  type: 'object',
  required: ['openapi', 'info', 'paths', 'components'],
  additionalProperties: true,
  properties: {
    openapi: { type: 'string', pattern: '^3\\.1\\.' },
    info: { type: 'object' },
    paths: { type: 'object' },
    components: { type: 'object' },
  },
}

const documentation = {
  kind: 'public',
  host: 'api',
  needsDatabase: false,
  method: 'GET',
  tag: 'documentation',
  params: {},
  query: { kind: 'none' },
} satisfies Partial<PublicRoute>

/** The API description, for programs and for people. */
export const docsRoutes = (document: () => OpenApi): Route[] => [
  {
    ...documentation,
    path: '/v5/docs',
    operation: 'getDescription',
    summary: 'Get this OpenAPI document',
    responses: { 200: { kind: 'schema', component: 'Description', schema: documentSchema } },
    handle: cachedResponse(async () => JSON.stringify(document()), {
      'content-type': 'application/json; charset=utf-8',
    }),
  },
  {
    ...documentation,
    path: '/v5/swagger',
    operation: 'getExplorer',
    summary: 'Get the interactive API explorer',
    responses: { 200: { kind: 'text', mediaType: 'text/html' } },
    handle: explorerPage,
  },
]
