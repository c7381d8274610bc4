import type { Actor } from './caller.ts'
import type { Resource } from './define.ts'
import type { JsonObject } from './fields.ts'
import type { Parameter, Sql } from './sql.ts'

/** Which records of a resource a role sees: all, those of the person's teams, or the person's own. */
export const reachLevels = ['all', 'team', 'own'] as const
export type ReachLevel = (typeof reachLevels)[number]

/** Does one level include everything that the other one does? */
export const includesLevel = (level: ReachLevel, other: ReachLevel): boolean =>
  reachLevels.indexOf(level) <= reachLevels.indexOf(other)

/** The reach of a person with a custom role. The values are shared by all conditions of a statement. */
export interface PersonalReach {
  /** By singular noun; a resource that is absent is seen completely. */
  levels: Readonly<Record<string, ReachLevel>>
  /** The person (uuid). */
  userId: Parameter
  /** The person's teams (uuids), without the default team, to which everyone belongs. */
  teamIds: Parameter
  /** The members of those teams (uuids), including the person. */
  colleagueIds: Parameter
  /** Records in the default team (uuid) count as having no team. */
  defaultTeamId: Parameter
}

/** On whose behalf a statement runs, as far as it decides which records it reaches. */
export type Reader = Pick<Actor, 'kind' | 'userId' | 'role' | 'reach'>

/** Which records of a resource an actor sees and changes. For everyone else a record does not exist: 404. */
export interface Reach {
  /** The field with the person whose own record it is: the owner or the assignee. Roles can restrict such resources. */
  ownerField?: string
  /** The field with the record's team. Without one, a record belongs to the teams of its owner. */
  teamField?: string
  /** Other records that it names: it is within reach only if they are. */
  follows?: readonly Followed[]
  /**
   * A boolean for the record in the table `record`; undefined if the actor sees all of them. Only the kind of the actor
   * may change its text, because prepared statements have one text for each kind.
   */
  sees?(actor: Reader, record: Sql): Sql | undefined
  /** May the actor change a record that they see? Otherwise 403. */
  mayChange?(actor: Reader, record: JsonObject): boolean
}

/** A record that another one names in a column. */
export interface Followed {
  resource: Resource
  column: string
  /** True if a record without a value is not seen either. */
  isRequired?: true
  /** Only records with this value in this column name it. */
  when?: { column: string; equals: string }
}

/** The reach of records that belong to a person, and maybe to a team. */
export const ownedBy = (ownerField: string, teamField?: string): Reach => ({
  ownerField,
  ...(teamField !== undefined && { teamField }),
})
