import type { Account } from '../access/account-store.ts'
import { authRoute, bodyOf, stringOf } from '../access/forms.ts'
import { beginPendingLogin } from '../access/login-store.ts'
import { assertCookieAllowed, completeLogin, readDeviceHash, loginSchema } from '../access/logins.ts'
import type { CallerKind } from '../access/hash-queue.ts'
import { hashPassword, verifyPassword, needsRehash } from '../access/passwords.ts'
import { invalidCredentials } from '../access/auth-errors.ts'
import { addressKey } from '../../platform/http/limits/rate-limit.ts'
import type { RouteResponse, PublicRequest } from '../../platform/http/route.ts'
import { emailKey } from '../../platform/model/normalizers.ts'
import { requestFields } from './forms.ts'
import { findLogin, lockIfPasswordUnchanged, recordFailedLogin, replacePasswordHash } from './store.ts'

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

/** The first step of a login. A person with a second factor gets only a token for the second step. */
export const loginRoute = authRoute({
  path: '/auth/login',
  operation: 'logIn',
  summary: 'Log in with a password',
  description:
    'If the response is `second_factor_required`, complete the login at `/auth/login/totp`, `/auth/login/recovery-code` or `/auth/login/passkey`. An error does not say whether the address or the password is wrong.',
  body: bodyOf('LoginCredentials', {
    email: requestFields.email,
    password: requestFields.password,
    cookie: requestFields.cookie,
  }),
  responses: {
    200: { kind: 'schema', component: 'LoginStep', schema: { oneOf: [loginSchema, secondStepSchema] } },
  },
  errors: [401, 403],
  handle: logIn,
})

async function logIn(request: PublicRequest): Promise<RouteResponse> {
  const { services, client, body } = request
  const wantsCookie = body.cookie === true
  assertCookieAllowed(request, wantsCookie)
  const account = emailKey(stringOf(body, 'email'))
  const { address, userAgent } = client
  const found = await findLogin(services.database, account, { deviceHash: readDeviceHash(request), address, userAgent })
  const attempt = { account, address, source: found.source }
  const [password, clientKey] = [stringOf(body, 'password'), addressKey(address)]
  const callerKind = found.source === 'stranger' ? 'unknown' : 'known'
  const person = await services.throttle.attempt(attempt, () =>
    verify(password, found.person, { callerKind, clientKey }),
  )
  if (!person) {
    // Not awaited: the audit event of an existing account must not show in the response time.
    if (found.person) void recordFailedLogin(services.database, found.person.id, client).catch(() => undefined)
    throw invalidCredentials()
  }
  const rehashed = needsRehash(person.passwordHash) ? await hashPassword(password, clientKey) : undefined
  return services.database.crossTenantTransaction('log in', async (db) => {
    // The password may have changed since it was verified.
    const lockedPerson = await lockIfPasswordUnchanged(db, person)
    if (!lockedPerson) throw invalidCredentials()
    if (rehashed !== undefined) await replacePasswordHash(db, person.id, rehashed)
    const login = { userId: person.id, wantsCookie }
    if (lockedPerson.factors.length === 0) {
      return completeLogin(request, db, { ...login, email: lockedPerson.email, isStrong: false, by: 'password' })
    }
    return {
      status: 200,
      text: JSON.stringify({ status: 'second_factor_required', ...(await secondStep(lockedPerson)) }),
    }

    async function secondStep({ factors }: Account) {
      return {
        pendingToken: await beginPendingLogin(db, login),
        factors: [...factors, 'recovery-code'].filter(isFirstOccurrence),
      }
    }
  })
}

const isFirstOccurrence = (value: string, index: number, values: readonly string[]): boolean =>
  values.indexOf(value) === index

/** The person, if the password is correct. Takes equally long without an account. */
async function verify(
  password: string,
  person: Account | undefined,
  hashCaller: { callerKind: CallerKind; clientKey: string },
): Promise<(Account & { passwordHash: string }) | undefined> {
  const isRight = await verifyPassword(password, person?.passwordHash ?? null, hashCaller)
  if (!isRight || !person || person.passwordHash === null) return undefined
  return { ...person, passwordHash: person.passwordHash }
}
