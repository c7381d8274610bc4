import type { Database } from '../../platform/database/database.ts'
import type { Caller } from '../../platform/model/caller.ts'
import { Parameter, type Sql, sql } from '../../platform/model/sql.ts'
import type { PersonalReach, ReachLevel } from '../../platform/model/reach.ts'

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

/** A person (uuid) in an organization. */
interface Person {
  organization: Sql
  userId: string
}

interface Teams {
  teamIds: string[]
  colleagueIds: string[]
}

/** Without the default team (uuid): everyone belongs to it, so that teams would make no difference. */
const teamIdsSql = ({ organization, userId }: Person, defaultTeamId: Parameter): Sql => sql`array(
  select team_id from team_members
  where organization_id = ${organization} and id = ${userId}::uuid
    and not team_deleted and team_id <> ${defaultTeamId}::uuid
  order by team_id)`

const colleagueIdsSql = (person: Person, teamIds: Sql): Sql => sql`array(
  select ${person.userId}::uuid
  union select id from team_members
  where organization_id = ${person.organization} and team_id = any(${teamIds})
  order by 1)`

/** The caller with the restrictions of their role. If it depends on teams, each statement checks that they are the same. */
export async function withReach(database: Database, caller: Caller, { id, reach }: CustomRole): Promise<Caller> {
  const restricted = { ...caller, customRoleId: id }
  const person = { organization: sql`${caller.organizationId}::uuid`, userId: caller.userId }
  const purpose = 'find the session of a request'
  const personal = await readReach((statement) => database.crossTenantQuery(purpose, statement), person, reach)
  if (!personal) return restricted
  const { defaultTeamId } = personal
  const areTeamsSame = sql`${teamIdsSql(person, defaultTeamId)} = ${personal.teamIds}::uuid[]
    and ${colleagueIdsSql(person, sql`${personal.teamIds}::uuid[]`)} = ${personal.colleagueIds}::uuid[]`
  const live = Object.values(personal.levels).includes('team') ? sql`(${caller.live} and ${areTeamsSame})` : caller.live
  return { ...restricted, reach: personal, live }
}

type Query = <Row extends object>(statement: Sql) => Promise<Row[]>

/** What the person sees with this reach; undefined if they see all records. */
export async function readReach(
  query: Query,
  person: Person,
  reach: CustomRole['reach'],
): Promise<PersonalReach | undefined> {
  const levels = Object.fromEntries(Object.entries(reach).filter(([, level]) => level !== 'all'))
  if (Object.keys(levels).length === 0) return undefined
  const defaultTeamId = new Parameter(await findDefaultTeam(query, person))
  const { teamIds, colleagueIds } = await findTeams(query, person, defaultTeamId)
  return {
    levels,
    userId: new Parameter(person.userId),
    teamIds: new Parameter(teamIds),
    colleagueIds: new Parameter(colleagueIds),
    defaultTeamId,
  }
}

/** It never changes. */
async function findDefaultTeam(query: Query, { organization }: Person): Promise<string> {
  const [team] = await query<{ id: string }>(
    sql`select id from teams where organization_id = ${organization} and is_default`,
  )
  if (!team) throw new Error('an organization always has a default team')
  return team.id
}

async function findTeams(query: Query, person: Person, defaultTeamId: Parameter): Promise<Teams> {
  const [teams] = await query<Teams>(
    sql`select "teamIds", ${colleagueIdsSql(person, sql`"teamIds"`)} as "colleagueIds"
      from (select ${teamIdsSql(person, defaultTeamId)} as "teamIds") own`,
  )
  if (!teams) throw new Error('the statement of the teams returned no row')
  return teams
}
