const prefix = 'urn:service:'
const segment = /^(?:\*|[a-z][a-z0-9-]*)$/
const permissions = new Set(['read', 'write', '*'])

/** A member's role in an organization; what it may do is a list of scopes like a key's. */
export const roles = ['owner', 'admin', 'member', 'viewer'] as const
export type Role = (typeof roles)[number]

/** Every scope a key can be given by a wildcard: what "all scopes" means. */
export const allScopes: readonly string[] = ['urn:service:*:*:read', 'urn:service:*:*:write']

const administration: readonly string[] = [...allScopes, 'urn:service:api-key:*:write']

const scopesOfRole: Record<Role, readonly string[]> = {
  owner: administration,
  admin: administration,
  member: [
    'urn:service:*:*:read',
    'urn:service:user:*:write',
    'urn:service:contact:*:write',
    'urn:service:company:*:write',
    'urn:service:campaign:*:write',
    'urn:service:employment:*:write',
    'urn:service:note:*:write',
  ],
  viewer: ['urn:service:*:*:read'],
}

/** The scopes of a member; what the interface says about a key's scopes holds for them alike. */
export const roleScopes = (role: Role): readonly string[] => scopesOfRole[role]

/**
 * The scope in its full form, `urn:service:<resource>:<action>:<permission>`, from that or the short form without the
 * prefix; undefined when the text is neither.
 */
export function parseScope(text: string): string | undefined {
  const short = text.startsWith(prefix) ? text.slice(prefix.length) : text
  const [resource = '', action = '', permission = '', ...rest] = short.split(':')
  if (rest.length > 0 || !segment.test(resource) || !segment.test(action) || !permissions.has(permission)) {
    return undefined
  }
  return prefix + short
}

/**
 * Do the granted scopes (full form) hold the needed one (short form, no wildcard)? Reading does not follow from
 * writing, and a wildcard in the resource never covers making or changing API keys.
 */
export function covers(granted: readonly string[], needed: string): boolean {
  const [resource, action, permission] = needed.split(':')
  return granted.some((scope) => {
    const [grantedResource, grantedAction, grantedPermission] = scope.slice(prefix.length).split(':')
    if (grantedAction !== '*' && grantedAction !== action) return false
    if (grantedPermission !== '*' && grantedPermission !== permission) return false
    if (grantedResource === '*') return !(resource === 'api-key' && permission === 'write')
    return grantedResource === resource
  })
}
