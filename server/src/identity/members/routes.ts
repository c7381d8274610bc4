import { type MemberRole, memberRoles } from '../../platform/model/scopes.ts'
import { ApiError } from '../../platform/model/errors.ts'
import { type Route, type WriteRoute, writeRoute } from '../../platform/http/route.ts'
import { bodyShape } from '../../platform/records/request/body.ts'
import { notFound } from '../../platform/records/page/read.ts'
import { changeOne, RouteGroup, standardRoutes } from '../../platform/records/routes/standard-routes.ts'
import { members } from './resource.ts'
import { assertMayChange, memberStore, removeMember } from './store.ts'

const group = new RouteGroup(memberStore, '/v5/members')

const rules =
  'Only an owner who has re-authenticated within the last five minutes can make, change or remove an owner. The last owner cannot be changed. Nobody can assign a custom role that has scopes they lack or that sees more records.'

const update = writeRoute({
  ...group.changeRoute('update'),
  summary: 'Change a member’s role',
  description: `Takes effect with the member’s next request. ${rules}`,
  body: { component: 'MemberUpdate', shape: bodyShape(members, 'update'), required: true },
  audited: 'member.updated',
  errors: [423],
  async handle(request) {
    const { db, caller, params, body } = request
    const roleId = typeof body.roleId === 'string' ? body.roleId : undefined
    const role = roleId === undefined ? roleOf(body.role) : 'custom'
    if (role) {
      const change = { memberId: group.id(params), role, ...(roleId !== undefined && { roleId }) }
      await assertMayChange(db, caller, change)
    }
    const response = await changeOne(group, request, { values: body })
    const { effect } = response
    return role && effect !== 'none'
      ? { ...response, effect: { ...effect, details: { role, ...(roleId !== undefined && { roleId }) } } }
      : response
  },
})

const roleOf = (value: unknown): MemberRole | undefined => memberRoles.find((role) => role === value)

const remove: WriteRoute = {
  ...group.changeRoute('delete'),
  summary: 'Remove a member',
  description: `Takes effect with the person’s next request; their other organizations are not affected. Records that they owned or wrote keep their id. API keys that they created stay valid until somebody revokes them. They can return by invitation, but not by a login at a provider. ${rules}`,
  audited: 'member.removed',
  errors: [423],
  async handle({ services, db, caller, params, revisions }) {
    const memberId = group.id(params)
    await assertMayChange(db, caller, { memberId, role: null })
    const outcome = await removeMember(db, memberId, revisions)
    if (outcome === 'unknown') throw notFound(members)
    if (outcome === 'changed')
      throw new ApiError('precondition_failed', 'The member has changed since you read it; read it again.')
    await services.removeBelongings(db, { organizationId: db.organizationId, userId: memberId })
    return { status: 204 }
  },
}

export const memberRoutes: Route[] = [
  ...standardRoutes(memberStore, { path: group.path, operations: ['list', 'count', 'get'] }),
  update,
  remove,
]
