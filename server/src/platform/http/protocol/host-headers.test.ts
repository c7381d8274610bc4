import { afterAll, beforeAll, expect, test } from 'vitest'
import { requestText, sendRaw } from '../../../../test/raw-http.ts'
import { expectRefusal } from '../../../../test/refusals.ts'
import { startTestService, type TestOrganization, type TestService } from '../../../../test/service.ts'

let service: TestService
let organization: TestOrganization

beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
})
afterAll(() => service.close())

const invalidHosts: [string, string][] = [
  ['an empty Host header', 'GET /healthz HTTP/1.1\r\nhost:\r\n\r\n'],
  ['two Host headers', 'GET /healthz HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n'],
  ['the same Host header twice', 'GET /healthz HTTP/1.1\r\nhost: a\r\nHost: a\r\n\r\n'],
  ...[
    '[',
    '[::1',
    '[::1]]',
    '[localhost]',
    '[::1]x',
    'a b',
    'a/b',
    'a?b',
    'user@a',
    'a, b',
    '1.2.3.256',
    'a:b',
    'a:70000',
    ':80',
  ].map((host): [string, string] => [`the Host header ${host}`, `GET /healthz HTTP/1.1\r\nhost: ${host}\r\n\r\n`]),
  ['a URL for another host than the Host header', 'GET http://b/healthz HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['a URL with a user', 'GET http://user@a/healthz HTTP/1.1\r\nhost: user@a\r\n\r\n'],
]

test.each(invalidHosts)('a request with %s is rejected', async (_what, text) => {
  expectRefusal(await sendRaw(service.url, text), 400, 'malformed_request')
})

test.each([
  'localhost',
  'localhost:4000',
  'localhost:',
  '[::1]:4000',
  '[2001:db8::1]',
  'my_service.local',
  '10.0.0.1:80',
])('the Host header %s is accepted', async (host) => {
  const response = await sendRaw(service.url, requestText('GET', '/healthz', { headers: { host } }))
  expect(response.status).toBe(200)
})

test('passkey options can be requested over HTTP/1.0 without a Host header', async () => {
  const head = 'POST /auth/passkeys/options HTTP/1.0\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}'
  expect((await sendRaw(service.url, head)).status).toBe(200)
})

test('a repeated header is rejected, even with the same value', async () => {
  const twice = (name: string, first: string, second: string) =>
    sendRaw(
      service.url,
      requestText('GET', '/v5/me', {
        headers: {
          authorization: `Bearer ${organization.apiKey}`,
          'service-organization-id': organization.organizationId,
          [name]: first,
          [name.toUpperCase()]: second,
        },
      }),
    )
  const right = `Bearer ${organization.apiKey}`
  const id = organization.organizationId
  const repeated: [string, string, string][] = [
    ['authorization', right, 'Bearer svc_other'],
    ['authorization', right, right],
    ['service-organization-id', id, id],
    ['content-type', 'application/json', 'application/json'],
    ['idempotency-key', 'a', 'b'],
    ['origin', 'http://localhost', 'http://localhost'],
  ]
  for (const [name, first, second] of repeated) {
    const { details } = expectRefusal(await twice(name, first, second), 400, 'invalid_parameters')
    expect(details).toEqual([{ field: name.toUpperCase(), message: 'sent twice; send it once' }])
  }
  expect((await twice('accept', 'text/html', 'application/json')).status).toBe(200)
  expect((await twice('if-none-match', '"a"', '"b"')).status).toBe(200)
})
