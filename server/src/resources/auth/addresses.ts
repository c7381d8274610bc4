import { lockAccount, ownAccount } from '../../platform/access/account-store.ts'
import { authRoute, bodyOf, wordOf } from '../../platform/access/forms.ts'
import { readOneTimeToken, spendOneTimeToken } from '../../platform/access/one-time-tokens.ts'
import { byThemselves } from '../../platform/audit/actor.ts'
import { recordPersonEvent } from '../../platform/audit/store.ts'
import type { Spanning } from '../../platform/database/database.ts'
import { violates } from '../../platform/database/failures.ts'
import { ApiError } from '../../platform/http/errors.ts'
import type { AccountRoute, Client } from '../../platform/http/route.ts'
import { queueMail } from '../../platform/mail/queue-store.ts'
import { showId } from '../../platform/resource/ids.ts'
import { emailKey } from '../../platform/resource/texts.ts'
import { accepted, acceptedSchema, asks, deadLink } from './forms.ts'
import { revokeLinks, setName, setVerifiedAddress } from './store.ts'

export const changeAddressRoute: AccountRoute = {
  kind: 'account',
  method: 'POST',
  path: '/v5/me/address',
  operation: 'changeAddress',
  summary: 'Change or verify your address',
  description:
    'A link is sent to the address, and it becomes yours when the link is opened, within a day. With the address that you have, the link verifies it.',
  tag: 'account',
  params: {},
  query: { kind: 'none' },
  fresh: true,
  body: bodyOf('AddressChange', { email: asks.email }),
  answers: { 202: { kind: 'schema', component: 'Accepted', schema: acceptedSchema } },
  async handle({ services, db, person, body }) {
    // Only the last link counts: an earlier one may have gone to a mistyped address.
    await revokeLinks(db, person.userId)
    await queueMail(db, { kind: 'verify-address', recipient: wordOf(body, 'email'), userId: person.userId })
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
  summary: 'Verify an address with the link that was sent there',
  description:
    'Logs nobody in. A link to another address than the account has is not used up and gives 403: it is confirmed by the person, at `/v5/me/address/confirm`.',
  body: bodyOf('AddressVerification', { token: asks.token }),
  answers: { 200: { kind: 'schema', component: 'VerifiedAddress', schema: verifiedSchema } },
  errors: [403],
  async handle({ services, client, body }) {
    const email = await services.database.spanningTransaction('log in', (db) =>
      verify(db, { token: wordOf(body, 'token'), client, by: undefined }),
    )
    return { status: 200, text: JSON.stringify({ email }) }
  },
})

/** A link alone moves no account: it may have gone to a stranger, or a stranger may have asked for it. */
export const confirmAddressRoute: AccountRoute = {
  kind: 'account',
  method: 'POST',
  path: '/v5/me/address/confirm',
  operation: 'confirmAddress',
  summary: 'Take the address that a link was sent to',
  tag: 'account',
  params: {},
  query: { kind: 'none' },
  body: bodyOf('AddressVerification', { token: asks.token }),
  answers: { 200: { kind: 'schema', component: 'VerifiedAddress', schema: verifiedSchema } },
  errors: [409],
  async handle({ services, db, client, person, body }) {
    const email = await verify(db, { token: wordOf(body, 'token'), client, by: person.userId })
    services.mail.wake()
    return { status: 200, text: JSON.stringify({ email }) }
  },
}

interface Verification {
  token: string
  client: Client
  /** The person who asks, a uuid; undefined when nobody is logged in. */
  by: string | undefined
}

/** Uses the link up and gives the address that the account has from now on. Errors: 403, 409, 422. */
async function verify(db: Spanning, { token, client, by }: Verification): Promise<string> {
  const said = await readOneTimeToken(db, 'verify-address', token)
  const person = said && said.userId !== null ? await lockAccount(db, said.userId) : undefined
  if (!said || said.email === null || !person || (by !== undefined && by !== person.id)) throw deadLink()
  const isChanged = emailKey(said.email) !== emailKey(person.email)
  if (isChanged && by === undefined) throw needsPerson()
  if (!(await spendOneTimeToken(db, 'verify-address', token))) throw deadLink()
  await setVerifiedAddress(db, person.id, said.email).catch((error: unknown) => {
    throw violates(error, 'users_email_unique') ? taken() : error
  })
  await recordPersonEvent(db, person.id, {
    action: isChanged ? 'email.changed' : 'email.verified',
    ...byThemselves(person.id, client),
  })
  // To the address from before: whoever has it should know.
  if (isChanged) {
    const facts = { what: 'address-changed' } as const
    await queueMail(db, { kind: 'account-changed', recipient: person.email, userId: person.id, facts })
  }
  return said.email
}

const needsPerson = () =>
  new ApiError(
    'insufficient_permissions',
    'This link is to another address than the account has: log in, then open it.',
  )

const taken = () =>
  new ApiError('already_exists', 'email: has an account of its own by now', {
    details: [{ field: 'email', message: 'has an account of its own by now' }],
  })

const personSchema = {
  type: 'object',
  required: ['id', 'email', 'name'],
  additionalProperties: false,
  properties: { id: { type: 'string' }, email: { type: 'string' }, name: { type: 'string' } },
}

export const updateMeRoute: AccountRoute = {
  kind: 'account',
  method: 'PATCH',
  path: '/v5/me',
  operation: 'updateMe',
  summary: 'Change your name',
  tag: 'account',
  params: {},
  query: { kind: 'none' },
  body: bodyOf('PersonUpdate', { name: asks.personName }),
  answers: { 200: { kind: 'schema', component: 'Person', schema: personSchema } },
  async handle({ db, person, body }) {
    await setName(db, person.userId, wordOf(body, 'name'))
    const { email, name } = await ownAccount(db, person.userId)
    return { status: 200, text: JSON.stringify({ id: showId('usr', person.userId), email, name }) }
  },
}
