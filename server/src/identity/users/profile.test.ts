import { roleScopes } from '../../app.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Access, openAccess, owner } from '../../../test/access.ts'
import type { BootstrapResult } from '../../cli/bootstrap.ts'
import type { Caller } from '../../platform/model/caller.ts'
import { firstKeyScopes } from '../../platform/model/scopes.ts'
import { CredentialChanged } from '../../platform/database/failures.ts'
import { sql } from '../../platform/model/sql.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { emailKey } from '../../platform/model/normalizers.ts'
import { profile } from './store.ts'

let access: Access
let first: BootstrapResult
let second: BootstrapResult

beforeAll(async () => {
  access = await openAccess()
  first = await access.newOrganization()
  second = await access.newOrganization()
})

afterAll(async () => {
  await access.close()
})

async function callerOf(credential: string, organization?: string): Promise<Caller> {
  return access.identifier.selectOrganization(
    await access.identifier.authenticate(`Bearer ${credential}`),
    organization,
  )
}

const readWhole = async (caller: Caller): Promise<Record<string, unknown>> =>
  JSON.parse(await profile(access.database, caller)) as Record<string, unknown>

const read = async (caller: Caller): Promise<unknown> => {
  const { credential: _, ...user } = await readWhole(caller)
  return user
}

test('a token’s profile shows all organizations of the user, a key’s profile only its own', async () => {
  const user = { id: first.userId, email: owner.email, name: 'Ada', timeZone: null, language: null }
  const [one, two] = [first, second].map(({ organizationId }, index) => ({
    id: organizationId,
    name: `Acme ${index + 1}`,
    role: 'owner',
  }))
  expect(await read(await callerOf(first.accessToken))).toEqual({
    ...user,
    organizationId: first.organizationId,
    organizations: [one, two],
  })
  expect(await read(await callerOf(first.accessToken, second.organizationId))).toEqual({
    ...user,
    organizationId: second.organizationId,
    organizations: [one, two],
  })
  expect(await read(await callerOf(second.apiKey, second.organizationId))).toEqual({
    ...user,
    organizationId: second.organizationId,
    organizations: [two],
  })
})

test('an invalid credential gets no profile', async () => {
  const caller = await callerOf(second.apiKey, second.organizationId)
  await access.database.crossTenantQuery(
    'check the database',
    sql`update api_keys set revoked_at = now() where id = ${caller.credentialId}`,
  )
  await expect(profile(access.database, caller)).rejects.toBeInstanceOf(CredentialChanged)
})

test('two spellings of an address are one user', () => {
  expect(emailKey('Ada@EXAMPLE.com')).toBe('ada@example.com')
  expect(emailKey('ada@bücher.example')).toBe(emailKey('ADA@xn--bcher-kva.example'))
})

test('the profile describes the credential of the request, with its scopes and expiry', async () => {
  const byKey = await callerOf(second.apiKey, second.organizationId)
  const end = '2090-01-31T12:00:00.000Z'
  await access.database.crossTenantQuery(
    'check the database',
    sql`update api_keys set expires_at = ${end}, revoked_at = null where id = ${byKey.credentialId}`,
  )
  access.identifier.forget(byKey)
  expect((await readWhole(await callerOf(second.apiKey, second.organizationId))).credential).toEqual({
    kind: 'key',
    id: encodeId('key', byKey.credentialId),
    name: 'Bootstrap',
    scopes: [...firstKeyScopes],
    expiresAt: end,
  })
  expect((await readWhole(await callerOf(first.accessToken))).credential).toEqual({
    kind: 'session',
    id: first.sessionId,
    name: null,
    scopes: roleScopes('owner'),
    expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
  })
})
