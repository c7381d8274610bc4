import { recentAuthenticationSeconds } from '../access/account-store.ts'
import type { Caller } from '../../platform/model/caller.ts'
import { reauthenticationRequired } from '../access/auth-errors.ts'
import { isBuiltIn, type MemberRole } from '../../platform/model/scopes.ts'
import type { CrossTenantConnection, Transaction } from '../../platform/database/database.ts'
import { prepared, type Sql, sql } from '../../platform/model/sql.ts'
import { ApiError } from '../../platform/model/errors.ts'
import { standardStore } from '../../platform/records/write/store.ts'
import { revokeLinks } from '../auth/store.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { roles } from '../roles/resource.ts'
import { assertMayAssign } from '../roles/store.ts'
import { members } from './resource.ts'
import type { WrittenRecord } from '../../platform/records/declare/changes.ts'

export const memberStore = standardStore(members, { afterWrite: revokeLinksOfChanged })

async function revokeLinksOfChanged(transaction: Transaction, written: readonly WrittenRecord[]): Promise<void> {
  for (const { id: userId, before, after } of written) {
    if (before?.role === after.role && before?.roleId === after.roleId) continue
    await revokeOpenLinks(transaction, { organization: transaction.organization, userId })
    await endCachedKeys(transaction, { organization: transaction.organization, userId })
  }
}

/**
 * The caller's user (uuid) if they are a member, who then cannot be removed until the transaction ends; undefined for
 * the service itself, and for an API key whose creator has left.
 */
export async function findCallerMember(transaction: Transaction): Promise<string | undefined> {
  const { userId } = transaction.actor
  if (userId === null) return undefined
  const members = await transaction.query(
    prepared(sql`
    select from members
    where organization_id = ${transaction.organization} and user_id = ${userId}::uuid for key share`),
  )
  return members.length > 0 ? userId : undefined
}

/** A change of a member's role; ids are uuids. */
export interface RoleChange {
  /** Undefined for a person who is not a member yet. */
  memberId?: string
  /** The new role; null to remove the member. */
  role: MemberRole | null
  /** The id of the custom role (`rol_…`). */
  roleId?: string
}

/**
 * Checks that the caller can make this change, and locks roles until the transaction ends, so that of two owners who
 * leave at the same time, the second sees that the first is gone. An unknown member passes. Errors: 403
 * `insufficient_permissions`, `reauthentication_required`; 423 for the last owner.
 */
export async function assertMayChange(transaction: Transaction, caller: Caller, change: RoleChange): Promise<void> {
  await lockRoles(transaction)
  const currentMembers = await transaction.query<CurrentMember>(
    currentMembersSql(transaction.organization, [change.memberId, caller.userId]),
  )
  const before = currentMembers.find(({ id }) => id === change.memberId)
  if (change.memberId !== undefined && !before) return
  await assertMayChangeRole(transaction, caller, before, change)
  if (before?.role !== 'owner' && change.role !== 'owner') return
  if (currentMembers.find(({ id }) => id === caller.userId)?.role !== 'owner') {
    throw new ApiError('insufficient_permissions', 'Only an owner can make, change or remove an owner.')
  }
  if (caller.kind === 'session' && !(await hasRecentAuthentication(transaction, caller.credentialId)))
    throw reauthenticationRequired()
  assertOwnerRemains(currentMembers, change)
}

/** Nobody can give a role that allows more than their own; people with a custom role cannot take such a one away either. */
async function assertMayChangeRole(
  transaction: Transaction,
  caller: Caller,
  before: CurrentMember | undefined,
  { role, roleId }: RoleChange,
): Promise<void> {
  if (caller.customRoleId !== undefined && [before?.role, role].some((one) => one && isBuiltIn(one))) {
    throw new ApiError(
      'insufficient_permissions',
      'Your role lets you assign and take away custom roles only. Ask an owner or an admin.',
    )
  }
  if (caller.customRoleId !== undefined && before?.roleId)
    await assertMayAssign(transaction, caller, encodeId(roles.idPrefix, before.roleId))
  if (roleId !== undefined) await assertMayAssign(transaction, caller, roleId)
}

interface CurrentMember {
  id: string
  role: MemberRole
  /** The uuid of a custom role. */
  roleId: string | null
  /** The person cannot log in, so they do not count as an owner who remains. */
  isDisabled: boolean
}

function assertOwnerRemains(currentMembers: readonly CurrentMember[], { memberId, role }: RoleChange): void {
  const others = currentMembers.filter((one) => one.role === 'owner' && one.id !== memberId && !one.isDisabled)
  if (role === 'owner' || others.length > 0) return
  throw new ApiError(
    'resource_locked',
    'This is the last owner of the organization. Make another member an owner first.',
  )
}

/** The role of the member (uuid); undefined for others. */
export async function findRole(transaction: Transaction, memberId: string): Promise<MemberRole | undefined> {
  const [row] = await transaction.query<{ role: MemberRole }>(sql`
    select role from members where organization_id = ${transaction.organization} and user_id = ${memberId}::uuid`)
  return row?.role
}

/** Makes other changes of roles wait until the transaction ends. */
export async function lockRoles(transaction: Transaction): Promise<void> {
  await transaction.query(lockSql(transaction.organization))
}

/** Does not block new references to the organization. */
const lockSql = (organization: Sql): Sql =>
  sql`select id from organizations where id = ${organization} for no key update`

/** The owners, and those of the given people (uuids) who are members. */
const currentMembersSql = (organization: Sql, ids: readonly (string | undefined)[]): Sql =>
  sql`select user_id as id, role, role_id as "roleId", users.disabled_at is not null as "isDisabled"
    from members join users on users.id = members.user_id
    where organization_id = ${organization} and (role = 'owner' or user_id = any(${ids.filter((id) => id !== undefined)}::uuid[]))`

/** Whether the person has authenticated recently in this session. */
async function hasRecentAuthentication(transaction: Transaction, sessionId: string): Promise<boolean> {
  const [row] = await transaction.query<{ isRecent: boolean }>(sql`
    select exists (select from sessions where id = ${sessionId}::uuid
      and proved_at > now() - make_interval(secs => ${recentAuthenticationSeconds})) as "isRecent"
    from organizations where id = ${transaction.organization}`)
  return row?.isRecent ?? false
}

/** Deletes what only a member needs, such as their inbox, when they leave. */
export type RemoveBelongings = (db: CrossTenantConnection | Transaction, membership: Membership) => Promise<void>

/** Removes the member (uuid) from the organization and its teams. */
export async function removeMember(
  transaction: Transaction,
  memberId: string,
  revisions: readonly number[] | undefined,
): Promise<'removed' | 'changed' | 'unknown'> {
  const rows = await transaction.query<{ revision: number }>(sql`
    select revision from members
    where organization_id = ${transaction.organization} and id = ${memberId}::uuid for update`)
  const [row] = rows
  if (!row) return 'unknown'
  if (revisions && !revisions.includes(row.revision)) return 'changed'
  await transaction.query(insertFormerMemberSql(transaction.organization, memberId))
  await transaction.query(
    sql`delete from members where organization_id = ${transaction.organization} and id = ${memberId}::uuid`,
  )
  await revokeOpenLinks(transaction, { organization: transaction.organization, userId: memberId })
  return 'removed'
}

/**
 * Records a former member, so that a login at a provider does not add them again. Runs before the deletion: it waits
 * for a concurrent login of the person, which may lock the member's row next, so the other order could deadlock. The
 * API keys that they created still see only what their last role did.
 */
const insertFormerMemberSql = (organization: Sql, userId: string): Sql =>
  sql`insert into former_members (organization_id, user_id, role_id)
    select ${organization}, ${userId}::uuid, (select role_id from members
      where organization_id = ${organization} and user_id = ${userId}::uuid)
    on conflict do nothing`

/** API keys see what their creator sees: processes read the keys of the person (uuid) again. */
async function endCachedKeys(
  db: CrossTenantConnection | Transaction,
  { organization, userId }: { organization: Sql; userId: string },
): Promise<void> {
  await db.query(sql`
    update api_keys set version = version + 1
    where organization_id = ${organization} and created_by = ${userId}::uuid and revoked_at is null`)
}

/**
 * Revokes the open links of a person (uuid) who has joined, left or changed role: links to set a password or to verify
 * an address, which an owner may have read; invitations of the person to this organization; and invitations that they
 * sent and can no longer send, which count as expired from now on.
 */
export async function revokeOpenLinks(
  db: CrossTenantConnection | Transaction,
  { organization, userId }: { organization: Sql; userId: string },
): Promise<void> {
  await revokeLinks(db, userId)
  await db.query(sql`
    delete from invitations where organization_id = ${organization}
      and email_key = (select email_key from users where id = ${userId}::uuid)`)
  await db.query(sql`
    update invitations set expires_at = now(), updated_at = now(), revision = revision + 1
    where organization_id = ${organization} and invited_by = ${userId}::uuid and expires_at > now()
      and not exists (select from members
        where members.organization_id = invitations.organization_id and members.user_id = ${userId}::uuid
        and (members.role = 'owner' or (members.role = 'admin' and invitations.role <> 'owner')))`)
}

/** A person and one of their organizations; uuids. */
export interface Membership {
  organizationId: string
  userId: string
}

interface NewMember extends Membership {
  role: MemberRole
  /** The custom role. */
  roleId?: string | null
  teamId?: string | null
}

/**
 * Adds the person to the organization and, if given, to a team; former members can return. False if they already are a
 * member, whose role stays.
 */
export async function addMember(
  db: CrossTenantConnection,
  { organizationId, userId, role, roleId = null, teamId = null }: NewMember,
): Promise<boolean> {
  // Locked, so that a team that is being deleted or purged gets no member.
  const teams = await db.query<{ id: string }>(sql`
    select id from teams where organization_id = ${organizationId}::uuid and (is_default or id = ${teamId}::uuid)
      and deleted_at is null order by id for key share`)
  const isNew = await insertMember(db, { organizationId, userId, role, roleId }, teams)
  await db.query(sql`
    delete from former_members where organization_id = ${organizationId}::uuid and user_id = ${userId}::uuid`)
  const organization = sql`${organizationId}::uuid`
  await revokeOpenLinks(db, { organization, userId })
  await endCachedKeys(db, { organization, userId })
  return isNew
}

/**
 * Inserts the member and adds them to these teams, which include the organization's default team. False if they already
 * are a member, whose role stays. Ends sessions begun by single sign-on: the operator of one organization's identity
 * provider must not reach another organization.
 */
export async function insertMember(
  db: CrossTenantConnection,
  { organizationId, userId, role, roleId = null }: NewMember,
  teams: readonly { id: string }[],
): Promise<boolean> {
  const added = await db.query(sql`
    insert into members (organization_id, user_id, role, role_id)
    values (${organizationId}, ${userId}, ${role}, ${roleId}::uuid)
    on conflict (organization_id, user_id) do nothing returning user_id`)
  await db.query(sql`
    insert into team_members (organization_id, team_id, id)
    select ${organizationId}::uuid, team_id, ${userId}::uuid
    from unnest(${teams.map(({ id }) => id)}::uuid[]) team_id on conflict do nothing`)
  if (added.length === 0) return false
  await db.query(sql`
    update sessions set ended_at = now()
    where user_id = ${userId}::uuid and ended_at is null and begun_by = 'single-sign-on' and second_factor_at is null
      and exists (select from members
        where members.user_id = ${userId}::uuid and members.organization_id <> ${organizationId}::uuid)`)
  return true
}

/** The person's role in the organization, which cannot change until the transaction ends; undefined for others. */
export async function lockMembership(
  db: CrossTenantConnection,
  { organizationId, userId }: Membership,
): Promise<MemberRole | undefined> {
  const [row] = await db.query<{ role: MemberRole }>(sql`
    select role from members where organization_id = ${organizationId}::uuid and user_id = ${userId}::uuid for share`)
  return row?.role
}

/**
 * Removes the person from an organization at their own request, and returns their former role; undefined if they are
 * not a member. An owner needs recent re-authentication. Errors: 403 `reauthentication_required`, 423 for the last
 * owner.
 */
export async function leaveOrganization(
  db: CrossTenantConnection,
  { organizationId, userId }: Membership,
  hasRecentAuthentication: () => Promise<boolean>,
): Promise<MemberRole | undefined> {
  const organization = sql`${organizationId}::uuid`
  await db.query(lockSql(organization))
  const currentMembers = await db.query<CurrentMember>(currentMembersSql(organization, [userId]))
  const own = currentMembers.find(({ id }) => id === userId)
  if (!own) return undefined
  if (own.role === 'owner') {
    if (!(await hasRecentAuthentication())) throw reauthenticationRequired()
    assertOwnerRemains(currentMembers, { memberId: userId, role: null })
  }
  await db.query(insertFormerMemberSql(organization, userId))
  await db.query(sql`delete from members where organization_id = ${organization} and user_id = ${userId}::uuid`)
  await revokeOpenLinks(db, { organization, userId })
  return own.role
}
