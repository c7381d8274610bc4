import { bodyOf, stringOf } from '../access/forms.ts'
import { assertCookieAllowed, loginSchema } from '../access/logins.ts'
import { renewSession } from '../access/renewal.ts'
import { ownAccountEvent } from '../../platform/audit/actor.ts'
import { recordPersonEvent } from '../audit-log/store.ts'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import type { AccountRoute, DetachedAccountRequest } from '../access/account-route.ts'
import type { RouteResponse } from '../../platform/http/route.ts'
import { requestFields, credentialOf, optionsResponse, wrongCode, wrongCredential } from './forms.ts'
import { authenticate, authenticationOptions } from './passkeys.ts'
import { attemptRows, type FactorKind, findPasskeys } from './store.ts'
import { consumeCode } from './totp.ts'
import { assertNotThrottled, lockAttempt, recordFailure } from './attempts.ts'

const routeBase = { kind: 'account', tag: 'account', method: 'POST', params: {}, query: { kind: 'none' } } as const

const description =
  'Allows sensitive actions for five minutes. Returns a new session id and new tokens, and ends the previous ones. The session then counts as one with a second factor.'

/** Re-authenticates and returns new tokens; undefined if the factor is wrong, which has been recorded. */
async function reauthenticate(
  request: DetachedAccountRequest,
  kind: FactorKind,
  isRight: (db: CrossTenantConnection) => Promise<boolean>,
): Promise<RouteResponse | undefined> {
  const { transact, person, client, body } = request
  const { userId, sessionId } = person
  const wantsCookie = body.cookie === true
  assertCookieAllowed(request, wantsCookie)
  return transact(async (db) => {
    await lockAttempt(db, attemptRows.person(userId))
    const attempt = { userId, kind, source: 'session' } as const
    if (kind === 'totp') await assertNotThrottled(db, attempt)
    if (!(await isRight(db))) {
      await recordFailure(db, attempt, { action: 'reauthentication.failed', client })
      return undefined
    }
    await recordPersonEvent(db, userId, {
      action: 'reauthentication.succeeded',
      ...ownAccountEvent(userId, client),
      details: { factor: kind },
    })
    return renewSession(request, db, { userId, sessionId, wantsCookie, isStrong: true })
  })
}

const loginResponses: AccountRoute['responses'] = {
  200: { kind: 'schema', component: 'LoginOutcome', schema: loginSchema },
}

const totpRoute: AccountRoute = {
  ...routeBase,
  path: '/v5/me/reauthenticate/totp',
  operation: 'reauthenticateWithTotp',
  summary: 'Re-authenticate with an authenticator app code',
  description,
  body: bodyOf('TotpProof', { code: requestFields.code, cookie: requestFields.cookie }),
  responses: loginResponses,
  errors: [403],
  isOnBothHosts: true,
  async handleOutsideTransaction(request) {
    const { services, person, body } = request
    const attempt = { userId: person.userId, code: stringOf(body, 'code') }
    const response = await reauthenticate(request, 'totp', (db) => consumeCode(db, services.secret, attempt))
    if (!response) throw wrongCode()
    return response
  },
}

const passkeyOptionsRoute: AccountRoute = {
  ...routeBase,
  path: '/v5/me/reauthenticate/passkey/options',
  operation: 'getReauthenticationOptions',
  summary: 'Get the options to re-authenticate with a passkey',
  description: 'For `navigator.credentials.get`, within five minutes.',
  responses: { 200: optionsResponse('PasskeyRequestOptions') },
  async handle(request) {
    const { db, person } = request
    const passkeys = await findPasskeys(db, person.userId)
    const options = await authenticationOptions(request, { for: 'proof', sessionId: person.sessionId }, passkeys)
    return { status: 200, text: JSON.stringify(options) }
  },
}

const passkeyRoute: AccountRoute = {
  ...routeBase,
  path: '/v5/me/reauthenticate/passkey',
  operation: 'reauthenticateWithPasskey',
  summary: 'Re-authenticate with a passkey',
  description,
  body: bodyOf('PasskeyProof', { credential: requestFields.authentication, cookie: requestFields.cookie }),
  responses: loginResponses,
  errors: [403],
  isOnBothHosts: true,
  async handleOutsideTransaction(request) {
    const { person, body } = request
    const use = { for: 'proof', sessionId: person.sessionId } as const
    const isRight = async (db: CrossTenantConnection) => {
      const signed = await authenticate(request, db, use, credentialOf(body), person.userId)
      return signed?.isRight === true
    }
    const response = await reauthenticate(request, 'passkey', isRight)
    if (!response) throw wrongCredential()
    return response
  },
}

/** Re-authentication with a second factor. */
export const factorReauthenticationRoutes: AccountRoute[] = [totpRoute, passkeyOptionsRoute, passkeyRoute]
