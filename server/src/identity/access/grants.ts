import type { Caller } from '../../platform/model/caller.ts'
import { isGuarded } from '../../platform/model/scopes.ts'
import { includesLevel, type ReachLevel } from '../../platform/model/reach.ts'

interface Pattern {
  resource: string
  action: string
  permissions: readonly ('read' | 'write')[]
}

function patternOf(scope: string): Pattern {
  const [resource = '', action = '', permission = ''] = scope.split(':').slice(-3)
  return {
    resource,
    action,
    permissions: permission === '*' ? ['read', 'write'] : [permission === 'read' ? 'read' : 'write'],
  }
}

/**
 * Whether the granted scopes cover everything that the wanted one can ever match. Scopes are in full form, with
 * wildcards. This does not depend on the existing routes: a route added later must not give a key more than its creator
 * had.
 */
export function coversScope(granted: readonly string[], wanted: string): boolean {
  const { resource, action, permissions } = patternOf(wanted)
  return permissions.every((permission) =>
    granted.map(patternOf).some((own) => {
      if (!own.permissions.includes(permission)) return false
      if (own.action !== '*' && own.action !== action) return false
      if (own.resource === '*') return resource === '*' || !isGuarded(resource, permission)
      return own.resource === resource
    }),
  )
}

/** Whether the scope names a guarded permission, which no wildcard covers. */
export function namesGuarded(scope: string): boolean {
  const { resource, permissions } = patternOf(scope)
  return permissions.some((permission) => isGuarded(resource, permission))
}

/**
 * The scopes that the caller cannot grant to a key: those that the caller lacks and, unless it is an owner's session,
 * those that name a guarded permission. So nobody can extend their own permissions, and only owners create keys that
 * create keys.
 */
export const refusedScopes = (caller: Pick<Caller, 'scopes' | 'role'>, wanted: readonly string[]): string[] =>
  wanted.filter((scope) => !coversScope(caller.scopes, scope) || (namesGuarded(scope) && caller.role !== 'owner'))

/** The resources of which the caller sees less than this reach includes. Nobody can grant more than they see. */
export const refusedReach = (
  { reach }: Pick<Caller, 'reach'>,
  wanted: Readonly<Record<string, ReachLevel>>,
): string[] =>
  Object.entries(wanted).flatMap(([noun, level]) => (includesLevel(reach?.levels[noun] ?? 'all', level) ? [] : noun))
