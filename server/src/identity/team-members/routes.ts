import type { Part } from '../../platform/http/part.ts'
import type { WriteRoute } from '../../platform/http/route.ts'
import { showId } from '../../platform/model/ids.ts'
import { readRecord } from '../../platform/resource/read.ts'
import { RouteGroup, standardRoutes } from '../../platform/routes/standard-routes.ts'
import { teams } from '../teams/resource.ts'
import { teamMembers } from './resource.ts'
import { joinTeam, leaveTeam, teamMemberStore } from './store.ts'

const place = new RouteGroup(teamMemberStore, '/v5/teams/{teamId}/members')

const one = {
  kind: 'write',
  path: place.recordPath,
  tag: 'teams',
  params: place.recordParams,
  query: { kind: 'none' },
  supportsIfMatch: false,
} satisfies Partial<WriteRoute>

const idsOf = (params: Record<string, string>) => ({
  teamId: place.parentId(params) ?? '',
  memberId: place.id(params),
})

/** The audit log names the member as the record. */
const auditDetails = (teamId: string) => ({ details: { teamId: showId(teams.idPrefix, teamId) } })

const add: WriteRoute = {
  ...one,
  method: 'POST',
  operation: place.operation('add'),
  summary: 'Add a member to a team',
  description: 'If the member is already in the team, nothing changes.',
  scope: place.scope('create', 'write'),
  audited: 'team-member.added',
  responses: { 200: place.record },
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
  operation: place.operation('remove'),
  summary: 'Remove a member from a team',
  description: 'Members cannot be removed from the default team.',
  scope: place.scope('delete', 'write'),
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
    ...standardRoutes(teamMemberStore, { path: place.path, operations: ['list', 'count', 'get'] }).map((route) => ({
      ...route,
      tag: 'teams',
    })),
    add,
    remove,
  ],
}
