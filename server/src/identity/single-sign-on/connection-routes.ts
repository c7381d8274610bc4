import { invalidBody } from '../../platform/model/errors.ts'
import {
  type RouteResponse,
  type Route,
  type Services,
  type WriteRoute,
  writeRoute,
} from '../../platform/http/route.ts'
import { bodyShape } from '../../platform/records/request/body.ts'
import { secretText } from '../../platform/records/declare/fields.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { changeOne, RouteGroup, standardRoutes } from '../../platform/records/routes/standard-routes.ts'
import { ssoConnections } from './connection.ts'
import { ssoErrors } from './flow.ts'
import { connectionStore, createConnection, deleteRecord, encryptClientSecret } from './store.ts'
import type { JsonObject } from '../../platform/model/json.ts'

const group = new RouteGroup(connectionStore, '/v5/sso-connections')

const change = (action: string) => ({ ...group.changeRoute(action), requiresRecentAuthentication: true })

const clientSecret = secretText({
  label: 'Client secret',
  description: 'Stored encrypted and never shown again; null for a client without a secret',
  max: 1000,
})

/** With the secret, which is write-only. */
const withSecret = { ...ssoConnections, fields: { ...ssoConnections.fields, clientSecret } }

const errorList = Object.entries(ssoErrors).map(([code, sentence]) => `- \`${code}\`: ${sentence}`)

const create = writeRoute({
  ...change('create'),
  summary: 'Create a single sign-on connection',
  description: `At the provider, register a web application with the redirect URI \`/auth/sso/callback/{id}\` on the host where people log in. They start at \`/auth/sso/{id}\`, with \`?returnTo=/path\` for the target page, where they arrive with the session in a cookie. People with a second factor arrive at \`/account#second-factor=<pendingToken>\`. After an error, they arrive at \`/account#sso-error=<code>\`:\n\n${errorList.join('\n')}`,
  body: { component: 'SsoConnectionCreate', shape: bodyShape(withSecret, 'create'), required: true },
  audited: 'single-sign-on.created',
  async handle({ services, db, body }) {
    const { clientSecret = null, ...values } = body
    assertIssuer(services, values)
    const written = await createConnection(db, services.secret, { values, clientSecret: textOf(clientSecret) })
    const location = `${group.path}/${encodeId(ssoConnections.idPrefix, written.id)}`
    return { status: 201, text: written.text, revision: written.revision, headers: { location } }
  },
})

const update = writeRoute({
  ...change('update'),
  summary: 'Change a single sign-on connection',
  description:
    'JSON Merge Patch (RFC 7396): only fields that are sent change; null clears a field. If you change the issuer, send the client secret again.',
  body: { component: 'SsoConnectionUpdate', shape: bodyShape(withSecret, 'update'), required: true },
  audited: 'single-sign-on.updated',
  async handle(request) {
    const { services, body, params } = request
    const { clientSecret, ...values } = body
    assertIssuer(services, values)
    const columns = (before: JsonObject): JsonObject => {
      if (clientSecret !== undefined)
        return { client_secret_encrypted: encryptedSecret(services, group.id(params), clientSecret) }
      // A secret must not be sent to a different provider.
      if (values.issuer === undefined || values.issuer === before.issuer || before.hasClientSecret !== true) return {}
      throw invalidBody([
        { field: 'clientSecret', message: 'is required again when the issuer changes', missing: true },
      ])
    }
    const response = await changeOne(group, request, { values, columns })
    return clientSecret === undefined ? response : withSecretInAudit(response)
  },
})

const encryptedSecret = (services: Services, id: string, clientSecret: unknown): string | null => {
  const text = textOf(clientSecret)
  return text === null ? null : encryptClientSecret(services.secret, id, text)
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** Adds the secret to the changed fields of the audit event: the record itself does not show the change. */
function withSecretInAudit(response: RouteResponse): RouteResponse {
  const effect = response.effect === 'none' || response.effect === undefined ? {} : response.effect
  return { ...response, effect: { ...effect, fields: [...(effect.fields ?? []), 'clientSecret'] } }
}

const remove: WriteRoute = {
  ...change('delete'),
  summary: 'Delete a single sign-on connection',
  description: 'Permanently deletes it with the identities that people linked through it. Sessions and members stay.',
  audited: 'single-sign-on.deleted',
  async handle({ db, params, revisions }) {
    await deleteRecord(db, ssoConnections, { id: group.id(params), revisions })
    return { status: 204 }
  },
}

export const connectionRoutes: Route[] = [
  ...standardRoutes(connectionStore, { path: group.path, operations: ['list', 'count', 'get'] }),
  create,
  update,
  remove,
]

/** Plain http is allowed only for hosts that the operator has named. Error: 422. */
function assertIssuer({ egress }: Services, { issuer }: JsonObject): void {
  if (typeof issuer !== 'string') return
  const url = new URL(issuer)
  if (url.protocol === 'https:' || egress.isAllowed(url)) return
  throw invalidBody([
    { field: 'issuer', message: 'must start with https://, unless EGRESS_ALLOW and PLAINTEXT_HOSTS name its host' },
  ])
}
