import { randomUUID } from 'node:crypto'
import { errors, type JWK, jwtVerify, SignJWT } from 'jose'
import { boundedCache } from '../../platform/model/bounded-cache.ts'
import { sha256 } from '../../platform/secret/encryption.ts'
import type { Database } from '../../platform/database/database.ts'
import { decodeId, encodeId } from '../../platform/model/ids.ts'
import type { RoleScopes } from '../../platform/model/scopes.ts'
import type { RoleGrant } from './account-store.ts'
import { fingerprint, type Secret } from '../../platform/secret/secret.ts'
import { createSigningKeys, signingAlgorithm, type SigningKeys } from './signing-keys.ts'

/** The subject of an access token; ids are uuids. */
export interface TokenSubject {
  userId: string
  sessionId: string
  /** The session's organization at the time of issue; null without one. For information only: no decision uses it. */
  organizationId: string | null
}

export interface Tokens {
  /**
   * A new access token, valid for 24 hours. Its `scope` shows clients what the role allows now (RFC 9068 section
   * 2.2.3). Each request is authorized by the current session and role instead.
   */
  issue(subject: TokenSubject & RoleGrant): Promise<string>
  /** The subject of the token, or undefined if it is not ours or has expired. */
  verify(token: string): Promise<TokenSubject | undefined>
  /** The public keys, for `/.well-known/jwks.json`. */
  jwks(): Promise<{ keys: JWK[] }>
}

/** Lifetime of an access token in seconds. */
export const accessTokenLifetime = 24 * 60 * 60

// Seconds that the clocks of two processes may differ.
const clockTolerance = 5
const maxCachedTokens = 10_000
const type = 'at+jwt'
const audience = 'urn:rapport:api'

/**
 * Access tokens (JWT, ES256, with the type of RFC 9068). The issuer is the fingerprint of the installation's secret,
 * not an address, so tokens survive a change of port or host name. `clock` returns milliseconds since 1970.
 */
export function createTokens({
  database,
  secret,
  roleScopes,
  clock = Date.now,
}: {
  database: Database
  secret: Secret
  roleScopes: RoleScopes
  clock?: () => number
}): Tokens {
  const issuer = `urn:rapport:${fingerprint(secret)}`
  const keys = createSigningKeys({ database, secret, clock })
  // By hash, so that the cache contains no usable token.
  const cache = boundedCache<string, Verified>(maxCachedTokens)

  return {
    async issue({ userId, sessionId, organizationId, role, customScopes = [] }) {
      const { id, privateKey } = await keys.active()
      const now = Math.floor(clock() / 1000)
      const organization = organizationId === null ? {} : { org: encodeId('org', organizationId) }
      const scopes = role === null || role === 'custom' ? customScopes : roleScopes(role)
      const scope = role === null ? {} : { scope: (scopes ?? []).join(' ') }
      return new SignJWT({ sid: encodeId('session', sessionId), ...organization, ...scope })
        .setProtectedHeader({ alg: signingAlgorithm, typ: type, kid: id })
        .setIssuer(issuer)
        .setAudience(audience)
        .setSubject(encodeId('usr', userId))
        .setJti(randomUUID())
        .setIssuedAt(now)
        .setExpirationTime(now + accessTokenLifetime)
        .sign(privateKey)
    },

    async verify(token) {
      const hash = sha256(token).toString('base64')
      const cached = cache.get(hash)
      if (cached) return cached.expires > clock() ? cached.subject : undefined
      const checked = await check(token, keys, { issuer, now: clock() }).catch((error: unknown) => {
        if (error instanceof errors.JOSEError) return undefined
        throw error
      })
      if (checked) cache.set(hash, checked)
      return checked?.subject
    },

    jwks: async () => ({ keys: await keys.published() }),
  }
}

interface Verified {
  subject: TokenSubject
  /** Milliseconds since 1970. */
  expires: number
}

/** Verifies signature, type and claims; throws jose's errors. */
async function check(
  token: string,
  keys: SigningKeys,
  { issuer, now }: { issuer: string; now: number },
): Promise<Verified | undefined> {
  const { payload } = await jwtVerify(
    token,
    // Only `kid` selects the key; keys and key URLs inside the token are ignored.
    async ({ kid }) => {
      const key = kid === undefined ? undefined : await keys.find(kid)
      if (!key) throw new errors.JWKSNoMatchingKey()
      return key
    },
    {
      algorithms: [signingAlgorithm],
      typ: type,
      issuer,
      audience,
      clockTolerance,
      // Also rejects tokens issued in the future (iat).
      maxTokenAge: accessTokenLifetime,
      requiredClaims: ['exp', 'sub', 'sid', 'jti'],
      currentDate: new Date(now),
    },
  )
  const userId = decodeId('usr', String(payload.sub))
  const sessionId = decodeId('session', String(payload['sid']))
  const organizationId = payload['org'] === undefined ? null : decodeId('org', String(payload['org']))
  if (!userId || !sessionId || organizationId === undefined || payload.exp === undefined) return undefined
  return { subject: { userId, sessionId, organizationId }, expires: (payload.exp + clockTolerance) * 1000 }
}
