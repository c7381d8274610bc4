import { createHash, randomBytes } from 'node:crypto'
import { byPerson } from '../audit/actor.ts'
import { recordPersonEvent } from '../audit/store.ts'
import type { Spanning } from '../database/database.ts'
import { assertOwnPage, makeCookie, readCookie } from '../http/cookies.ts'
import type { Answer, PublicRequest } from '../http/route.ts'
import { queueMail } from '../mail/queue-store.ts'
import { showId } from '../resource/ids.ts'
import { hasProviderAlone, homeOf, roleIn } from './account-store.ts'
import { isKnownDevice, noteLogin } from './login-store.ts'
import { invalidCredentials } from './refusals.ts'
import { startSession } from './sessions.ts'

export interface Login {
  /** A uuid. */
  userId: string
  email: string
  /** The refresh token goes into the browser's cookie jar and not into the answer. */
  wantsCookie: boolean
  /** A second factor was proved. */
  isStrong: boolean
  /** A browser was sent here by another site, as single sign-on does: its flow was checked by other means than the Origin. */
  isNavigation?: boolean
  /** Where the session begins (uuid); where the person was last unless said. */
  organizationId?: string
  /** How the person proved who they are; told in the audit log. */
  by: 'password' | 'totp' | 'recovery-code' | 'passkey' | 'single-sign-on' | 'set-up' | 'sign-up' | 'invitation'
}

type Asking = Pick<PublicRequest, 'services' | 'client'>

/** The answer of a login that is complete. */
export const loginSchema = {
  type: 'object',
  required: ['status', 'userId', 'sessionId', 'accessToken'],
  additionalProperties: false,
  properties: {
    status: { type: 'string', enum: ['complete'] },
    userId: { type: 'string' },
    sessionId: { type: 'string' },
    accessToken: { type: 'string', description: 'JWT, good for 24 hours' },
    refreshToken: { type: 'string', description: 'For `POST /auth`; absent when it was put into a cookie' },
  },
}

/** Refuses a login that wants a cookie and does not come from a page of ours: nobody logs a visitor in as someone else. */
export function checkCookieWish({ services, client }: Asking, wantsCookie: boolean): void {
  if (wantsCookie) assertOwnPage(services, client)
}

/** What the browser keeps to be known again, if it is of our making. */
function deviceOf({ services, client }: Asking): string | undefined {
  const text = readCookie(services, client, 'device')
  return text !== undefined && /^[A-Za-z0-9_-]{43}$/.test(text) ? text : undefined
}

/** SHA-256 of what the browser keeps to be known again; null when it keeps nothing. */
export function deviceHashOf(asking: Asking): Buffer | null {
  const text = deviceOf(asking)
  return text === undefined ? null : sha256(text)
}

/**
 * Logs the person in: a new session, always (nothing of the caller's choosing becomes one), the notice about a new device,
 * the line in the audit log, and the answer with the tokens.
 */
export async function completeLogin(asking: Asking, db: Spanning, login: Login): Promise<Answer> {
  const { services, client } = asking
  const { userId, wantsCookie, isStrong, isNavigation = false } = login
  checkCookieWish(asking, wantsCookie && !isNavigation)
  const kept = deviceOf(asking)
  const device = kept ?? randomBytes(32).toString('base64url')
  const deviceHash = kept !== undefined || wantsCookie ? sha256(device) : null
  const { address, userAgent } = client
  const { secret, tokens, sessions } = services
  // The session that this browser had is nobody's any more.
  const replaced = wantsCookie ? readCookie(services, client, 'refresh') : undefined
  if (replaced !== undefined) await sessions.end(replaced, db)
  const isKnown = await isKnownDevice(db, userId, { deviceHash, address, userAgent })
  const isAgain = await noteLogin(db, userId)
  if (isAgain === undefined) throw invalidCredentials()
  const isNew = isAgain && !isKnown
  const organizationId = login.organizationId ?? (await homeOf(db, userId))
  // What whoever runs a provider could add or change by it would outlast its say, and reach other organizations.
  const isProof = login.by !== 'single-sign-on' || isStrong || (await hasProviderAlone(db, userId))
  const how = { userAgent, address, deviceHash, isStrong, isProof, begunBy: login.by }
  const session = await startSession(db, { secret, userId, organizationId, ...how })
  if (isNew) {
    const facts = { device: userAgent ?? 'an unknown program', address, at: new Date().toISOString() }
    await queueMail(db, { kind: 'new-device', recipient: login.email, userId, facts })
  }
  const { sessionId, refreshToken } = session
  await recordPersonEvent(db, userId, {
    action: 'login.succeeded',
    ...byPerson(userId, client),
    recordType: 'session',
    recordId: showId('session', sessionId),
    details: { by: login.by, isNewDevice: isNew },
  })
  const answer = {
    status: 'complete',
    userId: showId('usr', userId),
    sessionId: showId('session', sessionId),
    accessToken: await tokens.issue({
      userId,
      sessionId,
      organizationId,
      role: await roleIn(db, userId, organizationId),
    }),
    ...(!wantsCookie && { refreshToken }),
  }
  const cookies = wantsCookie
    ? [makeCookie(services, client, 'refresh', refreshToken), makeCookie(services, client, 'device', device)]
    : []
  return { status: 200, text: JSON.stringify(answer), cookies }
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()
