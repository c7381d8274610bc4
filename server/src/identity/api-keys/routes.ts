import { assertNeeded, type IsNeeded } from '../access/scope-list.ts'
import { type Route, type WriteRoute, writeRoute } from '../../platform/http/route.ts'
import { bodyShape } from '../../platform/records/request/body.ts'
import { text, timestamp } from '../../platform/records/declare/fields.ts'
import { changeOne, RouteGroup, standardRoutes } from '../../platform/records/routes/standard-routes.ts'
import { recordWithSecret, overlapOf, withSecretFields } from '../../platform/records/routes/one-time-secret.ts'
import { apiKeys, keyRotationShape } from './resource.ts'
import {
  assertFutureExpiry,
  assertMayActFor,
  assertMayGrant,
  assertNotRevoked,
  grantsMore,
  permissionsOf,
} from './rules.ts'
import { apiKeyStore, createKey, rotateKey, showKeyId } from './store.ts'
import type { JsonObject } from '../../platform/model/json.ts'

const group = new RouteGroup(apiKeyStore, '/v5/api-keys')

const keyValue = text({
  label: 'API key',
  description: 'The key itself. It is shown only once: store it, and keep it secret',
  readOnly: true,
  nullable: false,
})

const keyWithValue = withSecretFields(apiKeys, 'ApiKeyWithText', { apiKey: keyValue })

const rotatedKey = withSecretFields(apiKeys, 'RotatedApiKey', {
  apiKey: keyValue,
  previousKeyExpiresAt: timestamp({
    label: 'Previous key expires at',
    description: 'When the previous value expires; null if it has expired',
    readOnly: true,
  }),
})

/** Each change requires recent re-authentication. */
const change = (action: string) => ({ ...group.changeRoute(action), requiresRecentAuthentication: true })

const rules =
  'A person must have re-authenticated recently; a key needs a scope that names `api-key`. Nobody can grant a scope that they lack. A key sees the records that its creator sees, so a person whose role does not see all records can extend and rotate only their own keys. Only a logged-in owner can grant scopes to create keys or to manage people and settings.'

const createRoute = (isNeeded: IsNeeded): WriteRoute => ({
  ...change('create'),
  summary: 'Create an API key',
  description: `Only this response contains \`apiKey\`. If you lose it, rotate the key. ${rules}`,
  body: { component: 'ApiKeyCreate', shape: bodyShape(apiKeys, 'create'), required: true },
  audited: 'api-key.created',
  responses: { 201: { kind: 'record', resource: keyWithValue } },
  async handle({ db, caller, body }) {
    assertNeeded(body, isNeeded)
    assertFutureExpiry(body)
    assertMayGrant(caller, permissionsOf(body))
    const { written, apiKey } = await createKey(db, caller.userId, body)
    const { text, headers } = recordWithSecret(written, { apiKey })
    return { status: 201, text, headers: { ...headers, location: `${group.path}/${showKeyId(written.id)}` } }
  },
})

const updateRoute = (isNeeded: IsNeeded): WriteRoute => ({
  ...change('update'),
  summary: 'Change an API key',
  description: `JSON Merge Patch (RFC 7396): only fields that are sent change; null clears a field. Changes take effect immediately. Everyone who can change keys can restrict them. To add a scope, an address or time, you need every scope that the key then has. ${rules}`,
  body: { component: 'ApiKeyUpdate', shape: bodyShape(apiKeys, 'update'), required: true },
  audited: 'api-key.updated',
  async handle(request) {
    const { body, caller } = request
    assertNeeded(body, isNeeded)
    return changeOne(group, request, {
      values: body,
      columns: (before) => {
        assertNotRevoked(before)
        if (body.expiresAt !== before.expiresAt) assertFutureExpiry(body)
        const after = permissionsOf({ ...before, ...body })
        if (grantsMore(permissionsOf(before), after)) {
          assertMayActFor(caller, before)
          assertMayGrant(caller, after)
        }
        return {}
      },
    })
  },
})

const rotateRoute = writeRoute({
  ...change('rotate'),
  summary: 'Rotate an API key',
  description: `Previous values stay valid for at most \`overlapSeconds\`; one that already expires earlier still does. Nothing else about the key changes. A key can rotate itself. ${rules}`,
  body: { component: 'ApiKeyRotation', shape: keyRotationShape, required: false },
  audited: 'api-key.rotated',
  responses: { 200: { kind: 'record', resource: rotatedKey } },
  async handle({ db, caller, params, body, revisions }) {
    const keyId = group.id(params)
    const check = (before: JsonObject) => {
      assertNotRevoked(before)
      // A key that rotates itself gains nothing; anyone else could gain permissions.
      if (caller.kind === 'key' && caller.credentialId === keyId) return
      assertMayActFor(caller, before)
      assertMayGrant(caller, permissionsOf(before))
    }
    const rotated = await rotateKey(db, { keyId, overlapSeconds: overlapOf(body), revisions, check })
    const { written, apiKey, previousEndsAt } = rotated
    return { status: 200, ...recordWithSecret(written, { apiKey, previousKeyExpiresAt: previousEndsAt }) }
  },
})

const revokeRoute: WriteRoute = {
  ...change('revoke'),
  summary: 'Revoke an API key',
  description:
    'The key becomes invalid immediately, in every process, and stays in the list. This is permanent. If the key is already revoked, nothing changes.',
  audited: 'api-key.revoked',
  handle: (request) =>
    changeOne(group, request, {
      values: {},
      columns: ({ revokedAt }) => (revokedAt === null ? { revoked_at: 'now' } : {}),
    }),
}

/** The routes of API keys. */
export const apiKeyRoutes = (isNeeded: IsNeeded): Route[] => [
  ...standardRoutes(apiKeyStore, { path: group.path, operations: ['list', 'count', 'get'] }),
  createRoute(isNeeded),
  updateRoute(isNeeded),
  rotateRoute,
  revokeRoute,
]
