import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { sha256 } from '../../platform/secret/encryption.ts'
import { unseal } from '../../platform/secret/encryption.ts'
import { deriveKey } from '../../platform/secret/secret.ts'
import { createCookie, pageOrigin } from '../../platform/http/protocol/cookies.ts'
import { invalidParameters } from '../../platform/model/errors.ts'
import type { RouteResponse, PublicRequest, Services } from '../../platform/http/route.ts'
import type { QueryParameter } from '../../platform/records/request/query-string.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { findConnection, storeStep, type StoredConnection, consumeStep } from './flow-store.ts'
import { authorizationUrl, causeOf, type Flow, type DecryptedConnection } from './provider.ts'

/** Why a login failed, for the account page: `#sso-error=<code>`. */
export const ssoErrors = {
  unavailable: 'The connection does not exist or is disabled.',
  provider: 'The provider cannot be reached, or its response is invalid. See the log.',
  denied: 'The provider or the person refused the login.',
  expired: 'The login took longer than ten minutes, was already completed, or started in a different browser.',
  'not-linked':
    'No account is linked to this identity, and its address does not allow it to join. Log in another way and link it, or get an invitation.',
  'not-verified':
    'The address has an account but was never verified by mail. Set a new password with a mailed link, or log in with the password and link the identity.',
  'not-a-member': 'The person is no longer a member of the organization and must be invited.',
  'second-factor-needed':
    'The person is also in other organizations, which do not trust this provider. Log in another way and add a second factor.',
} as const
export type SsoError = keyof typeof ssoErrors

type ClientContext = Pick<PublicRequest, 'services' | 'client'>

/** The base URL of the login, without a trailing slash. */
export function loginBaseUrl({ services, client }: ClientContext): string {
  const origin = pageOrigin(services, client)
  // PUBLIC_URL may have a path.
  const isPublicUrl = services.pageOrigin !== undefined && new URL(services.origin).origin === origin
  return isPublicUrl ? services.origin : origin
}

/** Redirects to the account page. Fragments are not sent to servers. */
export const redirectToPage = (context: ClientContext, fragment: string): RouteResponse => ({
  status: 303,
  headers: { location: `${loginBaseUrl(context)}/account#${fragment}` },
})

/** Redirects to the account page with an error code. */
export function redirectToError(context: ClientContext, code: SsoError): RouteResponse {
  const { services, client } = context
  // Logged, because the response is a redirect like that of a successful login.
  services.log.info({ requestId: client.requestId, address: client.address, reason: code }, 'single sign-on: rejected')
  return redirectToPage(context, `sso-error=${code}`)
}

/** 256 random bits. */
export const generateToken = (): string => randomBytes(32).toString('base64url')

/**
 * The parameters of a login at the provider. Nonce and verifier are derived from the browser's cookie and the state, so
 * the database stores neither.
 */
export function createFlow(
  context: ClientContext,
  { connectionId, state, browser }: { connectionId: string; state: string; browser: string },
): Flow {
  const key = deriveKey(context.services.secret, 'single sign-on', state)
  const derive = (what: string) => createHmac('sha256', key).update(`${what}\0${browser}`).digest('base64url')
  // One URI per connection: prevents mix-up attacks between providers (RFC 9700 section 4.4.2).
  const redirectUri = `${loginBaseUrl(context)}/auth/sso/callback/${encodeId('sso', connectionId)}`
  return { redirectUri, state, nonce: derive('nonce'), verifier: derive('verifier') }
}

/** The connection with its secret decrypted. */
export function withClientSecret({ secret }: Services, connection: StoredConnection): DecryptedConnection {
  const { id, secretEncrypted } = connection
  const clientSecret =
    secretEncrypted === null ? null : unseal(deriveKey(secret, 'client secret', id), secretEncrypted).toString()
  return { ...connection, clientSecret }
}

/** Sends the browser to the provider. */
export async function beginLogin(request: PublicRequest): Promise<RouteResponse> {
  const { services, client, params, query } = request
  const connectionId = params.connectionId ?? ''
  const returnTo = parseReturnTo(query, pageOrigin(services, client))
  const link = queryValue(query, 'link')
  // Another site must not start a login unasked (login CSRF). Links are confirmed by their person anyway.
  if (link === undefined && client.fetchSite === 'cross-site') {
    return redirectToPage(request, `sso-begin=${encodeId('sso', connectionId)}`)
  }
  const { connection, linking } = await services.database.crossTenantTransaction('log in', async (db) => ({
    connection: await findConnection(db, connectionId),
    linking: link === undefined ? undefined : await consumeStep(db, { kind: 'link', text: link, connectionId }),
  }))
  if (!connection) return redirectToError(request, 'unavailable')
  if (link !== undefined && !linking) return redirectToError(request, 'expired')
  const [state, browser] = [generateToken(), generateToken()]
  // Before any request to the provider: fails over plain http, where browsers reject the cookie.
  const cookie = createCookie(services, client, 'single-sign-on', browser)
  let location: URL
  try {
    const flow = createFlow(request, { connectionId, state, browser })
    location = await authorizationUrl(services.egress, withClientSecret(services, connection), flow)
  } catch (error) {
    logFailure(request, connection, error)
    return redirectToError(request, 'provider')
  }
  const { organizationId } = connection
  const step = { organizationId, connectionId, browserHash: sha256(browser), returnTo, userId: linking?.userId ?? null }
  await services.database.crossTenantTransaction('log in', (db) => storeStep(db, 'flow', state, step))
  return { status: 303, headers: { location: location.href }, cookies: [cookie] }
}

/** Logs the cause of a failure at the provider, without any contents of its response. */
export function logFailure({ services, client }: ClientContext, connection: StoredConnection, error: unknown): void {
  const { log } = services
  log.warn(
    { requestId: client.requestId, connection: encodeId('sso', connection.id), cause: causeOf(error) },
    'single sign-on failed at the provider',
  )
}

/** Whether this browser started the flow. */
export const isSameBrowser = (hash: Buffer | null, browser: string | undefined): browser is string =>
  hash !== null && browser !== undefined && timingSafeEqual(hash, sha256(browser))

/** The value of a query parameter. */
export const queryValue = (query: readonly QueryParameter[], wanted: string): string | undefined =>
  query.find(({ name }) => name === wanted)?.value

/** The path on this service to continue to; null without one. Error: 400. */
function parseReturnTo(query: readonly QueryParameter[], origin: string): string | null {
  const text = queryValue(query, 'returnTo')
  if (text === undefined) return null
  const url = URL.canParse(text, origin) ? new URL(text, origin) : undefined
  if (!/^\/(?![/\\])[^\\\s\p{Cc}]*$/u.test(text) || text.length > 2000 || url?.origin !== origin) {
    throw invalidParameters([{ field: 'returnTo', message: 'expected a path on this service, such as /contacts' }])
  }
  return `${url.pathname}${url.search}${url.hash}`
}
