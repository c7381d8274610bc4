import { type Fault, invalidBody } from '../../platform/http/errors.ts'
import type { Route, WriteRoute } from '../../platform/http/route.ts'
import { bodyShape } from '../../platform/resource/body.ts'
import type { AnyRow } from '../../platform/resource/define.ts'
import { text, timestamp } from '../../platform/resource/fields.ts'
import { changeOne, Place, standardRoutes } from '../../platform/resource/routes.ts'
import { besideRecord, overlapOf, withMembers } from '../../platform/resource/shown-once.ts'
import { apiKeys, keyRotationShape } from './resource.ts'
import { assertAhead, assertMayGive, assertNotRevoked, isWider, powerOf } from './rules.ts'
import { apiKeyStore, createKey, rotateKey, showKeyId } from './store.ts'

const place = new Place(apiKeyStore, '/v5/api-keys')

const keyText = text({
  label: 'API key',
  description: 'The key itself. It is shown this once: keep it, and keep it secret',
  readOnly: true,
  nullable: false,
})

const keyWithText = withMembers(apiKeys, 'ApiKeyWithText', { apiKey: keyText })

const rotatedKey = withMembers(apiKeys, 'RotatedApiKey', {
  apiKey: keyText,
  previousKeyExpiresAt: timestamp({
    label: 'Previous key expires at',
    description: 'The text before is good until then; null when it has ended',
    readOnly: true,
  }),
})

/** Each change needs a fresh proof. */
const change = (action: string) => ({ ...place.change(action), fresh: true })

const rules =
  'A person needs a fresh proof, a key a scope that names `api-key`. Nobody gives a key a scope that they lack, and only an owner who is logged in gives one that lets it make keys or manage people and settings.'

/** Tells whether any route of the service needs something that the scope covers. */
type IsNeeded = (scope: string) => boolean

const createRoute = (isNeeded: IsNeeded): WriteRoute => ({
  ...change('create'),
  summary: 'Create an API key',
  description: `The answer alone holds \`apiKey\`; whoever loses it rotates the key. ${rules}`,
  body: { component: 'ApiKeyCreate', shape: bodyShape(apiKeys, 'create'), required: true },
  audited: 'api-key.created',
  answers: { 201: { kind: 'record', resource: keyWithText } },
  async handle({ db, caller, body }) {
    assertNeeded(body, isNeeded)
    assertAhead(body)
    assertMayGive(caller, powerOf(body))
    const { written, apiKey } = await createKey(db, caller.userId, body)
    const { text, headers } = besideRecord(written, { apiKey })
    return { status: 201, text, headers: { ...headers, location: `${place.at}/${showKeyId(written.id)}` } }
  },
})

const updateRoute = (isNeeded: IsNeeded): WriteRoute => ({
  ...change('update'),
  summary: 'Change an API key',
  description: `JSON Merge Patch (RFC 7396): only what is sent is changed, null clears a field. What it may do counts at once. Taking away is open to everyone who may change keys; whoever adds a scope, an address or time needs every scope that the key has then. ${rules}`,
  body: { component: 'ApiKeyUpdate', shape: bodyShape(apiKeys, 'update'), required: true },
  audited: 'api-key.updated',
  async handle(request) {
    const { body, caller } = request
    assertNeeded(body, isNeeded)
    return changeOne(place, request, {
      values: body,
      columns: (before) => {
        assertNotRevoked(before)
        if (body.expiresAt !== before.expiresAt) assertAhead(body)
        const after = powerOf({ ...before, ...body })
        if (isWider(powerOf(before), after)) assertMayGive(caller, after)
        return {}
      },
    })
  },
})

const rotateRoute: WriteRoute = {
  ...change('rotate'),
  summary: 'Give an API key a new text',
  description: `The texts from before stay good for \`overlapSeconds\` at most; one that was to end earlier still does. Everything else about the key stays. A key may rotate itself. ${rules}`,
  body: { component: 'ApiKeyRotation', shape: keyRotationShape, required: false },
  audited: 'api-key.rotated',
  answers: { 200: { kind: 'record', resource: rotatedKey } },
  async handle({ db, caller, params, body, revisions }) {
    const keyId = place.id(params)
    const check = (before: AnyRow) => {
      assertNotRevoked(before)
      // The same power in the same hands; anyone else would get what they may not have.
      if (caller.kind !== 'key' || caller.credentialId !== keyId) assertMayGive(caller, powerOf(before))
    }
    const rotated = await rotateKey(db, { keyId, overlapSeconds: overlapOf(body), revisions, check })
    const { written, apiKey, previousEndsAt } = rotated
    return { status: 200, ...besideRecord(written, { apiKey, previousKeyExpiresAt: previousEndsAt }) }
  },
}

const revokeRoute: WriteRoute = {
  ...change('revoke'),
  summary: 'Revoke an API key',
  description:
    'It is good for nothing from now on, in every process, and stays in the list. This is final. A key that is revoked already keeps its time.',
  audited: 'api-key.revoked',
  handle: (request) =>
    changeOne(place, request, {
      values: {},
      columns: ({ revokedAt }) => (revokedAt === null ? { revoked_at: 'now' } : {}),
    }),
}

/** The routes of API keys. */
export const apiKeyRoutes = (isNeeded: IsNeeded): Route[] => [
  ...standardRoutes(apiKeyStore, { at: place.at, operations: ['list', 'count', 'get'] }),
  createRoute(isNeeded),
  updateRoute(isNeeded),
  rotateRoute,
  revokeRoute,
]

/** A scope that no route needs makes a key that can do nothing, and is most likely a slip. Error: 422. */
function assertNeeded({ scopes = [] }: AnyRow, isNeeded: (scope: string) => boolean): void {
  const faults: Fault[] = (scopes as string[])
    .filter((scope) => !isNeeded(scope))
    .map((scope) => ({ field: 'scopes', message: `nothing needs ${scope}; GET /v5/scopes lists what there is` }))
  if (faults.length > 0) throw invalidBody(faults)
}
