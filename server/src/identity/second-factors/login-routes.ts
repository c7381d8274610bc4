import { authRoute, bodyOf, wordOf } from '../access/forms.ts'
import { lockAccount, setFactors } from '../access/account-store.ts'
import { endPendingLogin, failPendingLogin, lockPendingLogin, type PendingLogin } from '../access/login-store.ts'
import { checkCookieWish, completeLogin, loginSchema } from '../access/logins.ts'
import { invalidCredentials } from '../access/refusals.ts'
import { byThemselves } from '../../platform/audit/actor.ts'
import { recordPersonEvent } from '../audit-log/store.ts'
import type { Spanning } from '../../platform/database/database.ts'
import type { Answer, PublicRequest, PublicRoute } from '../../platform/http/route.ts'
import { asks, credentialOf, optionsAnswer } from './forms.ts'
import { authenticate, authenticationOptions } from './passkeys.ts'
import { hashRecoveryCode } from './recovery-codes.ts'
import { type FactorKind, findKinds, findPasskeys, useRecoveryCode } from './store.ts'
import { takeCode } from './totp.ts'
import { assertMayTry, assertTurn, noteFailure, placeOf } from './tries.ts'

const answers: PublicRoute['answers'] = { 200: { kind: 'schema', component: 'Login', schema: loginSchema } }
const description = 'Completes the login of the pending token, which allows five wrong attempts.'

/**
 * The second step of a login: the person whose password was right has `isRight` judge what they sent. A wrong one counts
 * against the pending login and against the person's allowance for this kind and place.
 */
async function secondStep(
  request: PublicRequest,
  kind: FactorKind,
  isRight: (db: Spanning, pending: PendingLogin) => Promise<boolean>,
): Promise<Answer> {
  const { services, client, body } = request
  const answer = await services.database.spanningTransaction('log in', async (db) => {
    const token = wordOf(body, 'pendingToken')
    await assertTurn(db, token)
    const pending = await lockPendingLogin(db, token)
    if (!pending) return undefined
    const { id, userId, wantsCookie } = pending
    // Not two at once: each has to see what those before it have counted.
    await assertTurn(db, userId)
    const account = await lockAccount(db, userId)
    if (!account) return undefined
    const tried = { userId, kind, place: await placeOf(request, db, userId) }
    if (kind === 'totp') await assertMayTry(db, tried)
    if (!(await isRight(db, pending))) {
      await failPendingLogin(db, id)
      await noteFailure(db, tried, { action: 'factor.failed', client })
      return undefined
    }
    await endPendingLogin(db, id)
    return completeLogin(request, db, { userId, email: account.email, wantsCookie, isStrong: true, by: kind })
  })
  // The refusal is a value until here: what it counts has to be committed.
  if (!answer) throw invalidCredentials()
  services.mail.wake()
  return answer
}

const totpRoute = authRoute({
  path: '/auth/login/totp',
  operation: 'logInWithTotp',
  summary: 'Complete a login with an authenticator app code',
  description: `${description} Each code works once.`,
  body: bodyOf('TotpLogin', { pendingToken: asks.pendingToken, code: asks.code }),
  answers,
  errors: [401, 403],
  handle: (request) =>
    secondStep(request, 'totp', (db, { userId }) =>
      takeCode(db, request.services.secret, { userId, code: wordOf(request.body, 'code') }),
    ),
})

const recoveryCodeRoute = authRoute({
  path: '/auth/login/recovery-code',
  operation: 'logInWithRecoveryCode',
  summary: 'Complete a login with a recovery code',
  description: `${description} Each code works once.`,
  body: bodyOf('RecoveryCodeLogin', { pendingToken: asks.pendingToken, code: asks.recoveryCode }),
  answers,
  errors: [401, 403],
  handle: (request) =>
    secondStep(request, 'recovery-code', async (db, { userId }) => {
      if (!(await useRecoveryCode(db, userId, hashRecoveryCode(wordOf(request.body, 'code'))))) return false
      await setFactors(db, userId, await findKinds(db, userId))
      await recordPersonEvent(db, userId, { action: 'recovery-code.used', ...byThemselves(userId, request.client) })
      return true
    }),
})

const passkeyStepOptionsRoute = authRoute({
  path: '/auth/login/passkey/options',
  operation: 'getLoginPasskeyOptions',
  summary: 'Get the options to complete a login with a passkey',
  description: 'For `navigator.credentials.get`, within five minutes.',
  body: bodyOf('PendingLogin', { pendingToken: asks.pendingToken }),
  answers: { 200: optionsAnswer('PasskeyRequestOptions') },
  errors: [401, 403],
  async handle(request) {
    const token = wordOf(request.body, 'pendingToken')
    const options = await request.services.database.spanningTransaction('log in', async (db) => {
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
  body: bodyOf('PasskeyStep', { pendingToken: asks.pendingToken, credential: asks.authentication }),
  answers,
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
  answers: { 200: optionsAnswer('PasskeyRequestOptions') },
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
  body: bodyOf('PasskeyLogin', { credential: asks.authentication, cookie: asks.cookie }),
  answers,
  errors: [401, 403],
  async handle(request) {
    const { services, client, body } = request
    const wantsCookie = body.cookie === true
    checkCookieWish(request, wantsCookie)
    const answer = await services.database.spanningTransaction('log in', async (db) => {
      const credential = credentialOf(body)
      await assertTurn(db, String(credential.id))
      const signed = await authenticate(request, db, { for: 'login' }, credential)
      if (!signed) return undefined
      const { userId, isRight } = signed
      const account = await lockAccount(db, userId)
      if (!account) return undefined
      if (isRight)
        return completeLogin(request, db, { userId, email: account.email, wantsCookie, isStrong: true, by: 'passkey' })
      const place = await placeOf(request, db, userId)
      await noteFailure(db, { userId, kind: 'passkey', place }, { action: 'factor.failed', client })
      return undefined
    })
    if (!answer) throw invalidCredentials()
    services.mail.wake()
    return answer
  },
})

/** Logging in with a second factor, and with a passkey alone. */
export const factorLoginRoutes: PublicRoute[] = [
  totpRoute,
  recoveryCodeRoute,
  passkeyStepOptionsRoute,
  passkeyStepRoute,
  optionsRoute,
  loginRoute,
]
