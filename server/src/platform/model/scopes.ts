const prefix = 'urn:service:'
const segment = /^(?:\*|[a-z][a-z0-9-]*)$/
const permissions = new Set(['read', 'write', '*'])

/** A member's role in an organization; what it may do is a list of scopes like a key's. */
export const roles = ['owner', 'admin', 'member', 'viewer'] as const
export type Role = (typeof roles)[number]

/** Every scope that a wildcard in the resource covers. */
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

/** Why a credential without the needed scope is refused; a caller that holds wildcards learns why they are not enough. */
export function missingScopeReason(needed: string): string {
  const [resource = '', , permission = ''] = needed.split(':')
  const required = 'The credential must have the required scopes.'
  if (!isGuarded(resource, permission)) return required
  const why =
    resource === 'mail-content'
      ? 'the contents of mails include links that log people in or change accounts'
      : 'it lets its holder change who has access'
  return `${required} Wildcards such as "*:*:${permission}" do not include this one, because ${why}. It must be granted by name.`
}

const writeScopes = (...resources: string[]): string[] => resources.map((resource) => `${prefix}${resource}:*:write`)
const readScopes = (...resources: string[]): string[] => resources.map((resource) => `${prefix}${resource}:*:read`)

/**
 * What the roles below an administrator may do with a resource: members change `records` and viewers read them, both read
 * what is `visible`, and neither has anything to do with `administration`.
 */
export type RoleGroup = 'records' | 'visible' | 'administration'

/** The scopes of a role. */
export type RoleScopes = (role: Role) => readonly string[]

const administration: readonly string[] = [
  ...allScopes,
  ...writeScopes('api-key', 'member', 'invitation', 'organization'),
]

/**
 * The scopes of the first API key of an organization: everything except making API keys, which would let a leaked key
 * outlive its revocation, and reading the contents of mails.
 */
export const firstKeyScopes: readonly string[] = [
  ...allScopes,
  ...writeScopes('organization', 'member', 'invitation', 'domain', 'sso-connection'),
]

/**
 * The scopes of each role, given the group of each resource by the noun of its scopes; what the interface says about a
 * key's scopes holds for them alike.
 */
export function scopesByRole(groups: Readonly<Record<string, RoleGroup>>): RoleScopes {
  const nouns = Object.keys(groups)
  const records = nouns.filter((noun) => groups[noun] === 'records')
  const visible = nouns.filter((noun) => groups[noun] !== 'administration')
  const scopes: Record<Role, readonly string[]> = {
    owner: [...administration, ...writeScopes('sso-connection', 'domain'), ...readScopes('mail-content')],
    admin: administration,
    member: [...readScopes(...visible), ...writeScopes(...records)],
    viewer: readScopes(...visible),
  }
  return (role) => scopes[role]
}

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
