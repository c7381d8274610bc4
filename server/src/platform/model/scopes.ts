const prefix = 'urn:service:'
const segment = /^(?:\*|[a-z][a-z0-9-]*)$/
const permissions = new Set(['read', 'write', '*'])

/** The built-in roles of members; each grants a list of scopes, like an API key. */
export const roles = ['owner', 'admin', 'member', 'viewer'] as const
export type Role = (typeof roles)[number]

/** The role of a member: a built-in one, or one that the organization has defined. */
export const memberRoles = [...roles, 'custom'] as const
export type MemberRole = (typeof memberRoles)[number]

export const isBuiltIn = (role: MemberRole): role is Role => role !== 'custom'

/** All scopes that a wildcard resource covers. */
export const allScopes: readonly string[] = ['urn:service:*:*:read', 'urn:service:*:*:write']

/** Not covered by wildcards: callers could extend their access, read links that log someone in, or see the machine. */
const guarded: Readonly<Record<string, readonly ('read' | 'write')[]>> = {
  'api-key': ['write'],
  webhook: ['write'],
  member: ['write'],
  invitation: ['write'],
  role: ['write'],
  organization: ['write'],
  'sso-connection': ['write'],
  domain: ['write'],
  'contact-erasure': ['write'],
  'mail-content': ['read'],
  system: ['read'],
}

/** Must the scope name this resource, because no wildcard covers it? */
export const isGuarded = (resource: string, permission: string): boolean =>
  guarded[resource]?.some((one) => one === permission) ?? false

const guardReasons: Readonly<Record<string, string>> = {
  webhook: 'it lets its holder send records elsewhere for good',
  'contact-erasure': 'what it erases cannot be restored',
  'mail-content': 'the contents of mails include links that log people in or change accounts',
  system: 'it describes the machine and not the organization',
}

/** Why the scope is missing; explains why wildcards are not enough. */
export function missingScopeReason(needed: string): string {
  const [resource = '', , permission = ''] = needed.split(':')
  const required = 'The credential must have the required scopes.'
  if (!isGuarded(resource, permission)) return required
  const why = guardReasons[resource] ?? 'it lets its holder change who has access'
  return `${required} Wildcards such as "*:*:${permission}" do not include this one, because ${why}. It must be granted by name.`
}

const writeScopes = (...resources: string[]): string[] => resources.map((resource) => `${prefix}${resource}:*:write`)
const readScopes = (...resources: string[]): string[] => resources.map((resource) => `${prefix}${resource}:*:read`)

/** What roles below administrator may do: members change `records`, viewers read them, both read `visible`. */
export type RoleGroup = 'records' | 'visible' | 'administration'

export type RoleScopes = (role: Role) => readonly string[]

const administration: readonly string[] = [
  ...allScopes,
  ...writeScopes('api-key', 'webhook', 'member', 'invitation', 'role', 'organization', 'contact-erasure'),
]

/**
 * All except creating API keys (so that a leaked key cannot outlive its revocation), reading the contents of mails, and the
 * state of the machine.
 */
export const firstKeyScopes: readonly string[] = [
  ...allScopes,
  ...writeScopes(
    'organization',
    'member',
    'invitation',
    'role',
    'domain',
    'sso-connection',
    'webhook',
    'contact-erasure',
  ),
]

/** The scopes of each role, from the role group of each scope noun; the rules are those of API keys. */
export function scopesByRole(groups: Readonly<Record<string, RoleGroup>>): RoleScopes {
  const nouns = Object.keys(groups)
  const records = nouns.filter((noun) => groups[noun] === 'records')
  const visible = nouns.filter((noun) => groups[noun] !== 'administration')
  const scopes: Record<Role, readonly string[]> = {
    owner: [...administration, ...writeScopes('sso-connection', 'domain'), ...readScopes('mail-content', 'system')],
    admin: administration,
    member: [...readScopes(...visible), ...writeScopes(...records)],
    viewer: readScopes(...visible),
  }
  return (role) => scopes[role]
}

/** The full form `urn:service:<resource>:<action>:<permission>` of a scope; undefined if it is invalid. */
export function parseScope(text: string): string | undefined {
  const short = text.startsWith(prefix) ? text.slice(prefix.length) : text
  const [resource = '', action = '', permission = '', ...rest] = short.split(':')
  if (rest.length > 0 || !segment.test(resource) || !segment.test(action) || !permissions.has(permission)) {
    return undefined
  }
  return prefix + short
}

/** Do the granted scopes (full form) include the needed one (short form, no wildcard)? Write does not imply read. */
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
