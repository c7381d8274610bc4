import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { roleGroups, roleScopes, routes } from '../src/app.ts'
import { covers, isGuarded, parseScope, roles } from '../src/platform/model/scopes.ts'
import { sql } from '../src/platform/model/sql.ts'
import { isScoped, type ScopedRoute } from '../src/platform/http/route.ts'
import { decodeId } from '../src/platform/model/ids.ts'
import { callRoute } from './collections.ts'
import { run } from './command-line.ts'
import { callAs } from './people.ts'
import { type Call, startTestService, type TestService } from './service.ts'
import { casesToTry } from './suite.ts'
import { newTenant, requestOf, type Tenant } from './tenancy.ts'

interface Listed {
  routes: { method: string; path: string; scope: string }[]
}
const { routes: listed } = JSON.parse((await run(['routes', '--json'])).output) as Listed
const listedScopes = new Map(listed.map(({ method, path, scope }) => [`${method} ${path}`, scope]))

/** With the scopes that `rapport routes` prints. */
const scoped = routes
  .filter(isScoped)
  .map((route) => ({ ...route, scope: listedScopes.get(`${route.method} ${route.path}`) ?? 'none' }))
const scopes = [...new Set(scoped.map(({ scope }) => scope))]
const named = (routesWithScope: typeof scoped) =>
  routesWithScope.map((route) => [`${route.method} ${route.path} needs ${route.scope}`, route] as const)
const cases = named(scoped)

let service: TestService
let tenant: Tenant
beforeAll(async () => {
  service = await startTestService()
  tenant = await newTenant(service)
})
afterAll(() => service.close())

/** Sends a request; only the check of its scope matters, so the record may be missing. */
const send = (call: Call, route: ScopedRoute) => callRoute(call, route, requestOf(route, tenant))

const keys = new Map<string, Promise<Call>>()

/** Calls with a key that has these scopes; keys are cached. */
function callWithScopes(granted: readonly string[]): Promise<Call> {
  const name = granted.join(' ')
  const call = keys.get(name) ?? tenant.organization.withScopes(granted)
  keys.set(name, call)
  return call
}

/** What a route needs in addition to its own scope, for what it does. */
const effectScopes: Readonly<Record<string, readonly string[]>> = {
  'suggestion:accept:write': ['urn:service:task:create:write', 'urn:service:contact:update:write'],
  'import:remove-received:write': ['contact', 'company', 'note'].map((name) => `urn:service:${name}:delete:write`),
}

async function isAllowed(granted: readonly string[], route: ScopedRoute): Promise<boolean> {
  const response = await send(await callWithScopes(granted), route)
  // The key may create keys, but not with these scopes.
  if (response.status === 403 && response.body.details?.[0].field === 'scopes') return true
  if (response.status === 403 && effectScopes[route.scope]?.includes(response.body.details?.[0].message)) return true
  if (response.status === 403) {
    expect(response.body).toEqual({
      code: 'missing_scopes',
      status: 403,
      message: 'Missing scopes',
      description: expect.stringContaining('must have the required scopes'),
      details: [{ field: 'scope', message: `urn:service:${route.scope}` }],
    })
    return false
  }
  // An earlier test may have deleted the record; only the check of the scope matters.
  expect([200, 201, 204, 404, 409, 422, 423, 429]).toContain(response.status)
  return true
}

test('reads and searches require read scopes, and all other routes write scopes', () => {
  expect(scopes.length).toBeGreaterThan(25)
  for (const { kind, scope } of scoped) expect(scope.endsWith(kind === 'write' ? ':write' : ':read')).toBe(true)
})

test.each(cases)('%s: a key with only this scope is allowed', async (_, route) => {
  expect(await isAllowed([route.scope], route)).toBe(true)
})

test.each(cases)('%s: a key with every other scope is denied', async (_, route) => {
  const other = route.kind === 'write' ? '*:*:read' : '*:*:write'
  expect(await isAllowed([...scopes.filter((scope) => scope !== route.scope), other], route)).toBe(false)
})

/** How a wildcard covers a scope depends on these. */
const wildcardCases = casesToTry(scoped, ({ kind, scope }) => {
  const [resource = '', , permission = ''] = scope.split(':')
  return `${kind} ${permission} ${roleGroups[resource]} ${isGuarded(resource, permission)}`
})

test.each(named(wildcardCases))(
  '%s: a wildcard replaces any resource, action or permission, but only that part',
  async (_, route) => {
    const [resource = '', action = '', permission = ''] = route.scope.split(':')
    const other = permission === 'read' ? 'write' : 'read'
    for (const granted of [
      `*:${action}:${permission}`,
      `${resource}:*:${permission}`,
      `${resource}:${action}:*`,
      '*:*:*',
    ]) {
      const isIncluded = !granted.startsWith('*') || !isGuarded(resource, permission)
      expect([granted, await isAllowed([granted], route)]).toEqual([granted, isIncluded])
    }
    for (const granted of [`${resource}:*:${other}`, `*:${action}:${other}`, `nothing:*:*`, `*:nothing:*`]) {
      expect([granted, await isAllowed([granted], route)]).toEqual([granted, false])
    }
  },
)

test('the error says that a wildcard includes neither the content of mails nor access management', async () => {
  const call = await tenant.organization.withScopes(['*:*:read', '*:*:write'])
  const mail = await call('GET', `/v5/mails/mai_${'0'.repeat(32)}/content`)
  expect(mail.body).toMatchObject({ status: 403, code: 'missing_scopes' })
  expect(mail.body.description).toMatch(
    /"\*:\*:read" do not include this one, because .* mails include links .* by name/,
  )
  const member = await call('PATCH', `/v5/members/mem_${'0'.repeat(32)}`, { body: { role: 'viewer' } })
  expect(member.body.description).toMatch(/"\*:\*:write" do not include this one, because .* who has access/)
  const narrow = await tenant.organization.withScopes(['contact:get:read'])
  expect((await narrow('GET', '/v5/contacts')).body.description).toBe('The credential must have the required scopes.')
})

test('a denied key changes nothing and learns nothing about the record', async () => {
  const reader = await tenant.organization.withScopes(['*:*:read'])
  const { body: contact } = await tenant.organization.call('POST', '/v5/contacts', { body: { name: 'Ada' } })
  const path = `/v5/contacts/${contact.id}`
  const [existing, missing] = [
    await reader('DELETE', path),
    await reader('DELETE', `/v5/contacts/con_${'0'.repeat(32)}`),
  ]
  expect(existing.status).toBe(403)
  expect(existing.text).toBe(missing.text)
  expect((await reader('PATCH', path, { body: { xyzzy: 1 } })).text).toContain('contact:update:write')
  expect((await reader('GET', path)).body).toEqual(contact)
})

test('a wildcard resource does not allow changing API keys; a scope that names them does', () => {
  for (const needed of ['api-key:create:write', 'api-key:delete:write']) {
    for (const granted of ['*:*:write', '*:*:*', `*:${needed.split(':')[1]}:write`, 'contact:*:*']) {
      expect(covers([parseScope(granted) ?? ''], needed)).toBe(false)
    }
    expect(covers(['urn:service:api-key:*:write'], needed)).toBe(true)
    expect(covers([`urn:service:${needed}`], needed)).toBe(true)
  }
  expect(covers(['urn:service:*:*:read'], 'api-key:list:read')).toBe(true)
})

/** Changes the role of the organization's only logged-in member. */
async function setRole(role: string): Promise<void> {
  const { organizationId, userId } = tenant.organization
  await service.database.crossTenantQuery(
    'check the database',
    sql`update members set role = ${role}
      where organization_id = ${decodeId('org', organizationId)}::uuid and user_id = ${decodeId('usr', userId)}::uuid`,
  )
}

/** A role has the scopes of a resource for reading or for writing. */
const roleCases = casesToTry(scoped, ({ scope }) => scope.replace(/:.*:/, ' '))

const roleGroupOf = (scope: string) => roleGroups[scope.split(':')[0] ?? ''] ?? 'administration'

test('only administrative scopes cover access to an organization', () => {
  const administrationScopes = scoped
    .map(({ scope }) => scope)
    .filter((scope) => roleGroupOf(scope) === 'administration')
  const resourceNames = [...new Set(administrationScopes.map((scope) => scope.split(':')[0]))]
  expect(resourceNames.sort()).toEqual([
    'api-key',
    'audit-event',
    'contact-erasure',
    'domain',
    'example-data',
    'invitation',
    'mail',
    'mail-content',
    'sso-connection',
    'system',
    'webhook',
    'webhook-delivery',
  ])
})

test.each(roles)(
  'an access token of the role %s has exactly the scopes of that role on every route, from the next request on',
  async (role) => {
    const byToken = callAs(service, tenant.organization.accessToken)
    expect((await byToken('GET', '/v5/me')).body.organizations[0].role).toBe('owner')
    onTestFinished(() => setRole('owner'))
    await setRole(role)
    expect((await byToken('GET', '/v5/me')).body.organizations[0].role).toBe(role)
    const isCovered = ({ scope }: ScopedRoute) => covers(roleScopes(role), scope)
    for (const route of roleCases) {
      const { status, body } = await send(byToken, route)
      expect([route.scope, status === 403]).toEqual([route.scope, !isCovered(route)])
      if (status === 403) expect(body.code).toBe('missing_scopes')
    }
    const ownerOnly = /^(?:sso-connection|domain):\w+:write$|^mail-content:|^system:/
    const canRead = (scope: string) => scope.endsWith(':read') && roleGroupOf(scope) !== 'administration'
    const canWrite = (scope: string) => scope.endsWith(':write') && roleGroupOf(scope) === 'records'
    const allowed: Record<string, (scope: string) => boolean> = {
      owner: () => true,
      admin: (scope) => !ownerOnly.test(scope),
      member: (scope) => canRead(scope) || canWrite(scope),
      viewer: canRead,
    }
    const names = scoped.map(({ scope }) => scope)
    expect(scoped.filter(isCovered).map(({ scope }) => scope)).toEqual(names.filter((scope) => allowed[role]?.(scope)))
  },
)
