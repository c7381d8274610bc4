import type { Caller } from '../../platform/model/caller.ts'
import { isGuarded } from '../../platform/model/scopes.ts'

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
 * Do the granted scopes hold everything that the wanted one can ever stand for? Scopes in full form, with wildcards. What
 * routes there are does not count: a route that comes later must not make a key more than its maker was.
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

/** Does the scope name something that no wildcard covers? */
export function namesGuarded(scope: string): boolean {
  const { resource, permissions } = patternOf(scope)
  return permissions.some((permission) => isGuarded(resource, permission))
}

/**
 * Which of the scopes the caller must not give to a key: those that it does not have itself, and, but for a session of an
 * owner, those that name something guarded. So nobody makes more than they are, and keys that make keys come from owners.
 */
export const refusedScopes = (caller: Pick<Caller, 'scopes' | 'role'>, wanted: readonly string[]): string[] =>
  wanted.filter((scope) => !coversScope(caller.scopes, scope) || (namesGuarded(scope) && caller.role !== 'owner'))
