import { authRoute, bodyOf, passwordFaults, wordOf } from '../access/forms.ts'
import { completeLogin, checkCookieWish, loginSchema } from '../access/logins.ts'
import { spendOneTimeToken } from '../access/one-time-token-store.ts'
import { hashPassword } from '../access/passwords.ts'
import { byPerson } from '../../platform/audit/actor.ts'
import { recordEvent } from '../../platform/audit/store.ts'
import type { Spanning } from '../../platform/database/database.ts'
import { violates } from '../../platform/database/failures.ts'
import { ApiError, type BodyFault } from '../../platform/model/errors.ts'
import { chargeTry } from '../../platform/http/exchange.ts'
import { addressKey } from '../../platform/http/rate-limit.ts'
import type { PublicRequest } from '../../platform/http/route.ts'
import { queueMail } from '../mails/store.ts'
import { newId, showId } from '../../platform/model/ids.ts'
import { newSlug } from '../../platform/model/slug.ts'
import { insertOrganization } from '../organizations/store.ts'
import { insertUser } from '../users/store.ts'
import { accepted, acceptedSchema, asks, deadLink, readLink } from './forms.ts'
import { beginSetUp, revokeSetUpLinks, revokeSignUps } from './store.ts'

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
  summary: 'Create the first owner and their organization',
  description: 'With the link that a start on an empty database prints. It works once, for 30 minutes.',
  body: bodyOf('SetUp', { ...person, email: asks.email }),
  answers: done,
  errors: [403],
  check: (request) => faultsOf(request, 'set-up'),
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
  new ApiError('insufficient_permissions', 'This service already has users. Ask one of its owners to invite you.')

/** The same answer for every address: whoever has the mailbox learns more. */
export const signUpRoute = authRoute({
  path: '/auth/sign-up',
  operation: 'signUp',
  summary: 'Request a link to create an account',
  description:
    'Only with `SIGN_UP=open`. Sends a link to the address; if the address has an account, the mail says so.',
  body: bodyOf('SignUp', { email: asks.email }),
  answers: { 202: { kind: 'schema', component: 'Accepted', schema: acceptedSchema } },
  errors: [403],
  async handle(request) {
    const { services, body } = request
    assertOpen(request)
    await chargeTry(request)
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
  summary: 'Create an account with a mailed link',
  description: 'Logs the person in as the owner of a new organization.',
  body: bodyOf('SignUpConfirmation', person),
  answers: done,
  errors: [403, 409],
  check(request) {
    assertOpen(request)
    return faultsOf(request, 'sign-up')
  },
  async handle(request) {
    const { services, body } = request
    const made = await prepare(request, 'sign-up', ({ email }) => email ?? '')
    return services.database.spanningTransaction('log in', async (db) => {
      const spent = await spendOneTimeToken(db, 'sign-up', wordOf(body, 'token'))
      if (!spent) throw deadLink()
      await insertPerson(request, db, made, spent.isMailed)
      await revokeSignUps(db, made.email)
      return completeLogin(request, db, { ...made, isStrong: false, by: 'sign-up' })
    })
  },
})

function assertOpen({ services }: PublicRequest): void {
  if (services.signUp === 'open') return
  throw new ApiError('insufficient_permissions', 'This service accepts new people only by invitation (SIGN_UP).')
}

interface NewPerson {
  userId: string
  email: string
  name: string
  passwordHash: string
  organization: { name: string; slug: string }
  wantsCookie: boolean
}

/** Everything that is wrong with a new person's form, beyond what each field is alone. */
async function faultsOf(request: PublicRequest, purpose: 'set-up' | 'sign-up'): Promise<BodyFault[]> {
  await chargeTry(request)
  const { body } = request
  const { said, faults } = await readLink(request, purpose)
  const [name, organization] = [wordOf(body, 'name'), wordOf(body, 'organization')]
  const email = said?.email ?? wordOf(body, 'email')
  const hasNoSlug = organization !== '' && newSlug(organization) === undefined
  return [
    ...faults,
    ...(hasNoSlug ? [{ field: 'organization', message: 'expected at least one letter or digit' }] : []),
    ...(await passwordFaults(body, { email, names: [name, organization] })),
  ]
}

/** What has to be known before anything is written: the link, the slug, the hash. Hashing waits for no connection. */
async function prepare(
  request: PublicRequest,
  purpose: 'set-up' | 'sign-up',
  emailOf: (spent: { email: string | null }) => string,
): Promise<NewPerson> {
  const { client, body } = request
  const wantsCookie = body.cookie === true
  checkCookieWish(request, wantsCookie)
  const { said } = await readLink(request, purpose)
  const [name, organization] = [wordOf(body, 'name'), wordOf(body, 'organization')]
  const slug = newSlug(organization)
  if (!said || slug === undefined) throw deadLink()
  const email = emailOf(said)
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
      ? new ApiError('already_exists', 'email: already has an account; log in with it', {
          details: [{ field: 'email', message: 'already has an account' }],
        })
      : error
  })
  await insertOrganization(db, { id: organizationId, ...organization, teamId: newId(), ownerId: userId })
  await recordEvent(db, {
    organizationId,
    action: 'organization.created',
    ...byPerson(userId, client),
    recordType: 'organization',
    recordId: showId('org', organizationId),
  })
}
