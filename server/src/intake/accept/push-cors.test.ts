import { afterAll, beforeAll, expect, test } from 'vitest'
import { newImport, newLead, type TestImport } from '../../../test/pushes.ts'
import { startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'

const allowed = 'https://app.example'

let services: TestService[]
let organization: TestOrganization
let targets: TestImport[]
beforeAll(async () => {
  // With and without pages that may call the whole API.
  services = await Promise.all([startTestService(), startTestService({ CORS_ORIGINS: allowed })])
  const organizations = await Promise.all(services.map((service) => service.newOrganization()))
  organization = organizations[0] as TestOrganization
  targets = await Promise.all(
    services.map((service, index) => newImport(service, organizations[index] ?? organization)),
  )
})
afterAll(() => Promise.all(services.map((service) => service.close())))

const origins = ['https://www.example.com', 'null', allowed]

const preflight = (service: TestService, path: string, origin: string) =>
  service.anonymous('OPTIONS', path, {
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type,idempotency-key',
    },
  })

test.each(origins)('a page of %s may push: its preflight is allowed, without credentials', async (origin) => {
  for (const [index, service] of services.entries()) {
    const { status, headers } = await preflight(service, targets[index]?.path ?? '', origin)
    expect([status, headers.get('access-control-allow-origin')]).toEqual([204, '*'])
    expect(headers.get('access-control-allow-methods')).toBe('POST')
    expect(headers.get('access-control-allow-headers')).toBe('content-type,idempotency-key')
    expect(Number(headers.get('access-control-max-age'))).toBeGreaterThan(0)
    expect(headers.has('access-control-allow-credentials')).toBe(false)
  }
})

test('it can read every answer to a push: the row, the errors, and that the URL is invalid', async () => {
  for (const target of targets) {
    const headers = { origin: 'https://www.example.com' }
    const answers = [
      await target.push(newLead(), { headers }),
      await target.push({ contact: {} }, { headers }),
      await target.push('{', { headers }),
      await target.push('x'.repeat(1024 * 1024 + 1), { headers }),
      await target.push(newLead(), { headers: { ...headers, 'idempotency-key': ' ' } }),
    ]
    expect(answers.map(({ status }) => status).slice(0, 4)).toEqual([200, 400, 400, 413])
    for (const { headers: sent } of answers) {
      expect(sent.get('access-control-allow-origin')).toBe('*')
      expect(sent.get('access-control-expose-headers')).toContain('Retry-After')
      expect(sent.has('access-control-allow-credentials')).toBe(false)
    }
  }
  const [service] = services
  const wrong = `${targets[0]?.path.slice(0, -3)}xyz`
  const unknown = await service?.anonymous('POST', wrong, { body: {}, headers: { origin: 'https://www.example.com' } })
  expect([unknown?.status, unknown?.headers.get('access-control-allow-origin')]).toEqual([404, '*'])
})

test('it may call nothing else of the API', async () => {
  for (const [index, service] of services.entries()) {
    const { importId = '' } = targets[index] ?? {}
    for (const path of [
      '/v5/contacts',
      `/v5/imports/${importId}`,
      `/v5/imports/${importId}/rows`,
      '/auth/login',
      '/v5/docs',
    ]) {
      const answers = [
        await preflight(service, path, 'https://www.example.com'),
        await service.anonymous('GET', path, { headers: { origin: 'https://www.example.com' } }),
      ]
      for (const { headers } of answers)
        expect([path, headers.get('access-control-allow-origin')]).toEqual([path, null])
    }
  }
})

test('OPTIONS without a preflight names the method, and is not a refused push', async () => {
  const [service] = services
  const { status, headers } = (await service?.anonymous('OPTIONS', targets[0]?.path ?? '')) ?? {}
  expect([status, headers?.get('allow')]).toEqual([204, 'OPTIONS, POST'])
})
