import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId } from '../../model/ids.ts'
import { type Sql, sql } from '../../model/sql.ts'
import { startTestService, type TestOrganization, type TestService } from '../../../../test/service.ts'

// A create that needs only a root contact and a team from other tables is a single statement in its own implicit transaction.
let service: TestService
let organization: TestOrganization
let id: string
beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
  id = decodeId('org', organization.organizationId) ?? ''
})
afterAll(() => service.close())

const execute = (statement: Sql) =>
  service.database.crossTenantQuery<{ count: string }>('check the database', statement)
const create = (body: Record<string, unknown>) => organization.call('POST', '/v5/contacts', { body })

/** The number of contacts, root contacts and renderings of the organization with this address. */
async function countWritten(email: string): Promise<number[]> {
  const counts = await Promise.all([
    execute(sql`select count(*) from contacts where organization_id = ${id}::uuid and email_key = ${email}`),
    execute(sql`select count(*) from root_contacts where organization_id = ${id}::uuid and email_key = ${email}`),
    execute(
      sql`select count(*) from contact_renderings where organization_id = ${id}::uuid and document like ${`%${email}%`}`,
    ),
  ])
  return counts.map(([row]) => Number(row?.count))
}

test('a create returns the same body and ETag as a read', async () => {
  const created = await create({ email: 'ada@example.com', tags: ['a', 'b'], customProperties: { plan: 'free' } })
  expect(created.status).toBe(201)
  const read = await organization.call('GET', `/v5/contacts/${created.body.id}`)
  expect([read.body, read.headers.get('etag')]).toEqual([created.body, created.headers.get('etag')])
  expect(created.body.teamId).toBe(organization.teamId)
  expect(await countWritten('ada@example.com')).toEqual([1, 1, 1])
})

test('of concurrent creates with one address, one succeeds and the others name its id', async () => {
  const responses = await Promise.all(Array.from({ length: 20 }, () => create({ email: 'grace@example.com' })))
  const [first, ...others] = responses.filter(({ status }) => status === 201)
  expect(others).toEqual([])
  const refused = responses.filter(({ status }) => status !== 201)
  expect(refused.map(({ status, body }) => [status, body.details?.[0]?.id])).toEqual(
    refused.map(() => [409, first?.body.id]),
  )
  expect(await countWritten('grace@example.com')).toEqual([1, 1, 1])
})

test('a contact with a known address gets the same root contact', async () => {
  const { body: first } = await create({ email: 'emmy@example.com' })
  await organization.call('DELETE', `/v5/contacts/${first.id}`)
  const { body: second } = await create({ email: 'EMMY@example.com' })
  expect(second.rootContactId).toBe(first.rootContactId)
  const [one, other] = await Promise.all([create({ name: 'nobody' }), create({ name: 'nobody' })])
  expect(one.body.rootContactId).not.toBe(other.body.rootContactId)
})

test('a credential that is revoked between two requests writes nothing', async () => {
  const call = await organization.withScopes(['urn:service:contact:create:write'])
  expect((await call('POST', '/v5/contacts', { body: { email: 'before@example.com' } })).status).toBe(201)
  await execute(sql`update api_keys set revoked_at = now() where organization_id = ${id}::uuid and name = 'test'`)
  expect((await call('POST', '/v5/contacts', { body: { email: 'after@example.com' } })).status).toBe(401)
  expect(await countWritten('after@example.com')).toEqual([0, 0, 0])
})

test('creating a company returns the same body and ETag as reading it', async () => {
  const created = await organization.call('POST', '/v5/companies', { body: { name: 'Engines', annualRevenue: '1.50' } })
  expect(created.status).toBe(201)
  const read = await organization.call('GET', `/v5/companies/${created.body.id}`)
  expect([read.body, read.headers.get('etag')]).toEqual([created.body, created.headers.get('etag')])
})
