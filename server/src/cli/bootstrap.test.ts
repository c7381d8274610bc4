import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Access, openAccess, owner } from '../../test/access.ts'
import { routes } from '../app.ts'
import { covers } from '../platform/model/scopes.ts'
import { StartError } from '../platform/database/start-error.ts'
import { sql } from '../platform/model/sql.ts'
import { isScoped } from '../platform/http/route.ts'
import { decodeId, encodeId } from '../platform/model/ids.ts'
import { type BootstrapResult, bootstrap } from './bootstrap.ts'
import { createApiKey } from './create-api-key.ts'

let access: Access

beforeAll(async () => {
  access = await openAccess()
})

afterAll(async () => {
  await access.close()
})

const addresses = {
  baseUrl: 'https://crm.example/v5',
  authUrl: 'https://crm.example',
  teamBaseUrl: 'https://crm.example',
}

function run(options: {
  email?: string
  password?: string
  organization: string
  timeZone?: string
}): Promise<BootstrapResult> {
  const { database, secret, tokens } = access
  return bootstrap({ database, secret, tokens, addresses, ...owner, ...options })
}

const countStatements = [
  sql`select count(*)::integer as count from users`,
  sql`select count(*)::integer as count from organizations`,
  sql`select count(*)::integer as count from teams`,
  sql`select count(*)::integer as count from members`,
  sql`select count(*)::integer as count from api_keys`,
  sql`select count(*)::integer as count from sessions`,
  sql`select count(*)::integer as count from imports`,
  sql`select count(*)::integer as count from import_triggers`,
]

/** Number of rows in each table, users first. */
const counts = async () =>
  Promise.all(
    countStatements.map(async (statement) => {
      const [row] = await access.database.crossTenantQuery<{ count: number }>('check the database', statement)
      return row?.count
    }),
  )

const identify = async (credential: string, organization?: string) =>
  access.identifier.selectOrganization(await access.identifier.authenticate(`Bearer ${credential}`), organization)

test('bootstrap returns everything needed to start, and all of it works', async () => {
  const result = await run({ organization: 'Müller & Söhne' })
  expect(result).toEqual({
    ...addresses,
    userId: expect.stringMatching(/^usr_[0-9a-f]{32}$/) as string,
    organizationId: expect.stringMatching(/^org_[0-9a-f]{32}$/) as string,
    teamId: expect.stringMatching(/^tea_[0-9a-f]{32}$/) as string,
    sessionId: expect.stringMatching(/^session_[0-9a-f]{32}$/) as string,
    accessToken: expect.any(String) as string,
    refreshToken: expect.any(String) as string,
    apiKey: expect.stringMatching(/^svc_[0-9A-Za-z]{40}$/) as string,
    importId: expect.stringMatching(/^imp_[0-9a-f]{32}$/) as string,
    triggerUrl: expect.stringMatching(
      /^https:\/\/crm\.example\/v5\/imports\/imp_[0-9a-f]{32}\/trigger\/\w{43}$/,
    ) as string,
  })
  expect(result.triggerUrl).toContain(`/${result.importId}/`)
  const byKey = await identify(result.apiKey, result.organizationId)
  const byToken = await identify(result.accessToken)
  expect(byToken.organizationId).toBe(byKey.organizationId)
  expect(byToken.userId).toBe(byKey.userId)
  expect((await access.sessions.refresh(result.refreshToken)).sessionId).toBe(result.sessionId)
})

test('the key has every scope except creating API keys and reading the contents of mails', async () => {
  const { apiKey, organizationId } = await run({ organization: 'Able' })
  const { scopes } = await identify(apiKey, organizationId)
  const needed = [...new Set(routes.filter(isScoped).map(({ scope }) => scope))]
  const missing = needed.filter((scope) => !covers(scopes, scope))
  expect(missing.filter((scope) => !scope.startsWith('api-key:'))).toEqual(['mail-content:get:read', 'system:get:read'])
  for (const resource of ['organization', 'member', 'invitation', 'domain', 'sso-connection', 'webhook'])
    expect(scopes).toContain(`urn:service:${resource}:*:write`)
  expect(covers(scopes, 'api-key:create:write')).toBe(false)
})

test('the audit log starts with the creation of the organization, the key and the import', async () => {
  const { organizationId, importId, apiKey, triggerUrl } = await run({ organization: 'Told' })
  const { credentialId } = await identify(apiKey, organizationId)
  const events = await access.database.crossTenantQuery<{ action: string; record_type: string; record_id: string }>(
    'check the database',
    sql`select action, actor_kind, actor_id, record_type, record_id, details from audit_events
      where organization_id = ${decodeId('org', organizationId) ?? ''}::uuid order by id`,
  )
  const byCommand = { actor_kind: 'command', actor_id: null, details: {} }
  expect(events).toEqual([
    { action: 'organization.created', record_type: 'organization', record_id: organizationId, ...byCommand },
    { action: 'api-key.created', record_type: 'api-key', record_id: encodeId('key', credentialId), ...byCommand },
    { action: 'import.created', record_type: 'import', record_id: importId, ...byCommand },
  ])
  for (const secret of [apiKey, triggerUrl.slice(-43)]) expect(JSON.stringify(events)).not.toContain(secret)
})

test('the same user can bootstrap another organization with the right password', async () => {
  const before = await counts()
  const first = await run({ organization: 'One' })
  const second = await run({ organization: 'Two', email: owner.email.toUpperCase() })
  expect(second.userId).toBe(first.userId)
  expect(second.organizationId).not.toBe(first.organizationId)
  const users = before[0] === 0 ? 1 : 0
  expect(await counts()).toEqual(before.map((number, index) => (number ?? 0) + (index === 0 ? users : 2)))
})

test.each<[string, { email?: string; password?: string; organization: string }, RegExp]>([
  ['the same organization again', { organization: 'taken' }, /already/],
  ['the same organization in another spelling', { organization: ' TAKEN! ' }, /already/],
  ['a wrong password', { organization: 'New', password: 'wrong horse battery' }, /not their password/],
  ['a short password', { organization: 'New', email: 'new@example.com', password: 'short' }, /12 to 128/],
  ['an invalid address', { organization: 'New', email: 'nobody' }, /not an email address/],
  ['an organization without a name', { organization: ' ' }, /name must have 1 to 100/],
  ['a name without a letter', { organization: '!!!' }, /letter or a digit/],
])('bootstrap refuses %s with a clear message and creates nothing', async (_, options, words) => {
  await run({ organization: 'Taken' }).catch((error: unknown) => expect(error).toBeInstanceOf(StartError))
  const before = await counts()
  const refusal = await run(options).catch((error: unknown) => error)
  expect(refusal).toBeInstanceOf(StartError)
  expect((refusal as Error).message).toMatch(words)
  expect(await counts()).toEqual(before)
})

test('two simultaneous runs create an organization once', async () => {
  const results = await Promise.allSettled([run({ organization: 'Race' }), run({ organization: 'Race' })])
  expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  const refused = results.find((result) => result.status === 'rejected')
  expect(refused?.reason).toBeInstanceOf(StartError)
})

test('an API key is created by the id, slug or name of the organization, with full scopes', async () => {
  const { organizationId } = await run({ organization: 'Keys & Co' })
  for (const organization of [organizationId, 'keys-co', 'keys & CO']) {
    const key = await createApiKey({
      database: access.database,
      organization,
      name: 'Script',
      scopes: ['contact:list:read', 'urn:service:contact:list:read', 'company:*:write'],
    })
    expect(key).toEqual({
      id: expect.stringMatching(/^key_[0-9a-f]{32}$/) as string,
      organizationId,
      apiKey: expect.stringMatching(/^svc_/) as string,
      scopes: ['urn:service:contact:list:read', 'urn:service:company:*:write'],
    })
    expect((await identify(key.apiKey, organizationId)).scopes).toEqual(key.scopes)
  }
})

test('an expired key is refused', async () => {
  const { organizationId } = await run({ organization: 'Short lives' })
  const { apiKey, id } = await createApiKey({
    database: access.database,
    organization: organizationId,
    name: 'Short',
    scopes: ['*:*:read'],
    expiresAt: new Date(Date.now() + 60_000),
  })
  const caller = await identify(apiKey, organizationId)
  expect(id).toContain(caller.credentialId.replaceAll('-', ''))
  await access.database.crossTenantQuery(
    'check the database',
    sql`update api_keys set expires_at = expires_at - interval '2 minutes' where id = ${caller.credentialId}`,
  )
  await expect(identify(apiKey)).rejects.toMatchObject({ code: 'invalid_token' })
})

test.each<[string, Partial<Parameters<typeof createApiKey>[0]>, RegExp]>([
  ['an unknown organization', { organization: 'Nowhere' }, /no organization/],
  ['an invalid scope', { scopes: ['contact:list'] }, /is not a scope/],
  ['no scope', { scopes: [] }, /at least one scope/],
  ['no name', { name: ' ' }, /name must have 1 to 100/],
  ['an expiry in the past', { expiresAt: new Date(0) }, /is in the past/],
  ['an invalid date', { expiresAt: new Date('tomorrow') }, /is in the past/],
])('creating a key with %s is refused with a clear message', async (_, options, words) => {
  await run({ organization: 'Refusals' }).catch(() => undefined)
  const given = { database: access.database, organization: 'Refusals', name: 'A key', scopes: ['contact:list:read'] }
  const refusal = await createApiKey({ ...given, ...options }).catch((error: unknown) => error)
  expect(refusal).toBeInstanceOf(StartError)
  expect((refusal as Error).message).toMatch(words)
})

test('no table contains a usable secret', async () => {
  const result = await run({ organization: 'Secrets' })
  const { refreshToken } = await access.sessions.refresh(result.refreshToken)
  const tables = await access.database.crossTenantQuery<{ name: string }>(
    'check the database',
    sql`select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  )
  expect(tables.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['api_keys', 'sessions', 'signing_keys', 'users', 'import_triggers']),
  )
  const dump = await access.database.crossTenantQuery<{ text: string }>(
    'check the database',
    sql`select query_to_xml(format('select * from %I', table_name), true, false, '')::text as text
      from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  )
  const text = dump.map((row) => row.text).join('\n')
  expect(text).toContain(result.userId.slice(4, 12))
  const secrets = [
    result.apiKey,
    result.apiKey.slice(4),
    result.accessToken,
    result.refreshToken,
    result.refreshToken.slice(-43),
    refreshToken.slice(-43),
    result.triggerUrl.slice(-43),
    owner.password,
    access.secret.export().toString('hex'),
    access.secret.export().toString('base64'),
    'PRIVATE KEY',
    '"d"',
  ]
  for (const secret of secrets) {
    for (const form of [secret, Buffer.from(secret).toString('base64'), Buffer.from(secret).toString('hex')]) {
      expect(text.replaceAll('\n', '').includes(form), form.slice(0, 8)).toBe(false)
    }
  }
})

test('the organization begins in the time zone that is named, which must exist', async () => {
  const zoneOf = async (organization: string) => {
    const [row] = await access.database.crossTenantQuery<{ zone: string }>(
      'check the database',
      sql`select time_zone as zone from organizations where name = ${organization}`,
    )
    return row?.zone
  }
  await run({ organization: 'In Lisbon', timeZone: 'europe/lisbon' })
  expect(await zoneOf('In Lisbon')).toBe('Europe/Lisbon')
  await run({ organization: 'Somewhere' })
  expect(await zoneOf('Somewhere')).toBe('UTC')
  const nowhere = run({ organization: 'Nowhere', timeZone: 'Europe/Nowhere' })
  await expect(nowhere).rejects.toThrow('--time-zone: expected an IANA time zone')
  expect(await zoneOf('Nowhere')).toBeUndefined()
})
