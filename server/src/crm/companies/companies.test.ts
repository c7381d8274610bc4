import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestService, type TestService } from '../../../test/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

test('a registrable domain is unique among the companies of an organization', async () => {
  const [ours, theirs] = [await service.newOrganization(), await service.newOrganization()]
  const first = await ours.call('POST', '/v5/companies', { body: { name: 'Acme', domain: 'WWW.Acme.co.uk.' } })
  expect(first).toMatchObject({ status: 201, body: { domain: 'acme.co.uk' } })
  const second = await ours.call('POST', '/v5/companies', { body: { name: 'Acme shop', domain: 'shop.acme.co.uk' } })
  expect(second).toMatchObject({ status: 409, body: { code: 'already_exists' } })
  expect(second.body.details).toMatchObject([{ field: 'domain', id: first.body.id }])
  for (const body of [
    { name: 'Another registrant', domain: 'other.co.uk' },
    // Under a public suffix on which a platform lets its users register names.
    { name: 'One project', domain: 'one.github.io' },
    { name: 'Another project', domain: 'two.github.io' },
    { name: 'No domain' },
    { name: 'No domain' },
  ]) {
    expect([body, (await ours.call('POST', '/v5/companies', { body })).status]).toEqual([body, 201])
  }
  expect((await theirs.call('POST', '/v5/companies', { body: { name: 'Acme', domain: 'acme.co.uk' } })).status).toBe(
    201,
  )
})

test('a company cannot change to the domain of another, but can change the host within its own', async () => {
  const { call } = await service.newOrganization()
  const { body: first } = await call('POST', '/v5/companies', { body: { name: 'Acme', domain: 'acme.com' } })
  const { body: second } = await call('POST', '/v5/companies', { body: { name: 'Other', domain: 'other.com' } })
  const taken = await call('PATCH', `/v5/companies/${second.id}`, { body: { domain: 'mail.acme.com' } })
  expect(taken.status).toBe(409)
  expect(taken.body.details[0].message).toContain(first.id)
  expect((await call('GET', `/v5/companies/${second.id}`)).body).toEqual(second)
  expect((await call('PATCH', `/v5/companies/${first.id}`, { body: { domain: 'www.acme.com' } })).status).toBe(200)
})

test('a deleted company releases its domain and can be restored only while the domain is free', async () => {
  const { call } = await service.newOrganization()
  const body = { name: 'Acme', domain: 'acme.com' }
  const { body: first } = await call('POST', '/v5/companies', { body })
  expect((await call('DELETE', `/v5/companies/${first.id}`)).status).toBe(204)
  const { body: second } = await call('POST', '/v5/companies', { body })
  const refused = await call('POST', `/v5/companies/${first.id}/restore`)
  expect(refused).toMatchObject({ status: 409, body: { details: [{ field: 'domain' }] } })
  expect(refused.body.details[0].message).toContain(second.id)
  await call('PATCH', `/v5/companies/${second.id}`, { body: { domain: null } })
  expect(await call('POST', `/v5/companies/${first.id}/restore`)).toMatchObject({ status: 200, body })
})

test('filters on domain match the exact domain, not its registrable part', async () => {
  const { call } = await service.newOrganization()
  await call('POST', '/v5/companies', { body: { name: 'Acme', domain: 'shop.acme.com' } })
  const count = async (filter: string) => (await call('GET', `/v5/companies/count?${filter}`)).body.count
  expect(await count('filter.domain.equals=shop.acme.com')).toBe(1)
  expect(await count('filter.domain.equals=acme.com')).toBe(0)
  expect(await count('filter.domain.in=acme.com,shop.acme.com')).toBe(1)
  expect(await count('filter.domain.not=acme.com')).toBe(1)
})

test.each(['annualRevenue', 'fundingTotal'])('%s is exact to 20 digits', async (name) => {
  const { call } = await service.newOrganization()
  const exact = '12345678901234567890'
  const values = [exact, '12345678901234567891', '-0.0000000000000000001', '1250000.50', '0']
  for (const value of values) {
    const created = await call('POST', '/v5/companies', { body: { name: 'Acme', [name]: value } })
    expect([created.status, created.body[name]]).toEqual([201, value])
  }
  const found = async (query: string) =>
    (await call('GET', `/v5/companies?${query}`)).body.map((company: Record<string, string>) => company[name])
  expect(await found(`filter.${name}.equals=${exact}`)).toEqual([exact])
  expect(await found(`filter.${name}.gt=${exact}`)).toEqual(['12345678901234567891'])
  expect(await found(`filter.${name}.lt=0`)).toEqual(['-0.0000000000000000001'])
  expect(await found(`filter.${name}.equals=1250000.5`)).toEqual(['1250000.50'])
  expect(await found(`orderBy=${name}&sort=asc`)).toEqual([values[2], '0', '1250000.50', exact, values[1]])
})

test.each(['123456789012345678901', '1.00000000000000000000', '1e5', '1,5', 'NaN', '', ' 1', '+1', '.5', 12, 1.5])(
  'an amount must be a decimal string of at most 20 digits, unlike %j',
  async (annualRevenue) => {
    const { call } = await service.newOrganization()
    const response = await call('POST', '/v5/companies', { body: { name: 'Acme', annualRevenue } })
    expect(response).toMatchObject({ status: 422, body: { code: 'invalid_field_value' } })
    expect(response.body.details).toMatchObject([{ field: 'annualRevenue' }])
  },
)

test('a search covers name, nickname, domain and subtitle only', async () => {
  const { call } = await service.newOrganization()
  const body = {
    name: 'Acme',
    nickname: 'Roadrunner',
    domain: 'coyote.com',
    subtitle: 'Anvils and more',
    bio: 'Desert',
  }
  await call('POST', '/v5/companies', { body })
  const count = async (query: string) => (await call('GET', `/v5/companies/count?query=${query}`)).body.count
  for (const word of ['ACME', 'runn', 'coyote.com', 'anvils', 'acme%20anvil']) {
    expect([word, await count(word)]).toEqual([word, 1])
  }
  for (const word of ['desert', 'acme%20desert', '%25']) expect([word, await count(word)]).toEqual([word, 0])
})

test('handles are stored without prefix, whatever form is sent', async () => {
  const { call } = await service.newOrganization()
  const body = {
    name: 'Acme',
    twitterHandle: '@acme',
    linkedinHandle: 'https://www.linkedin.com/company/acme-inc/',
    githubHandle: 'https://github.com/acme?tab=repositories',
    instagramHandle: 'acme.inc',
  }
  const created = await call('POST', '/v5/companies', { body })
  expect(created.body).toMatchObject({
    twitterHandle: 'acme',
    linkedinHandle: 'acme-inc',
    githubHandle: 'acme',
    instagramHandle: 'acme.inc',
    facebookHandle: null,
  })
  const refused = await call('PATCH', `/v5/companies/${created.body.id}`, { body: { facebookHandle: 'two words' } })
  expect(refused).toMatchObject({ status: 422, body: { details: [{ field: 'facebookHandle' }] } })
})
