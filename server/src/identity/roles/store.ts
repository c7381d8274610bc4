import type { Caller } from '../../platform/model/caller.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/model/errors.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { sql } from '../../platform/model/sql.ts'
import { standardStore } from '../../platform/records/write/store.ts'
import { coversScope, refusedReach } from '../access/grants.ts'
import { reachOf, type RoleReach, roles } from './resource.ts'
import type { PendingChange } from '../../platform/records/declare/changes.ts'
import type { JsonObject } from '../../platform/model/json.ts'

export const roleStore = standardStore(roles, {
  beforeWrite: assertUnused,
  async afterWrite(transaction, _, pending) {
    await endCachedKeys(
      transaction,
      pending.filter(({ before }) => before).map(({ id }) => id),
    )
  },
})

/** The roles' rows are locked, and new references lock them too, so nobody gets a role while it is deleted. */
async function assertUnused(transaction: Transaction, pending: readonly PendingChange[]): Promise<void> {
  const ids = pending.filter(({ columns }) => typeof columns.deleted_at === 'string').map(({ id }) => id)
  if (ids.length === 0) return
  const [used] = await transaction.query<{ members: number; invitations: number; keys: number }>(sql`
    select (select count(*) from members
        where organization_id = ${transaction.organization} and role_id = any(${ids}::uuid[]))::integer as members,
      (select count(*) from invitations
        where organization_id = ${transaction.organization} and deleted_at is null and role_id = any(${ids}::uuid[]))::integer as invitations,
      (select count(*) from api_keys join former_members former
          on former.organization_id = api_keys.organization_id and former.user_id = created_by
        where api_keys.organization_id = ${transaction.organization} and revoked_at is null
          and former.role_id = any(${ids}::uuid[]))::integer as keys`)
  const uses = [
    ...countOf(used?.members, 'member'),
    ...countOf(used?.invitations, 'invitation'),
    ...countOf(used?.keys, 'API key of former members', 'API keys of former members'),
  ]
  if (uses.length > 0) {
    const advice = 'Give the members another role, withdraw the invitations and revoke the keys first.'
    throw new ApiError('resource_locked', `This role is used by ${uses.join(', ')}. ${advice}`)
  }
}

const countOf = (count = 0, noun: string, plural = `${noun}s`): string[] =>
  count === 0 ? [] : [`${count} ${count === 1 ? noun : plural}`]

/** API keys see what their creators see: processes read the keys of these roles (uuids) again. */
async function endCachedKeys(transaction: Transaction, roleIds: readonly string[]): Promise<void> {
  if (roleIds.length === 0) return
  await transaction.query(sql`
    update api_keys set version = version + 1
    where organization_id = ${transaction.organization} and revoked_at is null and created_by in (
      select user_id from members where organization_id = ${transaction.organization} and role_id = any(${roleIds}::uuid[])
      union all
      select user_id from former_members
      where organization_id = ${transaction.organization} and role_id = any(${roleIds}::uuid[]))`)
}

/** What a role allows. */
export interface RolePermissions {
  scopes: readonly string[]
  reach: RoleReach
}

/** The permissions of a role's record, or of a body that creates one. */
export const permissionsOf = (role: JsonObject): RolePermissions => ({
  scopes: (role.scopes ?? []) as string[],
  reach: reachOf(role),
})

/**
 * The caller must have every permission of a custom role (`rol_…`) that they give to a person or take away. The role
 * cannot be deleted until the transaction ends. An unknown one passes, because its reference is checked too. Errors: 403.
 */
export async function assertMayAssign(transaction: Transaction, caller: Caller, shown: string): Promise<void> {
  const [role] = await transaction.query<JsonObject>(sql`
    select scopes, reach from roles
    where organization_id = ${transaction.organization} and id = ${decodeId(roles.idPrefix, shown) ?? null}::uuid
      and deleted_at is null for key share`)
  if (role) assertHasAll(caller, permissionsOf(role), 'assign')
}

/**
 * People with a custom role cannot change a role (uuid) that allows more than their own: narrowed, its members would
 * allow less than they do, and could be removed. Errors: 403.
 */
export async function assertMayChangeDefinition(transaction: Transaction, caller: Caller, id: string): Promise<void> {
  if (caller.customRoleId === undefined) return
  const [role] = await transaction.query<JsonObject>(sql`
    select scopes, reach from roles
    where organization_id = ${transaction.organization} and id = ${id}::uuid for update`)
  if (role) assertHasAll(caller, permissionsOf(role), 'change')
}

function assertHasAll(caller: Caller, { scopes, reach }: RolePermissions, verb: 'assign' | 'change'): void {
  const refused = scopes.filter((scope) => !coversScope(caller.scopes, scope))
  if (refused.length > 0) {
    throw new ApiError('missing_scopes', `You can ${verb} only roles whose scopes you have.`, {
      details: refused.map((scope) => ({ field: 'roleId', message: scope })),
    })
  }
  const nouns = refusedReach(caller, reach)
  if (nouns.length > 0) throw tooMuchReach(`You can ${verb} only roles that see no more records than you do.`, nouns)
}

/** 403 for a role that sees more than the caller. */
export const tooMuchReach = (description: string, nouns: readonly string[]): ApiError =>
  new ApiError('insufficient_permissions', description, {
    details: nouns.map((noun) => ({ field: 'reach', message: `${noun}: you do not see that much` })),
  })
