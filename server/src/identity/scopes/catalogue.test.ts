import { afterAll, beforeAll, expect, test } from 'vitest'
import { allPages } from '../../../test/all-pages.ts'
import { callAs } from '../../../test/people.ts'
import { startTestService, type Json, type TestOrganization, type TestService } from '../../../test/service.ts'
import { isScopeUsed, roleScopes, routes } from '../../app.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { sql } from '../../platform/model/sql.ts'
import { covers, isGuarded } from '../../platform/model/scopes.ts'
import { isScoped } from '../../platform/http/route.ts'
import { listScopes } from './catalogue.ts'

let service: TestService
let organization: TestOrganization
let listed: Json[]
beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
  listed = await allPages((path) => service.anonymous('GET', path), '/v5/scopes')
})
afterAll(() => service.close())

const scoped = routes.filter(isScoped)

test('anyone can read the scopes, and a conditional request returns 304', async () => {
  const first = await service.anonymous('GET', '/v5/scopes')
  expect(first.status).toBe(200)
  const again = await service.anonymous('GET', '/v5/scopes', {
    headers: { 'if-none-match': first.headers.get('etag') ?? '' },
  })
  expect(again.status).toBe(304)
  expect((await service.anonymous('GET', '/v5/scopes?colour=red')).status).toBe(400)
})

test('every scope that a route needs is listed once, with exactly the requests that need it', () => {
  const names = listed.map(({ scope }) => scope as string)
  expect(new Set(names).size).toBe(names.length)
  for (const route of scoped) {
    const one = listed.find(({ scope }) => scope === `urn:service:${route.scope}`)
    expect([route.scope, one?.endpoints]).toEqual([
      route.scope,
      scoped.filter(({ scope }) => scope === route.scope).map(({ method, path }) => `${method} ${path}`),
    ])
    expect(`${one.resource}:${one.action}:${one.permission}`).toBe(route.scope)
  }
})

test('a wildcard lists the requests that it covers, but no guarded ones', () => {
  const wild = listed.filter(({ action }) => action === '*')
  expect(wild.map(({ scope }) => scope)).toEqual(
    expect.arrayContaining(
      ['*:*:read', '*:*:write', 'contact:*:write', 'api-key:*:write'].map((one) => `urn:service:${one}`),
    ),
  )
  for (const { scope, endpoints } of wild) {
    const covered = scoped.filter((route) => covers([scope], route.scope))
    expect([scope, endpoints]).toEqual([scope, covered.map(({ method, path }) => `${method} ${path}`)])
    expect(endpoints.length).toBeGreaterThan(0)
  }
  const everything = wild.find(({ scope }) => scope === 'urn:service:*:*:write')
  expect(everything.endpoints).not.toContain('POST /v5/api-keys')
  expect(everything.guarded).toBe(false)
})

test('each scope has a one-sentence description and says whether it is guarded', () => {
  for (const { scope, description, guarded, resource, permission } of listed) {
    expect([scope, description]).toEqual([scope, expect.stringMatching(/^[A-Z][^.]{5,120}\.$/)])
    expect([scope, guarded]).toEqual([scope, resource !== '*' && isGuarded(resource, permission)])
  }
  expect(listed.some(({ guarded }) => guarded)).toBe(true)
})

test('every listed scope can be granted to a key, and a scope that no route needs cannot', async () => {
  const scopes = listed.map(({ scope }) => scope as string)
  const made = await callAs(service, organization.accessToken)('POST', '/v5/api-keys', {
    body: { name: 'All', scopes: scopes.slice(0, 100) },
  })
  expect([made.status, made.text.slice(0, 200)]).toEqual([201, expect.anything()])
  expect(made.body.scopes).toEqual(scopes.slice(0, 100))
  expect(scopes.filter((scope) => !isScopeUsed(scope))).toEqual([])
  expect(isScopeUsed('urn:service:nothing:*:*')).toBe(false)
})

test('each scope names the roles whose members can grant it, and each of them can', async () => {
  const rolesOf = (name: string) => listed.find(({ scope }) => scope === `urn:service:${name}`)?.grantableBy
  expect(rolesOf('contact:list:read')).toEqual(['owner', 'admin'])
  expect(rolesOf('*:*:write')).toEqual(['owner', 'admin'])
  expect(rolesOf('api-key:create:write')).toEqual(['owner'])
  expect(rolesOf('mail-content:get:read')).toEqual(['owner'])
  const own = await service.newOrganization()
  const call = callAs(service, own.accessToken)
  const create = async (grantable: (role: string) => boolean) => {
    const scopes = listed.filter(({ grantableBy }) => grantableBy.some(grantable)).map(({ scope }) => scope as string)
    // A key has at most 100 scopes.
    const parts = Array.from({ length: Math.ceil(scopes.length / 100) }, (_, index) =>
      scopes.slice(100 * index, 100 * (index + 1)),
    )
    const results = await Promise.all(
      parts.map((part) => call('POST', '/v5/api-keys', { body: { name: 'All', scopes: part } })),
    )
    return results.map(({ status }) => status)
  }
  expect(new Set(await create((role) => role === 'owner'))).toEqual(new Set([201]))
  await service.database.crossTenantQuery(
    'check the database',
    sql`update members set role = 'admin' where user_id = ${decodeId('usr', own.userId)}::uuid`,
  )
  expect(new Set(await create((role) => role === 'admin'))).toEqual(new Set([201]))
  const guarded = listed.filter(({ grantableBy }) => !grantableBy.includes('admin'))
  for (const { scope } of guarded) {
    expect([scope, (await call('POST', '/v5/api-keys', { body: { name: 'One', scopes: [scope] } })).status]).toEqual([
      scope,
      403,
    ])
  }
})

test('the scope of an added route is listed automatically', () => {
  const [route] = scoped
  if (!route) throw new Error('there are routes')
  const planted = { ...route, scope: 'planet:land:read', path: '/v5/planets', summary: 'Land on a planet' }
  expect(listScopes([...routes, planted], roleScopes)).toContainEqual({
    scope: 'urn:service:planet:land:read',
    resource: 'planet',
    action: 'land',
    permission: 'read',
    description: 'Land on a planet.',
    guarded: false,
    grantableBy: ['owner', 'admin'],
    endpoints: [`${route.method} /v5/planets`],
  })
})
