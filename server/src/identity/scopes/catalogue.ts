import { type Role, type RoleScopes, roles } from '../../platform/model/scopes.ts'
import { coversScope, namesGuarded, refusedScopes } from '../access/grants.ts'
import { isScoped, type Route, type ScopedRoute } from '../../platform/http/route.ts'

/** A scope that a key can have, as returned by `GET /v5/scopes`. */
export interface ListedScope {
  /** Full form. */
  scope: string
  resource: string
  action: string
  permission: 'read' | 'write'
  description: string
  /** No wildcard in the resource position covers it, and only a logged-in owner can grant it. */
  guarded: boolean
  /** Roles whose members can grant it to a key. */
  grantableBy: Role[]
  /** Method and path of the requests that need it; for a wildcard, of those that it covers. */
  endpoints: string[]
}

/** Every scope that the routes need, by resource, with the wildcards that cover it. */
export function listScopes(routes: readonly Route[], roleScopes: RoleScopes): ListedScope[] {
  const scoped = routes.filter(isScoped)
  const needed = [...new Set(scoped.map(({ scope }) => scope))]
  const resources = [...new Set(needed.map((scope) => scope.split(':')[0] ?? ''))]
  const all = [...wildcards('*', scoped), ...resources.flatMap((resource) => ofResource(resource, needed, scoped))]
  const granting = roles.filter((role) => coversScope(roleScopes(role), createKeyScope))
  const mayGrant = (role: Role, scope: string) =>
    refusedScopes({ scopes: roleScopes(role), role }, [scope]).length === 0
  return all.map((one) => ({ ...one, grantableBy: granting.filter((role) => mayGrant(role, one.scope)) }))
}

const createKeyScope = 'urn:service:api-key:create:write'

type UngrantedScope = Omit<ListedScope, 'grantableBy'>

const ofResource = (resource: string, needed: readonly string[], scoped: readonly ScopedRoute[]): UngrantedScope[] => [
  ...wildcards(resource, scoped),
  ...needed.filter((scope) => scope.startsWith(`${resource}:`)).map((scope) => literal(scope, scoped)),
]

/** The read and the write wildcard of one resource or of all. */
function wildcards(resource: string, scoped: readonly ScopedRoute[]): UngrantedScope[] {
  return (['read', 'write'] as const).flatMap((permission) => {
    const short = `${resource}:*:${permission}`
    const endpoints = endpointsOf(short, scoped)
    return endpoints.length === 0 ? [] : [listed(short, wildcardSentence(resource, permission), endpoints)]
  })
}

function wildcardSentence(resource: string, permission: 'read' | 'write'): string {
  const verb = permission === 'read' ? 'Read' : 'Change'
  if (resource === '*') return `${verb} everything except guarded scopes, including resources added later.`
  return `${verb} everything about ${nounOf(resource)} records, including actions added later.`
}

const nounOf = (resource: string): string => resource.replaceAll('-', ' ')

/** Described by the first request that needs it; others with the same scope do the same elsewhere. */
function literal(scope: string, scoped: readonly ScopedRoute[]): UngrantedScope {
  const summary = scoped.find((route) => route.scope === scope)?.summary ?? ''
  return listed(scope, `${summary}.`, endpointsOf(scope, scoped))
}

function endpointsOf(short: string, scoped: readonly ScopedRoute[]): string[] {
  const granted = [`urn:service:${short}`]
  return scoped
    .filter((route) => coversScope(granted, `urn:service:${route.scope}`))
    .map(({ method, path }) => `${method} ${path}`)
}

function listed(short: string, description: string, endpoints: string[]): UngrantedScope {
  const [resource = '', action = '', permission] = short.split(':')
  const scope = `urn:service:${short}`
  return {
    scope,
    resource,
    action,
    permission: permission === 'read' ? 'read' : 'write',
    description,
    guarded: resource !== '*' && namesGuarded(scope),
    endpoints,
  }
}
