import { bodyOf, wordOf } from '../../platform/access/forms.ts'
import { noteProof } from '../../platform/access/account-store.ts'
import { byThemselves } from '../../platform/audit/actor.ts'
import { recordPersonEvent } from '../../platform/audit/store.ts'
import type { Spanning } from '../../platform/database/database.ts'
import type { AccountRoute, AccountWork, Answer } from '../../platform/http/route.ts'
import { asks, credentialOf, optionsAnswer, wrongCode, wrongCredential } from './forms.ts'
import { authenticate, authenticationOptions } from './passkeys.ts'
import { type FactorKind, findPasskeys } from './store.ts'
import { takeCode } from './totp.ts'
import { assertMayTry, assertTurn, noteFailure } from './tries.ts'

const common = { kind: 'account', tag: 'account', method: 'POST', params: {}, query: { kind: 'none' } } as const

const description =
  'Good for five minutes in this session, for what needs a fresh proof. The session counts as one with a second factor from then on.'

/** A proof in the session; false when it is wrong, which has been counted. */
async function prove(
  { transact, person, client }: AccountWork,
  kind: FactorKind,
  isRight: (db: Spanning) => Promise<boolean>,
): Promise<boolean> {
  const { userId, sessionId } = person
  return transact(async (db) => {
    await assertTurn(db, userId)
    const tried = { userId, kind, place: 'session' } as const
    if (kind === 'totp') await assertMayTry(db, tried)
    if (!(await isRight(db))) {
      await noteFailure(db, tried, { action: 'proof.failed', client })
      return false
    }
    await noteProof(db, sessionId, true)
    await recordPersonEvent(db, userId, {
      action: 'proof.given',
      ...byThemselves(userId, client),
      details: { factor: kind },
    })
    return true
  })
}

const done: Answer = { status: 204 }

const totpRoute: AccountRoute = {
  ...common,
  path: '/v5/me/proof/totp',
  operation: 'proveTotp',
  summary: 'Prove again that it is you, with a code of your authenticator app',
  description,
  body: bodyOf('TotpProof', { code: asks.code }),
  answers: { 204: { kind: 'none' } },
  async outside(request) {
    const { services, person, body } = request
    const taken = { userId: person.userId, code: wordOf(body, 'code') }
    if (!(await prove(request, 'totp', (db) => takeCode(db, services.secret, taken)))) throw wrongCode()
    return done
  },
}

const passkeyOptionsRoute: AccountRoute = {
  ...common,
  path: '/v5/me/proof/passkey/options',
  operation: 'getProofPasskeyOptions',
  summary: 'Get what a browser needs to prove it with a passkey',
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
  path: '/v5/me/proof/passkey',
  operation: 'provePasskey',
  summary: 'Prove again that it is you, with a passkey',
  description,
  body: bodyOf('PasskeyProof', { credential: asks.authentication }),
  answers: { 204: { kind: 'none' } },
  async outside(request) {
    const { person, body } = request
    const use = { for: 'proof', sessionId: person.sessionId } as const
    const isRight = async (db: Spanning) => {
      const signed = await authenticate(request, db, use, credentialOf(body), person.userId)
      return signed?.isRight === true
    }
    if (!(await prove(request, 'passkey', isRight))) throw wrongCredential()
    return done
  },
}

/** Fresh proofs by a second factor. */
export const factorProofRoutes: AccountRoute[] = [totpRoute, passkeyOptionsRoute, passkeyRoute]
