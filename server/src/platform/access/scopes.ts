const prefix = 'urn:service:'
const segment = /^(?:\*|[a-z][a-z0-9-]*)$/
const permissions = new Set(['read', 'write', '*'])

/** A member's role in an organization; what it may do is a list of scopes like a key's. */
export const roles = ['owner', 'admin', 'member', 'viewer'] as const
export type Role = (typeof roles)[number]

/** Every scope a key can be given by a wildcard: what "all scopes" means. */
export const allScopes: readonly string[] = ['urn:service:*:*:read', 'urn:service:*:*:write']

/**
 * What a wildcard in the resource never covers: whoever may do this can give themselves or others more than they have, or
 * read links that log someone in. It is given by name.
 */
const guarded: Readonly<Record<string, readonly ('read' | 'write')[]>> = {
  'api-key': ['write'],
  member: ['write'],
  invitation: ['write'],
  organization: ['write'],
  'sso-connection': ['write'],
  domain: ['write'],
  'mail-content': ['read'],
}

/** Does only a scope that names the resource cover this? */
export const isGuarded = (resource: string, permission: string): boolean =>
  guarded[resource]?.some((one) => one === permission) ?? false

const write = (...resources: string[]): string[] => resources.map((resource) => `${prefix}${resource}:*:write`)
const read = (...resources: string[]): string[] => resources.map((resource) => `${prefix}${resource}:*:read`)

const records = ['contact', 'company', 'campaign', 'employment', 'note']
/** Everything that a member may see; not the audit log, the keys, the mails and how people get in. */
const seen = [...records, 'import', 'row', 'team', 'team-member', 'user', 'member', 'organization']

const administration: readonly string[] = [...allScopes, ...write('api-key', 'member', 'invitation', 'organization')]

const scopesOfRole: Record<Role, readonly string[]> = {
  owner: [...administration, ...write('sso-connection', 'domain'), ...read('mail-content')],
  admin: administration,
  member: [...read(...seen), ...write(...records, 'user')],
  viewer: read(...seen),
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
 * writing, and a wildcard in the resource never covers what is guarded.
 */
export function covers(granted: readonly string[], needed: string): boolean {
  const [resource, action, permission] = needed.split(':')
  return granted.some((scope) => {
    const [grantedResource, grantedAction, grantedPermission] = scope.slice(prefix.length).split(':')
    if (grantedAction !== '*' && grantedAction !== action) return false
    if (grantedPermission !== '*' && grantedPermission !== permission) return false
    if (grantedResource === '*') return !isGuarded(resource ?? '', permission ?? '')
    return grantedResource === resource
  })
}
