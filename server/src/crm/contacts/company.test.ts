import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Call, startTestService, type TestService } from '../../../test/service.ts'

let service: TestService
let call: Call
let companyId: string
let contactPath: string
beforeAll(async () => {
  service = await startTestService()
})
beforeEach(async () => {
  call = (await service.newOrganization()).call
  companyId = (await call('POST', '/v5/companies', { body: { name: 'Acme', domain: 'acme.com' } })).body.id
  const { body } = await call('POST', '/v5/contacts', { body: { name: 'Ada', companyId } })
  contactPath = `/v5/contacts/${body.id}`
  await call('POST', '/v5/contacts', { body: { name: 'Nobody’s' } })
})
afterAll(() => service.close())

const names = async (query: string): Promise<string[]> =>
  (await call('GET', `/v5/contacts?${query}`)).body.map(({ name }: { name: string }) => name)

const both = ['Nobody’s', 'Ada']

test('a contact shows the id, name and domain of its company', async () => {
  const { body } = await call('GET', contactPath)
  expect(body).toMatchObject({ companyId, company: { id: companyId, name: 'Acme', domain: 'acme.com' } })
  const { body: part } = await call('GET', `${contactPath}?select[]=company.name&select[]=companyId`)
  expect(part).toEqual({ companyId, company: { name: 'Acme' } })
})

test('a contact shows no company while the company is deleted, in responses and filters', async () => {
  const before = await call('GET', contactPath)
  await call('DELETE', `/v5/companies/${companyId}`)
  const alone = await call('GET', contactPath)
  expect(alone.body).toEqual({ ...before.body, companyId: null, company: null })
  expect((await call('GET', `${contactPath}?select[]=company.name`)).body).toEqual({ company: null })
  const filters: [string, string[]][] = [
    ['filter.companyId.equals=null', both],
    ['filter.companyId.not=null', []],
    [`filter.companyId.equals=${companyId}`, []],
    [`filter.companyId.in=${companyId}`, []],
    [`filter.companyId.not=${companyId}`, both],
    [`filter.companyId.notIn=${companyId}`, both],
    [`filter.companyId.contains=${companyId}`, []],
    ['filter.company.name.equals=Acme', []],
    ['filter.company.name.not=Acme', both],
    ['filter.company.name.equals=null', both],
    ['filter.company.contains=acm', []],
    ['filter.company.domain.endsWith=.com', []],
    [`companyId=${companyId}`, []],
    ['query=acme', []],
    // Neither has a company, so they are ordered by id.
    ['orderBy=company&sort=desc', both],
    ['orderBy=companyId&sort=asc', [...both].reverse()],
  ]
  for (const [query, expected] of filters) {
    expect([query, await names(query)]).toEqual([query, expected])
    if (query.startsWith('orderBy')) continue
    const { body } = await call('GET', `/v5/contacts/count?${query}`)
    expect([query, body]).toEqual([query, { count: expected.length }])
  }
  await call('POST', `/v5/companies/${companyId}/restore`)
  expect((await call('GET', contactPath)).text).toBe(before.text)
  expect(await names(`filter.companyId.equals=${companyId}`)).toEqual(['Ada'])
  expect(await names('filter.companyId.equals=null')).toEqual(['Nobody’s'])
  expect(await names('query=acme')).toEqual(['Ada'])
})

test('changing a contact keeps its deleted company for a later restore', async () => {
  await call('DELETE', `/v5/companies/${companyId}`)
  const changed = await call('PATCH', contactPath, { body: { nickname: 'Countess' } })
  expect(changed.body).toMatchObject({ nickname: 'Countess', companyId: null, company: null })
  await call('POST', `/v5/companies/${companyId}/restore`)
  expect((await call('GET', contactPath)).body).toMatchObject({ nickname: 'Countess', companyId })
})

test('a deleted company that is removed from a contact stays removed after a restore', async () => {
  await call('DELETE', `/v5/companies/${companyId}`)
  expect((await call('PATCH', contactPath, { body: { companyId: null } })).status).toBe(200)
  await call('POST', `/v5/companies/${companyId}/restore`)
  expect((await call('GET', contactPath)).body).toMatchObject({ companyId: null, company: null })
})

test('a contact cannot be assigned to a deleted company', async () => {
  await call('DELETE', `/v5/companies/${companyId}`)
  for (const response of [
    await call('POST', '/v5/contacts', { body: { name: 'Bob', companyId } }),
    await call('PATCH', contactPath, { body: { companyId } }),
  ]) {
    expect(response).toMatchObject({
      status: 422,
      body: { code: 'invalid_field_value', details: [{ field: 'companyId' }] },
    })
  }
})

test('renaming a company changes the ETag of its contacts, but neither revision nor updatedAt', async () => {
  const before = await call('GET', contactPath)
  const tag = before.headers.get('etag') ?? ''
  await call('PATCH', `/v5/companies/${companyId}`, { body: { name: 'Babbage & Co' } })
  const after = await call('GET', contactPath, { headers: { 'if-none-match': tag } })
  expect(after.status).toBe(200)
  expect(after.body).toEqual({ ...before.body, company: { ...before.body.company, name: 'Babbage & Co' } })
  expect(after.headers.get('etag')).not.toBe(tag)
  expect(revision(after.headers)).toBe(revision(before.headers))
  expect(await names('query=babbage')).toEqual(['Ada'])

  const changed = await call('PATCH', contactPath, { body: { city: 'London' }, headers: { 'if-match': tag } })
  expect(changed).toMatchObject({ status: 200, body: { city: 'London' } })
  const late = await call('PATCH', contactPath, { body: { city: 'Paris' }, headers: { 'if-match': tag } })
  expect(late).toMatchObject({ status: 412, body: { code: 'precondition_failed' } })
})

const revision = (headers: Headers): string => /^"(\d+)-/.exec(headers.get('etag') ?? '')?.[1] ?? 'none'

test('changing other fields of a company keeps the ETag of its contacts', async () => {
  const tag = (await call('GET', contactPath)).headers.get('etag')
  await call('PATCH', `/v5/companies/${companyId}`, { body: { bio: 'Anvils' } })
  expect((await call('GET', contactPath)).headers.get('etag')).toBe(tag)
})
