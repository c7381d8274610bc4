import type { Parameter } from './sql.ts'

export type ReachLevel = (typeof reachLevels)[number]

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

/** Which records of a resource a role sees: all, those of the person's teams, or the person's own. */
export const reachLevels = ['all', 'team', 'own'] as const

/** Does one level include everything that the other one does? */
export const includesLevel = (level: ReachLevel, other: ReachLevel): boolean =>
  reachLevels.indexOf(level) <= reachLevels.indexOf(other)
