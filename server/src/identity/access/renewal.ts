import { randomBytes } from 'node:crypto'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { createCookie, parseCookie } from '../../platform/http/protocol/cookies.ts'
import type { RouteResponse, PublicRequest } from '../../platform/http/route.ts'
import { newId, encodeId } from '../../platform/model/ids.ts'
import { findRole } from './account-store.ts'
import { invalidToken } from './auth-errors.ts'
import { firstRefreshToken } from './sessions.ts'
import { replaceSession } from './store.ts'

export interface Renewal {
  /** Uuids. */
  userId: string
  sessionId: string
  /** Return the refresh token in a cookie instead of the body. */
  wantsCookie: boolean
  /** A second factor was used. */
  isStrong: boolean
}

/**
 * After a re-authentication, replaces the session with one that has a new id and new tokens. Stolen tokens of the
 * previous session thus gain nothing from the re-authentication. Error: 401 if the session has ended meanwhile.
 */
export async function renewSession(
  { services, client }: Pick<PublicRequest, 'services' | 'client'>,
  db: CrossTenantConnection,
  { userId, sessionId, wantsCookie, isStrong }: Renewal,
): Promise<RouteResponse> {
  const { secret, sessions, tokens } = services
  const successor = { id: newId(), nonce: randomBytes(32) }
  const renewed = await replaceSession(db, sessionId, { ...successor, isStrong, at: new Date() })
  if (!renewed) throw invalidToken()
  // A different session in the browser's cookie is replaced too.
  const replaced = wantsCookie ? parseCookie(services, client, 'refresh') : undefined
  if (replaced !== undefined) await sessions.end(replaced, db)
  const { organizationId } = renewed
  const grant = await findRole(db, userId, organizationId)
  const refreshToken = firstRefreshToken(secret, successor.id, successor.nonce)
  const response = {
    status: 'complete',
    userId: encodeId('usr', userId),
    sessionId: encodeId('session', successor.id),
    accessToken: await tokens.issue({ userId, sessionId: successor.id, organizationId, ...grant }),
    ...(!wantsCookie && { refreshToken }),
  }
  const cookies = wantsCookie ? [createCookie(services, client, 'refresh', refreshToken)] : []
  return { status: 200, text: JSON.stringify(response), cookies }
}
