import { bodyOf, wordOf } from '../access/forms.ts'
import { checkCookieWish, loginSchema } from '../access/logins.ts'
import { renewSession } from '../access/renewal.ts'
import { byThemselves } from '../../platform/audit/actor.ts'
import { recordPersonEvent } from '../audit-log/store.ts'
import type { Spanning } from '../../platform/database/database.ts'
import type { AccountRoute, AccountWork } from '../access/account-route.ts'
import type { Answer } from '../../platform/http/route.ts'
import { asks, credentialOf, optionsAnswer, wrongCode, wrongCredential } from './forms.ts'
import { authenticate, authenticationOptions } from './passkeys.ts'
import { type FactorKind, findPasskeys } from './store.ts'
import { takeCode } from './totp.ts'
import { assertMayTry, assertTurn, noteFailure } from './tries.ts'

const common = { kind: 'account', tag: 'account', method: 'POST', params: {}, query: { kind: 'none' } } as const

const description =
  'Allows sensitive actions for five minutes. Returns a new session id and new tokens, and ends the previous ones. The session then counts as one with a second factor.'

/** A proof in the session, and its new tokens; undefined when it is wrong, which has been counted. */
async function prove(
  request: AccountWork,
  kind: FactorKind,
  isRight: (db: Spanning) => Promise<boolean>,
): Promise<Answer | undefined> {
  const { transact, person, client, body } = request
  const { userId, sessionId } = person
  const wantsCookie = body.cookie === true
  checkCookieWish(request, wantsCookie)
  return transact(async (db) => {
    await assertTurn(db, userId)
    const tried = { userId, kind, place: 'session' } as const
    if (kind === 'totp') await assertMayTry(db, tried)
    if (!(await isRight(db))) {
      await noteFailure(db, tried, { action: 'reauthentication.failed', client })
      return undefined
    }
    await recordPersonEvent(db, userId, {
      action: 'reauthentication.succeeded',
      ...byThemselves(userId, client),
      details: { factor: kind },
    })
    return renewSession(request, db, { userId, sessionId, wantsCookie, isStrong: true })
  })
}

const answers: AccountRoute['answers'] = { 200: { kind: 'schema', component: 'Login', schema: loginSchema } }

const totpRoute: AccountRoute = {
  ...common,
  path: '/v5/me/reauthenticate/totp',
  operation: 'reauthenticateWithTotp',
  summary: 'Re-authenticate with an authenticator app code',
  description,
  body: bodyOf('TotpProof', { code: asks.code, cookie: asks.cookie }),
  answers,
  errors: [403],
  standsOnBothHosts: true,
  async outside(request) {
    const { services, person, body } = request
    const taken = { userId: person.userId, code: wordOf(body, 'code') }
    const answer = await prove(request, 'totp', (db) => takeCode(db, services.secret, taken))
    if (!answer) throw wrongCode()
    return answer
  },
}

const passkeyOptionsRoute: AccountRoute = {
  ...common,
  path: '/v5/me/reauthenticate/passkey/options',
  operation: 'getReauthenticationOptions',
  summary: 'Get the options to re-authenticate with a passkey',
  description: 'For `navigator.credentials.get`, within five minutes.',
  answers: { 200: optionsAnswer('PasskeyRequestOptions') },
  async handle(request) {
    const { db, person } = request
    const passkeys = await findPasskeys(db, person.userId)
    const options = await authenticationOptions(request, { for: 'proof', sessionId: person.sessionId }, passkeys)
    return { status: 200, text: JSON.stringify(options) }
  },
}

const passkeyRoute: AccountRoute = {
  ...common,
  path: '/v5/me/reauthenticate/passkey',
  operation: 'reauthenticateWithPasskey',
  summary: 'Re-authenticate with a passkey',
  description,
  body: bodyOf('PasskeyProof', { credential: asks.authentication, cookie: asks.cookie }),
  answers,
  errors: [403],
  standsOnBothHosts: true,
  async outside(request) {
    const { person, body } = request
    const use = { for: 'proof', sessionId: person.sessionId } as const
    const isRight = async (db: Spanning) => {
      const signed = await authenticate(request, db, use, credentialOf(body), person.userId)
      return signed?.isRight === true
    }
    const answer = await prove(request, 'passkey', isRight)
    if (!answer) throw wrongCredential()
    return answer
  },
}

/** Fresh proofs by a second factor. */
export const factorProofRoutes: AccountRoute[] = [totpRoute, passkeyOptionsRoute, passkeyRoute]
