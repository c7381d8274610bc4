import { allPages } from '../../../test/all-pages.ts'
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { callAs } from '../../../test/people.ts'
import { isDistributed } from '../../../test/engines.ts'
import { until } from '../../../test/processes.ts'
import {
  type Call,
  type Json,
  startTestService,
  type TestOrganization,
  type TestService,
} from '../../../test/service.ts'
import { createApiKey } from '../../cli/create-api-key.ts'
import { addImport, rotateImport } from '../../cli/imports.ts'
import { recordPersonEvent } from './store.ts'
import type { Sql } from '../../platform/model/sql.ts'
import { sql } from '../../platform/model/sql.ts'
import { newId, decodeId, encodeId } from '../../platform/model/ids.ts'

let service: TestService
let organization: TestOrganization
beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
})
afterAll(() => service.close())

const inDatabase = <Row extends object>(statement: Sql) =>
  service.database.crossTenantQuery<Row>('check the database', statement)

const uuidOf = (prefix: string, id: string): string => decodeId(prefix, id) ?? ''

/** Requests of the organization's owner, with an access token. */
const byToken = ({ accessToken }: TestOrganization): Call => callAs(service, accessToken)

/** Events of the organization, newest first; of one record if given. */
async function events(recordId?: string, { call }: TestOrganization = organization): Promise<Json[]> {
  const filter = recordId === undefined ? '' : `&filter.recordId.equals=${recordId}`
  const { status, body } = await call('GET', `/v5/audit-log?limit=100${filter}`)
  expect(status).toBe(200)
  return body
}

const actions = async (recordId: string): Promise<string[]> =>
  (await events(recordId)).map(({ action }) => action as string).reverse()

const countEvents = async ({ call }: TestOrganization = organization): Promise<number> =>
  (await call('GET', '/v5/audit-log/count')).body.count

test('an event records actor, record, changed fields, address and request, but no values', async () => {
  const secret = `Name ${randomUUID()}`
  const made = await organization.call('POST', '/v5/imports', { body: { name: secret, tags: ['quiet'] } })
  const [event] = await events(made.body.id)
  const [key] = await inDatabase<{ id: string }>(
    sql`select id from api_keys where organization_id = ${uuidOf('org', organization.organizationId)}::uuid`,
  )
  expect(event).toEqual({
    id: expect.stringMatching(/^evt_[0-9a-f]{32}$/) as string,
    action: 'import.created',
    actorKind: 'key',
    actorId: encodeId('key', key?.id ?? ''),
    recordType: 'import',
    recordId: made.body.id,
    address: '127.0.0.1',
    requestId: made.headers.get('x-request-id'),
    details: { fields: ['name', 'tags'] },
    createdAt: made.body.createdAt,
  })
  const text = JSON.stringify(event)
  for (const value of [secret, 'quiet', made.body.triggerUrl.slice(-43)]) expect(text).not.toContain(value)
  expect((await organization.call('GET', `/v5/audit-log/${event.id}`)).body).toEqual(event)
})

test('an action with an access token is recorded with the person as actor', async () => {
  const made = await byToken(organization)('POST', '/v5/teams', { body: { name: randomUUID() } })
  expect(made.status).toBe(201)
  expect(await events(made.body.id)).toMatchObject([
    { action: 'team.created', actorKind: 'user', actorId: organization.userId },
  ])
})

test('every change of an import and of a team is recorded in order, with the changed fields', async () => {
  const { call } = organization
  const { body: made } = await call('POST', '/v5/imports', { body: { name: 'Fair' } })
  const at = `/v5/imports/${made.id}`
  await call('PATCH', at, { body: { name: 'Fair 2026', mergePolicy: 'fill' } })
  await call('POST', `${at}/disable`)
  await call('POST', `${at}/enable`)
  await call('POST', `${at}/rotate`, { body: { overlapSeconds: 0 } })
  await call('DELETE', at)
  await call('POST', `${at}/restore`)
  const own = ['updated', 'disabled', 'enabled', 'rotated', 'deleted', 'restored'].map((what) => `import.${what}`)
  expect(await actions(made.id)).toEqual(['import.created', ...own])
  const updated = (await events(made.id)).find(({ action }) => action === 'import.updated')
  expect(updated.details).toEqual({ fields: ['name'] })

  const { body: team } = await call('POST', '/v5/teams', { body: { name: 'Fair' } })
  await call('PATCH', `/v5/teams/${team.id}`, { body: { name: 'Fairs' } })
  await call('DELETE', `/v5/teams/${team.id}`)
  await call('POST', `/v5/teams/${team.id}/restore`)
  expect(await actions(team.id)).toEqual(['team.created', 'team.updated', 'team.deleted', 'team.restored'])
})

test('a rejected request or one without an effect records no event', async () => {
  const { call } = organization
  const { body: made } = await call('POST', '/v5/imports', { body: { name: 'Still' } })
  const at = `/v5/imports/${made.id}`
  for (const [method, path, body, status] of [
    ['PATCH', at, { name: 'Still' }, 200],
    ['POST', `${at}/enable`, undefined, 200],
    ['PATCH', at, { name: 3 }, 422],
    ['PATCH', `/v5/imports/imp_${'0'.repeat(32)}`, { name: 'Other' }, 404],
    ['POST', `${at}/rows/cancel?dryRun=true`, undefined, 200],
    ['POST', `${at}/rows/cancel`, undefined, 200],
  ] as const) {
    expect([path, (await call(method, path, { ...(body && { body }) })).status]).toEqual([path, status])
  }
  const refused = await call('PATCH', at, { body: { name: 'Moving' }, headers: { 'if-match': '"7-x"' } })
  expect(refused.status).toBe(412)
  expect(await actions(made.id)).toEqual(['import.created'])
})

test('a replayed Idempotency-Key records only one event', async () => {
  const headers = { 'idempotency-key': randomUUID() }
  const body = { name: 'Once' }
  const first = await organization.call('POST', '/v5/imports', { body, headers })
  const again = await organization.call('POST', '/v5/imports', { body, headers })
  expect(again.headers.get('idempotent-replayed')).toBe('true')
  expect(again.body.id).toBe(first.body.id)
  expect(await actions(first.body.id)).toEqual(['import.created'])
})

// A trigger stands for the fault.
test.skipIf(isDistributed())('a change is rolled back if its event cannot be written', async () => {
  const own = await service.newOrganization()
  const name = `Unwritten ${randomUUID()}`
  const uuid = uuidOf('org', own.organizationId)
  await inDatabase(sql`create function audit_fault() returns trigger language plpgsql as $$ begin raise 'full'; end $$`)
  await inDatabase(sql`create trigger audit_fault before insert on audit_events for each row
    when (new.action = 'import.created') execute function audit_fault()`)
  const failed = await own.call('POST', '/v5/imports', { body: { name } })
  await inDatabase(sql`drop function audit_fault() cascade`)
  expect(failed.status).toBe(500)
  expect(
    await inDatabase(sql`select id from imports where organization_id = ${uuid}::uuid and name = ${name}`),
  ).toEqual([])
  expect((await own.call('POST', '/v5/imports', { body: { name } })).status).toBe(201)
})

test('retrying or cancelling rows by filter records one event of the import, with the count', async () => {
  const { call } = organization
  const { body: made } = await call('POST', '/v5/imports', { body: { name: 'Rows' } })
  for (const email of ['a@example.com', 'b@example.com']) {
    const pushed = await service.anonymous('POST', new URL(made.triggerUrl).pathname, { body: { contact: { email } } })
    expect(pushed.status).toBe(200)
  }
  const at = `/v5/imports/${made.id}/rows`
  expect((await call('POST', `${at}/cancel`)).body.count).toBe(2)
  expect((await call('POST', `${at}/retry`)).body.count).toBe(2)
  expect((await call('POST', `${at}/cancel`)).body.count).toBe(2)
  const [row] = (await call('GET', at)).body
  expect((await call('POST', `${at}/${row.id}/retry`)).status).toBe(200)
  expect(await actions(made.id)).toEqual(['import.created', 'rows.cancelled', 'rows.retried', 'rows.cancelled'])
  expect((await events(made.id))[0].details).toEqual({ count: 2 })
  expect(await actions(row.id)).toEqual(['row.retried'])
})

// Triggers refuse it, which Citus does not support.
test.skipIf(isDistributed())(
  'events cannot be changed, deleted or truncated in the database while their organization exists',
  async () => {
    const id = newId()
    await inDatabase(sql`insert into organizations (id, name, slug) values (${id}, 'Gone', ${id})`)
    await inDatabase(sql`insert into audit_events (organization_id, id, action, actor_kind)
    values (${id}, ${newId()}, 'organization.created', 'command')`)
    const before = await inDatabase<{ count: string }>(sql`select count(*) from audit_events`)
    for (const statement of [
      sql`update audit_events set action = 'login.succeeded'`,
      sql`update audit_events set details = '{}' where false`,
      sql`delete from audit_events`,
      sql`delete from audit_events where organization_id = ${id}`,
      sql`truncate audit_events`,
      sql`insert into audit_events (organization_id, id, action, actor_kind)
      select organization_id, id, action, actor_kind from audit_events
      on conflict (organization_id, id) do update set action = 'login.failed'`,
    ]) {
      await expect(inDatabase(statement), statement.parts.join('?')).rejects.toThrow()
    }
    expect(await inDatabase<{ count: string }>(sql`select count(*) from audit_events`)).toEqual(before)
    await inDatabase(sql`delete from organizations where id = ${id}`)
    await inDatabase(sql`delete from audit_events where organization_id = ${id}`)
    const left = await inDatabase(sql`select id from audit_events where organization_id = ${id}`)
    expect(left).toEqual([])
  },
)

test('requests can only read the audit log', async () => {
  const [event] = await events()
  for (const method of ['POST', 'PATCH', 'PUT', 'DELETE']) {
    for (const path of ['/v5/audit-log', `/v5/audit-log/${event.id}`]) {
      expect((await organization.call(method, path, { body: {} })).status).toBe(405)
    }
  }
})

test('a missing scope is recorded once a minute per credential and scope', async () => {
  const own = await service.newOrganization()
  const reader = await own.withScopes(['contact:*:read'])
  const other = await own.withScopes(['contact:*:read'])
  const before = await countEvents(own)
  for (let round = 0; round < 3; round++) {
    for (const call of [reader, other]) {
      expect((await call('POST', '/v5/contacts', { body: { name: 'Secret Name' } })).status).toBe(403)
      expect((await call('GET', '/v5/companies?filter.name.equals=Secret')).status).toBe(403)
    }
  }
  await until('the denials are recorded', async () => (await countEvents(own)) >= before + 4)
  await reader('GET', '/v5/companies')
  const denials = (await events(undefined, own)).filter(({ action }) => action === 'scope.denied')
  expect(denials).toHaveLength(4)
  expect(new Set(denials.map(({ actorId, details }) => `${actorId} ${details.scope} ${details.route}`)).size).toBe(4)
  expect(denials).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        actorKind: 'key',
        address: '127.0.0.1',
        requestId: expect.stringMatching(/^req_/) as string,
        details: { scope: 'urn:service:company:list:read', route: '/v5/companies' },
      }),
    ]),
  )
  expect(JSON.stringify(denials)).not.toContain('Secret')
})

test('a request that names another organization is recorded in neither organization', async () => {
  const theirs = await service.newOrganization()
  const counts = async () => [await countEvents(), await countEvents(theirs)]
  const before = await counts()
  const headers = { 'service-organization-id': theirs.organizationId }
  expect((await organization.call('GET', '/v5/contacts', { headers })).status).toBe(403)
  expect((await byToken(organization)('GET', '/v5/contacts', { headers })).status).toBe(403)
  // This denial is recorded after anything that the others would have recorded.
  const reader = await organization.withScopes(['contact:*:read'])
  await reader('GET', '/v5/companies')
  await until('a denial is recorded', async () => (await countEvents()) > (before[0] ?? 0) + 1)
  expect(await counts()).toEqual([(before[0] ?? 0) + 2, before[1]])
})

test('actions of the command line are recorded without a person', async () => {
  const { database } = service
  const target = { database, organization: organization.organizationId }
  const key = await createApiKey({ ...target, name: 'Reports', scopes: ['contact:list:read'] })
  const made = await addImport(target, { baseUrl: 'http://localhost/v5', name: `Command ${randomUUID()}` })
  await rotateImport(target, { baseUrl: 'http://localhost/v5', nameOrId: made.id })
  const byCommand = { actorKind: 'command', actorId: null, address: null, requestId: null }
  expect(await events(key.id)).toMatchObject([{ action: 'api-key.created', ...byCommand }])
  expect(await events(made.id)).toMatchObject([
    { action: 'import.rotated', ...byCommand },
    { action: 'import.created', ...byCommand },
  ])
  expect(await events(organization.organizationId)).toMatchObject([{ action: 'organization.created', ...byCommand }])
})

test('an event about a person is recorded in each of their organizations only', async () => {
  const [home, elsewhere, foreign] = await Promise.all([1, 2, 3].map(() => service.newOrganization()))
  if (!home || !elsewhere || !foreign) throw new Error('there are three')
  const userId = uuidOf('usr', home.userId)
  await inDatabase(sql`insert into members (organization_id, user_id, role)
    values (${uuidOf('org', elsewhere.organizationId)}, ${userId}, 'viewer')`)
  await service.database.crossTenantTransaction('check the database', (db) =>
    recordPersonEvent(db, userId, { action: 'login.failed', actorKind: 'anonymous', actorId: null }),
  )
  for (const [own, count] of [
    [home, 1],
    [elsewhere, 1],
    [foreign, 0],
  ] as const) {
    const denials = (await events(undefined, own)).filter(({ action }) => action === 'login.failed')
    expect(denials).toHaveLength(count)
  }
})

test.each([
  ['owner', 200],
  ['admin', 200],
  ['member', 403],
  ['viewer', 403],
])('reading the audit log with the role %s returns %s', async (role, status) => {
  const own = await service.newOrganization()
  await inDatabase(sql`update members set role = ${role}
    where organization_id = ${uuidOf('org', own.organizationId)}::uuid`)
  const [event] = await events(undefined, own)
  for (const path of ['', '/count', `/${event.id}`]) {
    expect((await byToken(own)('GET', `/v5/audit-log${path}`)).status).toBe(status)
  }
})

test('every action has a sentence, and filters accept exactly these actions', async () => {
  const body = await allPages((path) => service.anonymous('GET', path), '/v5/audit-log/actions')
  const names = body.map(({ action }: Json) => action as string)
  expect(names).toEqual([...new Set<string>(names)].sort())
  expect(names).toEqual(expect.arrayContaining(['import.created', 'row.corrected', 'login.failed']))
  for (const { action, description } of body) {
    expect([action, description]).toEqual([action, expect.stringMatching(/^[A-Z].+\.$/)])
  }
  expect((await organization.call('GET', `/v5/audit-log?filter.action.in=${names.join()}&limit=1`)).status).toBe(200)
  const unknown = (await organization.call('GET', '/v5/audit-log?filter.action.equals=import.painted')).body
  for (const name of names) expect(JSON.stringify(unknown)).toContain(name)
})
