import { inPages } from '../../platform/records/routes/array-pages.ts'
import { userActor } from '../../platform/audit/actor.ts'
import { recordPersonEvent } from '../audit-log/store.ts'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/model/errors.ts'
import { clearSiteData, clearCookie } from '../../platform/http/protocol/cookies.ts'
import type { AccountRequest, AccountRoute } from '../access/account-route.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { deviceName } from './devices.ts'
import { endOwnSession, endSessions, findActiveSessions, type SessionSummary } from './store.ts'

const time = { type: 'string', format: 'date-time' }

const sessionsSchema = {
  type: 'array',
  items: {
    type: 'object',
    required: [
      ...['id', 'isCurrent', 'device', 'userAgent', 'address', 'organizationId', 'secondFactor'],
      ...['createdAt', 'lastUsedAt', 'expiresAt'],
    ],
    additionalProperties: false,
    properties: {
      id: { type: 'string', pattern: '^session_[0-9a-f]{32}$' },
      isCurrent: { type: 'boolean', description: 'Whether this is the requesting session' },
      device: { type: 'string', description: 'Program and system, according to the User-Agent header' },
      userAgent: { type: ['string', 'null'] },
      address: { type: ['string', 'null'], description: 'IP address of the last use' },
      organizationId: {
        type: ['string', 'null'],
        description: 'The current organization, used for requests that name none',
      },
      secondFactor: { type: 'boolean', description: 'Whether a second factor was used' },
      createdAt: time,
      lastUsedAt: { ...time, description: 'Accurate to the minute' },
      expiresAt: { ...time, description: 'Unless the session is refreshed before' },
    },
  },
}

const base = { kind: 'account', tag: 'account', params: {}, query: { kind: 'none' } } as const

export const sessionRoutes: AccountRoute[] = [
  {
    ...base,
    method: 'GET',
    path: '/v5/me/sessions',
    operation: 'listSessions',
    summary: 'List your sessions',
    description: 'All active sessions, most recently used first.',
    query: { kind: 'array', item: sessionsSchema.items },
    responses: { 200: { kind: 'schema', component: 'Sessions', schema: sessionsSchema } },
    handle: inPages(sessionsSchema.items, async ({ db, person }: AccountRequest) => {
      const sessions = await findActiveSessions(db, person.userId)
      return {
        status: 200,
        text: JSON.stringify(sessions.map((session) => sessionResponse(session, person.sessionId))),
      }
    }),
  },
  {
    ...base,
    method: 'DELETE',
    path: '/v5/me/sessions',
    operation: 'endSessions',
    summary: 'Log out everywhere',
    description: 'Ends all your sessions, including this one.',
    responses: { 204: { kind: 'none' } },
    async handle(request) {
      await endSessions(request.db, request.person.userId)
      await recordSessionEnd(request.db, request, undefined)
      return { status: 204, headers: clearSiteData, cookies: cookiesOf(request) }
    },
  },
  {
    ...base,
    method: 'DELETE',
    path: '/v5/me/sessions/{sessionId}',
    operation: 'endSession',
    summary: 'End a session',
    description: 'Ends one of your sessions; its tokens become invalid.',
    params: { sessionId: { prefix: 'session', resource: 'session' } },
    responses: { 204: { kind: 'none' } },
    errors: [404],
    async handle(request) {
      const sessionId = request.params.sessionId ?? ''
      const isEnded = await endOwnSession(request.db, request.person.userId, sessionId)
      if (!isEnded) throw new ApiError('not_found', 'You have no active session with this id.')
      await recordSessionEnd(request.db, request, sessionId)
      const isOwn = sessionId === request.person.sessionId
      return { status: 204, ...(isOwn && { headers: clearSiteData, cookies: cookiesOf(request) }) }
    },
  },
]

/** If cookies cannot be set on this connection, no cookie needs to be deleted. */
function cookiesOf({ services, client }: AccountRequest): string[] {
  try {
    return [clearCookie(services, client, 'refresh')]
  } catch {
    return []
  }
}

const sessionResponse = ({ id, organizationId, ...session }: SessionSummary, current: string) => ({
  id: encodeId('session', id),
  isCurrent: id === current,
  device: deviceName(session.userAgent),
  ...session,
  organizationId: organizationId === null ? null : encodeId('org', organizationId),
})

const recordSessionEnd = (
  db: CrossTenantConnection,
  { person, client }: AccountRequest,
  sessionId: string | undefined,
): Promise<void> =>
  recordPersonEvent(db, person.userId, {
    action: 'session.ended',
    ...userActor(person.userId, client),
    recordType: 'session',
    ...(sessionId !== undefined && { recordId: encodeId('session', sessionId) }),
    details: { everywhere: sessionId === undefined },
  })
