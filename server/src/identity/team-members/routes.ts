import type { Part } from '../../platform/http/part.ts'
import type { WriteRoute } from '../../platform/http/route.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { readRecord } from '../../platform/records/page/read.ts'
import { RouteGroup, standardRoutes } from '../../platform/records/routes/standard-routes.ts'
import { teams } from '../teams/resource.ts'
import { teamMembers } from './resource.ts'
import { joinTeam, leaveTeam, teamMemberStore } from './store.ts'

const group = new RouteGroup(teamMemberStore, '/v5/teams/{teamId}/members')

const one = {
  kind: 'write',
  path: group.recordPath,
  tag: 'teams',
  params: group.recordParams,
  query: { kind: 'none' },
  supportsIfMatch: false,
} satisfies Partial<WriteRoute>

const idsOf = (params: Record<string, string>) => ({
  teamId: group.parentId(params) ?? '',
  memberId: group.id(params),
})

/** In the audit log, the record is the member. */
const auditDetails = (teamId: string) => ({ details: { teamId: encodeId(teams.idPrefix, teamId) } })

const add: WriteRoute = {
  ...one,
  method: 'POST',
  operation: group.operation('add'),
  summary: 'Add a member to a team',
  description:
    'If the member is already in the team, nothing changes. Roles can depend on teams: a person whose role does not see all records cannot add anyone.',
  scope: group.scope('create', 'write'),
  audited: 'team-member.added',
  responses: { 200: group.record },
  async handle({ db, params }) {
    const { teamId, memberId } = idsOf(params)
    const isNew = await joinTeam(db, { teamId, memberId })
    const record = await readRecord(db, teamMembers, memberId, { parentId: teamId })
    return { status: 200, ...record, effect: isNew ? auditDetails(teamId) : 'none' }
  },
}

const remove: WriteRoute = {
  ...one,
  method: 'DELETE',
  operation: group.operation('remove'),
  summary: 'Remove a member from a team',
  description: 'Members cannot be removed from the default team.',
  scope: group.scope('delete', 'write'),
  audited: 'team-member.removed',
  responses: { 204: { kind: 'none' } },
  errors: [423],
  async handle({ db, params }) {
    const ids = idsOf(params)
    await leaveTeam(db, ids)
    return { status: 204, effect: auditDetails(ids.teamId) }
  },
}

export const teamMemberPart: Part = {
  resources: [teamMembers],
  routes: [
    ...standardRoutes(teamMemberStore, { path: group.path, operations: ['list', 'count', 'get'] }).map((route) => ({
      ...route,
      tag: 'teams',
    })),
    add,
    remove,
  ],
}
