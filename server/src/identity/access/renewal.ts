import { randomBytes } from 'node:crypto'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { createCookie, readCookie } from '../../platform/http/cookies.ts'
import type { RouteResponse, PublicRequest } from '../../platform/http/route.ts'
import { newId, showId } from '../../platform/model/ids.ts'
import { findRole } from './account-store.ts'
import { invalidToken } from './auth-errors.ts'
import { firstRefreshToken } from './sessions.ts'
import { replaceSession } from './store.ts'

export interface Renewal {
  /** Uuids. */
  userId: string
  sessionId: string
  /** The refresh token goes into the browser's cookie jar and not into the answer. */
  wantsCookie: boolean
  /** A second factor was proved. */
  isStrong: boolean
}

/**
 * After the person has proved who they are again: the session goes on under another id with new tokens, and those from
 * before are good no more. Whoever had got hold of them gains nothing by the proof. Error: 401 when it ended meanwhile.
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
  // The session that this browser had besides is nobody's any more.
  const replaced = wantsCookie ? readCookie(services, client, 'refresh') : undefined
  if (replaced !== undefined) await sessions.end(replaced, db)
  const { organizationId } = renewed
  const role = await findRole(db, userId, organizationId)
  const refreshToken = firstRefreshToken(secret, successor.id, successor.nonce)
  const response = {
    status: 'complete',
    userId: showId('usr', userId),
    sessionId: showId('session', successor.id),
    accessToken: await tokens.issue({ userId, sessionId: successor.id, organizationId, role }),
    ...(!wantsCookie && { refreshToken }),
  }
  const cookies = wantsCookie ? [createCookie(services, client, 'refresh', refreshToken)] : []
  return { status: 200, text: JSON.stringify(response), cookies }
}
