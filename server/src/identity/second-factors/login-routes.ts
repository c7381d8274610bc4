import { authRoute, bodyOf, stringOf } from '../access/forms.ts'
import { lockAccount, setFactors } from '../access/account-store.ts'
import {
  endPendingLogin,
  recordPendingLoginFailure,
  lockPendingLogin,
  type PendingLogin,
} from '../access/login-store.ts'
import { assertCookieAllowed, completeLogin, loginSchema } from '../access/logins.ts'
import { invalidCredentials } from '../access/auth-errors.ts'
import { ownAccountEvent } from '../../platform/audit/actor.ts'
import { recordPersonEvent } from '../audit-log/store.ts'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import type { RouteResponse, PublicRequest, PublicRoute } from '../../platform/http/route.ts'
import { requestFields, credentialOf, optionsResponse } from './forms.ts'
import { authenticate, authenticationOptions } from './passkeys.ts'
import { hashRecoveryCode } from './recovery-codes.ts'
import { attemptRows, type FactorKind, findFactorKinds, findPasskeys, consumeRecoveryCode } from './store.ts'
import { consumeCode } from './totp.ts'
import { assertNotThrottled, lockAttempt, recordFailure, attemptSource } from './attempts.ts'

const loginResponses: PublicRoute['responses'] = {
  200: { kind: 'schema', component: 'LoginOutcome', schema: loginSchema },
}
const description = 'Completes the login of the pending token, which allows five wrong attempts.'

/**
 * The second step of a login, after the password: `isRight` checks the second factor. A wrong one counts against the
 * pending login and against the person's allowance for this kind and source.
 */
async function secondStep(
  request: PublicRequest,
  kind: FactorKind,
  isRight: (db: CrossTenantConnection, pending: PendingLogin) => Promise<boolean>,
): Promise<RouteResponse> {
  const { services, client, body } = request
  const response = await services.database.crossTenantTransaction('log in', async (db) => {
    const token = stringOf(body, 'pendingToken')
    await lockAttempt(db, attemptRows.pendingLogin(token))
    const pending = await lockPendingLogin(db, token)
    if (!pending) return undefined
    const { id, userId, wantsCookie } = pending
    // One at a time: each attempt must see the failures before it.
    await lockAttempt(db, attemptRows.person(userId))
    const account = await lockAccount(db, userId)
    if (!account) return undefined
    const attempt = { userId, kind, source: await attemptSource(request, db, userId) }
    if (kind === 'totp') await assertNotThrottled(db, attempt)
    if (!(await isRight(db, pending))) {
      await recordPendingLoginFailure(db, id)
      await recordFailure(db, attempt, { action: 'factor.failed', client })
      return undefined
    }
    await endPendingLogin(db, id)
    return completeLogin(request, db, { userId, email: account.email, wantsCookie, isStrong: true, by: kind })
  })
  // Thrown only here, after the commit: the failure must be recorded.
  if (!response) throw invalidCredentials()
  services.mail.wake()
  return response
}

const totpRoute = authRoute({
  path: '/auth/login/totp',
  operation: 'logInWithTotp',
  summary: 'Complete a login with an authenticator app code',
  description: `${description} Each code works once.`,
  body: bodyOf('TotpLogin', { pendingToken: requestFields.pendingToken, code: requestFields.code }),
  responses: loginResponses,
  errors: [401, 403],
  handle: (request) =>
    secondStep(request, 'totp', (db, { userId }) =>
      consumeCode(db, request.services.secret, { userId, code: stringOf(request.body, 'code') }),
    ),
})

const recoveryCodeRoute = authRoute({
  path: '/auth/login/recovery-code',
  operation: 'logInWithRecoveryCode',
  summary: 'Complete a login with a recovery code',
  description: `${description} Each code works once.`,
  body: bodyOf('RecoveryCodeLogin', { pendingToken: requestFields.pendingToken, code: requestFields.recoveryCode }),
  responses: loginResponses,
  errors: [401, 403],
  handle: (request) =>
    secondStep(request, 'recovery-code', async (db, { userId }) => {
      if (!(await consumeRecoveryCode(db, userId, hashRecoveryCode(stringOf(request.body, 'code'))))) return false
      await setFactors(db, userId, await findFactorKinds(db, userId))
      await recordPersonEvent(db, userId, { action: 'recovery-code.used', ...ownAccountEvent(userId, request.client) })
      return true
    }),
})

const passkeyStepOptionsRoute = authRoute({
  path: '/auth/login/passkey/options',
  operation: 'getLoginPasskeyOptions',
  summary: 'Get the options to complete a login with a passkey',
  description: 'For `navigator.credentials.get`, within five minutes.',
  body: bodyOf('PendingLogin', { pendingToken: requestFields.pendingToken }),
  responses: { 200: optionsResponse('PasskeyRequestOptions') },
  errors: [401, 403],
  async handle(request) {
    const token = stringOf(request.body, 'pendingToken')
    const options = await request.services.database.crossTenantTransaction('log in', async (db) => {
      const pending = await lockPendingLogin(db, token)
      if (!pending) return undefined
      const passkeys = await findPasskeys(db, pending.userId)
      return authenticationOptions(request, { for: 'second step', pendingId: pending.id }, passkeys)
    })
    if (!options) throw invalidCredentials()
    return { status: 200, text: JSON.stringify(options) }
  },
})

const passkeyStepRoute = authRoute({
  path: '/auth/login/passkey',
  operation: 'completeLoginWithPasskey',
  summary: 'Complete a login with a passkey',
  description,
  body: bodyOf('PasskeyStep', { pendingToken: requestFields.pendingToken, credential: requestFields.authentication }),
  responses: loginResponses,
  errors: [401, 403],
  handle: (request) =>
    secondStep(request, 'passkey', async (db, { id, userId }) => {
      const use = { for: 'second step', pendingId: id } as const
      const signed = await authenticate(request, db, use, credentialOf(request.body), userId)
      return signed?.isRight === true
    }),
})

const optionsRoute = authRoute({
  path: '/auth/passkeys/options',
  operation: 'getPasskeyLoginOptions',
  summary: 'Get the options to log in with only a passkey',
  description: 'For `navigator.credentials.get`, within five minutes. The browser offers the passkeys it has.',
  responses: { 200: optionsResponse('PasskeyRequestOptions') },
  errors: [403],
  handle: async (request) => ({
    status: 200,
    text: JSON.stringify(await authenticationOptions(request, { for: 'login' })),
  }),
})

const loginRoute = authRoute({
  path: '/auth/passkeys',
  operation: 'logInWithPasskey',
  summary: 'Log in with only a passkey',
  description: 'Needs no address or password: the authenticator has verified the person, which counts as two factors.',
  body: bodyOf('PasskeyLogin', { credential: requestFields.authentication, cookie: requestFields.cookie }),
  responses: loginResponses,
  errors: [401, 403],
  async handle(request) {
    const { services, client, body } = request
    const wantsCookie = body.cookie === true
    assertCookieAllowed(request, wantsCookie)
    const response = await services.database.crossTenantTransaction('log in', async (db) => {
      const credential = credentialOf(body)
      await lockAttempt(db, attemptRows.passkey(String(credential.id)))
      const signed = await authenticate(request, db, { for: 'login' }, credential)
      if (!signed) return undefined
      const { userId, isRight } = signed
      const account = await lockAccount(db, userId)
      if (!account) return undefined
      if (isRight)
        return completeLogin(request, db, { userId, email: account.email, wantsCookie, isStrong: true, by: 'passkey' })
      const source = await attemptSource(request, db, userId)
      await recordFailure(db, { userId, kind: 'passkey', source }, { action: 'factor.failed', client })
      return undefined
    })
    if (!response) throw invalidCredentials()
    services.mail.wake()
    return response
  },
})

/** Logins with a second factor, and with a passkey alone. */
export const factorLoginRoutes: PublicRoute[] = [
  totpRoute,
  recoveryCodeRoute,
  passkeyStepOptionsRoute,
  passkeyStepRoute,
  optionsRoute,
  loginRoute,
]
