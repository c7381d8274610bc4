import { lockAccount } from '../access/account-store.ts'
import { authRoute, bodyOf, stringOf } from '../access/forms.ts'
import { readOneTimeToken, consumeOneTimeToken } from '../access/one-time-token-store.ts'
import { ownAccountEvent } from '../../platform/audit/actor.ts'
import { recordPersonEvent } from '../audit-log/store.ts'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { violatesConstraint } from '../../platform/database/failures.ts'
import { ApiError, invalidBody } from '../../platform/model/errors.ts'
import type { AccountRoute } from '../access/account-route.ts'
import type { Client } from '../../platform/http/route.ts'
import { queueMail } from '../mails/store.ts'
import { choice, timeZone } from '../../platform/records/declare/fields.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { emailKey } from '../../platform/model/normalizers.ts'
import { accepted, acceptedSchema, requestFields, deadLink } from './forms.ts'
import { revokeLinks, setAddress, setProfile } from './store.ts'
import { languages } from '../../platform/model/languages.ts'

export const changeAddressRoute: AccountRoute = {
  kind: 'account',
  method: 'POST',
  path: '/v5/me/address',
  operation: 'changeAddress',
  summary: 'Change or verify your address',
  description:
    'Sends a link to the address, valid for a day. Opening it makes the address yours; if you send your current address, the link verifies it. Without a mail server (`SMTP_URL`), the link changes the address but does not verify it.',
  tag: 'account',
  params: {},
  query: { kind: 'none' },
  requiresRecentAuthentication: true,
  body: bodyOf('AddressChange', { email: requestFields.email }),
  responses: { 202: { kind: 'schema', component: 'Accepted', schema: acceptedSchema } },
  async handle({ services, db, person, body }) {
    // Only the latest link is valid: an earlier one may have gone to a mistyped address.
    await revokeLinks(db, person.userId)
    await queueMail(db, { kind: 'verify-address', recipient: stringOf(body, 'email'), userId: person.userId })
    services.mail.wake()
    return accepted
  },
}

const verifiedSchema = {
  type: 'object',
  required: ['email'],
  additionalProperties: false,
  properties: { email: { type: 'string' } },
}

export const verifyAddressRoute = authRoute({
  path: '/auth/verify-address',
  operation: 'verifyAddress',
  summary: 'Verify an address with a mailed link',
  description:
    'Does not log in. A link for a different address than the account’s stays valid and returns 403; the person confirms it at `/v5/me/address/confirm`. Only a link sent by mail verifies an address; 422 for one that an owner read in the outbox.',
  body: bodyOf('AddressVerification', { token: requestFields.token }),
  responses: { 200: { kind: 'schema', component: 'VerifiedAddress', schema: verifiedSchema } },
  errors: [403],
  async handle({ services, client, body }) {
    const email = await services.database.crossTenantTransaction('log in', (db) =>
      verify(db, { token: stringOf(body, 'token'), client, requesterId: undefined }),
    )
    return { status: 200, text: JSON.stringify({ email }) }
  },
})

/** A link alone cannot change an account's address: another person may have requested or received it. */
export const confirmAddressRoute: AccountRoute = {
  kind: 'account',
  method: 'POST',
  path: '/v5/me/address/confirm',
  operation: 'confirmAddress',
  summary: 'Change to the address that a link was sent to',
  tag: 'account',
  params: {},
  query: { kind: 'none' },
  body: bodyOf('AddressVerification', { token: requestFields.token }),
  responses: { 200: { kind: 'schema', component: 'VerifiedAddress', schema: verifiedSchema } },
  errors: [409],
  async handle({ services, db, client, person, body }) {
    const email = await verify(db, { token: stringOf(body, 'token'), client, requesterId: person.userId })
    services.mail.wake()
    return { status: 200, text: JSON.stringify({ email }) }
  },
}

interface Verification {
  token: string
  client: Client
  /** The logged-in person's uuid; undefined without a login. */
  requesterId: string | undefined
}

/** Consumes the link and returns the account's new address. Errors: 403, 409, 422. */
async function verify(db: CrossTenantConnection, { token, client, requesterId }: Verification): Promise<string> {
  const link = await readOneTimeToken(db, 'verify-address', token)
  const person = link && link.userId !== null ? await lockAccount(db, link.userId) : undefined
  if (!link || link.email === null || !person || (requesterId !== undefined && requesterId !== person.id))
    throw deadLink()
  const isChanged = emailKey(link.email) !== emailKey(person.email)
  if (isChanged && requesterId === undefined) throw loginRequired()
  const consumed = await consumeOneTimeToken(db, 'verify-address', token)
  if (!consumed) throw deadLink()
  const { isMailed } = consumed
  if (!isChanged && !isMailed) throw linkNotMailed()
  await setAddress(db, person.id, { email: link.email, isVerified: isMailed }).catch((error: unknown) => {
    throw violatesConstraint(error, 'users_email_unique') ? addressTaken() : error
  })
  await recordPersonEvent(db, person.id, {
    action: isChanged ? 'email.changed' : 'email.verified',
    ...ownAccountEvent(person.id, client),
  })
  // Sent to the previous address, so that its owner learns about the change.
  if (isChanged) {
    const facts = { what: 'address-changed' } as const
    await queueMail(db, { kind: 'account-changed', recipient: person.email, userId: person.id, facts })
  }
  return link.email
}

const loginRequired = () =>
  new ApiError(
    'insufficient_permissions',
    'This link is for a different address than the account’s. Log in, then open it.',
  )

const linkNotMailed = () =>
  invalidBody([
    {
      field: 'token',
      message: 'was not sent by mail, so it cannot verify the address; request a new link when a mail server is set up',
    },
  ])

const addressTaken = () =>
  new ApiError('already_exists', 'email: belongs to a different account now', {
    details: [{ field: 'email', message: 'belongs to a different account now' }],
  })

const personSchema = {
  type: 'object',
  required: ['id', 'email', 'name', 'timeZone', 'language'],
  additionalProperties: false,
  properties: {
    id: { type: 'string' },
    email: { type: 'string' },
    name: { type: 'string' },
    timeZone: { type: ['string', 'null'], description: 'IANA name; null for the time zone of each organization.' },
    language: {
      type: ['string', 'null'],
      enum: [...languages, null],
      description: 'In which mails and notifications reach the person; null if they have not chosen one.',
    },
  },
}

const profileFields = {
  // A change need not contain it.
  name: { ...requestFields.personName, required: false as const },
  timeZone: timeZone({
    label: 'Time zone',
    description: 'In which your due dates end; null for the time zone of each organization',
  }),
  language: choice(languages, {
    label: 'Language',
    description: 'In which mails and notifications reach you; null for the default of the service (`DEFAULT_LANGUAGE`)',
  }),
}

export const updateMeRoute: AccountRoute = {
  kind: 'account',
  method: 'PATCH',
  path: '/v5/me',
  operation: 'updateMe',
  summary: 'Change your name, time zone or language',
  description: 'Only fields that are sent change.',
  tag: 'account',
  params: {},
  query: { kind: 'none' },
  body: bodyOf('PersonUpdate', profileFields),
  responses: { 200: { kind: 'schema', component: 'Person', schema: personSchema } },
  async handle({ db, person, body }) {
    const profile = await setProfile(db, person.userId, body)
    return { status: 200, text: JSON.stringify({ id: encodeId('usr', person.userId), ...profile }) }
  },
}
