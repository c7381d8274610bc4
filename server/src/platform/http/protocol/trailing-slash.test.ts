import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { routes } from '../../../app.ts'
import { isPage } from '../route.ts'
import { newImport, newLead } from '../../../../test/pushes.ts'
import { startTestService, type TestOrganization, type TestService } from '../../../../test/service.ts'

let service: TestService
let organization: TestOrganization
beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
})
afterAll(() => service.close())

test('every route gives the same response with a trailing slash', async () => {
  for (const route of routes.filter((one) => !isPage(one))) {
    const { method, path } = route
    const plain = path.replace(/\{\w+\}/g, 'x')
    const [one, other] = [
      await service.anonymous(method, `${plain}?bogus=1`),
      await service.anonymous(method, `${plain}/?bogus=1`),
    ]
    expect([method, path, other.status, other.body]).toEqual([method, path, one.status, one.body])
    const [refused, slashedRefused] = [
      await service.anonymous('PUT', plain),
      await service.anonymous('PUT', `${plain}/`),
    ]
    expect([path, slashedRefused.status, slashedRefused.headers.get('allow')]).toEqual([
      path,
      405,
      refused.headers.get('allow'),
    ])
  }
})

test('a page redirects to its address without the trailing slash and keeps the query', async () => {
  const pages = routes.filter(isPage)
  expect(pages.map(({ path }) => path)).toContain('/v5/swagger')
  for (const { path } of pages) {
    const address = `${service.url}${path}/?a=/b/`
    const moved = await fetch(address, { redirect: 'manual' })
    expect([path, moved.status]).toEqual([path, 308])
    expect([path, moved.headers.get('version'), moved.headers.get('x-request-id')]).toEqual([
      path,
      expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
      expect.stringMatching(/^req_/),
    ])
    const target = new URL(moved.headers.get('location') ?? '', address)
    expect([path, `${target.pathname}${target.search}`]).toEqual([path, `${path}?a=/b/`])
  }
})

test('records can be created, listed, updated and deleted at paths with a trailing slash', async () => {
  const { call } = organization
  const headers = { 'idempotency-key': randomUUID() }
  const body = { email: `${randomUUID()}@example.com` }
  const created = await call('POST', '/v5/contacts/', { body, headers })
  expect([created.status, created.headers.get('location')]).toEqual([201, `/v5/contacts/${created.body.id}`])
  const again = await call('POST', '/v5/contacts', { body, headers })
  expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([created.text, 'true'])
  await call('POST', '/v5/contacts/', { body: { name: 'Ada' } })
  const [plain, slashed] = [await call('GET', '/v5/contacts?limit=1'), await call('GET', '/v5/contacts/?limit=1')]
  expect([slashed.status, slashed.text]).toEqual([200, plain.text])
  expect(slashed.headers.get('link')).toContain('/v5/contacts?limit=1')
  expect((await call('GET', '/v5/contacts/count/')).body).toEqual({ count: 2 })
  const one = `/v5/contacts/${created.body.id}/`
  expect((await call('GET', one)).text).toBe(created.text)
  expect((await call('PATCH', one, { body: { city: 'Rome' } })).body.city).toBe('Rome')
  expect((await call('DELETE', one)).status).toBe(204)
})

test('a push is accepted at its URL with a trailing slash', async () => {
  const target = await newImport(service, organization)
  const pushed = await service.anonymous('POST', `${target.path}/`, { body: newLead() })
  expect([pushed.status, pushed.body.status]).toEqual([200, 'PENDING'])
})
