import { hasRecentAuthentication, lockAccount, lockOwnAccount } from '../access/account-store.ts'
import { authRoute, bodyOf, passwordErrors, stringOf } from '../access/forms.ts'
import { assertCookieAllowed, loginSchema } from '../access/logins.ts'
import { consumeOneTimeToken } from '../access/one-time-token-store.ts'
import { hashPassword, verifyPassword, passwordError } from '../access/passwords.ts'
import { reauthenticationRequired } from '../access/auth-errors.ts'
import { renewSession } from '../access/renewal.ts'
import type { Secret } from '../../platform/secret/secret.ts'
import { startSession } from '../access/sessions.ts'
import { endSession } from '../access/store.ts'
import { ownAccountEvent } from '../../platform/audit/actor.ts'
import { recordPersonEvent } from '../audit-log/store.ts'
import type { AuditAction } from '../../platform/audit/store.ts'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { invalidBody } from '../../platform/model/errors.ts'
import { chargeAttempt } from '../../platform/http/request-context.ts'
import { clearSiteData } from '../../platform/http/protocol/cookies.ts'
import { addressKey } from '../../platform/http/limits/rate-limit.ts'
import type { AccountRoute, DetachedAccountRequest } from '../access/account-route.ts'
import type { Client } from '../../platform/http/route.ts'
import { queueMail } from '../mails/store.ts'
import { emailKey } from '../../platform/model/normalizers.ts'
import { accepted, acceptedSchema, pageFacts, requestFields, deadLink, readLink } from './forms.ts'
import { setPassword, setVerifiedByReset } from './store.ts'

/** Same response, in the same time, for every address; only the owner of the mailbox learns more. */
export const forgotPasswordRoute = authRoute({
  path: '/auth/forgot-password',
  operation: 'forgotPassword',
  summary: 'Request a link to set a new password',
  description: 'Sends a link to the address if it has an account. The link works once, for 30 minutes.',
  body: bodyOf('ForgottenPassword', { email: requestFields.email, language: requestFields.language }),
  responses: { 202: { kind: 'schema', component: 'Accepted', schema: acceptedSchema } },
  async handle(request) {
    const { services, body } = request
    await chargeAttempt(request)
    await services.database.crossTenantTransaction('log in', (db) =>
      queueMail(db, { kind: 'reset-password', recipient: stringOf(body, 'email'), ...pageFacts(body) }),
    )
    services.mail.wake()
    return accepted
  },
})

/** Does not log in, so that a second factor is still needed. */
export const resetPasswordRoute = authRoute({
  path: '/auth/reset-password',
  operation: 'resetPassword',
  summary: 'Set a new password with a mailed link',
  description:
    'Ends every session of the person. Does not log in, but a login from the same device is then allowed regardless of failed attempts elsewhere.',
  body: bodyOf('PasswordReset', { token: requestFields.token, password: requestFields.newPassword }),
  responses: { 204: { kind: 'none' } },
  async check(request) {
    await chargeAttempt(request)
    const { link, errors } = await readLink(request, 'reset-password')
    return [...errors, ...(await passwordErrors(request.body, { email: link?.email ?? undefined }))]
  },
  async handle(request) {
    const { services, client, body } = request
    const token = stringOf(body, 'token')
    const { link } = await readLink(request, 'reset-password')
    if (!link || link.userId === null) throw deadLink()
    const { userId } = link
    const hash = await hashPassword(stringOf(body, 'password'), addressKey(client.address))
    await services.database.crossTenantTransaction('log in', async (db) => {
      const person = await lockAccount(db, userId)
      const consumed = await consumeOneTimeToken(db, 'reset-password', token)
      if (!person || !consumed) throw deadLink()
      await setPassword(db, { userId, hash })
      await setVerifiedByReset(db, userId, consumed.isMailed)
      await rememberDevice(db, { secret: services.secret, userId, client })
      await reportPasswordChange(db, { userId, email: person.email, client, action: 'password.reset' })
    })
    services.mail.wake()
    return { status: 204, headers: clearSiteData }
  },
})

export const changePasswordRoute: AccountRoute = {
  kind: 'account',
  method: 'POST',
  path: '/v5/me/password',
  operation: 'changePassword',
  summary: 'Change your password',
  description:
    'Ends all your other sessions. If you have no password yet, recent re-authentication replaces the current one.',
  tag: 'account',
  params: {},
  query: { kind: 'none' },
  body: bodyOf('PasswordChange', {
    currentPassword: { ...requestFields.password, label: 'Current password', required: false },
    newPassword: requestFields.newPassword,
  }),
  responses: { 204: { kind: 'none' } },
  async handleOutsideTransaction(request) {
    const { services, body, client, person, transact } = request
    const account = await transact((db) => lockOwnAccount(db, person.userId))
    if (account.passwordHash !== null) await assertPassword(request, 'currentPassword', account)
    else if (!(await transact((db) => hasRecentAuthentication(db, person.sessionId)))) throw reauthenticationRequired()
    const newPassword = stringOf(body, 'newPassword')
    const error = await passwordError(newPassword, { email: account.email, names: [account.name] })
    if (error !== undefined) throw invalidBody([{ field: 'newPassword', message: error }])
    const hash = await hashPassword(newPassword, person.userId)
    await transact(async (db) => {
      const current = await lockAccount(db, person.userId)
      // The password has changed since it was verified.
      if (current?.passwordHash !== account.passwordHash) throw wrongPassword('currentPassword')
      await setPassword(db, { userId: person.userId, hash, except: person.sessionId })
      await reportPasswordChange(db, {
        userId: person.userId,
        email: account.email,
        client,
        action: 'password.changed',
      })
    })
    services.mail.wake()
    return { status: 204 }
  },
}

/** Only for people without a second factor; others must use it. */
export const reauthenticateRoute: AccountRoute = {
  kind: 'account',
  method: 'POST',
  path: '/v5/me/reauthenticate',
  operation: 'reauthenticateWithPassword',
  summary: 'Re-authenticate with a password',
  description:
    'Allows sensitive actions for five minutes. Returns a new session id and new tokens, and ends the previous ones. A person with a second factor must use it instead, at `/v5/me/reauthenticate/totp` or `/v5/me/reauthenticate/passkey`.',
  tag: 'account',
  params: {},
  query: { kind: 'none' },
  body: bodyOf('PasswordProof', { password: requestFields.password, cookie: requestFields.cookie }),
  responses: { 200: { kind: 'schema', component: 'LoginOutcome', schema: loginSchema } },
  isOnBothHosts: true,
  errors: [403],
  async handleOutsideTransaction(request) {
    const { client, person, body, transact } = request
    const wantsCookie = body.cookie === true
    assertCookieAllowed(request, wantsCookie)
    const account = await transact((db) => lockOwnAccount(db, person.userId))
    if (account.factors.length > 0) {
      throw invalidBody([{ field: 'password', message: 'is not enough; use your second factor' }])
    }
    await assertPassword(request, 'password', account)
    return transact(async (db) => {
      await recordPersonEvent(db, person.userId, {
        action: 'reauthentication.succeeded',
        ...ownAccountEvent(person.userId, client),
      })
      return renewSession(request, db, { ...person, wantsCookie, isStrong: false })
    })
  },
}

/** Errors: 422 for a wrong password, 429 after too many of them. */
async function assertPassword(
  { services, client, body, person, transact }: DetachedAccountRequest,
  field: string,
  { email, passwordHash }: { email: string; passwordHash: string | null },
): Promise<void> {
  const attempt = { account: emailKey(email), address: client.address, source: 'session' } as const
  const hashCaller = { callerKind: 'known', clientKey: person.userId } as const
  const verify = async () =>
    (await verifyPassword(stringOf(body, field), passwordHash, hashCaller)) ? true : undefined
  if (await services.throttle.attempt(attempt, verify)) return
  await transact((db) =>
    recordPersonEvent(db, person.userId, {
      action: 'reauthentication.failed',
      ...ownAccountEvent(person.userId, client),
      details: { factor: 'password' },
    }),
  )
  throw wrongPassword(field)
}

const wrongPassword = (field: string) => invalidBody([{ field, message: 'is not your password' }])

/**
 * The owner of the mailbox is the person: from this device they can log in although others have failed on purpose. A
 * device is known through its sessions, so this inserts one that has already ended.
 */
async function rememberDevice(
  db: CrossTenantConnection,
  { secret, userId, client }: { secret: Secret; userId: string; client: Client },
): Promise<void> {
  const { userAgent, address } = client
  const details = { userAgent, address, allowsSensitiveActions: false, begunBy: 'reset-password' }
  const { sessionId } = await startSession(db, { secret, userId, organizationId: null, ...details })
  await endSession(db, sessionId, new Date())
}

/** Writes the audit event and notifies the owner of the account by mail. */
async function reportPasswordChange(
  db: CrossTenantConnection,
  { userId, email, client, action }: { userId: string; email: string; client: Client; action: AuditAction },
): Promise<void> {
  await recordPersonEvent(db, userId, { action, ...ownAccountEvent(userId, client) })
  await queueMail(db, { kind: 'account-changed', recipient: email, userId, facts: { what: 'password-changed' } })
}
