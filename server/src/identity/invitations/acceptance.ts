import { authRoute, bodyOf, formFields, languageOf, passwordErrors, stringOf } from '../access/forms.ts'
import { assertCookieAllowed, completeLogin, loginSchema } from '../access/logins.ts'
import { hashPassword } from '../access/passwords.ts'
import { userActor } from '../../platform/audit/actor.ts'
import { recordEvent } from '../../platform/audit/store.ts'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { violatesConstraint } from '../../platform/database/failures.ts'
import { ApiError, invalidBody } from '../../platform/model/errors.ts'
import { chargeAttempt } from '../../platform/http/request-context.ts'
import { addressKey } from '../../platform/http/limits/rate-limit.ts'
import { type AccountRoute, toRoute } from '../access/account-route.ts'
import type { Client, Route } from '../../platform/http/route.ts'
import { timeZone } from '../../platform/records/declare/fields.ts'
import { newId, encodeId } from '../../platform/model/ids.ts'
import { addMember } from '../members/store.ts'
import { chooseOrganization, readMembership } from '../organizations/store.ts'
import { membershipSchema } from '../organizations/resource.ts'
import { insertUser } from '../users/store.ts'
import {
  lockEmailKey,
  closeInvitation,
  isSameAddress,
  markVerified,
  lockInvitationByToken,
  type OpenInvitation,
} from './store.ts'

const previewProperties = {
  organization: { type: 'string', description: 'The name of the organization' },
  email: { type: 'string' },
  role: { type: 'string', description: 'A built-in role, or the name of a custom one' },
  expiresAt: { type: 'string', format: 'date-time' },
}

/** Does not reveal whether the address has an account: without a mail server, an owner reads the link. */
const previewRoute = authRoute({
  path: '/auth/invitations/preview',
  operation: 'previewInvitation',
  summary: 'Preview an invitation',
  description: 'Returns the invited address, the organization and the role. Does not use the link up.',
  body: bodyOf('InvitationLink', { token: formFields.token }),
  responses: {
    200: {
      kind: 'schema',
      component: 'InvitationShown',
      schema: {
        type: 'object',
        required: Object.keys(previewProperties),
        additionalProperties: false,
        properties: previewProperties,
      },
    },
  },
  async handle({ services, body }) {
    const found = await services.database.crossTenantTransaction('log in', (db) =>
      requireInvitation(db, String(body.token)),
    )
    const { organization, email, role, roleName, expiresAt } = found
    return { status: 200, text: JSON.stringify({ organization, email, role: roleName ?? role, expiresAt }) }
  },
})

const acceptRoute = authRoute({
  path: '/auth/invitations/accept',
  operation: 'acceptInvitation',
  summary: 'Create an account with an invitation, and log in',
  description:
    'For people without an account. If you have one, log in and use `POST /v5/me/invitations`. With `SIGN_UP=closed`, no accounts are created.',
  body: bodyOf('InvitationAcceptance', {
    token: formFields.token,
    name: formFields.personName,
    password: { ...formFields.newPassword, label: 'Password' },
    timeZone: timeZone({
      label: 'Time zone',
      description: 'IANA name of the person’s own time zone. Default: that of each organization',
    }),
    language: formFields.language,
    cookie: formFields.cookie,
  }),
  responses: { 200: { kind: 'schema', component: 'LoginOutcome', schema: loginSchema } },
  errors: [403, 409],
  async check(request) {
    const { services, body } = request
    await chargeAttempt(request)
    if (services.signUp === 'closed') {
      throw new ApiError(
        'insufficient_permissions',
        'This service does not accept new people (SIGN_UP). Ask its operator.',
      )
    }
    const [link, name] = [stringOf(body, 'token'), stringOf(body, 'name')]
    const found = await services.database.crossTenantTransaction('log in', (db) => lockInvitationByToken(db, link))
    const owner = found ? { email: found.email, names: [name, found.organization] } : { names: [name] }
    const linkErrors = found || link === '' ? [] : [deadInvitation]
    return [...linkErrors, ...(await passwordErrors(body, owner))]
  },
  async handle(request) {
    const { services, client, body } = request
    const [link, name, password] = [stringOf(body, 'token'), stringOf(body, 'name'), stringOf(body, 'password')]
    const wantsCookie = body.cookie === true
    assertCookieAllowed(request, wantsCookie)
    // After all other checks: their errors must not reveal whether the address has an account.
    assertNoAccount(await services.database.crossTenantTransaction('log in', (db) => requireInvitation(db, link)))
    // Hashed before the transaction, which would hold a connection meanwhile.
    const passwordHash = await hashPassword(password, addressKey(client.address))
    const userId = newId()
    return services.database.crossTenantTransaction('log in', async (db) => {
      const invitation = await requireInvitation(db, link)
      assertNoAccount(invitation)
      const { email, isMailed } = invitation
      const about = { timeZone: stringOf(body, 'timeZone') || undefined, language: languageOf(body) }
      const person = { id: userId, email, name, passwordHash, isVerified: isMailed, ...about }
      await insertUser(db, person).catch((error: unknown) => {
        throw violatesConstraint(error, 'users_email_unique') ? accountExists() : error
      })
      await join(db, { invitation, userId, client })
      return completeLogin(request, db, { userId, email, wantsCookie, isStrong: false, by: 'invitation' })
    })
  },
})

const acceptOwnRoute: AccountRoute = {
  kind: 'account',
  method: 'POST',
  path: '/v5/me/invitations',
  operation: 'acceptOwnInvitation',
  summary: 'Accept an invitation to another organization',
  description:
    'The invitation must be for the account’s address. The session stays in its organization, unless it has none.',
  tag: 'organizations',
  params: {},
  query: { kind: 'none' },
  body: bodyOf('OwnInvitation', { token: formFields.token }),
  responses: { 200: { kind: 'schema', component: 'OwnOrganization', schema: membershipSchema } },
  errors: [403],
  async handle({ client, person, db, body }) {
    const { userId, sessionId } = person
    // Locks the person first, so that a concurrent change of the address waits.
    const address = await lockEmailKey(db, userId)
    const invitation = await requireInvitation(db, String(body.token))
    if (!isSameAddress(invitation, address)) {
      throw new ApiError(
        'insufficient_permissions',
        'This invitation is for a different address than your account’s. Log in with that address, or ask for an invitation to yours.',
      )
    }
    const { organizationId } = invitation
    if (invitation.isMailed) await markVerified(db, userId)
    await join(db, { invitation, userId, client })
    await chooseOrganization(db, { sessionId, organizationId, onlyIfNone: true })
    const text = await readMembership(db, { organizationId, userId })
    if (text === undefined) throw new Error('the person is not a member after joining')
    return { status: 200, text }
  },
}

/** The invitation of the link. Error: 422. */
async function requireInvitation(db: CrossTenantConnection, link: string): Promise<OpenInvitation> {
  const found = await lockInvitationByToken(db, link)
  if (found) return found
  throw invalidBody([deadInvitation])
}

const deadInvitation = {
  field: 'token',
  message: 'was used or withdrawn, or has expired; ask for a new invitation',
}

function assertNoAccount({ userId }: OpenInvitation): void {
  if (userId !== null) throw accountExists()
}

function accountExists(): ApiError {
  const message = 'already has an account; log in with it, then accept the invitation at POST /v5/me/invitations'
  return new ApiError('already_exists', `email: ${message}`, { details: [{ field: 'email', message }] })
}

/** Makes the person a member and deletes the invitation. */
async function join(
  db: CrossTenantConnection,
  { invitation, userId, client }: { invitation: OpenInvitation; userId: string; client: Client },
): Promise<void> {
  const { id, organizationId, role, roleId, teamId } = invitation
  const isNew = await addMember(db, { organizationId, userId, role, roleId, teamId })
  await closeInvitation(db, invitation)
  const event = { organizationId, ...userActor(userId, client) }
  const [recordType, recordId] = ['invitation', encodeId('inv', id)]
  await recordEvent(db, { ...event, action: 'invitation.accepted', recordType, recordId })
  if (!isNew) return
  const member = { recordType: 'member', recordId: encodeId('usr', userId) }
  await recordEvent(db, { ...event, action: 'member.added', ...member, details: { role, by: 'invitation' } })
}

export const acceptanceRoutes: Route[] = [previewRoute, acceptRoute, toRoute(acceptOwnRoute)]
