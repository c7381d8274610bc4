import type { Connection, Transaction } from '../../platform/database/database.ts'
import { prepared, raw, sql } from '../../platform/model/sql.ts'
import { ApiError } from '../../platform/model/errors.ts'
import { decodeId, encodeId } from '../../platform/model/ids.ts'
import { standardStore } from '../../platform/records/write/store.ts'
import { teams } from './resource.ts'
import type { PendingChange } from '../../platform/records/declare/changes.ts'

/** Contacts need a team: the default team and teams with contacts or imports cannot be deleted. */
async function assertDeletable(transaction: Transaction, pending: readonly PendingChange[]): Promise<void> {
  const deleted = pending.filter(({ columns }) => typeof columns.deleted_at === 'string')
  if (deleted.length === 0) return
  if (deleted.some(({ before }) => before?.isDefault === true)) {
    throw new ApiError(
      'resource_locked',
      'The default team cannot be deleted, because contacts without another team belong to it.',
    )
  }
  const ids = deleted.map(({ id }) => id)
  // The team's row is locked, and new references lock it too, so no contact or import can be added meanwhile.
  const contacts = await transaction.query<{ id: string }>(sql`
    select id from contacts where organization_id = ${transaction.organization} and team_id = any(${ids}::uuid[])
      and deleted_at is null limit 1`)
  if (contacts.length > 0) {
    throw new ApiError('resource_locked', 'This team still has contacts. Move them to another team first.')
  }
  const imports = await transaction.query<{ id: string }>(sql`
    select id from imports where organization_id = ${transaction.organization} and team_id = any(${ids}::uuid[])
      and deleted_at is null limit 1`)
  if (imports.length > 0) {
    throw new ApiError('resource_locked', 'An import still uses this team. Change the import’s team first.')
  }
}

export const teamStore = standardStore(teams, {
  async beforeWrite(transaction, pending) {
    // The members of a restored team see its records again.
    if (pending.some(({ before, columns }) => before && columns.deleted_at === null)) assertMayShareTeams(transaction)
    await assertDeletable(transaction, pending)
  },
  afterWrite: (transaction, _written, pending) => markMembers(transaction, pending),
})

/** The members of a deleted team do not see records through it, until it is restored. */
async function markMembers(transaction: Transaction, pending: readonly PendingChange[]): Promise<void> {
  const changed = pending.filter(({ before, columns }) => before && columns.deleted_at !== undefined)
  for (const { id, columns } of changed) {
    await transaction.query(sql`
      update team_members set team_deleted = ${columns.deleted_at !== null}::boolean
      where organization_id = ${transaction.organization} and team_id = ${id}::uuid`)
  }
}

/** A person's teams decide which records they see: somebody who does not see all records cannot add to them. Error: 403. */
export function assertMayShareTeams({ actor }: Connection): void {
  if (!actor.reach) return
  throw new ApiError(
    'insufficient_permissions',
    'Your role does not see all records, so you cannot give people the records of a team. Ask an owner or an admin.',
  )
}

/** The id (in the format of the API) of the team with this name, ignoring case and accents. */
export async function findTeam(db: Connection, name: string): Promise<string | undefined> {
  const [team] = await db.query<{ id: string }>(
    sql`select id from teams where organization_id = ${db.organization} and fold(name) = fold(${name}) and deleted_at is null`,
  )
  return team && encodeId('tea', team.id)
}

/** Assigns the default team to new records without a team, and to restored records whose team was deleted. */
export async function assignTeams(
  transaction: Transaction,
  pending: readonly PendingChange[],
  defaultTeam = findDefaultTeam,
): Promise<void> {
  const restored = pending.filter(({ before, columns }) => before && columns.deleted_at === null)
  const deletedTeamIds = await findDeletedTeams(
    transaction,
    restored.map(({ before }) => decodeId('tea', String(before?.teamId)) ?? ''),
  )
  const withoutTeam = pending.filter(({ before, values }) =>
    before ? deletedTeamIds.has(String(before.teamId)) : (values.teamId ?? null) === null,
  )
  if (withoutTeam.length === 0) return
  const teamId = encodeId('tea', await defaultTeam(transaction))
  for (const one of withoutTeam) one.values.teamId = teamId
}

export async function isDefaultTeam(transaction: Transaction, id: string): Promise<boolean> {
  const found = await transaction.query(sql`
    select id from teams where organization_id = ${transaction.organization} and id = ${id}::uuid and is_default`)
  return found.length > 0
}

/** One row of each organization, stored with its records. */
export const organizationsByRecords = raw('(select organization_id from teams where is_default)')

/** The id of the default team; every organization has one. */
export async function findDefaultTeam(transaction: Transaction): Promise<string> {
  const [team] = await transaction.query<{ id: string }>(
    prepared(sql`select id from teams where organization_id = ${transaction.organization} and is_default`),
  )
  if (!team) throw new Error('an organization always has a default team')
  return team.id
}

/** Which of these teams (uuids) are deleted, as API ids. The others cannot be deleted until the transaction ends. */
async function findDeletedTeams(transaction: Transaction, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const rows = await transaction.query<{ id: string; deleted: boolean }>(sql`
    select id, deleted_at is not null as deleted from teams
    where organization_id = ${transaction.organization} and id = any(${ids}::uuid[]) order by id for key share`)
  return new Set(rows.filter(({ deleted }) => deleted).map(({ id }) => encodeId('tea', id)))
}
