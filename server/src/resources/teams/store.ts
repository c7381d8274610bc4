import type { Transaction } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'
import { ApiError } from '../../platform/http/errors.ts'
import { showId } from '../../platform/resource/ids.ts'
import { standardStore } from '../../platform/resource/routes.ts'
import type { Pending } from '../../platform/resource/write.ts'
import { teams } from './resource.ts'

/** Contacts need a team: the default one stays, and so does one that still has contacts. */
async function refuseNeeded(transaction: Transaction, pending: readonly Pending[]): Promise<void> {
  const deleted = pending.filter(({ columns }) => typeof columns.deleted_at === 'string')
  if (deleted.length === 0) return
  if (deleted.some(({ before }) => before?.isDefault === true)) {
    throw new ApiError(
      'resource_locked',
      'The default team cannot be deleted: contacts that name no team belong to it.',
    )
  }
  const ids = deleted.map(({ id }) => id)
  // The team's row is locked by now, and a contact's foreign key locks it too: no contact can slip in.
  const kept = await transaction.query<{ id: string }>(sql`
    select id from contacts where organization_id = ${transaction.organization} and team_id = any(${ids}::uuid[])
      and deleted_at is null limit 1`)
  if (kept.length > 0) {
    throw new ApiError('resource_locked', 'This team still has contacts. Move them to another team first.')
  }
}

export const teamStore = standardStore(teams, { resolve: refuseNeeded })

/** The default team's id, which every organization has. */
export async function defaultTeam(transaction: Transaction): Promise<string> {
  const [team] = await transaction.query<{ id: string }>(
    sql`select id from teams where organization_id = ${transaction.organization} and is_default`,
  )
  if (!team) throw new Error('an organization always has a default team')
  return team.id
}

/** Which of these teams (uuids) are deleted, as ids in the form of the answers. The others stay until the transaction ends. */
export async function deletedTeams(transaction: Transaction, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const rows = await transaction.query<{ id: string; deleted: boolean }>(sql`
    select id, deleted_at is not null as deleted from teams
    where organization_id = ${transaction.organization} and id = any(${ids}::uuid[]) order by id for key share`)
  return new Set(rows.filter(({ deleted }) => deleted).map(({ id }) => showId('tea', id)))
}
