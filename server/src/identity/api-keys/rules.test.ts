import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { callAs } from '../../../test/people.ts'
import {
  type Call,
  type Json,
  startTestService,
  type TestOrganization,
  type TestService,
} from '../../../test/service.ts'
import { covers, type Role } from '../../platform/model/scopes.ts'
import { sql } from '../../platform/model/sql.ts'
import { decodeId } from '../../platform/model/ids.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

const at = '/v5/api-keys'

interface Team extends TestOrganization {
  /** By access token, as a member of this role. */
  as(role: Role): Promise<Call>
  /** With one of its keys. */
  by(apiKey: string): Call
}

async function newTeam(): Promise<Team> {
  const organization = await service.newOrganization()
  const { organizationId, accessToken } = organization
  const by = (credential: string): Call => callAs(service, credential, { 'service-organization-id': organizationId })
  const as = async (role: Role) => {
    await service.database.crossTenantQuery(
      'check the database',
      sql`update members set role = ${role} where organization_id = ${decodeId('org', organizationId)}::uuid`,
    )
    return by(accessToken)
  }
  return { ...organization, as, by }
}

const create = (call: Call, scopes: readonly string[], more: object = {}) =>
  call('POST', at, { body: { name: 'Key', scopes, ...more } })

/** A key created by an owner. */
async function keyOf(team: Team, scopes: readonly string[], more: object = {}): Promise<Json> {
  const made = await create(await team.as('owner'), scopes, more)
  expect([made.status, made.text.slice(0, 200)]).toEqual([201, expect.anything()])
  return made.body
}

test.each<[Role, string, number]>([
  ['owner', 'contact:*:*', 201],
  ['owner', '*:*:*', 201],
  ['owner', 'api-key:*:write', 201],
  ['owner', 'api-key:*:*', 201],
  ['admin', '*:*:*', 201],
  ['admin', 'api-key:*:read', 201],
  ['admin', 'api-key:create:write', 403],
  ['admin', 'api-key:*:*', 403],
  ['member', 'contact:*:read', 403],
  ['viewer', 'contact:*:read', 403],
])('a session with the role %s can grant %s: %s', async (role, scope, status) => {
  const team = await newTeam()
  const made = await create(await team.as(role), [scope])
  expect(made.status).toBe(status)
  if (status === 403) expect(made.body.code).toBe('missing_scopes')
})

test.each([
  [['*:*:*'], ['contact:list:read']],
  [['*:create:write'], ['contact:list:read']],
  [['api-key:*:read', '*:*:write'], ['contact:list:read']],
])('a key with %j cannot create a key', async (own, wanted) => {
  const team = await newTeam()
  const { id, apiKey } = await keyOf(team, own)
  const call = team.by(apiKey)
  for (const response of [
    await create(call, wanted),
    await call('PATCH', `${at}/${id}`, { body: { scopes: ['*:*:*'] } }),
    await call('POST', `${at}/${id}/rotate`),
    await call('POST', `${at}/${id}/revoke`),
  ]) {
    expect(response).toMatchObject({ status: 403, body: { code: 'missing_scopes', details: [{ field: 'scope' }] } })
  }
})

test('a key that can create keys can grant its own scopes, except creating keys', async () => {
  const team = await newTeam()
  const { id, apiKey } = await keyOf(team, ['contact:*:read', 'company:list:read', 'api-key:*:*'])
  const call = team.by(apiKey)
  for (const scopes of [['contact:*:read'], ['contact:list:read', 'company:list:read'], ['api-key:list:read']]) {
    expect([scopes, (await create(call, scopes)).status]).toEqual([scopes, 201])
  }
  for (const scope of [
    'contact:*:write',
    'company:*:read',
    '*:*:read',
    'contact:*:*',
    'api-key:*:*',
    'api-key:create:write',
  ]) {
    const refused = await create(call, ['contact:list:read', scope])
    expect([scope, refused.status]).toEqual([scope, 403])
    expect(refused.body.details).toEqual([{ field: 'scopes', message: `urn:service:${scope}` }])
  }
  // It can restrict itself, but not extend its permissions or its expiry.
  const { expiresAt } = (await call('PATCH', `${at}/${id}`, { body: { expiresAt: '2099-01-01T00:00:00Z' } })).body
  expect(expiresAt).toBe('2099-01-01T00:00:00.000Z')
  for (const body of [
    { expiresAt: null },
    { expiresAt: '2099-01-02T00:00:00Z' },
    { scopes: ['*:*:read', 'api-key:*:*'] },
  ]) {
    expect((await call('PATCH', `${at}/${id}`, { body })).status).toBe(403)
  }
  const rotated = await call('POST', `${at}/${id}/rotate`, { body: { overlapSeconds: 0 } })
  expect(rotated.status).toBe(200)
  const narrowed = await team.by(rotated.body.apiKey)('PATCH', `${at}/${id}`, { body: { scopes: ['contact:*:read'] } })
  expect(narrowed.status).toBe(200)
  expect((await create(team.by(rotated.body.apiKey), ['contact:*:read'])).status).toBe(403)
})

test('a key cannot create a key with more addresses or a later expiry than its own', async () => {
  const team = await newTeam()
  const { apiKey } = await keyOf(team, ['contact:*:read', 'api-key:*:*'], {
    allowedAddresses: ['127.0.0.0/8'],
    expiresAt: '2098-01-01T00:00:00Z',
  })
  const call = team.by(apiKey)
  const within = { allowedAddresses: ['127.0.0.1', '127.1.0.0/16'], expiresAt: '2097-12-31T23:00:00-01:00' }
  const made = await create(call, ['contact:*:read'], within)
  expect(made.status).toBe(201)
  for (const [body, field] of [
    [{ ...within, allowedAddresses: [] }, 'allowedAddresses'],
    [{ ...within, allowedAddresses: ['127.0.0.1', '192.0.2.1'] }, 'allowedAddresses'],
    [{ ...within, expiresAt: null }, 'expiresAt'],
    [{ ...within, expiresAt: '2098-01-01T00:00:00.001Z' }, 'expiresAt'],
  ] as const) {
    const refused = await create(call, ['contact:*:read'], body)
    expect(refused).toMatchObject({ status: 422, body: { details: [{ field }] } })
    const changed = await call('PATCH', `${at}/${made.body.id}`, { body })
    expect(changed).toMatchObject({ status: 422, body: { details: [{ field }] } })
  }
})

test('an admin cannot take over a key that creates keys, but can restrict and revoke it', async () => {
  const team = await newTeam()
  const { id, apiKey } = await keyOf(team, ['contact:*:read', 'api-key:*:write'], { allowedAddresses: ['127.0.0.1'] })
  const admin = await team.as('admin')
  for (const [path, body] of [
    ['', { allowedAddresses: [] }],
    ['', { scopes: ['contact:*:read', 'company:*:read', 'api-key:*:write'] }],
  ] as const) {
    expect((await admin('PATCH', `${at}/${id}${path}`, { body })).status).toBe(403)
  }
  expect((await admin('POST', `${at}/${id}/rotate`)).status).toBe(403)
  expect((await admin('PATCH', `${at}/${id}`, { body: { name: 'Seen' } })).status).toBe(200)
  expect((await team.by(apiKey)('GET', '/v5/contacts')).status).toBe(200)
  expect((await admin('PATCH', `${at}/${id}`, { body: { scopes: ['contact:*:read'] } })).status).toBe(200)
  expect((await create(team.by(apiKey), ['contact:*:read'])).status).toBe(403)
  expect((await admin('POST', `${at}/${id}/revoke`)).status).toBe(200)
  expect((await team.by(apiKey)('GET', '/v5/contacts')).status).toBe(401)
})

/** Scopes that routes need, some of them guarded. */
const needs = ['contact', 'company', 'api-key', 'member'].flatMap((resource) =>
  ['list', 'create', 'update', 'rotate'].flatMap((action) =>
    ['read', 'write'].map((permission) => `${resource}:${action}:${permission}`),
  ),
)

const guarded = /^(api-key|member):.*:write$/

const reach = (scopes: readonly string[]): string[] => needs.filter((needed) => covers(scopes, needed))

const scope = fc
  .tuple(
    fc.constantFrom('*', 'contact', 'company', 'api-key', 'member'),
    fc.constantFrom('*', 'list', 'create', 'update', 'rotate'),
    fc.constantFrom('*', 'read', 'write'),
  )
  .map((parts) => parts.join(':'))
const scopes = fc.array(scope, { minLength: 1, maxLength: 3 })

interface Step {
  /** Index of the key that sends the request, and of the key that it changes. */
  caller: number
  subject: number
  what: 'create' | 'update' | 'rotate'
  scopes: string[]
}

const steps = fc.array(
  fc.record({
    caller: fc.nat(9),
    subject: fc.nat(9),
    what: fc.constantFrom<Step['what']>('create', 'update', 'rotate'),
    scopes,
  }),
  { minLength: 1, maxLength: 8 },
)

/** This index stands for a logged-in admin instead of a key. */
const adminCaller = 9

test('no sequence of changes by keys and admins gives a key a permission that none of them had', async () => {
  const team = await newTeam()
  let accepted = 0
  await fc.assert(
    fc.asyncProperty(fc.array(scopes, { minLength: 1, maxLength: 2 }), steps, async (first, chain) => {
      const owner = await team.as('owner')
      const keys: { id: string; apiKey: string; scopes: readonly string[] }[] = []
      for (const wanted of first) {
        const made = await create(owner, [...wanted, 'api-key:*:write'])
        if (made.status === 201) keys.push(made.body)
      }
      if (keys.length === 0) return
      const admin = await team.as('admin')
      const mayGive = needs.filter((needed) => !guarded.test(needed))
      const allowed = new Set([
        ...keys.flatMap((key) => reach(key.scopes)),
        ...(chain.some(({ caller }) => caller === adminCaller) ? mayGive : []),
      ])
      for (const { caller, subject, what, scopes: wanted } of chain) {
        const [by, about] = [keys[caller % keys.length], keys[subject % keys.length]]
        if (!by || !about) throw new Error('there are keys')
        const isAdmin = caller === adminCaller
        const call = isAdmin ? admin : team.by(by.apiKey)
        const before = new Set(isAdmin ? mayGive : reach(by.scopes))
        const response =
          what === 'create'
            ? await create(call, wanted)
            : what === 'update'
              ? await call('PATCH', `${at}/${about.id}`, { body: { scopes: wanted } })
              : await call('POST', `${at}/${about.id}/rotate`)
        if (response.status >= 300) continue
        accepted++
        const { id, apiKey = about.apiKey, scopes: now } = response.body
        const known = keys.findIndex((key) => key.id === id)
        if (known < 0) keys.push({ id, apiKey, scopes: now })
        else keys[known] = { id, apiKey, scopes: now }
        // No scope that no key had at the beginning, and a new key has no more than its creator.
        for (const needed of reach(now)) expect([what, needed, allowed.has(needed)]).toEqual([what, needed, true])
        if (what === 'create' || (what === 'rotate' && (isAdmin || by.id !== about.id))) {
          for (const needed of reach(now)) expect([what, needed, before.has(needed)]).toEqual([what, needed, true])
          expect(reach(now).filter((needed) => guarded.test(needed))).toEqual([])
        }
      }
    }),
    { numRuns: 25 },
  )
  expect(accepted).toBeGreaterThan(5)
})
