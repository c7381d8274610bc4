import { invalidBody } from '../../platform/http/errors.ts'
import type { Answer, Route, Services, WriteRoute } from '../../platform/http/route.ts'
import { type BodyShape, bodyShape } from '../../platform/resource/body.ts'
import type { AnyRow } from '../../platform/resource/define.ts'
import { secretText } from '../../platform/resource/fields.ts'
import { showId } from '../../platform/resource/ids.ts'
import { changeOne, Place, standardRoutes } from '../../platform/resource/routes.ts'
import { ssoConnections } from './connection.ts'
import { ssoErrors } from './flow.ts'
import { connectionStore, createConnection, deleteRecord, sealedSecret } from './store.ts'

const place = new Place(connectionStore, '/v5/sso-connections')

const change = (action: string) => ({ ...place.change(action), fresh: true })

/** The declared fields, and the secret, which is taken and never shown. */
function shapeOf(mode: 'create' | 'update'): BodyShape {
  const shape = bodyShape(ssoConnections, mode)
  const clientSecret = secretText({
    label: 'Client secret',
    description: 'Kept encrypted and never shown again; null for a client that has none',
    max: 1000,
  })
  return { ...shape, fields: { ...shape.fields, clientSecret } }
}

const errorsTold = Object.entries(ssoErrors).map(([code, sentence]) => `- \`${code}\`: ${sentence}`)

const create: WriteRoute = {
  ...change('create'),
  summary: 'Create a single sign-on connection',
  description: `At the provider, register a web application with the redirect address \`/auth/sso/callback/{id}\` on the host where people log in. They begin at \`/auth/sso/{id}\`, with \`?returnTo=/path\` for where to go on, and end there, with the session in a cookie; at \`/account#second-factor=<pendingToken>\` when they have a second factor; or at \`/account#sso-error=<code>\`:\n\n${errorsTold.join('\n')}`,
  body: { component: 'SsoConnectionCreate', shape: shapeOf('create'), required: true },
  audited: 'single-sign-on.created',
  async handle({ services, db, body }) {
    const { clientSecret = null, ...values } = body
    assertIssuer(services, values)
    const written = await createConnection(db, services.secret, { values, clientSecret: textOf(clientSecret) })
    const location = `${place.at}/${showId(ssoConnections.idPrefix, written.id)}`
    return { status: 201, text: written.text, revision: written.revision, headers: { location } }
  },
}

const update: WriteRoute = {
  ...change('update'),
  summary: 'Change a single sign-on connection',
  description:
    'JSON Merge Patch (RFC 7396): only what is sent is changed, null clears a field. Another issuer needs the client secret again: the one that is kept is for the issuer before.',
  body: { component: 'SsoConnectionUpdate', shape: shapeOf('update'), required: true },
  audited: 'single-sign-on.updated',
  async handle(request) {
    const { services, body, params } = request
    const { clientSecret, ...values } = body
    assertIssuer(services, values)
    const columns = (before: AnyRow): AnyRow => {
      if (clientSecret !== undefined)
        return { client_secret_encrypted: sealed(services, place.id(params), clientSecret) }
      // A secret must not reach a provider that it was not made for.
      if (values.issuer === undefined || values.issuer === before.issuer || before.hasClientSecret !== true) return {}
      throw invalidBody([{ field: 'clientSecret', message: 'is needed again with another issuer', missing: true }])
    }
    const answer = await changeOne(place, request, { values, columns })
    return clientSecret === undefined ? answer : withSecretTold(answer)
  },
}

const sealed = (services: Services, id: string, clientSecret: unknown): string | null => {
  const text = textOf(clientSecret)
  return text === null ? null : sealedSecret(services.secret, id, text)
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** That the secret changed cannot be seen in the record. */
function withSecretTold(answer: Answer): Answer {
  const effect = answer.effect === 'none' || answer.effect === undefined ? {} : answer.effect
  return { ...answer, effect: { ...effect, fields: [...(effect.fields ?? []), 'clientSecret'] } }
}

const remove: WriteRoute = {
  ...change('delete'),
  summary: 'Delete a single sign-on connection',
  description: 'For good, with the identities that people linked through it. Sessions go on, and so do members.',
  audited: 'single-sign-on.deleted',
  async handle({ db, params, revisions }) {
    await deleteRecord(db, ssoConnections, { id: place.id(params), revisions })
    return { status: 204 }
  },
}

export const connectionRoutes: Route[] = [
  ...standardRoutes(connectionStore, { at: place.at, operations: ['list', 'count', 'get'] }),
  create,
  update,
  remove,
]

/** Tokens and a client secret are sent without TLS only where the operator has named the host. Error: 422. */
function assertIssuer({ egress }: Services, { issuer }: AnyRow): void {
  if (typeof issuer !== 'string') return
  const url = new URL(issuer)
  if (url.protocol === 'https:' || egress.isNamed(url)) return
  throw invalidBody([{ field: 'issuer', message: 'must begin with https://, unless EGRESS_ALLOW names its host' }])
}
