import { roleScopes } from '../../app.ts'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Access, openAccess } from '../../../test/access.ts'
import type { BootstrapResult } from '../../cli/bootstrap.ts'
import { createApiKey } from '../../cli/create-api-key.ts'
import { CredentialChanged } from '../../platform/database/failures.ts'
import { type Sql, sql } from '../../platform/model/sql.ts'
import { newId, decodeId, encodeId } from '../../platform/model/ids.ts'
import { generateApiKey } from './api-key.ts'
import type { Identifier } from '../../platform/http/protocol/identifier.ts'
import { firstKeyScopes } from '../../platform/model/scopes.ts'

let access: Access
let ours: BootstrapResult

beforeAll(async () => {
  access = await openAccess()
})

beforeEach(async () => {
  ours = await access.newOrganization()
})

afterAll(async () => {
  await access.close()
})

const bearer = (credential: string) => `Bearer ${credential}`

async function identify(
  authorization: string | undefined,
  organization?: string,
  identifier: Identifier = access.identifier,
) {
  return identifier.selectOrganization(await identifier.authenticate(authorization), organization)
}

const change = (statement: Sql) => access.database.crossTenantQuery<object>('check the database', statement)

const uuidOf = (id: string) => decodeId(id.slice(0, id.indexOf('_')), id)

test.each([undefined, '', '   '])(
  'missing credentials (%j) return 401 missing_authorization with the specified texts',
  async (header) => {
    const refusal = await identify(header).catch((error: unknown) => error)
    expect(refusal).toMatchObject({ code: 'missing_authorization', status: 401 })
    const { message, description } = (refusal as { body(): { message: string; description: string } }).body()
    expect(message).toBe('You are not logged in')
    expect(description).toMatch(/access token.*API key/)
    expect(refusal).toHaveProperty(['headers', 'www-authenticate'], 'Bearer realm="rapport"')
  },
)

test.each([
  'Basic YTpi',
  'Bearer',
  'Bearer a b',
  'Bearer nonsense',
  'Bearer svc_nonsense',
  `Bearer ${generateApiKey()}`,
  `Bearer ${generateApiKey().slice(0, -1)}`,
  `Token ${generateApiKey()}`,
  generateApiKey(),
])('"%s" returns 401 invalid_token', async (header) => {
  await expect(identify(header, ours.organizationId)).rejects.toMatchObject({
    code: 'invalid_token',
    status: 401,
    headers: { 'www-authenticate': expect.stringContaining('error="invalid_token"') as string },
  })
})

test('a key with its organization gives a caller with the key\'s scopes; the case of "bearer" does not matter', async () => {
  for (const scheme of ['Bearer', 'bearer', 'BEARER ']) {
    expect(await identify(`${scheme} ${ours.apiKey}`, ours.organizationId)).toMatchObject({
      kind: 'key',
      userId: uuidOf(ours.userId),
      organizationId: uuidOf(ours.organizationId),
      scopes: [...firstKeyScopes],
    })
  }
})

test('a key without the organization header returns 400 and names the header', async () => {
  await expect(identify(bearer(ours.apiKey))).rejects.toMatchObject({
    code: 'invalid_parameters',
    status: 400,
    details: [{ field: 'Service-Organization-ID', message: expect.stringContaining('required') as string }],
  })
})

test.each(['', ' ', 'org_', 'org 1', `usr_${'0'.repeat(32)}`, `org_${'0'.repeat(32)}, org_${'0'.repeat(32)}`])(
  'the organization header "%s" returns 400 for a key and for a token',
  async (header) => {
    for (const credential of [ours.apiKey, ours.accessToken]) {
      await expect(identify(bearer(credential), header)).rejects.toMatchObject({
        code: 'invalid_parameters',
        details: [{ field: 'Service-Organization-ID' }],
      })
    }
  },
)

test('a foreign organization and one that does not exist return the same 403', async () => {
  const theirs = await access.newOrganization()
  const others = await access.database.crossTenantQuery<{ id: string }>(
    'check the database',
    sql`insert into organizations (id, name, slug) values (${newId()}, 'Others', ${newId()}) returning id`,
  )
  const other = encodeId('org', others[0]?.id ?? '')
  const refusals = await Promise.all(
    [
      [ours.apiKey, theirs.organizationId],
      [ours.apiKey, encodeId('org', newId())],
      [ours.accessToken, other],
      [ours.accessToken, encodeId('org', newId())],
    ].map(([credential = '', organization]) =>
      identify(bearer(credential), organization).catch((error: unknown) => error),
    ),
  )
  for (const refusal of refusals) expect(refusal).toMatchObject({ code: 'insufficient_permissions', status: 403 })
  expect(new Set(refusals.map((refusal) => JSON.stringify((refusal as { body(): object }).body()))).size).toBe(1)
})

test('a token works in its current organization and, with the header, in every organization of its user', async () => {
  const theirs = await access.newOrganization()
  const token = bearer(ours.accessToken)
  for (let round = 0; round < 2; round++) {
    expect((await identify(token)).organizationId).toBe(uuidOf(ours.organizationId))
    expect((await identify(token, ours.organizationId)).organizationId).toBe(uuidOf(ours.organizationId))
    expect((await identify(token, theirs.organizationId)).organizationId).toBe(uuidOf(theirs.organizationId))
  }
})

test('a cached caller is reused without a query', async () => {
  for (const [authorization, organization] of [
    [bearer(ours.apiKey), ours.organizationId],
    [bearer(ours.accessToken), undefined],
    [bearer(ours.accessToken), ours.organizationId],
  ]) {
    expect(await identify(authorization, organization)).toBe(await identify(authorization, organization))
  }
})

test.each([
  ['revoked', sql`revoked_at = now()`],
  ['expired', sql`expires_at = now() - interval '1 second'`],
])('a key that is %s is rejected immediately by every process that has cached it', async (_, fields) => {
  const other = access.anotherProcess().identifier
  const caller = await identify(bearer(ours.apiKey), ours.organizationId, other)
  await other.confirm(caller)
  await access.database.reader(caller).query(sql`select ${access.database.reader(caller).organization}`)

  await change(sql`update api_keys set ${fields} where id = ${caller.credentialId}`)
  await expect(other.confirm(caller)).rejects.toBeInstanceOf(CredentialChanged)
  const reader = access.database.reader(caller)
  await expect(reader.query(sql`select ${reader.organization}`)).rejects.toBeInstanceOf(CredentialChanged)
  // Also if another error would be returned from the cache.
  await expect(identify(bearer(ours.apiKey), undefined, other)).rejects.toMatchObject({ status: 401 })
  other.forget(caller)
  await expect(identify(bearer(ours.apiKey), ours.organizationId, other)).rejects.toMatchObject({ status: 401 })
})

test('a key is read again after its scopes change', async () => {
  const caller = await identify(bearer(ours.apiKey), ours.organizationId)
  await change(
    sql`update api_keys set scopes = '{urn:service:contact:list:read}', version = version + 1 where id = ${caller.credentialId}`,
  )
  await expect(access.identifier.confirm(caller)).rejects.toBeInstanceOf(CredentialChanged)
  access.identifier.forget(caller)
  const now = await identify(bearer(ours.apiKey), ours.organizationId)
  expect(now.scopes).toEqual(['urn:service:contact:list:read'])
  await access.identifier.confirm(now)
})

test.each<[string, (ids: { session: string; user: string; organization: string }) => Sql]>([
  ['the session ends', ({ session }) => sql`update sessions set ended_at = now() where id = ${session}`],
  [
    'the user is removed from the organization',
    ({ user, organization }) => sql`delete from members where user_id = ${user} and organization_id = ${organization}`,
  ],
  [
    'the role changes',
    ({ user, organization }) =>
      sql`update members set role = 'viewer' where user_id = ${user} and organization_id = ${organization}`,
  ],
  [
    'the session moves to another organization',
    ({ session }) =>
      sql`update sessions set organization_id = (select max(id::text)::uuid from organizations where id <> organization_id)
        where id = ${session}`,
  ],
])('a cached token is no longer valid as cached when %s', async (_, statement) => {
  await access.newOrganization()
  const caller = await identify(bearer(ours.accessToken))
  await access.identifier.confirm(caller)
  const { credentialId: session, userId: user, organizationId: organization } = caller
  await change(statement({ session, user, organization }))
  await expect(access.identifier.confirm(caller)).rejects.toBeInstanceOf(CredentialChanged)
})

test('a removed member gets 403, an ended session 401, and a new role its scopes', async () => {
  const authorization = bearer(ours.accessToken)
  const { userId, organizationId, credentialId } = await identify(authorization)
  const forget = async () => access.identifier.forget(await identify(authorization))

  await forget()
  await change(sql`update members set role = 'viewer' where organization_id = ${organizationId}`)
  expect((await identify(authorization)).scopes).toEqual(roleScopes('viewer'))
  await forget()
  await change(sql`delete from members where organization_id = ${organizationId} and user_id = ${userId}`)
  await expect(identify(authorization)).rejects.toMatchObject({ status: 403 })
  await change(sql`update sessions set ended_at = now() where id = ${credentialId}`)
  await expect(identify(authorization)).rejects.toMatchObject({ status: 401 })
  await expect(identify(authorization, 'nonsense')).rejects.toMatchObject({ status: 401 })
})

test('the last use of a key is recorded at most once a minute', async () => {
  const { apiKey, id } = await createApiKey({
    database: access.database,
    organization: ours.organizationId,
    name: 'Noted',
    scopes: ['contact:list:read'],
  })
  const lastUse = async () => {
    const rows = await access.database.crossTenantQuery<{ at: string | null }>(
      'check the database',
      sql`select last_used_at::text as at from api_keys where id = ${uuidOf(id)}`,
    )
    return rows[0]?.at
  }
  expect(await lastUse()).toBeNull()
  await identify(bearer(apiKey), ours.organizationId)
  await expect.poll(lastUse).not.toBeNull()

  const earlier = await lastUse()
  await change(sql`update api_keys set last_used_at = last_used_at - interval '2 minutes' where id = ${uuidOf(id)}`)
  const aged = await lastUse()
  expect(aged).not.toBe(earlier)
  access.clock.now += 59_000
  await identify(bearer(apiKey), ours.organizationId)
  access.clock.now += 1000
  expect(await lastUse()).toBe(aged)
  await identify(bearer(apiKey), ours.organizationId)
  await expect.poll(lastUse).not.toBe(aged)
})
