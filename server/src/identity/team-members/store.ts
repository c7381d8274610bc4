import type { Transaction } from '../../platform/database/database.ts'
import { sql } from '../../platform/model/sql.ts'
import { ApiError } from '../../platform/model/errors.ts'
import { assertParent } from '../../platform/records/write/parent.ts'
import { notFound } from '../../platform/records/page/read.ts'
import { standardStore } from '../../platform/records/write/store.ts'
import { members } from '../members/resource.ts'
import { assertMayShareTeams, isDefaultTeam } from '../teams/store.ts'
import { teamMembers } from './resource.ts'

export const teamMemberStore = standardStore(teamMembers)

/** A member of a team; uuids. */
interface TeamMember {
  teamId: string
  memberId: string
}

/** Adds the member to the team; false if they already are in it. Errors: 403, 404. */
export async function joinTeam(transaction: Transaction, { teamId, memberId }: TeamMember): Promise<boolean> {
  assertMayShareTeams(transaction)
  await assertParent(transaction, teamMembers, teamId)
  const found = await transaction.query(sql`
    select id from members where organization_id = ${transaction.organization} and id = ${memberId}::uuid for key share`)
  if (found.length === 0) throw notFound(members)
  const added = await transaction.query(sql`
    insert into team_members (organization_id, team_id, id)
    values (${transaction.organization}, ${teamId}::uuid, ${memberId}::uuid) on conflict do nothing returning id`)
  return added.length > 0
}

/** Removes the member from the team. Errors: 404, 423 for the default team. */
export async function leaveTeam(transaction: Transaction, { teamId, memberId }: TeamMember): Promise<void> {
  await assertParent(transaction, teamMembers, teamId)
  // Sent together.
  const [isDefault, removed] = await Promise.all([
    isDefaultTeam(transaction, teamId),
    transaction.query(sql`
      delete from team_members where organization_id = ${transaction.organization} and team_id = ${teamId}::uuid
        and id = ${memberId}::uuid returning id`),
  ])
  if (removed.length === 0) throw notFound(teamMembers)
  // Thrown inside the transaction, which is then rolled back.
  if (isDefault)
    throw new ApiError('resource_locked', 'Every member belongs to the default team and cannot be removed from it.')
}
