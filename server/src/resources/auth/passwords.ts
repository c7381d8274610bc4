import { isFresh, lockAccount, noteProof, ownAccount } from '../../platform/access/account-store.ts'
import { authRoute, bodyOf, wordOf } from '../../platform/access/forms.ts'
import { readOneTimeToken, spendOneTimeToken } from '../../platform/access/one-time-tokens.ts'
import { hashPassword, isPassword, passwordFault } from '../../platform/access/passwords.ts'
import { proofRequired } from '../../platform/access/refusals.ts'
import type { Secret } from '../../platform/access/secret.ts'
import { startSession } from '../../platform/access/sessions.ts'
import { endSession } from '../../platform/access/store.ts'
import { byThemselves } from '../../platform/audit/actor.ts'
import { recordPersonEvent } from '../../platform/audit/store.ts'
import type { AuditAction } from '../../platform/audit/actions.ts'
import type { Spanning } from '../../platform/database/database.ts'
import { invalidBody } from '../../platform/http/errors.ts'
import { chargeTry } from '../../platform/http/exchange.ts'
import { addressKey } from '../../platform/http/rate-limit.ts'
import type { AccountRoute, AccountWork, Client } from '../../platform/http/route.ts'
import { queueMail } from '../../platform/mail/queue-store.ts'
import { emailKey } from '../../platform/resource/texts.ts'
import { accepted, acceptedSchema, asks, deadLink } from './forms.ts'
import { setPassword } from './store.ts'

/** The same answer, in the same time, for every address: whoever has the mailbox learns more. */
export const forgotPasswordRoute = authRoute({
  path: '/auth/forgot-password',
  operation: 'forgotPassword',
  summary: 'Ask for a link to set a new password',
  description: 'The link is sent to the address if it has an account; it is good once, for 30 minutes.',
  body: bodyOf('ForgottenPassword', { email: asks.email }),
  answers: { 202: { kind: 'schema', component: 'Accepted', schema: acceptedSchema } },
  async handle(request) {
    const { services, body } = request
    chargeTry(request)
    await services.database.spanningTransaction('log in', (db) =>
      queueMail(db, { kind: 'reset-password', recipient: wordOf(body, 'email') }),
    )
    services.mail.wake()
    return accepted
  },
})

/** Logs nobody in: whoever has a second factor still needs it. */
export const resetPasswordRoute = authRoute({
  path: '/auth/reset-password',
  operation: 'resetPassword',
  summary: 'Set a new password with the link that was sent',
  description:
    'Ends every session of the person. It does not log in; but a login from the same place is let through, however many strangers have failed.',
  body: bodyOf('PasswordReset', { token: asks.token, password: asks.newPassword }),
  answers: { 204: { kind: 'none' } },
  async handle(request) {
    const { services, client, body } = request
    chargeTry(request)
    const token = wordOf(body, 'token')
    const spent = await services.database.spanningTransaction('log in', (db) =>
      readOneTimeToken(db, 'reset-password', token),
    )
    if (!spent || spent.userId === null) throw deadLink()
    const { userId } = spent
    const owner = { email: spent.email ?? undefined, party: addressKey(client.address) }
    const hash = await newHash(wordOf(body, 'password'), 'password', owner)
    await services.database.spanningTransaction('log in', async (db) => {
      const person = await lockAccount(db, userId)
      if (!person || !(await spendOneTimeToken(db, 'reset-password', token))) throw deadLink()
      await setPassword(db, { userId, hash })
      await rememberDevice(db, { secret: services.secret, userId, client })
      await tell(db, { userId, email: person.email, client, action: 'password.reset' })
    })
    services.mail.wake()
    return { status: 204 }
  },
})

export const changePasswordRoute: AccountRoute = {
  kind: 'account',
  method: 'POST',
  path: '/v5/me/password',
  operation: 'changePassword',
  summary: 'Change your password',
  description:
    'Ends every other session of yours. Without a password so far, a fresh proof stands for the current one.',
  tag: 'account',
  params: {},
  query: { kind: 'none' },
  body: bodyOf('PasswordChange', {
    currentPassword: { ...asks.password, label: 'Current password', required: false },
    newPassword: asks.newPassword,
  }),
  answers: { 204: { kind: 'none' } },
  async outside(request) {
    const { services, body, client, person, transact } = request
    const account = await transact((db) => ownAccount(db, person.userId))
    if (account.passwordHash !== null) await assertPassword(request, 'currentPassword', account)
    else if (!(await transact((db) => isFresh(db, person.sessionId)))) throw proofRequired()
    const owner = { email: account.email, name: account.name, party: person.userId }
    const hash = await newHash(wordOf(body, 'newPassword'), 'newPassword', owner)
    await transact(async (db) => {
      const now = await lockAccount(db, person.userId)
      // Changed meanwhile: what was verified is not the current one any more.
      if (now?.passwordHash !== account.passwordHash) throw wrongPassword('currentPassword')
      await setPassword(db, { userId: person.userId, hash, except: person.sessionId })
      await tell(db, { userId: person.userId, email: account.email, client, action: 'password.changed' })
    })
    services.mail.wake()
    return { status: 204 }
  },
}

/** For those who have nothing stronger: a person with a second factor proves that one. */
export const proveRoute: AccountRoute = {
  kind: 'account',
  method: 'POST',
  path: '/v5/me/proof',
  operation: 'provePassword',
  summary: 'Prove again that it is you, by password',
  description:
    'Good for five minutes in this session, for what needs a fresh proof. A person with a second factor proves that one, at `/v5/me/proof/totp` or `/v5/me/proof/passkey`.',
  tag: 'account',
  params: {},
  query: { kind: 'none' },
  body: bodyOf('PasswordProof', { password: asks.password }),
  answers: { 204: { kind: 'none' } },
  async outside(request) {
    const { client, person, transact } = request
    const account = await transact((db) => ownAccount(db, person.userId))
    if (account.factors.length > 0) {
      throw invalidBody([{ field: 'password', message: 'is not enough: prove your second factor' }])
    }
    await assertPassword(request, 'password', account)
    await transact(async (db) => {
      await noteProof(db, person.sessionId, false)
      await recordPersonEvent(db, person.userId, { action: 'proof.given', ...byThemselves(person.userId, client) })
    })
    return { status: 204 }
  },
}

/** Error: 422 when it is not the person's password, 429 after too many of those. */
async function assertPassword(
  { services, client, body, person }: AccountWork,
  field: string,
  { email, passwordHash }: { email: string; passwordHash: string | null },
): Promise<void> {
  const attempt = { account: emailKey(email), address: client.address, source: 'session' } as const
  const verify = async () => ((await isPassword(wordOf(body, field), passwordHash, person.userId)) ? true : undefined)
  if (!(await services.throttle.attempt(attempt, verify))) throw wrongPassword(field)
}

const wrongPassword = (field: string) => invalidBody([{ field, message: 'is not your password' }])

/** Error: 422, a password that would be guessed. */
async function newHash(
  password: string,
  field: string,
  { email, name, party }: { email: string | undefined; name?: string; party: string },
): Promise<string> {
  const fault = await passwordFault(password, { email, names: name === undefined ? [] : [name] })
  if (fault !== undefined) throw invalidBody([{ field, message: fault }])
  return hashPassword(password, party)
}

/**
 * Whoever has the mailbox is the person: where they come from, they may log in although strangers failed on purpose. A
 * place is known by its sessions, so this one has ended before it began.
 */
async function rememberDevice(
  db: Spanning,
  { secret, userId, client }: { secret: Secret; userId: string; client: Client },
): Promise<void> {
  const { userAgent, address } = client
  const how = { userAgent, address, isProof: false, begunBy: 'reset-password' }
  const { sessionId } = await startSession(db, { secret, userId, organizationId: null, ...how })
  await endSession(db, sessionId, new Date())
}

/** The audit log's line, and a mail to whoever the account belongs to. */
async function tell(
  db: Spanning,
  { userId, email, client, action }: { userId: string; email: string; client: Client; action: AuditAction },
): Promise<void> {
  await recordPersonEvent(db, userId, { action, ...byThemselves(userId, client) })
  await queueMail(db, { kind: 'account-changed', recipient: email, userId, facts: { what: 'password-changed' } })
}
