import type { Database } from '../../platform/database/database.ts'
import type { Caller } from '../../platform/model/caller.ts'
import { Parameter, type Sql, sql } from '../../platform/model/sql.ts'
import type { ReachLevel } from '../../platform/model/reach.ts'

/** The role that an organization has defined, as its members and their keys have it. */
export interface CustomRole {
  /** The uuid. */
  id: string
  revision: number
  scopes: string[]
  /** By singular noun; a resource that is absent is seen completely. */
  reach: Record<string, ReachLevel>
}

/** The role with this id as an object; null without one. A role that anyone has cannot be deleted. */
export const customRoleSql = (organization: Sql, id: Sql): Sql => sql`(
  select json_build_object('id', roles.id, 'revision', revision, 'scopes', scopes, 'reach', reach)
  from roles where roles.organization_id = ${organization} and roles.id = ${id})`

/** A person (uuid) in an organization (uuid). */
interface Person {
  organizationId: string
  userId: string
}

interface Teams {
  teamIds: string[]
  colleagueIds: string[]
}

/** Without the default team (uuid): everyone belongs to it, so that teams would make no difference. */
const teamIdsSql = ({ organizationId, userId }: Person, defaultTeamId: Parameter): Sql => sql`array(
  select team_id from team_members
  where organization_id = ${organizationId}::uuid and id = ${userId}::uuid
    and not team_deleted and team_id <> ${defaultTeamId}::uuid
  order by team_id)`

const colleagueIdsSql = (person: Person, teamIds: Sql): Sql => sql`array(
  select ${person.userId}::uuid
  union select id from team_members
  where organization_id = ${person.organizationId}::uuid and team_id = any(${teamIds})
  order by 1)`

/** The caller with the restrictions of their role. If it depends on teams, each statement checks that they are the same. */
export async function withReach(database: Database, caller: Caller, { id, reach }: CustomRole): Promise<Caller> {
  const restricted = { ...caller, customRoleId: id }
  const levels = Object.fromEntries(Object.entries(reach).filter(([, level]) => level !== 'all'))
  if (Object.keys(levels).length === 0) return restricted
  const defaultTeamId = new Parameter(await findDefaultTeam(database, caller))
  const { teamIds, colleagueIds } = await findTeams(database, caller, defaultTeamId)
  const personal = {
    levels,
    userId: new Parameter(caller.userId),
    teamIds: new Parameter(teamIds),
    colleagueIds: new Parameter(colleagueIds),
    defaultTeamId,
  }
  const areTeamsSame = sql`${teamIdsSql(caller, defaultTeamId)} = ${personal.teamIds}::uuid[]
    and ${colleagueIdsSql(caller, sql`${personal.teamIds}::uuid[]`)} = ${personal.colleagueIds}::uuid[]`
  const live = Object.values(levels).includes('team') ? sql`(${caller.live} and ${areTeamsSame})` : caller.live
  return { ...restricted, reach: personal, live }
}

/** It never changes. */
async function findDefaultTeam(database: Database, { organizationId }: Person): Promise<string> {
  const [team] = await database.crossTenantQuery<{ id: string }>(
    'find the session of a request',
    sql`select id from teams where organization_id = ${organizationId}::uuid and is_default`,
  )
  if (!team) throw new Error('an organization always has a default team')
  return team.id
}

async function findTeams(database: Database, person: Person, defaultTeamId: Parameter): Promise<Teams> {
  const [teams] = await database.crossTenantQuery<Teams>(
    'find the session of a request',
    sql`select "teamIds", ${colleagueIdsSql(person, sql`"teamIds"`)} as "colleagueIds"
      from (select ${teamIdsSql(person, defaultTeamId)} as "teamIds") own`,
  )
  if (!teams) throw new Error('the statement of the teams returned no row')
  return teams
}
