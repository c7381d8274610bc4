import type { Part } from '../../platform/http/part.ts'
import type { WriteRoute } from '../../platform/http/route.ts'
import { showId } from '../../platform/model/ids.ts'
import { readRecord } from '../../platform/resource/read.ts'
import { Place, standardRoutes } from '../../platform/routes/standard-routes.ts'
import { teams } from '../teams/resource.ts'
import { teamMembers } from './resource.ts'
import { joinTeam, leaveTeam, teamMemberStore } from './store.ts'

const place = new Place(teamMemberStore, '/v5/teams/{teamId}/members')

const one = {
  kind: 'write',
  path: place.one,
  tag: 'teams',
  params: place.recordParams,
  query: { kind: 'none' },
  conditional: false,
} satisfies Partial<WriteRoute>

const namesOf = (params: Record<string, string>) => ({
  teamId: place.parentId(params) ?? '',
  memberId: place.id(params),
})

/** The audit log names the member as the record. */
const told = (teamId: string) => ({ details: { teamId: showId(teams.idPrefix, teamId) } })

const add: WriteRoute = {
  ...one,
  method: 'POST',
  operation: place.operation('add'),
  summary: 'Add a member to a team',
  description: 'If the member is already in the team, nothing changes.',
  scope: place.scope('create', 'write'),
  audited: 'team-member.added',
  answers: { 200: place.record },
  async handle({ db, params }) {
    const { teamId, memberId } = namesOf(params)
    const isNew = await joinTeam(db, { teamId, memberId })
    const record = await readRecord(db, teamMembers, memberId, { parentId: teamId })
    return { status: 200, ...record, effect: isNew ? told(teamId) : 'none' }
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
  answers: { 204: { kind: 'none' } },
  errors: [423],
  async handle({ db, params }) {
    const names = namesOf(params)
    await leaveTeam(db, names)
    return { status: 204, effect: told(names.teamId) }
  },
}

export const teamMemberPart: Part = {
  resources: [teamMembers],
  routes: [
    ...standardRoutes(teamMemberStore, { at: place.at, operations: ['list', 'count', 'get'] }).map((route) => ({
      ...route,
      tag: 'teams',
    })),
    add,
    remove,
  ],
}
