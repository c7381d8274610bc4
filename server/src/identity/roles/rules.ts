import type { Caller } from '../../platform/model/caller.ts'
import { ApiError } from '../../platform/model/errors.ts'
import { coversScope, refusedReach, refusedScopes } from '../access/grants.ts'
import { reachNouns } from './resource.ts'
import { type RolePermissions, tooMuchReach } from './store.ts'
import { includesLevel } from '../../platform/model/reach.ts'

/** Whether a change of a role adds a scope or records. */
export const grantsMore = (before: RolePermissions, after: RolePermissions): boolean =>
  after.scopes.some((scope) => !coversScope(before.scopes, scope)) ||
  reachNouns.some((noun) => !includesLevel(before.reach[noun], after.reach[noun]))

/** The caller must have every permission of a role that they create or extend. Errors: 403. */
export function assertMayDefine(caller: Caller, { scopes, reach }: RolePermissions): void {
  const refused = refusedScopes(caller, scopes)
  if (refused.length > 0) {
    const isOwned = refused.every((scope) => coversScope(caller.scopes, scope))
    const description = isOwned
      ? 'Only a logged-in owner can grant scopes to create keys or to manage people and settings.'
      : 'You can give a role only scopes that you have.'
    throw new ApiError('missing_scopes', description, {
      details: refused.map((scope) => ({ field: 'scopes', message: scope })),
    })
  }
  const nouns = refusedReach(caller, reach)
  if (nouns.length > 0) throw tooMuchReach('You cannot give a role more records than you see yourself.', nouns)
}
