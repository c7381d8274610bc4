import { lockAccount } from '../../platform/access/account-store.ts'
import { bodyOf } from '../../platform/access/forms.ts'
import { byPerson } from '../../platform/audit/actor.ts'
import type { AuditAction } from '../../platform/audit/actions.ts'
import { recordPersonEvent } from '../../platform/audit/store.ts'
import { ApiError, invalidBody } from '../../platform/http/errors.ts'
import type { AccountRequest, AccountRoute } from '../../platform/http/route.ts'
import type { AccountChange } from '../../platform/mail/kinds.ts'
import { queueMail } from '../../platform/mail/queue-store.ts'
import { reference, secretText } from '../../platform/resource/fields.ts'
import { readId, showId } from '../../platform/resource/ids.ts'
import { baseOf, makeText } from './flow.ts'
import { keepStep, spendStep, stepSeconds } from './flow-store.ts'
import { findOwnConnection, identitiesOf, linkIdentity, unlinkIdentity } from './identity-store.ts'

const text = { type: 'string' }
const time = { type: 'string', format: 'date-time' }

const identitySchema = {
  type: 'object',
  required: [
    ...['id', 'organizationId', 'connectionId', 'connectionName', 'issuer', 'subject', 'email'],
    ...['lastUsedAt', 'createdAt'],
  ],
  additionalProperties: false,
  properties: {
    id: { type: 'string', pattern: '^sid_[0-9a-f]{32}$' },
    organizationId: { type: 'string', pattern: '^org_[0-9a-f]{32}$' },
    connectionId: { type: 'string', pattern: '^sso_[0-9a-f]{32}$' },
    connectionName: text,
    issuer: text,
    subject: { ...text, description: 'Who you are there' },
    email: {
      type: ['string', 'null'],
      description: 'As the provider told it when you linked; nothing follows from it',
    },
    lastUsedAt: { ...time, type: ['string', 'null'] },
    createdAt: time,
  },
}

const linkSchema = {
  type: 'object',
  required: ['url', 'expiresAt'],
  additionalProperties: false,
  properties: { url: { type: 'string', description: 'To be opened in this browser, once' }, expiresAt: time },
}

const base = { kind: 'account', tag: 'account', params: {}, query: { kind: 'none' } } as const

const connectionId = reference('sso', {
  label: 'Connection',
  description: 'Of an organization of yours',
  required: true,
})

const list: AccountRoute = {
  ...base,
  method: 'GET',
  path: '/v5/me/identities',
  operation: 'listIdentities',
  summary: 'List the identities you log in with',
  description: 'Who you are at the providers of your organizations, the oldest first.',
  answers: { 200: { kind: 'schema', component: 'Identities', schema: { type: 'array', items: identitySchema } } },
  handle: async ({ db, person }) => ({ status: 200, text: await identitiesOf(db, person.userId) }),
}

const beginLink: AccountRoute = {
  ...base,
  method: 'POST',
  path: '/v5/me/identities',
  operation: 'beginIdentity',
  summary: 'Begin to link an identity',
  description:
    'Open `url` in the browser. After the log-in at the provider it comes to `/account#sso-link=<token>`, and `/v5/me/identities/confirm` takes that token. Whoever runs that provider can log in as you from then on, so link to one that you trust.',
  fresh: true,
  body: bodyOf('IdentityLink', {
    connectionId: {
      ...connectionId,
      schema: { ...connectionId.schema, examples: ['sso_019aa5b2c1d27e3fa4b5c6d7e8f90123'] },
    },
  }),
  answers: { 200: { kind: 'schema', component: 'IdentityLinkUrl', schema: linkSchema } },
  errors: [403],
  async handle(request) {
    const { services, db, person, body } = request
    const connectionId = readId('sso', String(body.connectionId)) ?? String(body.connectionId)
    const organizationId = await findOwnConnection(db, person.userId, connectionId)
    if (organizationId === undefined) {
      throw invalidBody([{ field: 'connectionId', message: 'names no enabled connection of an organization of yours' }])
    }
    const token = makeText()
    await keepStep(db, 'link', token, { organizationId, connectionId, userId: person.userId })
    const url = `${baseOf({ services, client: request.client })}/auth/sso/${showId('sso', connectionId)}?link=${token}`
    const expiresAt = new Date(Date.now() + stepSeconds * 1000).toISOString()
    return { status: 200, text: JSON.stringify({ url, expiresAt }) }
  },
}

const confirmLink: AccountRoute = {
  ...base,
  method: 'POST',
  path: '/v5/me/identities/confirm',
  operation: 'confirmIdentity',
  summary: 'Link an identity',
  description: 'For the person who began it alone.',
  body: bodyOf('IdentityConfirmation', { token: secretText({ label: 'Token', required: true, max: 100 }) }),
  answers: { 201: { kind: 'schema', component: 'Identity', schema: identitySchema } },
  errors: [409],
  async outside(request) {
    const { person, body, transact } = request
    const { userId } = person
    // Gone whatever comes of it: a proof that was brought to the wrong person is good for nobody.
    const proof = await transact((db) => spendStep(db, { kind: 'proof', text: String(body.token) }))
    const { issuer, subject } = proof ?? {}
    if (!proof || proof.userId !== userId || !issuer || !subject) {
      throw invalidBody([{ field: 'token', message: 'was used already, or its time is over, or it is not yours' }])
    }
    const { organizationId, connectionId, email } = proof
    const identity = { organizationId, connectionId, userId, issuer, subject, email }
    return transact(async (db) => {
      // Still a member, and the connection still there.
      const isOwn = (await findOwnConnection(db, userId, connectionId)) === organizationId
      const id = isOwn ? await linkIdentity(db, identity) : undefined
      if (id === undefined) throw linkedAlready()
      await tell({ ...request, db }, 'identity.linked', 'identity-linked', id)
      const [shown] = JSON.parse(await identitiesOf(db, userId, id)) as object[]
      const location = `/v5/me/identities/${showId('sid', id)}`
      return { status: 201, text: JSON.stringify(shown), headers: { location } }
    })
  },
}

const linkedAlready = () =>
  new ApiError('already_exists', 'This identity is linked to an account already, or you are no member any more.', {
    details: [{ field: 'token', message: 'stands for an identity that cannot be linked' }],
  })

const unlink: AccountRoute = {
  ...base,
  method: 'DELETE',
  path: '/v5/me/identities/{identityId}',
  operation: 'deleteIdentity',
  summary: 'Unlink an identity',
  description: 'You cannot log in with it any more. 423 while nothing else is left to log in with.',
  fresh: true,
  params: { identityId: { prefix: 'sid', resource: 'identity' } },
  answers: { 204: { kind: 'none' } },
  errors: [403, 404, 423],
  async handle(request) {
    const { db, person, params } = request
    const id = params.identityId ?? ''
    const account = await lockAccount(db, person.userId)
    const left = await unlinkIdentity(db, person.userId, id)
    if (left === undefined) throw new ApiError('not_found', 'There is no such identity of yours.')
    const isLast = left === 0 && account?.passwordHash === null && !account.factors.includes('passkey')
    if (isLast)
      throw new ApiError('resource_locked', 'Set a password or add a passkey first: you could not log in again.')
    await tell(request, 'identity.unlinked', 'identity-unlinked', id)
    return { status: 204 }
  },
}

export const identityRoutes: AccountRoute[] = [list, beginLink, confirmLink, unlink]

async function tell(
  request: Pick<AccountRequest, 'db' | 'person' | 'client'>,
  action: AuditAction,
  what: AccountChange,
  id: string,
): Promise<void> {
  const { db, person, client } = request
  const { userId } = person
  const account = await lockAccount(db, userId)
  if (account) await queueMail(db, { kind: 'account-changed', recipient: account.email, userId, facts: { what } })
  await recordPersonEvent(db, userId, {
    action,
    ...byPerson(userId, client),
    recordType: 'identity',
    recordId: showId('sid', id),
  })
}
