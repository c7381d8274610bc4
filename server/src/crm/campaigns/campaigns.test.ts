import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'

let service: TestService
let organization: TestOrganization
beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
})
afterAll(() => service.close())

test('a campaign can only be a draft', async () => {
  const { call } = organization
  const created = await call('POST', '/v5/campaigns', { body: { name: 'Spring', status: 'draft' } })
  expect(created).toMatchObject({
    status: 201,
    body: { status: 'draft', statusReason: null, kind: 'broadcast', purpose: 'marketing', schedule: null, stats: null },
  })
  for (const status of ['scheduled', 'preparing', 'running', 'paused', 'completed', 'cancelled', 'failed', 'sent']) {
    const changed = await call('PATCH', `/v5/campaigns/${created.body.id}`, { body: { status } })
    expect(changed, status).toMatchObject({ status: 422, body: { code: 'invalid_field_value' } })
    expect(changed.body.details).toMatchObject([{ field: 'status' }])
    expect((await call('POST', '/v5/campaigns', { body: { name: 'Spring', status } })).status).toBe(422)
  }
  expect((await call('GET', `/v5/campaigns/${created.body.id}`)).text).toBe(created.text)
})

test('kind and purpose accept only the listed values', async () => {
  const { call } = organization
  const body = { name: 'Welcome', kind: 'sequence', purpose: 'transactional' }
  expect(await call('POST', '/v5/campaigns', { body })).toMatchObject({ status: 201, body })
  const refused = await call('POST', '/v5/campaigns', { body: { name: 'Welcome', kind: 'Sequence', purpose: 'spam' } })
  expect(refused).toMatchObject({ status: 422, body: { code: 'validation_error' } })
  expect(refused.body.details).toEqual([
    { field: 'kind', message: 'expected one of broadcast, sequence' },
    { field: 'purpose', message: 'expected one of marketing, sales, transactional' },
  ])
})

test('fields that the service will set are read-only', async () => {
  const { call } = organization
  const body = { name: 'Spring', audience: {}, schedule: {}, stats: {}, statusReason: 'none' }
  const refused = await call('POST', '/v5/campaigns', { body })
  expect(refused.status).toBe(422)
  expect(refused.body.details).toEqual(
    ['audience', 'schedule', 'stats', 'statusReason'].map((field) => ({ field, message: 'is read-only' })),
  )
})

test('the owner must be a member of the organization', async () => {
  const otherOrganization = await service.newOrganization()
  const { call, userId } = organization
  const own = await call('POST', '/v5/campaigns', { body: { name: 'Mine', ownerId: userId } })
  expect(own).toMatchObject({ status: 201, body: { ownerId: userId } })
  const refused = await call('POST', '/v5/campaigns', { body: { name: 'Theirs', ownerId: otherOrganization.userId } })
  expect(refused).toMatchObject({ status: 422, body: { code: 'invalid_field_value', details: [{ field: 'ownerId' }] } })
})

test('a search requires every word in name or subject', async () => {
  const { call } = await service.newOrganization()
  const body = { name: 'Frühling 2027', subject: 'Neue Angebote', description: 'Geheim' }
  await call('POST', '/v5/campaigns', { body })
  const count = async (query: string) =>
    (await call('GET', `/v5/campaigns/count?query=${encodeURIComponent(query)}`)).body.count
  for (const query of ['fruhling', 'FRÜH', 'angebote 2027', 'ne  an'])
    expect([query, await count(query)]).toEqual([query, 1])
  for (const query of ['geheim', 'frühling geheim', 'frühlingneue'])
    expect([query, await count(query)]).toEqual([query, 0])
})
