import { inPages } from '../../platform/records/routes/array-pages.ts'
import { hasRecentAuthentication } from '../access/account-store.ts'
import type { Caller } from '../../platform/model/caller.ts'
import { reauthenticationRequired } from '../access/auth-errors.ts'
import { userActor } from '../../platform/audit/actor.ts'
import { recordEvent } from '../../platform/audit/store.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { ApiError, invalidBody } from '../../platform/model/errors.ts'
import { type AccountRequest, type AccountRoute, toRoute, accountRoute } from '../access/account-route.ts'
import { type ReadRoute, type Route, writeRoute } from '../../platform/http/route.ts'
import { newId, decodeId, encodeId } from '../../platform/model/ids.ts'
import { newSlug } from '../../platform/model/slug.ts'
import { deletionRoutes } from './deletion-routes.ts'
import { leaveOrganization } from '../members/store.ts'
import {
  choiceShape,
  membershipSchema,
  membershipsSchema,
  newShape,
  organizationSchema,
  settingsShape,
} from './resource.ts'
import {
  chooseOrganization,
  insertOrganization,
  countOwned,
  readMembership,
  readMemberships,
  readOrganization,
  findAuthenticationStatus,
  updateOrganization,
} from './store.ts'

const organization = { kind: 'schema', component: 'Organization', schema: organizationSchema } as const
const membership = { kind: 'schema', component: 'OwnOrganization', schema: membershipSchema } as const

const common = { tag: 'organizations', params: {}, query: { kind: 'none' } } as const

const read: ReadRoute = {
  ...common,
  kind: 'read',
  method: 'GET',
  path: '/v5/organization',
  operation: 'getOrganization',
  summary: 'Get the organization of the request',
  scope: 'organization:get:read',
  responses: { 200: organization },
  handle: async ({ db }) => ({ status: 200, text: await readOrganization(db) }),
}

const update = writeRoute({
  ...common,
  kind: 'write',
  method: 'PATCH',
  path: '/v5/organization',
  operation: 'updateOrganization',
  summary: 'Change the organization’s name and settings',
  scope: 'organization:update:write',
  supportsIfMatch: false,
  body: { component: 'OrganizationUpdate', shape: settingsShape, required: true },
  audited: 'organization.updated',
  responses: { 200: organization },
  async handle({ db, caller, body }) {
    const fields = await updateOrganization(db, body)
    // Thrown after the change but inside its transaction, which is then rolled back.
    if (fields.includes('requiresSecondFactor'))
      await assertMayRequireSecondFactor(db, caller, body.requiresSecondFactor === true)
    const text = await readOrganization(db)
    return { status: 200, text, effect: fields.length === 0 ? 'none' : { fields } }
  },
})

/**
 * Only a recently authenticated owner, and to require a second factor only one who has used one: others would lock
 * themselves out.
 */
async function assertMayRequireSecondFactor(db: Transaction, caller: Caller, isRequired: boolean): Promise<void> {
  const { kind, userId, credentialId: sessionId } = caller
  const status = kind === 'session' ? await findAuthenticationStatus(db, { userId, sessionId }) : undefined
  if (status?.role !== 'owner') {
    throw new ApiError(
      'insufficient_permissions',
      'Only a logged-in owner can change requiresSecondFactor; API keys and other members cannot.',
    )
  }
  if (!status.hasRecentAuthentication) throw reauthenticationRequired()
  if (isRequired && !status.isStrong) {
    throw new ApiError(
      'second_factor_required',
      'Set up a second factor under /v5/me, or log in with yours, before you require it; otherwise you would lock yourself out.',
    )
  }
}

const accountBase = { ...common, kind: 'account' } as const

const list: AccountRoute = {
  ...accountBase,
  method: 'GET',
  path: '/v5/me/organizations',
  operation: 'listOwnOrganizations',
  summary: 'List your organizations',
  description:
    'Also works if the session’s current organization rejects it: after the person was removed from it, or while it requires a second factor.',
  query: { kind: 'array', item: membershipsSchema.items },
  responses: { 200: { kind: 'schema', component: 'OwnOrganizations', schema: membershipsSchema } },
  handle: inPages(membershipsSchema.items, async ({ person, db }: AccountRequest) => ({
    status: 200,
    text: await readMemberships(db, person),
  })),
}

/** Organizations that a person can own. */
const maxOwned = 20

const create = accountRoute({
  ...accountBase,
  method: 'POST',
  path: '/v5/me/organizations',
  operation: 'createOrganization',
  summary: 'Create an organization',
  description:
    'The person becomes its owner. With `SIGN_UP=open`, anyone can; otherwise only people who already own an organization. The session stays in its organization.',
  body: { component: 'OrganizationCreate', shape: newShape, required: true },
  responses: { 201: membership },
  errors: [403, 409],
  async handle({ services, client, person, db, body }) {
    // Otherwise an invited viewer could create organizations on a service that is closed to new customers.
    const owned = await countOwned(db, person.userId)
    if (services.signUp !== 'open' && owned === 0) {
      throw new ApiError(
        'insufficient_permissions',
        'On this service, only people who already own an organization can create one (SIGN_UP).',
      )
    }
    // Organizations take turns, so that a person with many of them would get more turns than others.
    if (owned >= maxOwned) {
      const description = `You own ${owned} organizations, and can own at most ${maxOwned}. Those that are being deleted count.`
      throw new ApiError('limit_reached', description)
    }
    const name = String(body.name)
    const slug = newSlug(name)
    if (slug === undefined) throw invalidBody([{ field: 'name', message: 'expected at least one letter or digit' }])
    const id = newId()
    const { userId, sessionId } = person
    const timeZone = body.timeZone === undefined || body.timeZone === null ? undefined : String(body.timeZone)
    const organization = { id, name, slug, timeZone, teamId: newId(), ownerId: userId }
    await insertOrganization(db, organization, services.addFirstRecords)
    await chooseOrganization(db, { sessionId, organizationId: id, onlyIfNone: true })
    await recordEvent(db, { organizationId: id, action: 'organization.created', ...eventOf({ client, person }, id) })
    return { status: 201, text: JSON.stringify({ id: encodeId('org', id), name, slug, role: 'owner' }) }
  },
})

const eventOf = ({ client, person }: Pick<AccountRequest, 'client' | 'person'>, organizationId: string) => ({
  ...userActor(person.userId, client),
  recordType: 'organization',
  recordId: encodeId('org', organizationId),
})

const choose = accountRoute({
  ...accountBase,
  method: 'POST',
  path: '/v5/me/organization',
  operation: 'chooseOrganization',
  summary: 'Set the session’s current organization',
  description: 'Requests of this session that do not name an organization use this one.',
  body: { component: 'OrganizationChoice', shape: choiceShape, required: true },
  responses: { 200: membership },
  async handle({ person, db, body }) {
    const organizationId = decodeId('org', String(body.organizationId))
    const text = organizationId && (await readMembership(db, { organizationId, userId: person.userId }))
    if (!organizationId || text === undefined) {
      throw invalidBody([{ field: 'organizationId', message: 'you are not a member of an organization with this id' }])
    }
    await chooseOrganization(db, { sessionId: person.sessionId, organizationId })
    return { status: 200, text }
  },
})

const leave: AccountRoute = {
  ...accountBase,
  method: 'DELETE',
  path: '/v5/me/organizations/{organizationId}',
  operation: 'leaveOrganization',
  summary: 'Leave an organization',
  description:
    'The account and the session stay. An owner must have re-authenticated within the last five minutes, and the last owner cannot leave.',
  params: { organizationId: { prefix: 'org', resource: 'organization' } },
  responses: { 204: { kind: 'none' } },
  errors: [403, 404, 423],
  async handle({ services, client, person, db, params }) {
    const { userId, sessionId } = person
    const organizationId = params.organizationId ?? ''
    const role = await leaveOrganization(db, { organizationId, userId }, () => hasRecentAuthentication(db, sessionId))
    if (role === undefined) throw new ApiError('not_found', 'You are not a member of an organization with this id.')
    await services.removeBelongings(db, { organizationId, userId })
    await recordEvent(db, {
      ...eventOf({ client, person }, organizationId),
      organizationId,
      action: 'member.left',
      recordType: 'member',
      recordId: encodeId('usr', userId),
      details: { role },
    })
    return { status: 204 }
  },
}

export const organizationRoutes: Route[] = [
  read,
  update,
  ...[list, create, choose, leave, ...deletionRoutes].map(toRoute),
]
