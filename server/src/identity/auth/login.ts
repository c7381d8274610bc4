import type { Account } from '../access/account-store.ts'
import { authRoute, bodyOf, wordOf } from '../access/forms.ts'
import { beginPendingLogin } from '../access/login-store.ts'
import { checkCookieWish, completeLogin, deviceHashOf, loginSchema } from '../access/logins.ts'
import type { Asker } from '../access/hash-queue.ts'
import { hashPassword, isPassword, needsRehash } from '../access/passwords.ts'
import { invalidCredentials } from '../access/refusals.ts'
import { addressKey } from '../../platform/http/rate-limit.ts'
import type { Answer, PublicRequest } from '../../platform/http/route.ts'
import { emailKey } from '../../platform/model/texts.ts'
import { asks } from './forms.ts'
import { findLogin, lockUnchanged, noteFailedLogin, replaceHash } from './store.ts'

const secondStepSchema = {
  type: 'object',
  required: ['status', 'pendingToken', 'factors'],
  additionalProperties: false,
  properties: {
    status: { type: 'string', enum: ['second_factor_required'] },
    pendingToken: { type: 'string', description: 'For the second step; valid for ten minutes' },
    factors: { type: 'array', items: { type: 'string', enum: ['passkey', 'totp', 'recovery-code'] } },
  },
}

/** Password first; a person who has a second factor gets a token for the second step and nothing else. */
export const loginRoute = authRoute({
  path: '/auth/login',
  operation: 'logIn',
  summary: 'Log in with a password',
  description:
    'If the response is `second_factor_required`, complete the login at `/auth/login/totp`, `/auth/login/recovery-code` or `/auth/login/passkey`. An error does not say whether the address or the password is wrong.',
  body: bodyOf('LoginRequest', { email: asks.email, password: asks.password, cookie: asks.cookie }),
  answers: {
    200: { kind: 'schema', component: 'LoginStep', schema: { oneOf: [loginSchema, secondStepSchema] } },
  },
  errors: [401, 403],
  handle: logIn,
})

async function logIn(request: PublicRequest): Promise<Answer> {
  const { services, client, body } = request
  const wantsCookie = body.cookie === true
  checkCookieWish(request, wantsCookie)
  const account = emailKey(wordOf(body, 'email'))
  const { address, userAgent } = client
  const found = await findLogin(services.database, account, { deviceHash: deviceHashOf(request), address, userAgent })
  const attempt = { account, address, source: found.source }
  const [password, party] = [wordOf(body, 'password'), addressKey(address)]
  const asker = found.source === 'stranger' ? 'stranger' : 'known'
  const person = await services.throttle.attempt(attempt, () => verify(password, found.person, { asker, party }))
  if (!person) {
    // Not awaited: a line in the log of who exists must not show in the time.
    if (found.person) void noteFailedLogin(services.database, found.person.id, client).catch(() => undefined)
    throw invalidCredentials()
  }
  const rehashed = needsRehash(person.passwordHash) ? await hashPassword(password, party) : undefined
  return services.database.spanningTransaction('log in', async (db) => {
    // Changed since it was verified, the password is another one.
    const known = await lockUnchanged(db, person)
    if (!known) throw invalidCredentials()
    if (rehashed !== undefined) await replaceHash(db, person.id, rehashed)
    const login = { userId: person.id, wantsCookie }
    if (known.factors.length === 0) {
      return completeLogin(request, db, { ...login, email: known.email, isStrong: false, by: 'password' })
    }
    return { status: 200, text: JSON.stringify({ status: 'second_factor_required', ...(await secondStep(known)) }) }

    async function secondStep({ factors }: Account) {
      return { pendingToken: await beginPendingLogin(db, login), factors: [...factors, 'recovery-code'].filter(unique) }
    }
  })
}

const unique = (word: string, index: number, words: readonly string[]): boolean => words.indexOf(word) === index

/** The person, when the password is theirs. It takes as long when there is nobody. */
async function verify(
  password: string,
  person: Account | undefined,
  turn: { asker: Asker; party: string },
): Promise<(Account & { passwordHash: string }) | undefined> {
  const isRight = await isPassword(password, person?.passwordHash ?? null, turn)
  if (!isRight || !person || person.passwordHash === null) return undefined
  return { ...person, passwordHash: person.passwordHash }
}
