import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId } from '../src/platform/model/ids.ts'
import { type Sql, sql } from '../src/platform/model/sql.ts'
import { type MailedService, mailSettings, startMailedService } from './mailed-service.ts'
import { callAs, loggedIn, newEmail, newOwner, receiveLinkToken, type TestOwner, type TestPerson } from './people.ts'
import { createDatabase } from './postgres.ts'
import { newRole, personWith } from './reach-fixture.ts'
import { type Call, type Json, startTestService, type TestService } from './service.ts'

let mailed: MailedService
let another: TestService
let owner: TestOwner
beforeAll(async () => {
  const { connection, drop } = await createDatabase()
  mailed = await startMailedService({}, { connection, drop })
  another = await startTestService(mailSettings(mailed.receiver), { connection, drop: async () => undefined })
  owner = await newOwner(mailed.service)
})
afterAll(async () => {
  await another.close()
  await mailed.close()
})

const query = <Row extends object>(statement: Sql): Promise<Row[]> =>
  mailed.service.database.crossTenantQuery<Row>('check the database', statement)

const create = async (path: string, body: object): Promise<Json> => {
  const made = await owner.call('POST', path, { body })
  expect(made.status, made.text).toBe(201)
  return made.body
}

const memberIds = async (teamId: string): Promise<string[]> => {
  const { status, body } = await owner.call('GET', `/v5/teams/${teamId}/members`)
  expect(status).toBe(200)
  return body.map(({ id }: Json) => id)
}

test('everybody who joins an organization is in its default team and in that of the invitation, unless it is deleted', async () => {
  const { teamId } = owner.organization
  expect(await memberIds(teamId)).toEqual([owner.userId])
  const [north, closed] = [await create('/v5/teams', { name: 'North' }), await create('/v5/teams', { name: 'Closed' })]
  const invited = [
    await mailed.invite(owner.call, { teamId: north.id }),
    await mailed.invite(owner.call, { teamId: closed.id }),
  ]
  expect((await owner.call('DELETE', `/v5/teams/${closed.id}`)).status).toBe(204)
  const joined: string[] = []
  for (const { token } of invited) {
    const body = { token, name: 'Grace Hopper', password: 'violet engine tandem' }
    joined.push((await mailed.service.anonymous('POST', '/auth/invitations/accept', { body })).body.userId)
  }
  expect((await memberIds(teamId)).sort()).toEqual([owner.userId, ...joined].sort())
  expect(await memberIds(north.id)).toEqual([joined[0]])
  expect((await owner.call('POST', `/v5/teams/${closed.id}/restore`)).status).toBe(200)
  expect(await memberIds(closed.id)).toEqual([])
  expect((await owner.call('DELETE', `/v5/teams/${teamId}/members/${joined[0]}`)).status).toBe(423)
})

test('a session begun by single sign-on ends when the person has one more organization', async () => {
  const person = await newOwner(mailed.service)
  const bySignOn = await loggedIn(mailed.service, person.email, person.password)
  await query(
    sql`update sessions set begun_by = 'single-sign-on' where id = ${decodeId('session', bySignOn.sessionId)}::uuid`,
  )
  expect((await bySignOn.call('GET', '/v5/me')).status).toBe(200)
  expect((await person.call('POST', '/v5/me/organizations', { body: { name: 'Second' } })).status).toBe(201)
  expect((await bySignOn.call('GET', '/v5/me')).status).toBe(401)
  expect((await person.call('GET', '/v5/me')).status).toBe(200)
})

test('the former address of a person is stored', async () => {
  const person = await newOwner(mailed.service)
  const email = newEmail()
  expect((await person.call('POST', '/v5/me/address', { body: { email } })).status).toBe(202)
  const token = await receiveLinkToken(mailed.receiver, email, 'verify-address')
  expect((await person.call('POST', '/v5/me/address/confirm', { body: { token } })).status).toBe(200)
  const former = sql`select email_key as email from former_addresses where user_id = ${decodeId('usr', person.userId)}::uuid`
  expect(await query(former)).toEqual([{ email: person.email }])
})

test('a change, rotation or revocation of a key applies to the next request in every process', async () => {
  const made = await create('/v5/api-keys', { name: 'Reads', scopes: ['contact:*:read'] })
  const callsWith = (key: string): Call[] => {
    const headers = { 'service-organization-id': owner.organizationId }
    return [mailed.service, another].map((service) => callAs(service, key, headers))
  }
  const statuses = (key: string, path = '/v5/contacts') =>
    Promise.all(callsWith(key).map(async (call) => (await call('GET', path)).status))
  expect(await statuses(made.apiKey)).toEqual([200, 200])
  const path = `/v5/api-keys/${made.id}`
  expect((await owner.call('PATCH', path, { body: { scopes: ['company:*:read'] } })).status).toBe(200)
  expect(await statuses(made.apiKey)).toEqual([403, 403])
  expect(await statuses(made.apiKey, '/v5/companies')).toEqual([200, 200])
  expect((await owner.call('PATCH', path, { body: { allowedAddresses: ['203.0.113.0/24'] } })).status).toBe(200)
  expect(await statuses(made.apiKey, '/v5/companies')).toEqual([403, 403])
  expect((await owner.call('PATCH', path, { body: { allowedAddresses: [] } })).status).toBe(200)
  const rotated = await owner.call('POST', `${path}/rotate`, { body: { overlapSeconds: 0 } })
  expect(await statuses(made.apiKey, '/v5/companies')).toEqual([401, 401])
  expect(await statuses(rotated.body.apiKey, '/v5/companies')).toEqual([200, 200])
  expect((await owner.call('POST', `${path}/revoke`)).status).toBe(200)
  expect(await statuses(rotated.body.apiKey, '/v5/companies')).toEqual([401, 401])
})

test('who sees records through a team loses them when it is deleted, and has them again when it is restored', async () => {
  const person = await personWith(mailed, owner, await newRole(owner, 'team'))
  const colleague = await mailed.join(owner.call, 'member')
  const team = await create('/v5/teams', { name: 'South' })
  for (const { userId } of [person, colleague])
    expect((await owner.call('POST', `/v5/teams/${team.id}/members/${userId}`)).status).toBe(200)
  const company = await create('/v5/companies', { name: 'Acme', ownerId: colleague.userId })
  await expectSees(person, company.id, 200)
  expect((await owner.call('DELETE', `/v5/teams/${team.id}`)).status).toBe(204)
  await expectSees(person, company.id, 404)
  expect((await owner.call('GET', `/v5/teams/${team.id}/members`)).status).toBe(404)
  expect((await owner.call('POST', `/v5/teams/${team.id}/restore`)).status).toBe(200)
  await expectSees(person, company.id, 200)
  expect((await memberIds(team.id)).length).toBe(2)
})

/** In both processes. */
async function expectSees(person: TestPerson, companyId: string, status: number): Promise<void> {
  for (const call of [person.call, callAs(another, person.accessToken)])
    expect((await call('GET', `/v5/companies/${companyId}`)).status).toBe(status)
}
