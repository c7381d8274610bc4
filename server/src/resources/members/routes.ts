import { type Role, roles } from '../../platform/access/scopes.ts'
import { ApiError } from '../../platform/http/errors.ts'
import type { Route, WriteRoute } from '../../platform/http/route.ts'
import { bodyShape } from '../../platform/resource/body.ts'
import { notFound } from '../../platform/resource/read.ts'
import { changeOne, Place, standardRoutes } from '../../platform/resource/routes.ts'
import { members } from './resource.ts'
import { assertMayChange, memberStore, removeMember } from './store.ts'

const place = new Place(memberStore, '/v5/members')

const rules =
  'What is about an owner takes an owner who has proved who they are within the last five minutes. The last owner stays one.'

const update: WriteRoute = {
  ...place.change('update'),
  summary: 'Change a member’s role',
  description: `It counts from the member’s next request on. ${rules}`,
  body: { component: 'MemberUpdate', shape: bodyShape(members, 'update'), required: true },
  audited: 'member.updated',
  errors: [423],
  async handle(request) {
    const { db, caller, params, body } = request
    const role = roleOf(body.role)
    if (role) await assertMayChange(db, caller, { memberId: place.id(params), role })
    const answer = await changeOne(place, request, { values: body })
    const { effect } = answer
    return role && effect !== 'none' ? { ...answer, effect: { ...effect, details: { role } } } : answer
  },
}

const roleOf = (value: unknown): Role | undefined => roles.find((role) => role === value)

const remove: WriteRoute = {
  ...place.change('delete'),
  summary: 'Remove a member',
  description: `The person is out with their next request, and stays in their other organizations. What they owned and wrote keeps their id; API keys that they made stay good until somebody revokes them. An invitation brings them back, a log-in at a provider does not. ${rules}`,
  audited: 'member.removed',
  errors: [423],
  async handle({ db, caller, params, revisions }) {
    const memberId = place.id(params)
    await assertMayChange(db, caller, { memberId, role: null })
    const outcome = await removeMember(db, memberId, revisions)
    if (outcome === 'unknown') throw notFound(members)
    if (outcome === 'changed') throw new ApiError('precondition_failed', 'The member was changed since; read it again.')
    return { status: 204 }
  },
}

export const memberRoutes: Route[] = [
  ...standardRoutes(memberStore, { at: place.at, operations: ['list', 'count', 'get'] }),
  update,
  remove,
]
