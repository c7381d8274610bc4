import { authRoute, bodyOf, wordOf } from '../../platform/access/forms.ts'
import { completeLogin, checkCookieWish, loginSchema } from '../../platform/access/logins.ts'
import { readOneTimeToken, spendOneTimeToken } from '../../platform/access/one-time-tokens.ts'
import { hashPassword, passwordFault } from '../../platform/access/passwords.ts'
import { byPerson } from '../../platform/audit/actor.ts'
import { recordEvent } from '../../platform/audit/store.ts'
import type { Spanning } from '../../platform/database/database.ts'
import { violates } from '../../platform/database/failures.ts'
import { ApiError, invalidBody } from '../../platform/http/errors.ts'
import { chargeTry } from '../../platform/http/exchange.ts'
import { addressKey } from '../../platform/http/rate-limit.ts'
import type { PublicRequest } from '../../platform/http/route.ts'
import { queueMail } from '../../platform/mail/queue-store.ts'
import { newId, showId } from '../../platform/resource/ids.ts'
import { slugOf } from '../../platform/resource/slug.ts'
import { insertOrganization } from '../organizations/store.ts'
import { insertUser } from '../users/store.ts'
import { accepted, acceptedSchema, asks, deadLink } from './forms.ts'
import { beginSetUp, freeSlug, revokeSetUpLinks, revokeSignUps } from './store.ts'

const done = { 200: { kind: 'schema', component: 'Login', schema: loginSchema } } as const

const person = {
  token: asks.token,
  name: asks.personName,
  password: asks.newPassword,
  organization: asks.organization,
  cookie: asks.cookie,
}

/** The first owner, organization and team, made with the link that the first start prints. */
export const setUpRoute = authRoute({
  path: '/auth/set-up',
  operation: 'setUp',
  summary: 'Make the first owner and their organization',
  description: 'With the link that a start on an empty database prints: good once, for 30 minutes.',
  body: bodyOf('SetUp', { ...person, email: asks.email }),
  answers: done,
  errors: [403],
  async handle(request) {
    const { services, body } = request
    const made = await prepare(request, 'set-up', () => wordOf(body, 'email'))
    return services.database.spanningTransaction('set the service up', async (db) => {
      const isEmpty = await beginSetUp(db)
      if (!(await spendOneTimeToken(db, 'set-up', wordOf(body, 'token')))) throw deadLink()
      if (!isEmpty) throw alreadySetUp()
      await revokeSetUpLinks(db)
      await insertPerson(request, db, made, false)
      await queueMail(db, { kind: 'verify-address', recipient: made.email, userId: made.userId })
      return completeLogin(request, db, { ...made, isStrong: false, by: 'set-up' })
    })
  },
})

const alreadySetUp = () =>
  new ApiError('insufficient_permissions', 'This service has people already: one of its owners can invite you.')

/** The same answer for every address: whoever has the mailbox learns more. */
export const signUpRoute = authRoute({
  path: '/auth/sign-up',
  operation: 'signUp',
  summary: 'Ask for a link to make an account',
  description:
    'With `SIGN_UP=open` alone. The link is sent to the address; an address that has an account is told so there.',
  body: bodyOf('SignUp', { email: asks.email }),
  answers: { 202: { kind: 'schema', component: 'Accepted', schema: acceptedSchema } },
  errors: [403],
  async handle(request) {
    const { services, body } = request
    assertOpen(request)
    chargeTry(request)
    await services.database.spanningTransaction('log in', (db) =>
      queueMail(db, { kind: 'sign-up', recipient: wordOf(body, 'email') }),
    )
    services.mail.wake()
    return accepted
  },
})

export const confirmSignUpRoute = authRoute({
  path: '/auth/sign-up/confirm',
  operation: 'confirmSignUp',
  summary: 'Make an account with the link that was sent',
  description: 'The person is logged in as the owner of a new organization.',
  body: bodyOf('SignUpConfirmation', person),
  answers: done,
  errors: [403, 409],
  async handle(request) {
    const { services, body } = request
    assertOpen(request)
    const made = await prepare(request, 'sign-up', ({ email }) => email ?? '')
    return services.database.spanningTransaction('log in', async (db) => {
      if (!(await spendOneTimeToken(db, 'sign-up', wordOf(body, 'token')))) throw deadLink()
      await insertPerson(request, db, made, true)
      await revokeSignUps(db, made.email)
      return completeLogin(request, db, { ...made, isStrong: false, by: 'sign-up' })
    })
  },
})

function assertOpen({ services }: PublicRequest): void {
  if (services.signUp === 'open') return
  throw new ApiError('insufficient_permissions', 'People join this service by invitation (SIGN_UP).')
}

interface NewPerson {
  userId: string
  email: string
  name: string
  passwordHash: string
  organization: { name: string; slug: string }
  wantsCookie: boolean
}

/** What has to be known before anything is written: the link, the password, the name. Hashing waits for no connection. */
async function prepare(
  request: PublicRequest,
  purpose: 'set-up' | 'sign-up',
  emailOf: (spent: { email: string | null }) => string,
): Promise<NewPerson> {
  const { services, client, body } = request
  const wantsCookie = body.cookie === true
  checkCookieWish(request, wantsCookie)
  chargeTry(request)
  const spent = await services.database.spanningTransaction('log in', (db) =>
    readOneTimeToken(db, purpose, wordOf(body, 'token')),
  )
  if (!spent) throw deadLink()
  const [email, name, organization] = [emailOf(spent), wordOf(body, 'name'), wordOf(body, 'organization')]
  const slug = slugOf(organization)
  const fault = await passwordFault(wordOf(body, 'password'), { email, names: [name, organization] })
  const faults = [
    ...(slug === undefined ? [{ field: 'organization', message: 'needs a letter or a digit' }] : []),
    ...(fault === undefined ? [] : [{ field: 'password', message: fault }]),
  ]
  if (slug === undefined || faults.length > 0) throw invalidBody(faults)
  const passwordHash = await hashPassword(wordOf(body, 'password'), addressKey(client.address))
  return { userId: newId(), email, name, passwordHash, organization: { name: organization, slug }, wantsCookie }
}

/** The person, their organization with its default team, and the first lines of its audit log. */
async function insertPerson(
  { client }: PublicRequest,
  db: Spanning,
  { userId, email, name, passwordHash, organization }: NewPerson,
  isVerified: boolean,
): Promise<void> {
  const organizationId = newId()
  await insertUser(db, { id: userId, email, name, passwordHash, isVerified }).catch((error: unknown) => {
    throw violates(error, 'users_email_unique')
      ? new ApiError('already_exists', 'email: has an account already; log in with it', {
          details: [{ field: 'email', message: 'has an account already' }],
        })
      : error
  })
  const slug = await freeSlug(db, organization.slug)
  await insertOrganization(db, { id: organizationId, name: organization.name, slug, teamId: newId(), ownerId: userId })
  await recordEvent(db, {
    organizationId,
    action: 'organization.created',
    ...byPerson(userId, client),
    recordType: 'organization',
    recordId: showId('org', organizationId),
  })
}
