import { createHash, randomUUID } from 'node:crypto'
import {
  calculateJwkThumbprint,
  errors,
  exportJWK,
  exportPKCS8,
  generateKeyPair,
  importJWK,
  importPKCS8,
  type JWK,
  jwtVerify,
  SignJWT,
} from 'jose'
import { LRUCache } from 'lru-cache'
import type { Database } from '../database/database.ts'
import { readId, showId } from '../resource/ids.ts'
import { deriveKey, fingerprint, seal, type Secret, unseal } from './secret.ts'
import { findSigningKeys, keepSigningKey } from './store.ts'

/** Whom an access token speaks for; the ids are uuids. */
export interface TokenSubject {
  userId: string
  sessionId: string
  organizationId: string
}

export interface Tokens {
  /** A new access token, good for 24 hours. */
  issue(subject: TokenSubject): Promise<string>
  /** Whom the token speaks for, or undefined when it is not one of ours or its time is over. */
  verify(token: string): Promise<TokenSubject | undefined>
  /** The public keys, for `/.well-known/jwks.json`. */
  jwks(): Promise<{ keys: JWK[] }>
}

/** Seconds an access token lives (interface, "Access tokens"). */
export const accessTokenLifetime = 24 * 60 * 60

// Seconds that the clocks of two processes may differ.
const clockTolerance = 5
const rememberedTokens = 10_000
const algorithm = 'ES256'
const type = 'at+jwt'
const audience = 'urn:rapport:api'

/**
 * Access tokens (JWT, ES256, RFC 9068's type). The issuer names the installation by its secret's fingerprint and not
 * by an address, so a token outlives a change of port or host name. `clock` gives milliseconds since 1970.
 */
export function createTokens({
  database,
  secret,
  clock = Date.now,
}: {
  database: Database
  secret: Secret
  clock?: () => number
}): Tokens {
  const issuer = `urn:rapport:${fingerprint(secret)}`
  const keys = once(() => loadKeys(database, secret))
  // By hash, so that the memory holds no usable token.
  const verified = new LRUCache<string, Verified>({ max: rememberedTokens })

  return {
    async issue(subject) {
      const { active } = await keys()
      const now = Math.floor(clock() / 1000)
      return new SignJWT({ sid: showId('session', subject.sessionId), org: showId('org', subject.organizationId) })
        .setProtectedHeader({ alg: algorithm, typ: type, kid: active.id })
        .setIssuer(issuer)
        .setAudience(audience)
        .setSubject(showId('usr', subject.userId))
        .setJti(randomUUID())
        .setIssuedAt(now)
        .setExpirationTime(now + accessTokenLifetime)
        .sign(active.privateKey)
    },

    async verify(token) {
      const hash = createHash('sha256').update(token).digest('base64')
      const known = verified.get(hash)
      if (known) return known.expires > clock() ? known.subject : undefined
      const checked = await check(token, await keys(), { issuer, now: clock() }).catch((error: unknown) => {
        if (error instanceof errors.JOSEError) return undefined
        throw error
      })
      if (checked) verified.set(hash, checked)
      return checked?.subject
    },

    async jwks() {
      const { publicJwks } = await keys()
      return { keys: publicJwks }
    },
  }
}

interface Verified {
  subject: TokenSubject
  /** Milliseconds since 1970. */
  expires: number
}

/** Signature, type and claims; throws jose's error for what is wrong. */
async function check(
  token: string,
  { publicKeys }: SigningKeys,
  { issuer, now }: { issuer: string; now: number },
): Promise<Verified | undefined> {
  const { payload } = await jwtVerify(
    token,
    // Only `kid` chooses the key; a key or an address of keys inside the token is never looked at.
    ({ kid }) => {
      const key = publicKeys.get(kid ?? '')
      if (!key) throw new errors.JWKSNoMatchingKey()
      return key
    },
    {
      algorithms: [algorithm],
      typ: type,
      issuer,
      audience,
      clockTolerance,
      // With this, a token of the future (iat) is refused too.
      maxTokenAge: accessTokenLifetime,
      requiredClaims: ['exp', 'sub', 'sid', 'org', 'jti'],
      currentDate: new Date(now),
    },
  )
  const userId = readId('usr', String(payload.sub))
  const sessionId = readId('session', String(payload['sid']))
  const organizationId = readId('org', String(payload['org']))
  if (!userId || !sessionId || !organizationId || payload.exp === undefined) return undefined
  return { subject: { userId, sessionId, organizationId }, expires: (payload.exp + clockTolerance) * 1000 }
}

type SigningKeys = Awaited<ReturnType<typeof loadKeys>>

/** The keys of the database; the first process to need one makes it, the others take that one. */
async function loadKeys(database: Database, secret: Secret) {
  let kept = await findSigningKeys(database)
  if (kept[0]?.status !== 'active') {
    await keepSigningKey(database, await makeKey(secret))
    kept = await findSigningKeys(database)
  }
  const [active] = kept
  if (active?.status !== 'active') throw new Error('The database kept no active signing key.')
  const pem = unseal(deriveKey(secret, 'signing key', active.id), active.privateKeyEncrypted).toString()
  const publicKeys = new Map(
    await Promise.all(kept.map(async ({ id, publicJwk }) => [id, await importJWK(publicJwk, algorithm)] as const)),
  )
  return {
    active: { id: active.id, privateKey: await importPKCS8(pem, algorithm) },
    publicKeys,
    publicJwks: kept.map(({ publicJwk }) => publicJwk),
  }
}

async function makeKey(secret: Secret) {
  const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true })
  const jwk = await exportJWK(publicKey)
  const id = await calculateJwkThumbprint(jwk)
  const pem = await exportPKCS8(privateKey)
  return {
    id,
    algorithm,
    publicJwk: { ...jwk, kid: id, alg: algorithm, use: 'sig' },
    privateKeyEncrypted: seal(deriveKey(secret, 'signing key', id), Buffer.from(pem)),
  }
}

/** Loads once for all who ask; a failure is not remembered. */
function once(load: () => Promise<SigningKeys>): () => Promise<SigningKeys> {
  let loading: Promise<SigningKeys> | undefined
  return () => {
    loading ??= load().catch((error: unknown) => {
      loading = undefined
      throw error
    })
    return loading
  }
}
