import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { recordPersonEvent } from '../audit-log/store.ts'
import type { Database, CrossTenantConnection } from '../../platform/database/database.ts'
import { newId, readId, showId } from '../../platform/model/ids.ts'
import type { Sql } from '../../platform/model/sql.ts'
import { invalidToken } from './auth-errors.ts'
import { deriveKey, type Secret } from '../../platform/secret/secret.ts'
import { endSession, insertSession, type StoredSession, lockSession, rotateSession } from './store.ts'
import type { Tokens } from './tokens.ts'

export interface StartedSession {
  sessionId: string
  refreshToken: string
}

/** The answer of `POST /auth`, in the interface's names and forms. */
export interface RefreshResponse {
  userId: string
  sessionId: string
  accessToken: string
  refreshToken: string
}

/** Milliseconds within which the refresh token just used gives its successor again, for a lost answer or a second tab. */
export const reuseGracePeriod = 30_000

export interface NewSessionOptions {
  secret: Secret
  userId: string
  organizationId: string | null
  sessionId?: string
  userAgent?: string | null
  address?: string | null
  /** SHA-256 of what the browser keeps to be known again. */
  deviceHash?: Buffer | null
  /** Was a second factor proved at this login? */
  isStrong?: boolean
  /** Does the login prove who the person is to everybody, and not to one organization alone? */
  allowsSensitiveActions?: boolean
  /** How it began, for the rules about sessions of one kind. */
  begunBy?: string | null
}

/** Starts a session and gives its first refresh token; `sessionId` is a uuid, chosen here unless given. */
export async function startSession(db: CrossTenantConnection, options: NewSessionOptions): Promise<StartedSession> {
  const { insertion, ...started } = prepareSession(options)
  await db.query(insertion)
  return started
}

/** A session that starts once its insertion is run. */
export function prepareSession(options: NewSessionOptions): StartedSession & { insertion: Sql } {
  const { secret, userId, organizationId, sessionId = newId() } = options
  const { userAgent = null, address = null, deviceHash = null, isStrong = false } = options
  const { allowsSensitiveActions = true, begunBy = null } = options
  const nonce = randomBytes(32)
  const details = { userAgent, address, deviceHash, isStrong, allowsSensitiveActions, begunBy }
  const insertion = insertSession({ id: sessionId, userId, organizationId, nonce, startedAt: new Date(), ...details })
  return { sessionId, refreshToken: firstRefreshToken(secret, sessionId, nonce), insertion }
}

/** The refresh token that a session begins with. */
export const firstRefreshToken = (secret: Secret, sessionId: string, nonce: Buffer): string =>
  encodeToken(secret, sessionId, { nonce, generation: 0 })

export interface Sessions {
  /** Trades a refresh token for its successor and an access token; 401 when it is not (or no more) good. */
  refresh(token: string): Promise<RefreshResponse>
  /**
   * Ends the session of a refresh token that was really given out, the last one or not; tells whose it was. In the
   * transaction `within`, or in one of its own.
   */
  end(token: string, transaction?: CrossTenantConnection): Promise<{ userId: string; sessionId: string } | undefined>
}

/**
 * The refresh tokens of all sessions. Each is derived from SECRET, its session's nonce and its generation, so the
 * successor of a token is always the same one and nothing usable is stored.
 */
export function createSessions({
  database,
  secret,
  tokens,
  clock = Date.now,
}: {
  database: Database
  secret: Secret
  tokens: Tokens
  clock?: () => number
}): Sessions {
  async function rotate(db: CrossTenantConnection, presented: PresentedToken): Promise<RotatedSession | undefined> {
    const session = await lockSession(db, presented.sessionId)
    const now = clock()
    if (!session || session.ended || session.expiresAt <= now) return undefined
    // Anyone can write a session's id into a text; only a token that was really given out says something about it.
    if (!isGenuine(secret, presented, session)) return undefined
    if (presented.generation === session.generation) {
      await rotateSession(db, presented.sessionId, new Date(now))
      return { session, generation: session.generation + 1 }
    }
    if (presented.generation === session.generation - 1 && now - session.rotatedAt <= reuseGracePeriod) {
      return { session, generation: session.generation }
    }
    // Used twice, by its owner and by someone else: which is which cannot be told, so both are out.
    await endSession(db, presented.sessionId, new Date(now))
    await recordPersonEvent(db, session.userId, {
      action: 'session.token-reused',
      actorKind: 'anonymous',
      actorId: null,
      recordType: 'session',
      recordId: showId('session', presented.sessionId),
    })
    return undefined
  }

  return {
    async refresh(token) {
      const presented = decodeToken(token)
      if (!presented) throw invalidRefreshToken()
      // The verdict leaves the transaction as a value: a refusal that ends the session has to be committed as well.
      const rotated = await database.crossTenantTransaction('rotate a refresh token', (db) => rotate(db, presented))
      if (!rotated) throw invalidRefreshToken()
      const { sessionId } = presented
      const { userId, organizationId, role, nonce } = rotated.session
      return {
        userId: showId('usr', userId),
        sessionId: showId('session', sessionId),
        accessToken: await tokens.issue({ userId, sessionId, organizationId, role }),
        refreshToken: encodeToken(secret, sessionId, { nonce, generation: rotated.generation }),
      }
    },

    async end(token, transaction) {
      const presented = decodeToken(token)
      if (!presented) return undefined
      const { sessionId } = presented
      const work = async (db: CrossTenantConnection) => {
        const session = await lockSession(db, sessionId)
        if (!session || session.ended || !isGenuine(secret, presented, session)) return undefined
        await endSession(db, sessionId, new Date(clock()))
        return { userId: session.userId, sessionId }
      }
      return transaction ? work(transaction) : database.crossTenantTransaction('rotate a refresh token', work)
    },
  }
}

interface RotatedSession {
  session: StoredSession
  /** The generation of the refresh token to give. */
  generation: number
}

interface PresentedToken {
  sessionId: string
  generation: number
  mac: Buffer
}

const invalidRefreshToken = () =>
  invalidToken('The refresh token is unknown or already used, or its session has ended. Log in again.')

// `rft_`, the session's id, the generation in eight hex digits, 32 bytes of HMAC in base64url.
const pattern = /^(rft_[0-9a-f]{32})([0-9a-f]{8})([A-Za-z0-9_-]{43})$/

function encodeToken(secret: Secret, sessionId: string, state: { nonce: Buffer; generation: number }): string {
  const head = showId('rft', sessionId) + state.generation.toString(16).padStart(8, '0')
  return head + mac(secret, sessionId, state).toString('base64url')
}

function decodeToken(text: string): PresentedToken | undefined {
  const [, id = '', generation = '', code = ''] = pattern.exec(text) ?? []
  const sessionId = readId('rft', id)
  if (sessionId === undefined) return undefined
  return { sessionId, generation: Number.parseInt(generation, 16), mac: Buffer.from(code, 'base64url') }
}

function isGenuine(secret: Secret, presented: PresentedToken, { nonce }: StoredSession): boolean {
  return timingSafeEqual(mac(secret, presented.sessionId, { nonce, generation: presented.generation }), presented.mac)
}

function mac(secret: Secret, sessionId: string, { nonce, generation }: { nonce: Buffer; generation: number }): Buffer {
  const text = Buffer.alloc(4)
  text.writeUInt32BE(generation)
  return createHmac('sha256', deriveKey(secret, 'refresh token', sessionId))
    .update(nonce)
    .update(text)
    .digest()
}
