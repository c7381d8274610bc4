import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { backdateReauthentication, callAs, loggedIn, newOwner, type TestOwner } from '../../../test/people.ts'
import { addMember } from '../../../test/fixture-records.ts'
import { createDatabase } from '../../../test/postgres.ts'
import { until } from '../../../test/processes.ts'
import { newImport, newLead } from '../../../test/pushes.ts'
import { type Json, startTestService, type TestService } from '../../../test/service.ts'
import { tablesByPlace } from '../../places.ts'
import { identifier, type Sql, sql } from '../../platform/model/sql.ts'
import { newId, decodeId } from '../../platform/model/ids.ts'
import { storePendingEvents } from '../audit-log/store.ts'
import { createOneTimeToken } from '../access/one-time-token-store.ts'
import { removeDueOrganizations } from './removal.ts'
import { tablesOfOrganizations } from './removal-store.ts'

let service: TestService
/** Another process, which remembers credentials and imports on its own. */
let other: TestService
beforeAll(async () => {
  const database = await createDatabase()
  service = await startTestService({}, database)
  other = await startTestService({}, { ...database, drop: async () => undefined })
  // The first organization belongs to the operator.
  await service.newOrganization()
})
afterAll(async () => {
  await other.close()
  await service.close()
})

const query = (statement: Sql): Promise<Json[]> => service.database.crossTenantQuery('check the database', statement)

const uuidOf = ({ organizationId }: TestOwner): string => decodeId('org', organizationId) ?? ''
const nameOf = async ({ call }: TestOwner): Promise<string> => (await call('GET', '/v5/organization')).body.name
const pathOf = ({ organizationId }: TestOwner) => `/v5/me/organizations/${organizationId}/deletion`

async function schedule(owner: TestOwner): Promise<Json> {
  const { status, body, text } = await owner.call('POST', pathOf(owner), { body: { name: await nameOf(owner) } })
  expect(status, text).toBe(200)
  return body
}

test('an organization that is being deleted refuses sessions, keys and pushes in every process, until an owner undoes it', async () => {
  const owner = await newOwner(service)
  const target = await newImport(service, owner.organization)
  const key = { authorization: `Bearer ${owner.organization.apiKey}`, 'service-organization-id': owner.organizationId }
  const inEachProcess = async () => {
    const answers = [service, other].flatMap(({ anonymous }) => [
      anonymous('GET', '/v5/contacts', { headers: { authorization: `Bearer ${owner.accessToken}` } }),
      anonymous('GET', '/v5/contacts', { headers: key }),
      anonymous('POST', target.path, { body: newLead() }),
    ])
    return (await Promise.all(answers)).map(({ status }) => status)
  }
  expect(await inEachProcess()).toEqual([200, 200, 200, 200, 200, 200])
  const { deletesAt } = await schedule(owner)
  expect(Date.parse(deletesAt) - Date.now()).toBeGreaterThan(29.9 * 24 * 60 * 60 * 1000)
  expect(await inEachProcess()).toEqual([403, 403, 404, 403, 403, 404])
  const refused = await owner.call('GET', '/v5/contacts')
  expect(refused.body.description).toContain(`will be deleted at ${deletesAt}`)
  expect((await owner.call('GET', '/v5/me/organizations')).body).toMatchObject([
    { id: owner.organizationId, deletesAt },
  ])

  expect((await owner.call('DELETE', pathOf(owner))).status).toBe(204)
  expect(await inEachProcess()).toEqual([200, 200, 200, 200, 200, 200])
  const events = await owner.call('GET', '/v5/audit-log?filter.recordType.equals=organization&sort=asc')
  expect(events.body.map(({ action, actorId }: Json) => [action, actorId])).toEqual(
    expect.arrayContaining([
      ['organization.deletion-scheduled', owner.userId],
      ['organization.deletion-cancelled', owner.userId],
    ]),
  )
})

test('an import that was disabled before stays disabled when the deletion is undone', async () => {
  const owner = await newOwner(service)
  const target = await newImport(service, owner.organization)
  await owner.call('POST', `/v5/imports/${target.importId}/disable`)
  await schedule(owner)
  await owner.call('DELETE', pathOf(owner))
  expect((await service.anonymous('POST', target.path, { body: newLead() })).status).toBe(404)
})

test('only an owner who has re-authenticated recently and types the name can delete an organization', async () => {
  const owner = await newOwner(service)
  const name = await nameOf(owner)
  const wrong = await owner.call('POST', pathOf(owner), { body: { name: name.toLowerCase() } })
  expect([wrong.status, wrong.body.details]).toEqual([
    422,
    [{ field: 'name', message: 'is not the name of this organization' }],
  ])
  await backdateReauthentication(service, owner, 301)
  for (const [method, options] of [['POST', { body: { name } }], ['DELETE']] as const) {
    const refused = await owner.call(method, pathOf(owner), options)
    expect([refused.status, refused.body.code]).toEqual([403, 'reauthentication_required'])
  }
  const outsider = await newOwner(service)
  expect((await outsider.call('POST', pathOf(owner), { body: { name } })).status).toBe(404)
  await query(sql`
    update members set role = 'admin' where organization_id = ${uuidOf(owner)}::uuid`)
  const admin = await loggedIn(service, owner.email, owner.password)
  expect((await admin.call('POST', pathOf(owner), { body: { name } })).body.code).toBe('insufficient_permissions')
  const byKey = await owner.organization.call('POST', pathOf(owner), { body: { name } })
  expect([byKey.status, (await admin.call('GET', '/v5/organization')).status]).toEqual([403, 200])
})

test('an owner without the second factor that the organization requires cannot delete it, or undo that', async () => {
  const owner = await newOwner(service)
  const require = (value: boolean) =>
    query(sql`update organizations set requires_second_factor = ${value}::boolean where id = ${uuidOf(owner)}::uuid`)
  const name = await nameOf(owner)
  await require(true)
  expect((await owner.call('POST', pathOf(owner), { body: { name } })).body.code).toBe('second_factor_required')
  await require(false)
  await schedule(owner)
  await require(true)
  expect((await owner.call('DELETE', pathOf(owner))).body.code).toBe('second_factor_required')
})

test('the owners of the first organization cannot hand over the installation by deleting it', async () => {
  const [first] = await query(sql`select id, name from organizations order by id limit 1`)
  const { email } = (
    await query(
      sql`select email from users join members on members.user_id = users.id where organization_id = ${first.id}::uuid`,
    )
  )[0]
  const { call } = await loggedIn(service, email, 'a password that is long enough')
  const path = `/v5/me/organizations/org_${first.id.replaceAll('-', '')}/deletion`
  expect((await call('POST', path, { body: { name: first.name } })).status).toBe(423)
})

test('invitations to an organization that is being deleted cannot be accepted', async () => {
  const owner = await newOwner(service)
  const guest = await newOwner(service)
  const invited = await owner.call('POST', '/v5/invitations', { body: { email: guest.email, role: 'viewer' } })
  expect(invited.status, invited.text).toBe(201)
  await schedule(owner)
  const token = await service.database.crossTenantTransaction('log in', (db) =>
    createOneTimeToken(db, {
      purpose: 'invitation',
      organizationId: uuidOf(owner),
      recordId: decodeId('inv', invited.body.id) ?? null,
      lifetimeSeconds: 60,
    }),
  )
  const accept = () => guest.call('POST', '/v5/me/invitations', { body: { token } })
  expect((await accept()).status).toBe(422)
  await owner.call('DELETE', pathOf(owner))
  expect((await accept()).status).toBe(200)
})

/** The number of rows of the organization, by table. */
async function countRows(owner: TestOwner): Promise<Record<string, number>> {
  const tables = await tablesOfOrganizations(service.database)
  const counts = tables.map(async (table) => {
    const [row] = await query(
      sql`select count(*)::int as count from ${identifier(table)} where organization_id = ${uuidOf(owner)}::uuid`,
    )
    return [table, row.count] as const
  })
  return Object.fromEntries(await Promise.all(counts))
}

test('after the period of grace an organization is deleted from every table, and nothing else is', async () => {
  const [owner, neighbour] = [await newOwner(service), await newOwner(service)]
  for (const { call, organization, organizationId } of [owner, neighbour]) {
    expect((await call('POST', '/v5/example-data', { body: {} })).status).toBe(201)
    await addMember(service, organizationId)
    const target = await newImport(service, organization)
    const headers = { 'idempotency-key': 'the same key' }
    expect((await service.anonymous('POST', target.path, { body: newLead(), headers })).status).toBe(200)
    expect((await service.anonymous('POST', target.path, { body: { contact: 1 } })).status).toBe(400)
    const refused = async () => (await call('GET', `/v5/imports/${target.importId}/refused-pushes`)).body
    await until('the refused push is stored', async () => (await refused()).length === 1)
    await call('POST', '/v5/views', { body: { name: 'Mine', resource: 'contacts' } })
    await call('POST', '/v5/invitations', { body: { email: 'guest@example.com', role: 'viewer' } })
  }
  await schedule(owner)
  const remove = () =>
    removeDueOrganizations(
      { database: service.database, directory: tablesByPlace.directory, log: { info: () => undefined } as never },
      new AbortController().signal,
    )
  await storePendingEvents(service.database)
  const [before, untouched] = [await countRows(owner), await countRows(neighbour)]
  expect(Object.values(before).filter((count) => count > 0).length).toBeGreaterThan(25)
  await remove()
  expect(await countRows(owner)).toEqual(before)

  await query(sql`update organizations set deletes_at = now() where id = ${uuidOf(owner)}::uuid`)
  // Too late to undo it.
  expect((await owner.call('DELETE', pathOf(owner))).status).toBe(404)
  await remove()
  expect(Object.entries(await countRows(owner)).filter(([, count]) => count > 0)).toEqual([])
  expect(await query(sql`select from organizations where id = ${uuidOf(owner)}::uuid`)).toEqual([])
  expect(await countRows(neighbour)).toEqual(untouched)
  // The person stays, and is logged in without an organization.
  const { status, body } = await callAs(service, owner.accessToken)('GET', '/v5/me/organizations')
  expect([status, body]).toEqual([200, []])
})

test('an event that is written while an organization is being deleted does not stay', async () => {
  const owner = await newOwner(service)
  await schedule(owner)
  await query(sql`update organizations set deletes_at = now() where id = ${uuidOf(owner)}::uuid`)
  const { database } = service
  const send = database.crossTenantQuery.bind(database)
  const logIn = sql`insert into audit_events (organization_id, id, action, actor_kind)
    values (${uuidOf(owner)}::uuid, ${newId()}::uuid, 'login.succeeded', 'user')`
  let hasLoggedIn = false
  const watched = vi.spyOn(database, 'crossTenantQuery').mockImplementation(async (purpose, statement) => {
    if (!hasLoggedIn && statement.parts.join('').includes('delete from "members"')) {
      hasLoggedIn = true
      await send('check the database', logIn)
    }
    return send(purpose, statement)
  })
  onTestFinished(() => watched.mockRestore())
  const log = { info: () => undefined } as never
  await removeDueOrganizations({ database, directory: tablesByPlace.directory, log }, new AbortController().signal)
  expect(hasLoggedIn).toBe(true)
  expect(await query(sql`select action from audit_events where organization_id = ${uuidOf(owner)}::uuid`)).toEqual([])
})

test('the audit log of an organization that is not being deleted cannot be deleted', async () => {
  const owner = await newOwner(service)
  await expect(query(sql`delete from audit_events where organization_id = ${uuidOf(owner)}::uuid`)).rejects.toThrow(
    /append-only/,
  )
})
