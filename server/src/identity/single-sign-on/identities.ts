import { inPages } from '../../platform/records/routes/array-pages.ts'
import { lockAccount } from '../access/account-store.ts'
import { bodyOf } from '../access/forms.ts'
import { userActor } from '../../platform/audit/actor.ts'
import type { AuditAction } from '../../platform/audit/store.ts'
import { recordPersonEvent } from '../audit-log/store.ts'
import { ApiError, invalidBody } from '../../platform/model/errors.ts'
import type { AccountRequest, AccountRoute } from '../access/account-route.ts'
import { type AccountChange, queueMail } from '../mails/store.ts'
import { reference, secretText } from '../../platform/records/declare/fields.ts'
import { decodeId, encodeId } from '../../platform/model/ids.ts'
import { loginBaseUrl, generateToken } from './flow.ts'
import { storeStep, consumeStep, stepSeconds } from './flow-store.ts'
import { findOwnConnection, findIdentities, linkIdentity, unlinkIdentity } from './identity-store.ts'

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
    subject: { ...text, description: 'Your subject id at the provider' },
    email: {
      type: ['string', 'null'],
      description: 'Email address reported by the provider when you linked; for information only',
    },
    lastUsedAt: { ...time, type: ['string', 'null'] },
    createdAt: time,
  },
}

const linkSchema = {
  type: 'object',
  required: ['url', 'expiresAt'],
  additionalProperties: false,
  properties: { url: { type: 'string', description: 'URL to open once, in this browser' }, expiresAt: time },
}

const base = { kind: 'account', tag: 'account', params: {}, query: { kind: 'none' } } as const

const connectionId = reference('sso', {
  label: 'Connection',
  description: 'Connection of one of your organizations',
  required: true,
})

const list: AccountRoute = {
  ...base,
  method: 'GET',
  path: '/v5/me/identities',
  operation: 'listIdentities',
  summary: 'List your linked identities',
  description: 'Your identities at the providers of your organizations, oldest first.',
  query: { kind: 'array', item: identitySchema },
  responses: { 200: { kind: 'schema', component: 'Identities', schema: { type: 'array', items: identitySchema } } },
  handle: inPages(identitySchema, async ({ db, person }: AccountRequest) => ({
    status: 200,
    text: await findIdentities(db, person.userId),
  })),
}

const beginLink: AccountRoute = {
  ...base,
  method: 'POST',
  path: '/v5/me/identities',
  operation: 'beginIdentity',
  summary: 'Start linking an identity',
  description:
    'Open `url` in the browser. After the login at the provider, the browser arrives at `/account#sso-link=<token>`; send that token to `/v5/me/identities/confirm`. From then on, whoever controls the provider can log in as you, so link only to a provider that you trust.',
  requiresRecentAuthentication: true,
  body: bodyOf('IdentityLink', {
    connectionId: {
      ...connectionId,
      schema: { ...connectionId.schema, examples: ['sso_019aa5b2c1d27e3fa4b5c6d7e8f90123'] },
    },
  }),
  responses: { 200: { kind: 'schema', component: 'IdentityLinkUrl', schema: linkSchema } },
  errors: [403],
  async handle(request) {
    const { services, db, person, body } = request
    const connectionId = decodeId('sso', String(body.connectionId)) ?? String(body.connectionId)
    const organizationId = await findOwnConnection(db, person.userId, connectionId)
    if (organizationId === undefined) {
      throw invalidBody([
        { field: 'connectionId', message: 'no enabled connection with this id exists in your organizations' },
      ])
    }
    const token = generateToken()
    await storeStep(db, 'link', token, { organizationId, connectionId, userId: person.userId })
    const url = `${loginBaseUrl({ services, client: request.client })}/auth/sso/${encodeId('sso', connectionId)}?link=${token}`
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
  description: 'Only for the person who started it.',
  body: bodyOf('IdentityConfirmation', { token: secretText({ label: 'Token', required: true, max: 100 }) }),
  responses: { 201: { kind: 'schema', component: 'Identity', schema: identitySchema } },
  errors: [409],
  async handleOutsideTransaction(request) {
    const { person, body, transact } = request
    const { userId } = person
    // Consumed in any case: a token sent by the wrong person becomes invalid.
    const step = await transact((db) => consumeStep(db, { kind: 'proof', text: String(body.token) }))
    const { issuer, subject } = step ?? {}
    if (!step || step.userId !== userId || !issuer || !subject) {
      throw invalidBody([{ field: 'token', message: 'was already used, has expired, or is not yours' }])
    }
    const { organizationId, connectionId, email } = step
    const identity = { organizationId, connectionId, userId, issuer, subject, email }
    return transact(async (db) => {
      // Membership or connection may have changed since.
      const isOwn = (await findOwnConnection(db, userId, connectionId)) === organizationId
      const id = isOwn ? await linkIdentity(db, identity) : undefined
      if (id === undefined) throw alreadyLinked()
      await reportChange({ ...request, db }, 'identity.linked', 'identity-linked', id)
      const [linked] = JSON.parse(await findIdentities(db, userId, id)) as object[]
      const location = `/v5/me/identities/${encodeId('sid', id)}`
      return { status: 201, text: JSON.stringify(linked), headers: { location } }
    })
  },
}

const alreadyLinked = () =>
  new ApiError('already_exists', 'This identity is already linked to an account, or you are no longer a member.', {
    details: [{ field: 'token', message: 'belongs to an identity that cannot be linked' }],
  })

const unlink: AccountRoute = {
  ...base,
  method: 'DELETE',
  path: '/v5/me/identities/{identityId}',
  operation: 'deleteIdentity',
  summary: 'Unlink an identity',
  description: 'You can no longer log in with it. 423 if you have no other way to log in.',
  requiresRecentAuthentication: true,
  params: { identityId: { prefix: 'sid', resource: 'identity' } },
  responses: { 204: { kind: 'none' } },
  errors: [403, 404, 423],
  async handle(request) {
    const { db, person, params } = request
    const id = params.identityId ?? ''
    const account = await lockAccount(db, person.userId)
    const remaining = await unlinkIdentity(db, person.userId, id)
    if (remaining === undefined) throw new ApiError('not_found', 'You have no identity with this id.')
    const isLast = remaining === 0 && account?.passwordHash === null && !account.factors.includes('passkey')
    if (isLast)
      throw new ApiError(
        'resource_locked',
        'Set a password or add a passkey first; otherwise you could not log in again.',
      )
    await reportChange(request, 'identity.unlinked', 'identity-unlinked', id)
    return { status: 204 }
  },
}

export const identityRoutes: AccountRoute[] = [list, beginLink, confirmLink, unlink]

async function reportChange(
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
    ...userActor(userId, client),
    recordType: 'identity',
    recordId: encodeId('sid', id),
  })
}
