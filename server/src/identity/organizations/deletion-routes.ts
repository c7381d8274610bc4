import { lockMembership } from '../members/store.ts'
import { userActor } from '../../platform/audit/actor.ts'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { ApiError, invalidBody } from '../../platform/model/errors.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { type AccountRoute, accountRoute } from '../access/account-route.ts'
import { secondFactorRequired } from '../access/auth-errors.ts'
import { cancelDeletion, graceDays, lacksSecondFactor, lockDeletion, scheduleDeletion } from './deletion-store.ts'
import { isFirst } from './store.ts'
import { deletionSchema, deletionShape } from './resource.ts'

const common = {
  kind: 'account',
  tag: 'organizations',
  path: '/v5/me/organizations/{organizationId}/deletion',
  params: { organizationId: { prefix: 'org', resource: 'organization' } },
  query: { kind: 'none' },
  requiresRecentAuthentication: true,
} as const

const schedule = accountRoute({
  ...common,
  method: 'POST',
  operation: 'scheduleOrganizationDeletion',
  summary: 'Delete an organization',
  description: `For its owners, who must have re-authenticated within the last five minutes. The organization refuses access immediately: to its members, API keys and imports. It is deleted after ${graceDays} days with everything it contains, which cannot be undone; until then, an owner can undo it. Export what you need first. If it is already scheduled, nothing changes.`,
  body: { component: 'OrganizationDeletion', shape: deletionShape, required: true },
  responses: { 200: { kind: 'schema', component: 'ScheduledOrganizationDeletion', schema: deletionSchema } },
  errors: [403, 404, 423],
  async handle({ client, person, db, params, body }) {
    const organizationId = params.organizationId ?? ''
    const { name, deletesAt } = await lockOwned(db, organizationId, person)
    if (body.name !== name) throw invalidBody([{ field: 'name', message: 'is not the name of this organization' }])
    // The owners of the first one see the state of the installation: the next one must not inherit that.
    if (await isFirst(db, organizationId)) {
      throw new ApiError(
        'resource_locked',
        'This organization belongs to the operator of the service, who can delete it with `rapport organization delete`.',
      )
    }
    const at = deletesAt ?? (await scheduleDeletion(db, organizationId, userActor(person.userId, client)))
    const text = JSON.stringify({ id: encodeId('org', organizationId), name, deletesAt: at.toISOString() })
    return { status: 200, text }
  },
})

const cancel: AccountRoute = {
  ...common,
  method: 'DELETE',
  operation: 'cancelOrganizationDeletion',
  summary: 'Undo the deletion of an organization',
  description:
    'For its owners, who must have re-authenticated within the last five minutes. Do not send `Service-Organization-ID`, because the organization refuses access. If it is not being deleted, nothing changes.',
  responses: { 204: { kind: 'none' } },
  errors: [403, 404],
  async handle({ client, person, db, params }) {
    const organizationId = params.organizationId ?? ''
    const { deletesAt } = await lockOwned(db, organizationId, person)
    if (deletesAt) await cancelDeletion(db, organizationId, userActor(person.userId, client))
    return { status: 204 }
  },
}

/**
 * Locks the organization, of which the person must be an owner, logged in with a second factor if it requires one. Errors:
 * 403, 404.
 */
async function lockOwned(
  db: CrossTenantConnection,
  organizationId: string,
  { userId, sessionId }: { userId: string; sessionId: string },
): Promise<{ name: string; deletesAt: Date | null }> {
  const organization = await lockDeletion(db, organizationId)
  const role = organization && (await lockMembership(db, { organizationId, userId }))
  if (!organization || role === undefined)
    throw new ApiError('not_found', 'You are not a member of an organization with this id.')
  if (role !== 'owner') throw new ApiError('insufficient_permissions', 'Only an owner can delete an organization.')
  if (await lacksSecondFactor(db, { organizationId, sessionId })) throw secondFactorRequired()
  return organization
}

export const deletionRoutes: AccountRoute[] = [schedule, cancel]
