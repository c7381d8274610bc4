import { byPerson } from '../../platform/audit/actor.ts'
import { recordPersonEvent } from '../../platform/audit/store.ts'
import type { Spanning } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/http/errors.ts'
import { endCookie } from '../../platform/http/cookies.ts'
import type { AccountRequest, AccountRoute } from '../../platform/http/route.ts'
import { showId } from '../../platform/resource/ids.ts'
import { deviceOf } from './devices.ts'
import { endOwnSession, endSessions, liveSessions, type ShownSession } from './store.ts'

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
      isCurrent: { type: 'boolean', description: 'Is it the one that asks?' },
      device: { type: 'string', description: 'The program and the system, as it calls itself' },
      userAgent: { type: ['string', 'null'] },
      address: { type: ['string', 'null'], description: 'The IP address it was used from last' },
      organizationId: { type: ['string', 'null'], description: 'Where requests that name no organization go' },
      secondFactor: { type: 'boolean', description: 'Was a second factor proved?' },
      createdAt: time,
      lastUsedAt: { ...time, description: 'To the minute' },
      expiresAt: { ...time, description: 'Unless it is used before' },
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
    summary: 'List where you are logged in',
    description: 'Every session that lives, the one used last first.',
    answers: { 200: { kind: 'schema', component: 'Sessions', schema: sessionsSchema } },
    async handle({ db, person }) {
      const sessions = await liveSessions(db, person.userId)
      return { status: 200, text: JSON.stringify(sessions.map((session) => shown(session, person.sessionId))) }
    },
  },
  {
    ...base,
    method: 'DELETE',
    path: '/v5/me/sessions',
    operation: 'endSessions',
    summary: 'Log out everywhere',
    description: 'Ends every session of yours, this one too.',
    answers: { 204: { kind: 'none' } },
    async handle(request) {
      await endSessions(request.db, request.person.userId)
      await tellEnd(request.db, request, undefined)
      return { status: 204, cookies: cookiesOf(request) }
    },
  },
  {
    ...base,
    method: 'DELETE',
    path: '/v5/me/sessions/{sessionId}',
    operation: 'endSession',
    summary: 'Log out there',
    description: 'Ends one session of yours; its tokens are good no more.',
    params: { sessionId: { prefix: 'session', resource: 'session' } },
    answers: { 204: { kind: 'none' } },
    errors: [404],
    async handle(request) {
      const sessionId = request.params.sessionId ?? ''
      const isEnded = await endOwnSession(request.db, request.person.userId, sessionId)
      if (!isEnded) throw new ApiError('not_found', 'There is no such session of yours, or it has ended.')
      await tellEnd(request.db, request, sessionId)
      return { status: 204, ...(sessionId === request.person.sessionId && { cookies: cookiesOf(request) }) }
    },
  },
]

/** Where no cookie could have been given, there is none to take back. */
function cookiesOf({ services, client }: AccountRequest): string[] {
  try {
    return [endCookie(services, client, 'refresh')]
  } catch {
    return []
  }
}

const shown = ({ id, organizationId, ...session }: ShownSession, current: string) => ({
  id: showId('session', id),
  isCurrent: id === current,
  device: deviceOf(session.userAgent),
  ...session,
  organizationId: organizationId === null ? null : showId('org', organizationId),
})

const tellEnd = (db: Spanning, { person, client }: AccountRequest, sessionId: string | undefined): Promise<void> =>
  recordPersonEvent(db, person.userId, {
    action: 'session.ended',
    ...byPerson(person.userId, client),
    recordType: 'session',
    ...(sessionId !== undefined && { recordId: showId('session', sessionId) }),
    details: { everywhere: sessionId === undefined },
  })
