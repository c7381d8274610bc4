import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { Browser } from '../../../test/browser.ts'
import type { IdentityProvider } from '../../../test/identity-provider.ts'
import { callAs, logIn } from '../../../test/people.ts'
import { completeByRecoveryCode, completeByTotp, enrolApp, newPerson } from '../../../test/second-factors.ts'
import {
  backgroundName,
  startTestService,
  type TestOrganization,
  type TestService,
  withoutBackground,
} from '../../../test/service.ts'
import {
  createSsoFixture,
  logInAtProvider,
  startWithProviders,
  verifyDomain,
} from '../../../test/single-sign-on-fixture.ts'
import { organizationTablesOf } from '../../../test/statement-inspection.ts'
import { newId, decodeId } from '../../platform/model/ids.ts'
import { type Sql, sql } from '../../platform/model/sql.ts'
import { insertPendingEvents, storePendingEvents } from './store.ts'

let service: TestService
let provider: IdentityProvider
let close: () => Promise<unknown>
const txtRecords = new Map<string, string[]>()
/** Without background work, which would move the events meanwhile, and reads tables of organizations. */
const start = (environment: Record<string, string>) => startTestService({ ...withoutBackground, ...environment })
beforeAll(async () => {
  ;({ started: service, provider, close } = await startWithProviders(start, txtRecords))
})
afterAll(() => close())

const inDatabase = <Row extends object>(statement: Sql) =>
  service.database.crossTenantQuery<Row>('check the database', statement)

/** Names of the organizations' tables in the statements of these requests, without those of background work. */
async function organizationTablesUsed(act: () => Promise<unknown>): Promise<string[]> {
  const querySpy = vi.spyOn(pg.Client.prototype, 'query')
  await act()
  const texts = querySpy.mock.calls.flatMap(([statement], index) => {
    const { application_name: name } = Reflect.get(querySpy.mock.contexts[index] ?? {}, 'connectionParameters') as {
      application_name?: string
    }
    const text: unknown = typeof statement === 'string' ? statement : Reflect.get(statement, 'text')
    return typeof text === 'string' && name !== backgroundName ? [text] : []
  })
  querySpy.mockRestore()
  expect(texts.length).toBeGreaterThan(5)
  return [...new Set(texts.flatMap(organizationTablesOf))]
}

test('logging in, refreshing and logging out use the directory only, whatever the login method', async () => {
  const person = await newPerson(service)
  const enrolled = await newPerson(service)
  const { app, recoveryCodes } = await enrolApp(enrolled)
  const fixture = await createSsoFixture(service, provider, { defaultRole: 'member' })
  const { domain } = await verifyDomain(fixture, txtRecords)
  provider.person = { sub: randomUUID(), email: `${randomUUID()}@${domain}`, email_verified: true }
  // The first login makes the person a member of the organization's teams.
  await logInAtProvider(fixture, new Browser())
  const used = await organizationTablesUsed(async () => {
    expect((await logIn(service, person.email, 'wrong')).status).toBe(401)
    const { status, body } = await logIn(service, person.email, person.password)
    expect(status).toBe(200)
    const refreshed = await service.anonymous('POST', '/auth', { body: { token: body.refreshToken } })
    expect(refreshed.status, refreshed.text).toBe(200)
    const password = { password: person.password }
    const repeated = await callAs(service, refreshed.body.accessToken)('POST', '/v5/me/reauthenticate', {
      body: password,
    })
    expect(repeated.status, repeated.text).toBe(200)
    const ended = await service.anonymous('POST', '/auth/logout', { body: { token: repeated.body.refreshToken } })
    expect(ended.status).toBe(204)
    const withCode = (code: string) => enrolled.beginLogin().then((token) => completeByTotp(service, token, code))
    expect((await withCode(app.wrongCode())).status).toBe(401)
    expect((await withCode(app.code())).status).toBe(200)
    const byRecovery = await completeByRecoveryCode(service, await enrolled.beginLogin(), recoveryCodes[0] ?? '')
    expect(byRecovery.status).toBe(200)
    expect((await logInAtProvider(fixture, new Browser())).hash).toBe('#logged-in')
    provider.person = { sub: randomUUID(), email: 'somebody@elsewhere.example' }
    expect((await logInAtProvider(fixture, new Browser())).hash).toBe('#sso-error=not-linked')
  })
  expect(used).toEqual([])
  const actions = async (call: typeof person.call) =>
    (await call('GET', '/v5/audit-log')).body.map(({ action }: { action: string }) => action)
  const { apiKey, organizationId } = fixture.organization
  expect(await actions(callAs(service, apiKey, { 'service-organization-id': organizationId }))).toEqual(
    expect.arrayContaining(['login.failed', 'login.succeeded', 'member.added']),
  )
  const relogged = await logIn(service, person.email, person.password)
  expect((await actions(callAs(service, relogged.body.accessToken))).slice(0, 5)).toEqual([
    ...['login.succeeded', 'session.ended', 'reauthentication.succeeded', 'login.succeeded', 'login.failed'],
  ])
})

test('a pending event keeps its id and time, once, however often its move is interrupted or repeated', async () => {
  const { organization } = await newPerson(service)
  const id = decodeId('org', organization.organizationId) ?? ''
  await storePendingEvents(service.database)
  await inDatabase(insertPendingEvents([id], { action: 'login.failed', actorKind: 'anonymous', actorId: null }))
  await inDatabase(sql`update pending_events set created_at = '2026-01-02T03:04:05.678Z'`)
  const [pending] = await inDatabase<{ id: string }>(sql`select id from pending_events`)
  const deletion = /^delete from pending_events/
  const { crossTenantQuery } = service.database
  const querySpy = vi.spyOn(service.database, 'crossTenantQuery').mockImplementation(async (purpose, statement) => {
    if (deletion.test(statement.parts[0] ?? '')) throw new Error('interrupted')
    return crossTenantQuery.call(service.database, purpose, statement) as never
  })
  await expect(storePendingEvents(service.database)).rejects.toThrow('interrupted')
  querySpy.mockRestore()
  await Promise.all([1, 2, 3].map(() => storePendingEvents(service.database)))
  const stored = await inDatabase<{ id: string; created_at: Date }>(
    sql`select id, created_at from audit_events where organization_id = ${id}::uuid and action = 'login.failed'`,
  )
  expect(stored).toEqual([{ id: pending?.id, created_at: new Date('2026-01-02T03:04:05.678Z') }])
  expect(await inDatabase(sql`select from pending_events`)).toEqual([])
})

test('reading a log moves the pending events of its organization only, even if those of another have the same ids', async () => {
  const [ours, theirs] = [await service.newOrganization(), await service.newOrganization()]
  const ids = [ours, theirs].map(({ organizationId }) => decodeId('org', organizationId) ?? '')
  await storePendingEvents(service.database)
  const sharedId = newId()
  for (const [index, id] of ids.entries())
    await inDatabase(sql`insert into pending_events (organization_id, id, action, actor_kind, request_id)
      values (${id}, ${sharedId}, 'login.failed', 'anonymous', ${`req_${index}`}),
        (${id}, ${newId()}, 'login.failed', 'anonymous', ${`req_${index}`})`)
  const filter = 'filter.action.equals=login.failed'
  const requestsOf = async ({ call }: TestOrganization) =>
    (await call('GET', `/v5/audit-log?${filter}`)).body.map(({ requestId }: { requestId: string }) => requestId)
  expect(await requestsOf(ours)).toEqual(['req_0', 'req_0'])
  const left = await inDatabase(sql`select organization_id as id from pending_events`)
  expect(left).toEqual([{ id: ids[1] }, { id: ids[1] }])
  expect(await requestsOf(theirs)).toEqual(['req_1', 'req_1'])
})

test('the events of an organization that is deleted do not stay pending', async () => {
  const id = newId()
  await inDatabase(sql`insert into organizations (id, name, slug) values (${id}, 'Gone', ${id})`)
  await inDatabase(insertPendingEvents([id], { action: 'login.failed', actorKind: 'anonymous', actorId: null }))
  await inDatabase(sql`delete from organizations where id = ${id}`)
  expect(await inDatabase(sql`select from pending_events where organization_id = ${id}`)).toEqual([])
})
