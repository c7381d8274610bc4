import type { Caller } from '../../platform/model/caller.ts'
import { coversScope, refusedScopes } from '../access/grants.ts'
import { areWithin } from '../access/networks.ts'
import { ApiError, type BodyError, invalidBody } from '../../platform/model/errors.ts'
import { encodeId } from '../../platform/model/ids.ts'
import type { JsonObject } from '../../platform/model/json.ts'

/** What a key can do, from where and until when. */
export interface KeyPermissions {
  scopes: readonly string[]
  allowedAddresses: readonly string[]
  expiresAt: string | null
}

/** The permissions of a key's record, or of a body that creates one. */
export const permissionsOf = (row: JsonObject): KeyPermissions => ({
  scopes: (row.scopes ?? []) as string[],
  allowedAddresses: (row.allowedAddresses ?? []) as string[],
  expiresAt: (row.expiresAt ?? null) as string | null,
})

/** Whether a change adds anything: a scope, an address or time. */
export function grantsMore(before: KeyPermissions, after: KeyPermissions): boolean {
  return (
    after.scopes.some((scope) => !coversScope(before.scopes, scope)) ||
    !areWithin(after.allowedAddresses, before.allowedAddresses) ||
    !endsWithin(after.expiresAt, before.expiresAt)
  )
}

const endsWithin = (inner: string | null, outer: string | null): boolean =>
  outer === null || (inner !== null && Date.parse(inner) <= Date.parse(outer))

/**
 * The caller must have every permission of a key that they create, extend or rotate: all scopes and, if the caller is a
 * key, no more addresses and no later expiry than its own. Errors: 403, 422.
 */
export function assertMayGrant(caller: Caller, permissions: KeyPermissions): void {
  const refused = refusedScopes(caller, permissions.scopes)
  if (refused.length > 0) {
    const isOwned = refused.every((scope) => coversScope(caller.scopes, scope))
    const description = isOwned
      ? 'Only a logged-in owner can grant scopes to create keys or to manage people and settings.'
      : 'You can grant a key only scopes that you have.'
    throw new ApiError('missing_scopes', description, {
      details: refused.map((scope) => ({ field: 'scopes', message: scope })),
    })
  }
  if (caller.kind !== 'key') return
  const errors: BodyError[] = []
  if (!areWithin(permissions.allowedAddresses, caller.allowedAddresses)) {
    errors.push({ field: 'allowedAddresses', message: 'must not exceed those of the requesting key' })
  }
  if (!endsWithin(permissions.expiresAt, caller.expiresAt?.toISOString() ?? null)) {
    errors.push({ field: 'expiresAt', message: 'must not be later than that of the requesting key' })
  }
  if (errors.length > 0) throw invalidBody(errors)
}

/**
 * A key sees what its creator sees: somebody who does not see all records can extend and rotate only keys that they
 * created. Error: 403.
 */
export function assertMayActFor({ reach, userId }: Caller, { createdBy }: JsonObject): void {
  if (!reach || createdBy === encodeId('usr', userId)) return
  throw new ApiError(
    'insufficient_permissions',
    'Your role does not see all records, so you can extend and rotate only API keys that you created.',
  )
}

/** A revoked key cannot be changed. Error: 423. */
export function assertNotRevoked({ revokedAt }: JsonObject): void {
  if (revokedAt === null) return
  throw new ApiError('resource_locked', 'This API key was revoked, which is permanent. Create a new one.')
}

/** Error: 422 for an expiry in the past. */
export function assertFutureExpiry({ expiresAt }: JsonObject): void {
  if (typeof expiresAt !== 'string' || Date.parse(expiresAt) > Date.now()) return
  throw invalidBody([{ field: 'expiresAt', message: 'expected a time in the future; to end a key now, revoke it' }])
}
