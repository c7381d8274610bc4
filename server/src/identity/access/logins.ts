import { randomBytes } from 'node:crypto'
import { sha256 } from '../../platform/secret/encryption.ts'
import { userActor } from '../../platform/audit/actor.ts'
import { insertPendingEvents } from '../audit-log/store.ts'
import type { PersonEvent } from '../../platform/audit/store.ts'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { assertSameOrigin, createCookie, parseCookie } from '../../platform/http/protocol/cookies.ts'
import type { RouteResponse, PublicRequest } from '../../platform/http/route.ts'
import { queueMail } from '../mails/store.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { lockForLogin, writeLogin } from './login-store.ts'
import { invalidCredentials } from './auth-errors.ts'
import { prepareSession } from './sessions.ts'

export interface Login {
  /** A uuid. */
  userId: string
  email: string
  /** Return the refresh token in a cookie instead of the body. */
  wantsCookie: boolean
  /** A second factor was used. */
  isStrong: boolean
  /** Another site redirected the browser here (single sign-on): the flow itself was verified instead of the Origin. */
  isNavigation?: boolean
  /** The session's first organization (uuid); by default the one used last. */
  organizationId?: string
  /** How the person authenticated; part of the audit event. */
  by: 'password' | 'totp' | 'recovery-code' | 'passkey' | 'single-sign-on' | 'set-up' | 'sign-up' | 'invitation'
}

type ClientContext = Pick<PublicRequest, 'services' | 'client'>

/** The response of a completed login. */
export const loginSchema = {
  type: 'object',
  required: ['status', 'userId', 'sessionId', 'accessToken'],
  additionalProperties: false,
  properties: {
    status: { type: 'string', enum: ['complete'] },
    userId: { type: 'string' },
    sessionId: { type: 'string' },
    accessToken: { type: 'string', description: 'JWT, valid for 24 hours' },
    refreshToken: { type: 'string', description: 'For `POST /auth`; absent if it was returned in a cookie' },
  },
}

/** A cookie login must come from one of our own pages: another site must not log a visitor in (login CSRF). */
export function assertCookieAllowed({ services, client }: ClientContext, wantsCookie: boolean): void {
  if (wantsCookie) assertSameOrigin(services, client)
}

/** The token in the device cookie, if it has our format. */
function readDeviceCookie({ services, client }: ClientContext): string | undefined {
  const text = parseCookie(services, client, 'device')
  return text !== undefined && /^[A-Za-z0-9_-]{43}$/.test(text) ? text : undefined
}

/** SHA-256 of the device cookie; null without one. */
export function readDeviceHash(context: ClientContext): Buffer | null {
  const text = readDeviceCookie(context)
  return text === undefined ? null : sha256(text)
}

/**
 * Logs the person in: creates a session (always a new one, against session fixation), notifies about a new device,
 * writes the audit event and returns the tokens.
 */
export async function completeLogin(
  context: ClientContext,
  db: CrossTenantConnection,
  login: Login,
): Promise<RouteResponse> {
  const { services, client } = context
  const { userId, wantsCookie, isStrong, isNavigation = false } = login
  assertCookieAllowed(context, wantsCookie && !isNavigation)
  const existing = readDeviceCookie(context)
  const device = existing ?? randomBytes(32).toString('base64url')
  const deviceHash = existing !== undefined || wantsCookie ? sha256(device) : null
  const { address, userAgent } = client
  const { secret, tokens, sessions } = services
  // The browser's previous session is replaced.
  const replaced = wantsCookie ? parseCookie(services, client, 'refresh') : undefined
  if (replaced !== undefined) await sessions.end(replaced, db)
  const facts = await lockForLogin(db, userId, { deviceHash, address, userAgent })
  if (!facts) throw invalidCredentials()
  const { isNewDevice, dependsOnProvider, home, organizations } = facts
  const organizationId = login.organizationId ?? home
  // The operator of an identity provider must not be able to add credentials that also work in other organizations.
  const allowsSensitiveActions = login.by !== 'single-sign-on' || isStrong || dependsOnProvider
  const details = { userAgent, address, deviceHash, isStrong, allowsSensitiveActions, begunBy: login.by }
  const { sessionId, refreshToken, insertion } = prepareSession({ secret, userId, organizationId, ...details })
  const event: PersonEvent = {
    action: 'login.succeeded',
    ...userActor(userId, client),
    recordType: 'session',
    recordId: encodeId('session', sessionId),
    details: { by: login.by, isNewDevice },
  }
  const ids = organizations.map(({ id }) => id)
  // Sent together.
  await Promise.all([
    writeLogin(db, userId, insertion),
    ids.length > 0 ? db.query(insertPendingEvents(ids, event)) : undefined,
  ])
  if (isNewDevice) {
    const deviceFacts = { device: userAgent, address, at: new Date().toISOString() }
    await queueMail(db, { kind: 'new-device', recipient: login.email, userId, facts: deviceFacts })
  }
  const { role = null, customScopes = null } = organizations.find(({ id }) => id === organizationId) ?? {}
  const response = {
    status: 'complete',
    userId: encodeId('usr', userId),
    sessionId: encodeId('session', sessionId),
    accessToken: await tokens.issue({ userId, sessionId, organizationId, role, customScopes }),
    ...(!wantsCookie && { refreshToken }),
  }
  const cookies = wantsCookie
    ? [createCookie(services, client, 'refresh', refreshToken), createCookie(services, client, 'device', device)]
    : []
  return { status: 200, text: JSON.stringify(response), cookies }
}
