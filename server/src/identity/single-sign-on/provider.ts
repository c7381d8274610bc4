import { LRUCache } from 'lru-cache'
import type { ClientAuth, Configuration, CustomFetch, IDToken } from 'openid-client'
import type { Egress } from '../../platform/egress/egress.ts'
import { EgressError } from '../../platform/egress/egress-error.ts'
import { type Normalize, normalizers } from '../../platform/model/normalizers.ts'
import type { StoredConnection } from './flow-store.ts'
import { limitPerOrganization } from './provider-limit.ts'

/** Timeout of each request to a provider. */
const timeoutSeconds = 5
/** How long a provider's metadata and keys are cached. */
const cacheMilliseconds = 300_000

/** The parameters of a login at the provider, which its response must match. */
export interface Flow {
  redirectUri: string
  state: string
  nonce: string
  verifier: string
}

/** What the provider says about the person. */
export interface Claims {
  issuer: string
  subject: string
  email: string | null
  /** The provider asserts that the address is this person's. */
  isEmailVerified: boolean
  name: string | null
}

/** A connection with its client secret decrypted, only while it is needed. */
export interface DecryptedConnection extends StoredConnection {
  clientSecret: string | null
}

const openIdClient = () => import('openid-client')

const caches = new WeakMap<Egress, LRUCache<string, Promise<Configuration>>>()

/** Where to send the browser. Errors: network and provider errors; `causeOf` distinguishes them. */
export async function authorizationUrl(egress: Egress, connection: DecryptedConnection, flow: Flow): Promise<URL> {
  const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await openIdClient()
  return buildAuthorizationUrl(await configurationOf(egress, connection), {
    scope: 'openid email profile',
    redirect_uri: flow.redirectUri,
    state: flow.state,
    nonce: flow.nonce,
    code_challenge: await calculatePKCECodeChallenge(flow.verifier),
    code_challenge_method: 'S256',
  })
}

/**
 * Exchanges the authorization code in the callback URL for the person's claims. The library checks state, nonce,
 * verifier, issuer (RFC 9207), audience and signature.
 */
export async function fetchClaims(
  egress: Egress,
  connection: DecryptedConnection,
  { flow, search }: { flow: Flow; search: string },
): Promise<Claims> {
  const configuration = await configurationOf(egress, connection)
  return limitPerOrganization(connection.organizationId, () => exchangeCode(configuration, { flow, search }))
}

async function exchangeCode(
  configuration: Configuration,
  { flow, search }: { flow: Flow; search: string },
): Promise<Claims> {
  const { authorizationCodeGrant, fetchUserInfo } = await openIdClient()
  const tokens = await authorizationCodeGrant(configuration, new URL(`${flow.redirectUri}${search}`), {
    expectedState: flow.state,
    expectedNonce: flow.nonce,
    pkceCodeVerifier: flow.verifier,
    idTokenExpected: true,
  })
  const claims = tokens.claims()
  if (!claims) throw new Error('the response contains no ID token')
  const isComplete = claims.email !== undefined || !configuration.serverMetadata().userinfo_endpoint
  // Many providers return the address only there; the subject must be the same.
  const profile = isComplete ? claims : await fetchUserInfo(configuration, tokens.access_token, claims.sub)
  return {
    issuer: claims.iss,
    subject: parseSubject(claims.sub),
    email: usableOrNull(normalizers.email, profile.email, 320),
    isEmailVerified: profile.email_verified === true,
    name: usableOrNull(normalizers.singleLine, profile.name, 1000),
  }
}

/** 1 to 255 ASCII characters (OpenID Connect Core 1.0, section 2). */
function parseSubject(subject: string): string {
  if (/^[\x20-\x7e]{1,255}$/.test(subject)) return subject
  throw Object.assign(new Error('the subject is not a string of 1 to 255 ASCII characters'), {
    code: 'INVALID_SUBJECT',
  })
}

/** An invalid optional claim is ignored: it does not identify the person. */
function usableOrNull(normalize: Normalize, value: IDToken[string], maxLength: number): string | null {
  if (typeof value !== 'string' || value.length > maxLength || /[\p{Cc}\p{Cs}]/u.test(value)) return null
  return 'value' in normalize(value) ? value : null
}

/** Whether the provider or the person refused the login (RFC 6749 section 4.1.2.1). */
export const isDenial = (error: unknown): boolean =>
  error instanceof Error && (error as { error?: unknown }).error === 'access_denied'

/** The cause of a failure at the provider, for the log: never its response, which may contain tokens. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  if (error instanceof EgressError) return `egress: ${error.reason}`
  if (error.cause instanceof EgressError) return `egress: ${error.cause.reason}`
  const { code } = error as NodeJS.ErrnoException
  return code === undefined ? error.name : String(code)
}

/** The provider's metadata, cached per revision of the connection. */
function configurationOf(egress: Egress, connection: DecryptedConnection): Promise<Configuration> {
  const cache = caches.get(egress) ?? new LRUCache<string, Promise<Configuration>>({ max: 100, ttl: cacheMilliseconds })
  caches.set(egress, cache)
  const key = `${connection.id} ${connection.revision}`
  const cached = cache.get(key)
  if (cached) return cached
  const discovered = limitPerOrganization(connection.organizationId, () => discover(egress, connection))
  cache.set(key, discovered)
  // A failure is not cached.
  discovered.catch(() => cache.delete(key))
  return discovered
}

async function discover(
  egress: Egress,
  { issuer, clientId, clientSecret }: DecryptedConnection,
): Promise<Configuration> {
  const { allowInsecureRequests, customFetch, discovery, enableNonRepudiationChecks, None } = await openIdClient()
  const url = new URL(issuer)
  const isPlain = url.protocol === 'http:' && egress.isAllowed(url)
  const authentication = clientSecret === null ? None() : await clientAuthentication(clientSecret)
  const egressFetch: CustomFetch = (address, options) => egress.fetch(address, options)
  return discovery(url, clientId, undefined, authentication, {
    [customFetch]: egressFetch,
    timeout: timeoutSeconds,
    // Check the ID token's signature although it comes directly from the provider.
    execute: [enableNonRepudiationChecks, ...(isPlain ? [allowInsecureRequests] : [])],
  })
}

/** Sends the secret in a header, or in the body if the provider supports only that. */
async function clientAuthentication(clientSecret: string): Promise<ClientAuth> {
  const { ClientSecretBasic, ClientSecretPost } = await openIdClient()
  const [basic, post] = [ClientSecretBasic(clientSecret), ClientSecretPost(clientSecret)]
  return (server, client, body, headers) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    return (methods.includes('client_secret_basic') ? basic : post)(server, client, body, headers)
  }
}
