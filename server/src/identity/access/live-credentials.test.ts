import { createRemoteJWKSet, jwtVerify } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createApiKey } from '../../cli/create-api-key.ts'
import { generateApiKey } from './api-key.ts'
import { type Sql, sql } from '../../platform/model/sql.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { callAs } from '../../../test/people.ts'
import { requestText, sendRaw } from '../../../test/raw-http.ts'
import { expectRefusal } from '../../../test/refusals.ts'
import {
  type Call,
  type Json,
  startTestService,
  type TestOrganization,
  type TestService,
} from '../../../test/service.ts'

let service: TestService
let organization: TestOrganization

beforeAll(async () => {
  service = await startTestService()
  await useNewOrganization()
})
afterAll(() => service.close())

const execute = (statement: Sql): Promise<Json[]> => service.database.crossTenantQuery('check the database', statement)
const uuid = (prefix: string, shown: string): string => decodeId(prefix, shown) ?? ''

/** For tests that change the session or the membership, which the tests share. */
async function useNewOrganization(): Promise<void> {
  organization = await service.newOrganization()
}

/** Sends a request with exactly these headers. */
const requestWith = (authorization: string, more: Record<string, string> = {}) =>
  service.anonymous('GET', '/v5/contacts', { headers: { authorization, ...more } })
const organizationHeader = () => ({ 'service-organization-id': organization.organizationId })

async function newKey(scopes: readonly string[] = ['urn:service:*:*:read', 'urn:service:*:*:write']) {
  const { organizationId } = organization
  const created = await createApiKey({ database: service.database, organization: organizationId, name: 'key', scopes })
  return { ...created, uuid: uuid('key', created.id), call: callAs(service, created.apiKey, organizationHeader()) }
}

/** Requests made with a credential that is no longer valid; most would otherwise fail for a different reason. */
const attempts: [string, (call: Call) => ReturnType<Call>][] = [
  ['a list', (call) => call('GET', '/v5/contacts')],
  ['a malformed query', (call) => call('GET', '/v5/contacts?bogus=1')],
  ['a badly encoded query', (call) => call('GET', '/v5/contacts?a=%zz')],
  ['an unknown record', (call) => call('GET', '/v5/contacts/con_019aa5b2c1d27e3fa4b5c6d7e8f90123')],
  ['a malformed id', (call) => call('GET', '/v5/contacts/1')],
  ['a malformed body', (call) => call('POST', '/v5/contacts', { body: '{' })],
  ['a valid body', (call) => call('POST', '/v5/contacts', { body: { name: 'Ada' } })],
  [
    'a malformed Idempotency-Key',
    (call) => call('POST', '/v5/contacts', { body: {}, headers: { 'idempotency-key': '' } }),
  ],
  ['a foreign organization', (call) => call('GET', '/v5/me', { headers: { 'service-organization-id': 'org_x' } })],
  ['the caller’s own profile', (call) => call('GET', '/v5/me')],
]

test.each(attempts)('a cached key that was revoked gets 401 for %s', async (_what, attempt) => {
  const key = await newKey()
  expect((await key.call('GET', '/v5/contacts')).status).toBe(200)
  await execute(sql`update api_keys set revoked_at = now() where id = ${key.uuid}::uuid`)
  expectRefusal(await attempt(key.call), 401, 'invalid_token')
})

test.each(attempts)('a cached key that expired gets 401 for %s', async (_what, attempt) => {
  const key = await newKey()
  expect((await key.call('GET', '/v5/contacts')).status).toBe(200)
  await execute(sql`update api_keys set expires_at = now() where id = ${key.uuid}::uuid`)
  expectRefusal(await attempt(key.call), 401, 'invalid_token')
})

test.each(attempts)('an access token gets 401 as soon as its session has ended, for %s', async (_what, attempt) => {
  const call = callAs(service, organization.accessToken)
  expect((await call('GET', '/v5/contacts')).status).toBe(200)
  const end = (at: string | null) =>
    execute(sql`update sessions set ended_at = ${at}::timestamptz
      where id = ${uuid('session', organization.sessionId)}::uuid`)
  await end('now')
  expectRefusal(await attempt(call), 401, 'invalid_token')
  await end(null)
})

test('a revoked key without the required scope gets 401, not 403', async () => {
  const key = await newKey(['urn:service:team:list:read'])
  expectRefusal(await key.call('GET', '/v5/contacts'), 403, 'missing_scopes')
  await execute(sql`update api_keys set revoked_at = now() where id = ${key.uuid}::uuid`)
  expectRefusal(await key.call('GET', '/v5/contacts'), 401, 'invalid_token')
})

test('changed scopes of a cached key take effect immediately, also for a request with a body', async () => {
  const key = await newKey()
  const create = () => key.call('POST', '/v5/contacts', { body: { name: 'Ada' } })
  const setScopes = (scopes: string[]) =>
    execute(sql`update api_keys set scopes = ${scopes}::text[], version = version + 1 where id = ${key.uuid}::uuid`)
  expect((await create()).status).toBe(201)
  await setScopes(['urn:service:contact:create:write'])
  expect((await create()).status).toBe(201)
  await setScopes(['urn:service:contact:*:read'])
  expectRefusal(await create(), 403, 'missing_scopes')
  await setScopes(['urn:service:contact:*:write'])
  expect((await create()).status).toBe(201)
})

test('a missing, malformed or unknown credential gets 401', async () => {
  const { apiKey, accessToken } = organization
  const typo = apiKey.slice(0, -1) + (apiKey.endsWith('0') ? '1' : '0')
  for (const bad of [
    typo,
    generateApiKey(),
    `${apiKey}x`,
    apiKey.toLowerCase(),
    'svc_',
    'x',
    `${accessToken}x`,
    'a.b.c',
  ]) {
    expectRefusal(await requestWith(`Bearer ${bad}`, organizationHeader()), 401, 'invalid_token')
  }
  for (const other of [apiKey, `Basic ${apiKey}`, 'Bearer', `Bearer ${apiKey} ${apiKey}`, `Bearer, ${apiKey}`]) {
    expectRefusal(await requestWith(other, organizationHeader()), 401, 'invalid_token')
  }
  for (const empty of ['', '   '])
    expectRefusal(await requestWith(empty, organizationHeader()), 401, 'missing_authorization')
  expect((await requestWith(`bearer  ${apiKey}`, organizationHeader())).status).toBe(200)
})

test('a key requires the organization header with its own organization', async () => {
  const foreign = await service.newOrganization()
  const key = `Bearer ${organization.apiKey}`
  for (const header of [undefined, '', '  ', 'acme', 'usr_019aa5b2c1d27e3fa4b5c6d7e8f90123']) {
    const response = await requestWith(key, header === undefined ? {} : { 'service-organization-id': header })
    const { details, description } = expectRefusal(response, 400, 'invalid_parameters')
    expect(details.map(({ field }) => field)).toEqual(['Service-Organization-ID'])
    expect(description).toContain('Service-Organization-ID')
  }
  const [other, unknownOrganization] = await Promise.all(
    [foreign.organizationId, 'org_019aa5b2c1d27e3fa4b5c6d7e8f90123'].map((id) =>
      requestWith(key, { 'service-organization-id': id }),
    ),
  )
  expectRefusal(other!, 403, 'insufficient_permissions')
  expect(other!.text).toBe(unknownOrganization!.text)
})

test('a token works without the header, or with an organization of its user in it', async () => {
  const foreign = await service.newOrganization()
  const token = `Bearer ${organization.accessToken}`
  expect((await requestWith(token)).status).toBe(200)
  expect((await requestWith(token, organizationHeader())).status).toBe(200)
  for (const header of ['', 'acme', 'org 1']) {
    expectRefusal(await requestWith(token, { 'service-organization-id': header }), 400, 'invalid_parameters')
  }
  for (const id of [foreign.organizationId, 'org_019aa5b2c1d27e3fa4b5c6d7e8f90123']) {
    expectRefusal(await requestWith(token, { 'service-organization-id': id }), 403, 'insufficient_permissions')
  }
})

test('with a token, the header selects the organization whose records are shown', async () => {
  await useNewOrganization()
  const second = await service.newOrganization()
  await execute(sql`insert into members (organization_id, user_id, role)
    values (${uuid('org', second.organizationId)}::uuid, ${uuid('usr', organization.userId)}::uuid, 'viewer')`)
  await second.call('POST', '/v5/contacts', { body: { name: 'Only there' } })
  const token = `Bearer ${organization.accessToken}`
  const secondHeader = { 'service-organization-id': second.organizationId }
  expect((await requestWith(token)).body).toEqual([])
  expect((await requestWith(token, secondHeader)).body).toMatchObject([{ name: 'Only there' }])
  const write = await service.anonymous('POST', '/v5/contacts', {
    body: { name: 'Ada' },
    headers: { authorization: token, ...secondHeader },
  })
  expectRefusal(write, 403, 'missing_scopes')
})

test('a removed membership or a changed role takes effect immediately', async () => {
  await useNewOrganization()
  const call = callAs(service, organization.accessToken)
  const create = () => call('POST', '/v5/contacts', { body: { name: 'Ada' } })
  const member = sql`organization_id = ${uuid('org', organization.organizationId)}::uuid`
  expect((await create()).status).toBe(201)
  await execute(sql`update members set role = 'viewer' where ${member}`)
  expectRefusal(await create(), 403, 'missing_scopes')
  await execute(sql`update members set role = 'member' where ${member}`)
  expect((await create()).status).toBe(201)
  await execute(sql`delete from members where ${member}`)
  expectRefusal(await create(), 403, 'insufficient_permissions')
  expectRefusal(await call('GET', '/v5/contacts?bogus=1'), 403, 'insufficient_permissions')
})

test('/me shows the creator of the key with the organization of the key, or the user of the token with all organizations', async () => {
  await useNewOrganization()
  const second = await service.newOrganization()
  await execute(sql`insert into members (organization_id, user_id, role)
    values (${uuid('org', second.organizationId)}::uuid, ${uuid('usr', organization.userId)}::uuid, 'member')`)
  const byKey = (await organization.call('GET', '/v5/me')).body
  expect(byKey).toMatchObject({
    id: organization.userId,
    organizations: [{ id: organization.organizationId, role: 'owner' }],
  })
  expect(Object.keys(byKey)).toEqual([
    'id',
    'email',
    'name',
    'timeZone',
    'language',
    'organizationId',
    'organizations',
    'credential',
  ])
  const byToken = await callAs(service, organization.accessToken)('GET', '/v5/me')
  const ids = byToken.body.organizations.map(({ id, role }: Json) => [id, role])
  expect(ids.sort()).toEqual(
    [
      [organization.organizationId, 'owner'],
      [second.organizationId, 'member'],
    ].sort(),
  )
})

const refresh = (token: unknown) => service.anonymous('POST', '/auth', { body: { token } })

test('a refresh token is exchanged for two new tokens without any other credential', async () => {
  await useNewOrganization()
  const response = await refresh(organization.refreshToken)
  expect(response.status).toBe(200)
  const { userId, sessionId } = organization
  expect(response.body).toEqual({
    userId,
    sessionId,
    accessToken: expect.any(String),
    refreshToken: expect.stringMatching(/^rft_/),
  })
  expect(response.body.accessToken).not.toBe(organization.accessToken)
  expect(response.body.refreshToken).not.toBe(organization.refreshToken)
  for (const token of [organization.accessToken, response.body.accessToken]) {
    expect((await requestWith(`Bearer ${token}`)).status).toBe(200)
  }
})

test('presenting the last refresh token again immediately returns the same successor', async () => {
  await useNewOrganization()
  const responses = await Promise.all([1, 2, 3].map(() => refresh(organization.refreshToken)))
  expect(new Set(responses.map(({ body }) => body.refreshToken)).size).toBe(1)
  expect((await refresh(responses[0]!.body.refreshToken)).status).toBe(200)
})

test('presenting a refresh token after its successor was used ends the session', async () => {
  await useNewOrganization()
  const first = (await refresh(organization.refreshToken)).body
  const second = (await refresh(first.refreshToken)).body
  expectRefusal(await refresh(organization.refreshToken), 401, 'invalid_token')
  expectRefusal(await refresh(second.refreshToken), 401, 'invalid_token')
  expectRefusal(await requestWith(`Bearer ${second.accessToken}`), 401, 'invalid_token')
})

test('presenting a refresh token again after half a minute ends the session', async () => {
  await useNewOrganization()
  const { accessToken, refreshToken } = (await refresh(organization.refreshToken)).body
  await execute(sql`update sessions set rotated_at = rotated_at - interval '31 seconds'
    where id = ${uuid('session', organization.sessionId)}::uuid`)
  expectRefusal(await refresh(organization.refreshToken), 401, 'invalid_token')
  expectRefusal(await refresh(refreshToken), 401, 'invalid_token')
  expectRefusal(await requestWith(`Bearer ${accessToken}`), 401, 'invalid_token')
})

test('anything but a refresh token gets the same 401', async () => {
  await useNewOrganization()
  const { refreshToken, accessToken, apiKey } = organization
  const changed = refreshToken.slice(0, -2) + (refreshToken.endsWith('AA') ? 'BB' : 'AA')
  const texts = await Promise.all(
    [changed, accessToken.slice(0, 400), apiKey, 'x', 'rft_'].map(async (token) => {
      const response = await refresh(token)
      expectRefusal(response, 401, 'invalid_token')
      return response.text
    }),
  )
  expect(new Set(texts).size).toBe(1)
  expect((await refresh(refreshToken)).status).toBe(200)
})

test('the body of /auth is validated like any other', async () => {
  const post = (body: unknown, headers = {}) => service.anonymous('POST', '/auth', { body, headers })
  expect(expectRefusal(await post({}), 422, 'missing_required_field').details).toMatchObject([{ field: 'token' }])
  expectRefusal(await post({ token: null }), 422, 'invalid_field_value')
  expectRefusal(await post({ token: 7 }), 422, 'invalid_field_value')
  expectRefusal(await post({ token: 'x', more: 1 }), 422, 'invalid_field_value')
  expectRefusal(await post([]), 422, 'invalid_field_value')
  expectRefusal(await post(''), 400, 'malformed_request')
  expectRefusal(await post('token=x', { 'content-type': 'application/x-www-form-urlencoded' }), 415)
  expectRefusal(await service.anonymous('POST', '/auth?token=x', { body: { token: 'x' } }), 400, 'invalid_parameters')
  expectRefusal(await service.anonymous('POST', '/v5/auth', { body: { token: 'x' } }), 404)
})

test('an access token can be verified with only the published keys', async () => {
  const keySet = createRemoteJWKSet(new URL(`${service.url}/.well-known/jwks.json`))
  const { payload, protectedHeader } = await jwtVerify(organization.accessToken, keySet)
  expect(protectedHeader).toMatchObject({ alg: 'ES256', typ: 'at+jwt', kid: expect.any(String) })
  expect(payload).toMatchObject({
    sub: organization.userId,
    sid: organization.sessionId,
    org: organization.organizationId,
  })
  expect(payload.exp! - payload.iat!).toBe(24 * 60 * 60)
  const published = (await service.anonymous('GET', '/.well-known/jwks.json')).body
  expect(published.keys.flatMap((key: Json) => Object.keys(key))).not.toContain('d')
  const other = await startTestService()
  const theirs = (await other.newOrganization()).accessToken
  await other.close()
  await expect(jwtVerify(theirs, keySet)).rejects.toThrow(/no applicable key/)
  expectRefusal(await requestWith(`Bearer ${theirs}`), 401, 'invalid_token')
})

test('AUTH_ORIGIN moves the authentication routes from the API’s host to another host', async () => {
  const moved = await startTestService({ AUTH_ORIGIN: 'https://auth.example.test' })
  try {
    const { apiKey, organizationId, refreshToken } = await moved.newOrganization()
    const body = JSON.stringify({ token: refreshToken })
    const send = (host: string, method: string, path: string) =>
      sendRaw(
        moved.url,
        requestText(method, path, {
          headers: {
            host,
            'content-type': 'application/json',
            authorization: `Bearer ${apiKey}`,
            'service-organization-id': organizationId,
            'x-forwarded-host': 'auth.example.test',
          },
          ...(method === 'POST' && { body }),
        }),
      )
    for (const path of ['/v5/contacts', '/v5/me', '/.well-known/jwks.json']) {
      expect((await send('api.example.test', 'GET', path)).status).toBe(200)
      expectRefusal(await send('auth.example.test', 'GET', path), 404, 'not_found')
      expectRefusal(await send('auth.example.test', 'PUT', path), 404, 'not_found')
      expectRefusal(await send('auth.example.test', 'OPTIONS', path), 404, 'not_found')
    }
    expectRefusal(await send('api.example.test', 'POST', '/auth'), 404, 'not_found')
    expectRefusal(await send('api.example.test', 'GET', '/auth'), 404, 'not_found')
    expectRefusal(await send('auth.example.test', 'GET', '/auth'), 405)
    for (const host of ['auth.example.test', 'AUTH.example.test:443']) {
      expect((await send(host, 'POST', '/auth')).status).toBe(200)
    }
    for (const host of ['api.example.test', 'auth.example.test']) {
      expect((await send(host, 'GET', '/healthz')).status).toBe(200)
    }
  } finally {
    await moved.close()
  }
})
