import { authRoute, bodyOf, languageOf, passwordErrors, stringOf } from '../access/forms.ts'
import { completeLogin, assertCookieAllowed, loginSchema } from '../access/logins.ts'
import { consumeOneTimeToken } from '../access/one-time-token-store.ts'
import { hashPassword } from '../access/passwords.ts'
import { userActor } from '../../platform/audit/actor.ts'
import { recordEvent } from '../../platform/audit/store.ts'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { violatesConstraint } from '../../platform/database/failures.ts'
import { ApiError, type BodyError } from '../../platform/model/errors.ts'
import { chargeAttempt } from '../../platform/http/request-context.ts'
import { addressKey } from '../../platform/http/limits/rate-limit.ts'
import type { PublicRequest, PublicRoute } from '../../platform/http/route.ts'
import { queueMail } from '../mails/store.ts'
import { newId, encodeId } from '../../platform/model/ids.ts'
import type { Language } from '../../platform/model/languages.ts'
import { newSlug } from '../../platform/model/slug.ts'
import { insertOrganization } from '../organizations/store.ts'
import { insertUser } from '../users/store.ts'
import { accepted, acceptedSchema, pageFacts, requestFields, deadLink, readLink } from './forms.ts'
import { beginSetUp, revokeSetUpLinks, revokeSignUps } from './store.ts'

const loginResponses = { 200: { kind: 'schema', component: 'LoginOutcome', schema: loginSchema } } as const

const personFields = {
  token: requestFields.token,
  name: requestFields.personName,
  password: requestFields.newPassword,
  organization: requestFields.organization,
  timeZone: requestFields.organizationZone,
  language: requestFields.language,
  cookie: requestFields.cookie,
}

/** Creates the first owner, organization and team, with the link that the first start prints. */
export const setUpRoute = authRoute({
  path: '/auth/set-up',
  operation: 'setUp',
  summary: 'Create the first owner and their organization',
  description: 'With the link that a start on an empty database prints. It works once, for 30 minutes.',
  body: bodyOf('FirstOwner', { ...personFields, email: requestFields.email }),
  responses: loginResponses,
  errors: [403],
  check: (request) => errorsOf(request, 'set-up'),
  async handle(request) {
    const { services, body } = request
    const newPerson = await prepareNewPerson(request, 'set-up', () => stringOf(body, 'email'))
    return services.database.crossTenantTransaction('set the service up', async (db) => {
      const isEmpty = await beginSetUp(db)
      if (!(await consumeOneTimeToken(db, 'set-up', stringOf(body, 'token')))) throw deadLink()
      if (!isEmpty) throw alreadySetUp()
      await revokeSetUpLinks(db)
      await insertPerson(request, db, newPerson, false)
      await queueMail(db, { kind: 'verify-address', recipient: newPerson.email, userId: newPerson.userId })
      return completeLogin(request, db, { ...newPerson, isStrong: false, by: 'set-up' })
    })
  },
})

const alreadySetUp = () =>
  new ApiError('insufficient_permissions', 'This service already has users. Ask one of its owners to invite you.')

const settingsSchema = {
  type: 'object',
  required: ['signUp'],
  additionalProperties: false,
  properties: {
    signUp: {
      type: 'string',
      enum: ['open', 'invite', 'closed'],
      description: 'Who can create an account: anyone, only people with an invitation, or nobody (`SIGN_UP`)',
    },
  },
}

/** Lets a login form offer only what the service accepts. */
export const loginSettingsRoute: PublicRoute = {
  kind: 'public',
  host: 'auth',
  method: 'GET',
  path: '/auth/settings',
  operation: 'getLoginSettings',
  summary: 'Get the settings that a login form needs',
  tag: 'authentication',
  params: {},
  query: { kind: 'none' },
  responses: { 200: { kind: 'schema', component: 'LoginSettings', schema: settingsSchema } },
  handle: async ({ services: { signUp } }) => ({ status: 200, text: JSON.stringify({ signUp }) }),
}

/** Returns the same response for every address; only the owner of the mailbox learns more. */
export const signUpRoute = authRoute({
  path: '/auth/sign-up',
  operation: 'signUp',
  summary: 'Request a link to create an account',
  description:
    'Only with `SIGN_UP=open`. Sends a link to the address; if the address has an account, the mail says so.',
  body: bodyOf('SignUpAddress', { email: requestFields.email, language: requestFields.language }),
  responses: { 202: { kind: 'schema', component: 'Accepted', schema: acceptedSchema } },
  errors: [403],
  async handle(request) {
    const { services, body } = request
    assertSignUpOpen(request)
    await chargeAttempt(request)
    await services.database.crossTenantTransaction('log in', (db) =>
      queueMail(db, { kind: 'sign-up', recipient: stringOf(body, 'email'), ...pageFacts(body) }),
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
  body: bodyOf('SignUpConfirmation', personFields),
  responses: loginResponses,
  errors: [403, 409],
  check(request) {
    assertSignUpOpen(request)
    return errorsOf(request, 'sign-up')
  },
  async handle(request) {
    const { services, body } = request
    const newPerson = await prepareNewPerson(request, 'sign-up', ({ email }) => email ?? '')
    return services.database.crossTenantTransaction('log in', async (db) => {
      const consumed = await consumeOneTimeToken(db, 'sign-up', stringOf(body, 'token'))
      if (!consumed) throw deadLink()
      await insertPerson(request, db, newPerson, consumed.isMailed)
      await revokeSignUps(db, newPerson.email)
      return completeLogin(request, db, { ...newPerson, isStrong: false, by: 'sign-up' })
    })
  },
})

function assertSignUpOpen({ services }: PublicRequest): void {
  if (services.signUp === 'open') return
  throw new ApiError('insufficient_permissions', 'This service accepts new people only by invitation (SIGN_UP).')
}

interface NewPerson {
  userId: string
  email: string
  name: string
  passwordHash: string
  language: Language | undefined
  organization: { name: string; slug: string; timeZone: string | undefined }
  wantsCookie: boolean
}

/** All errors of a new person's form that are not errors of a single field. */
async function errorsOf(request: PublicRequest, purpose: 'set-up' | 'sign-up'): Promise<BodyError[]> {
  await chargeAttempt(request)
  const { body } = request
  const { link, errors } = await readLink(request, purpose)
  const [name, organization] = [stringOf(body, 'name'), stringOf(body, 'organization')]
  const email = link?.email ?? stringOf(body, 'email')
  const hasNoSlug = organization !== '' && newSlug(organization) === undefined
  return [
    ...errors,
    ...(hasNoSlug ? [{ field: 'organization', message: 'expected at least one letter or digit' }] : []),
    ...(await passwordErrors(body, { email, names: [name, organization] })),
  ]
}

/** Reads the link and computes the slug and the password hash before the transaction: hashing holds no connection. */
async function prepareNewPerson(
  request: PublicRequest,
  purpose: 'set-up' | 'sign-up',
  emailOf: (link: { email: string | null }) => string,
): Promise<NewPerson> {
  const { client, body } = request
  const wantsCookie = body.cookie === true
  assertCookieAllowed(request, wantsCookie)
  const { link } = await readLink(request, purpose)
  const [name, organization] = [stringOf(body, 'name'), stringOf(body, 'organization')]
  const slug = newSlug(organization)
  if (!link || slug === undefined) throw deadLink()
  const email = emailOf(link)
  const passwordHash = await hashPassword(stringOf(body, 'password'), addressKey(client.address))
  const timeZone = stringOf(body, 'timeZone') || undefined
  return {
    userId: newId(),
    email,
    name,
    passwordHash,
    language: languageOf(body),
    organization: { name: organization, slug, timeZone },
    wantsCookie,
  }
}

/** Inserts the person, their organization with its default team, and the first event of its audit log. */
async function insertPerson(
  { client, services }: PublicRequest,
  db: CrossTenantConnection,
  { userId, email, name, passwordHash, language, organization }: NewPerson,
  isVerified: boolean,
): Promise<void> {
  const organizationId = newId()
  await insertUser(db, { id: userId, email, name, passwordHash, language, isVerified }).catch((error: unknown) => {
    throw violatesConstraint(error, 'users_email_unique')
      ? new ApiError('already_exists', 'email: already has an account; log in with it', {
          details: [{ field: 'email', message: 'already has an account' }],
        })
      : error
  })
  const owned = { id: organizationId, ...organization, teamId: newId(), ownerId: userId }
  await insertOrganization(db, owned, services.addFirstRecords)
  await recordEvent(db, {
    organizationId,
    action: 'organization.created',
    ...userActor(userId, client),
    recordType: 'organization',
    recordId: encodeId('org', organizationId),
  })
}
