import { METHODS } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { routes } from '../../../app.ts'
import { version } from './version.ts'
import { openRaw, requestText, sendRaw } from '../../../../test/raw-http.ts'
import { expectRefusal } from '../../../../test/refusals.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../../test/service.ts'

let service: TestService
let organization: TestOrganization
let contact: Json

beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
  contact = (await organization.call('POST', '/v5/contacts', { body: { email: 'ada@example.com' } })).body
})
afterAll(() => service.close())

test('every response has a Version and a unique X-Request-Id', async () => {
  const push = (body: Json) => service.anonymous('POST', new URL(organization.triggerUrl).pathname, { body })
  const ids = new Set<string | null>()
  const responses = [
    await organization.call('GET', '/v5/contacts'),
    await organization.call('POST', '/v5/contacts', { body: { email: 'grace@example.com' } }),
    await organization.call('OPTIONS', '/v5/contacts'),
    await organization.call('HEAD', '/v5/contacts'),
    await organization.call('GET', '/v5/nowhere'),
    await service.anonymous('GET', '/v5/contacts'),
    await service.anonymous('GET', '/v5/%zz'),
    await service.anonymous('GET', '/healthz'),
    await service.anonymous('GET', '/readyz'),
    await service.anonymous('GET', '/.well-known/jwks.json'),
    await service.anonymous('POST', '/auth', { body: { token: 'x' } }),
    await push({ contact: { email: 'ada@example.com' } }),
    await push({}),
  ]
  for (const { headers } of responses) {
    expect(headers.get('version')).toBe(version)
    expect(headers.get('x-request-id')).toMatch(/^req_[0-9a-f]{32}$/)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    ids.add(headers.get('x-request-id'))
  }
  expect(ids.size).toBe(responses.length)
})

test("a caller's X-Request-Id is not returned; it is logged together with ours", async () => {
  const theirs = 'their-own-request-id'
  const response = await organization.call('GET', '/v5/me', { headers: { 'x-request-id': theirs } })
  const ours = response.headers.get('x-request-id')
  expect(ours).not.toBe(theirs)
  expect(JSON.stringify([...response.headers])).not.toContain(theirs)
  expect(response.text).not.toContain(theirs)
  const lines = () => service.logged.map((line) => JSON.parse(line)).filter(({ requestId }) => requestId === ours)
  // Its line is written after the response.
  await expect.poll(lines).toMatchObject([{ callerRequestId: theirs }])
})

test('errors contain the messages that the interface specifies', async () => {
  const anonymous = await service.anonymous('GET', '/v5/me')
  expectRefusal(anonymous, 401, 'missing_authorization')
  expect(anonymous.body.message).toBe('You are not logged in')
  expect(anonymous.body.description).toMatch(/access token or an API key/)
  expect(anonymous.headers.get('www-authenticate')).toBe('Bearer realm="rapport"')
  const call = await organization.withScopes(['urn:service:contact:get:read'])
  const refusal = await call('GET', '/v5/contacts')
  expect(expectRefusal(refusal, 403, 'missing_scopes').details).toEqual([
    { field: 'scope', message: 'urn:service:contact:list:read' },
  ])
  expect(refusal.body.message).toBe('Missing scopes')
  expect(refusal.body.description).toMatch(/required scopes/)
  const wrong = await service.anonymous('GET', '/v5/me', { headers: { authorization: 'Bearer svc_x' } })
  expectRefusal(wrong, 401, 'invalid_token')
  expect(wrong.headers.get('www-authenticate')).toBe('Bearer realm="rapport", error="invalid_token"')
})

const malformed: [string, string][] = [
  ['text that is not HTTP', 'hello\r\n\r\n'],
  ['an unknown method', 'FETCH /v5/contacts HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['a lower-case method', 'get /v5/contacts HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['a version of HTTP that does not exist', 'GET / HTTP/3.7\r\nhost: a\r\n\r\n'],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['a TLS handshake', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ['a header without a colon', 'GET / HTTP/1.1\r\nhost a\r\n\r\n'],
  ['a header with a space in its name', 'GET / HTTP/1.1\r\nhost: a\r\nx y: 1\r\n\r\n'],
  ['a folded header', 'GET / HTTP/1.1\r\nhost: a\r\nx: 1\r\n\t2\r\n\r\n'],
  ['a NUL in a header', 'GET / HTTP/1.1\r\nhost: a\r\nx: a\0b\r\n\r\n'],
  ['a space in the URL', 'GET /v5/a b HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['no Host header', 'GET /v5/contacts HTTP/1.1\r\n\r\n'],
  ['a Content-Length that is not a number', 'POST /auth HTTP/1.1\r\nhost: a\r\ncontent-length: x\r\n\r\n'],
  ['a negative Content-Length', 'POST /auth HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n'],
  ['two lengths', 'POST /auth HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab'],
  [
    'a length together with chunks',
    'POST /auth HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
  ],
  ['an unsupported transfer coding', 'POST /auth HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip\r\n\r\n'],
  [
    'a chunk whose size is not a number',
    'POST /auth HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n{}\r\n',
  ],
  ['a fragment in the URL', 'GET /v5/contacts#top HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nhost: example.com\r\n\r\n'],
]

test.each(malformed)('%s gets an error in the usual format', async (_what, text) => {
  expectRefusal(await sendRaw(service.url, text), 400, 'malformed_request')
})

test.each(['/v5/%zz', '/v5/contacts/%ff', '/v5/contacts/con_%c3%28', '/v5/contacts/%ed%a0%80', '/%'])(
  'the path %s is not valid percent-encoded UTF-8 and gets 400 before the credential is checked',
  async (path) => {
    const { details } = expectRefusal(await service.anonymous('GET', path), 400, 'invalid_parameters')
    expect(details[0]?.field).toBe('path')
  },
)

test.each([
  ['/v5/contacts/con_%00', 400],
  ['/v5/contacts/%25', 404],
  ['/v5/contacts/caf%C3%A9', 404],
  ['/v5/contacts/con_%2530', 404],
  [`/v5/contacts/${'x'.repeat(2000)}`, 404],
  ['/v5/contacts//', 404],
  ['/v5//contacts', 404],
  ['//v5/contacts', 404],
  ['/v5/contacts%2Fcount', 404],
  ['/v5/contacts;x=1', 404],
  ['/V5/contacts', 404],
])('the path %s gets %i', async (path, status) => {
  const text = requestText('GET', path, {
    headers: {
      authorization: `Bearer ${organization.apiKey}`,
      'service-organization-id': organization.organizationId,
    },
  })
  expectRefusal(await sendRaw(service.url, text), status)
})

test('an id is decoded only once, so doubly encoded ids are not found', async () => {
  const doublyEncoded = (contact.id as string).replace(/^con_/, 'con%255f')
  expectRefusal(await organization.call('GET', `/v5/contacts/${doublyEncoded}`), 404, 'not_found')
  const encoded = (contact.id as string).replace(/^con_/, 'con%5f')
  expect((await organization.call('GET', `/v5/contacts/${encoded}`)).status).toBe(200)
})

test('HTTP/1.0 needs no Host header, and an absolute request target is accepted', async () => {
  const response = await sendRaw(service.url, 'GET /healthz HTTP/1.0\r\n\r\n')
  expect([response.status, response.body]).toEqual([200, '{"status":"ok"}'])
  const headers = {
    authorization: `Bearer ${organization.apiKey}`,
    'service-organization-id': organization.organizationId,
  }
  const path = '/v5/contacts?limit=1&orderBy=email&sort=asc'
  const absolute = await sendRaw(service.url, requestText('GET', `http://localhost${path}`, { headers }))
  const usual = await sendRaw(service.url, requestText('GET', path, { headers }))
  expect(absolute.status).toBe(200)
  expect(absolute.body).toBe(usual.body)
  expect(absolute.headers.link?.split('?')[0]).toBe(`<${service.url}/v5/contacts`)
})

test('headers of 16 KiB are accepted; more get 431, also beyond the limit of the parser', async () => {
  const padded = (length: number) => requestText('GET', '/healthz', { headers: { 'x-long': 'x'.repeat(length) } })
  expect((await sendRaw(service.url, padded(16 * 1024 - 50))).status).toBe(200)
  for (const length of [16 * 1024, 70_000, 300_000]) {
    expectRefusal(await sendRaw(service.url, padded(length)), 431, 'headers_too_large')
  }
  const many = Object.fromEntries(Array.from({ length: 2500 }, (_, index) => [`x${index}`, '']))
  expect((await sendRaw(service.url, requestText('GET', '/healthz', { headers: many }))).status).toBe(200)
})

test('a URL of 8 KiB is accepted; more gets 414, also beyond the limit of the parser', async () => {
  const url = (length: number) => `/healthz?${'x'.repeat(length - 9)}`
  expect((await sendRaw(service.url, requestText('GET', url(8192)))).status).toBe(200)
  for (const length of [8193, 20_000, 45_000, 60_000, 300_000]) {
    expectRefusal(await sendRaw(service.url, requestText('GET', url(length))), 414, 'uri_too_long')
  }
  expectRefusal(await sendRaw(service.url, requestText('GET', `/v5/contacts/${'x'.repeat(9000)}`)), 414)
})

test('no header is dropped from more than two thousand', async () => {
  const filler = Object.fromEntries(Array.from({ length: 2100 }, (_, index) => [`x${index}`, '']))
  const headers = {
    ...filler,
    authorization: `Bearer ${organization.apiKey}`,
    'service-organization-id': organization.organizationId,
  }
  expect((await sendRaw(service.url, requestText('GET', '/v5/me', { headers }))).status).toBe(200)
})

const paths = [...new Set(routes.map(({ path }) => path)), '/healthz', '/readyz']

test.each(paths)('%s lists its methods in the response to OPTIONS and rejects all others with 405', async (path) => {
  const concrete = path.replace(/\{\w+\}/g, 'x')
  const supported = routes.filter((route) => route.path === path).map(({ method }) => method as string)
  const methods = supported.length > 0 ? supported : ['GET']
  const expected = [...new Set(['OPTIONS', ...methods, ...(methods.includes('GET') ? ['HEAD'] : [])])].sort()
  const options = await service.anonymous('OPTIONS', concrete)
  expect([options.status, options.text, options.headers.get('allow')]).toEqual([204, '', expected.join(', ')])
  const connection = await openRaw(service.url)
  for (const method of METHODS.filter((name) => !expected.includes(name) && name !== 'CONNECT')) {
    connection.write(requestText(method, concrete))
    const [response] = await connection.responses(1, { head: method === 'HEAD' })
    expect([method, response?.status, response?.headers.allow]).toEqual([method, 405, expected.join(', ')])
    if (method !== 'HEAD') expectRefusal(response!, 405, 'method_not_allowed')
  }
  connection.socket.destroy()
})

test('OPTIONS for an unknown path gets 404', async () => {
  expectRefusal(await service.anonymous('OPTIONS', '/v5/nowhere'), 404, 'not_found')
  expectRefusal(await sendRaw(service.url, requestText('OPTIONS', '*')), 404, 'not_found')
})

test.each(['/v5/contacts', '/v5/contacts/count', '/v5/me', '/v5/nowhere', '/v5/contacts?bogus=1', '/healthz'])(
  'HEAD %s returns the headers of GET without the body',
  async (path) => {
    for (const encoding of ['identity', 'gzip']) {
      const [get, head] = await Promise.all(
        ['GET', 'HEAD'].map((method) => organization.call(method, path, { headers: { 'accept-encoding': encoding } })),
      )
      expect(head!.text).toBe('')
      // Connection headers; transfer-encoding is optional for HEAD.
      const ofConnection = ['connection', 'keep-alive', 'transfer-encoding']
      const shown = (headers: Headers) => [...headers.keys()].filter((name) => !ofConnection.includes(name)).sort()
      expect([head!.status, shown(head!.headers)]).toEqual([get!.status, shown(get!.headers)])
      for (const name of ['etag', 'content-length', 'content-type', 'version', 'link']) {
        expect([name, head!.headers.get(name)]).toEqual([name, get!.headers.get(name)])
      }
    }
  },
)

test('HEAD supports If-None-Match', async () => {
  const path = `/v5/contacts/${contact.id}`
  const etag = (await organization.call('HEAD', path)).headers.get('etag') ?? ''
  expect(etag).toMatch(/^"1-/)
  const again = await organization.call('HEAD', path, { headers: { 'if-none-match': etag } })
  expect([again.status, again.headers.get('etag')]).toEqual([304, etag])
})

test.each([
  ['text/html', 406],
  ['application/json;q=0', 406],
  ['application/json;q=0, */*', 406],
  ['*/*', 200],
  ['application/*;q=0.1', 200],
  ['text/html, application/xhtml+xml, */*;q=0.8', 200],
])('Accept: %s gets %i', async (accept, status) => {
  const response = await organization.call('GET', '/v5/me', { headers: { accept } })
  expect(response.status).toBe(status)
  if (status === 406) expectRefusal(response, 406, 'not_acceptable')
})

test.each([
  ['text/plain', 415],
  ['application/x-www-form-urlencoded', 415],
  ['multipart/form-data; boundary=x', 415],
  ['application/json; charset=latin1', 415],
  ['application/merge-patch+json', 415],
  ['not a media type', 415],
  [';;;', 415],
  ['application/json; charset=UTF-8', 201],
  ['application/json;charset=utf8', 201],
  ['APPLICATION/JSON', 201],
])('a body with Content-Type %s gets %i', async (type, status) => {
  const body = JSON.stringify({ email: `${Math.random()}@example.com` })
  const response = await organization.call('POST', '/v5/contacts', { body, headers: { 'content-type': type } })
  expect(response.status, response.text).toBe(status)
  if (status === 415) expectRefusal(response, 415, 'unsupported_media_type')
})

test('a body may start with a byte order mark', async () => {
  const body = `\ufeff${JSON.stringify({ email: `${Math.random()}@example.com`, name: 'Zoë' })}`
  const response = await organization.call('POST', '/v5/contacts', { body })
  expect([response.status, response.body.name]).toEqual([201, 'Zoë'])
})

test('PATCH accepts application/merge-patch+json, and a body without a Content-Type is rejected', async () => {
  const headers = { 'content-type': 'application/merge-patch+json' }
  const path = `/v5/contacts/${contact.id}`
  expect((await organization.call('PATCH', path, { headers, body: { city: 'Oslo' } })).body.city).toBe('Oslo')
  expectRefusal(await organization.call('PATCH', '/v5/nowhere', { headers, body: {} }), 404)
  const untyped = requestText('PATCH', path, {
    headers: {
      authorization: `Bearer ${organization.apiKey}`,
      'service-organization-id': organization.organizationId,
    },
    body: '{}',
  })
  expectRefusal(await sendRaw(service.url, untyped), 415, 'unsupported_media_type')
})

test.each(['gzip', 'br', 'deflate', 'zstd', 'x-unknown', 'gzip, identity', 'gzip, gzip'])(
  'a body with Content-Encoding %s gets 415, regardless of its content',
  async (encoding) => {
    const { gzipSync } = await import('node:zlib')
    const body = gzipSync(JSON.stringify({ email: 'zip@example.com' }))
    for (const path of ['/v5/contacts', '/auth']) {
      const response = await organization.call('POST', path, { body, headers: { 'content-encoding': encoding } })
      expectRefusal(response, 415, 'unsupported_media_type')
    }
  },
)
