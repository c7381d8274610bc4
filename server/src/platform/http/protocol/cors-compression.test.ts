import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { version } from './version.ts'
import { openRaw, requestText } from '../../../../test/raw-http.ts'
import { expectRefusal } from '../../../../test/refusals.ts'
import { startTestService, type TestOrganization, type TestService } from '../../../../test/service.ts'

const allowed = 'https://app.example.test'
const other = 'http://localhost:5173'
let service: TestService
let serviceWithoutCors: TestService
let organization: TestOrganization
let recordPath: string

beforeAll(async () => {
  service = await startTestService({ CORS_ORIGINS: `${allowed},${other}`, METRICS_PORT: '0' })
  serviceWithoutCors = await startTestService()
  organization = await service.newOrganization()
  for (let index = 0; index < 5; index++) {
    const created = await organization.call('POST', '/v5/contacts', {
      body: { name: `Ada ${index}`, bio: 'x'.repeat(900) },
    })
    recordPath = `/v5/contacts/${created.body.id}`
  }
})
afterAll(async () => {
  await service.close()
  await serviceWithoutCors.close()
})

const allowOrigin = 'access-control-allow-origin'
const corsHeaders = (headers: Headers) => [...headers.keys()].filter((name) => name.startsWith('access-control-'))

test.each([allowed, other])('a page of %s may read responses, including errors', async (origin) => {
  for (const path of ['/v5/contacts', '/v5/contacts?bogus=1', '/v5/nowhere', '/v5/me']) {
    const { headers } = await organization.call('GET', path, { headers: { origin } })
    expect(headers.get(allowOrigin)).toBe(origin)
    expect(headers.get('vary')).toMatch(/origin/i)
    expect(headers.get('access-control-allow-credentials')).toBeNull()
    const exposed = headers.get('access-control-expose-headers')?.toLowerCase().split(', ')
    for (const name of ['etag', 'link', 'location', 'ratelimit', 'retry-after', 'version', 'x-request-id']) {
      expect(exposed).toContain(name)
    }
  }
  expect((await service.anonymous('GET', '/v5/me', { headers: { origin } })).headers.get(allowOrigin)).toBe(origin)
})

test.each(['https://evil.example', 'null', 'https://app.example.test.evil.example', 'http://app.example.test', ''])(
  'a page of "%s" may not read responses',
  async (origin) => {
    const { status, headers } = await organization.call('GET', '/v5/contacts', { headers: { origin } })
    expect([status, corsHeaders(headers)]).toEqual([200, []])
    expect(headers.get('vary')).toMatch(/origin/i)
    const preflight = await service.anonymous('OPTIONS', '/v5/contacts', {
      headers: { origin, 'access-control-request-method': 'POST' },
    })
    expect(corsHeaders(preflight.headers)).toEqual([])
  },
)

test('without CORS_ORIGINS, no page may read responses', async () => {
  const headers = { origin: allowed, 'access-control-request-method': 'POST' }
  for (const method of ['GET', 'OPTIONS']) {
    expect(corsHeaders((await serviceWithoutCors.anonymous(method, '/v5/contacts', { headers })).headers)).toEqual([])
  }
})

test.each(['GET', 'POST', 'PATCH', 'DELETE'])(
  'a preflight allows %s with our headers, without a credential',
  async (method) => {
    const wanted = 'authorization,content-type,idempotency-key,if-match,if-none-match,service-organization-id'
    const { status, text, headers } = await service.anonymous('OPTIONS', recordPath, {
      headers: { origin: allowed, 'access-control-request-method': method, 'access-control-request-headers': wanted },
    })
    expect([status, text, headers.get(allowOrigin)]).toEqual([204, '', allowed])
    expect(headers.get('access-control-allow-methods')?.split(', ')).toContain(method)
    expect(headers.get('access-control-allow-headers')?.split(',')).toEqual(wanted.split(','))
    expect(Number(headers.get('access-control-max-age'))).toBeGreaterThan(0)
    expect(headers.get('version')).toBe(version)
  },
)

test('OPTIONS without a preflight lists the methods and has no CORS header except the origin', async () => {
  const { status, headers } = await service.anonymous('OPTIONS', '/v5/contacts', { headers: { origin: allowed } })
  expect([status, headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS, POST'])
  expect(headers.get('access-control-allow-methods')).toBeNull()
})

/** The undecoded response: `fetch` would decompress it. */
async function rawGet(path: string, encoding: string | undefined, method = 'GET') {
  const connection = await openRaw(service.url)
  connection.write(
    requestText(method, path, {
      headers: {
        authorization: `Bearer ${organization.apiKey}`,
        'service-organization-id': organization.organizationId,
        connection: 'close',
        ...(encoding !== undefined && { 'accept-encoding': encoding }),
      },
    }),
  )
  await connection.closed
  const bytes = connection.bytes()
  const end = bytes.indexOf('\r\n\r\n')
  const head = bytes.subarray(0, end).toString()
  const header = (name: string) => new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1]
  return { head, header, body: decodeChunks(bytes.subarray(end + 4), header('transfer-encoding')) }
}

function decodeChunks(bytes: Buffer, coding: string | undefined): Buffer {
  if (coding !== 'chunked') return bytes
  const chunks: Buffer[] = []
  for (let position = 0; ;) {
    const lineEnd = bytes.indexOf('\r\n', position)
    const size = Number.parseInt(bytes.subarray(position, lineEnd).toString(), 16)
    if (!(size > 0)) return Buffer.concat(chunks)
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size))
    position = lineEnd + 2 + size + 2
  }
}

test.each([
  ['br', 'br'],
  ['gzip', 'gzip'],
  ['gzip, deflate, br', 'br'],
  ['br;q=0, gzip', 'gzip'],
  ['deflate', undefined],
  ['identity', undefined],
  [undefined, undefined],
  ['nonsense', undefined],
])('with Accept-Encoding: %s, the coding of a list is %s', async (accepted, coding) => {
  const plain = (await organization.call('GET', '/v5/contacts', { headers: { 'accept-encoding': 'identity' } })).text
  expect(plain.length).toBeGreaterThan(1024)
  const { header, body } = await rawGet('/v5/contacts', accepted)
  expect([header('content-encoding'), header('vary')]).toEqual([coding, 'accept-encoding, origin'])
  const text = coding === 'br' ? brotliDecompressSync(body) : coding === 'gzip' ? gunzipSync(body) : body
  expect(text.toString()).toBe(plain)
  if (coding) expect(body.length).toBeLessThan(plain.length / 2)
})

test('small responses, 304 and responses to HEAD have no compressed body', async () => {
  const small = await rawGet('/v5/me', 'gzip')
  expect([small.header('content-encoding'), small.header('vary')]).toEqual([undefined, 'accept-encoding, origin'])
  expect(JSON.parse(small.body.toString()).id).toBe(organization.userId)
  const head = await rawGet('/v5/contacts', 'gzip', 'HEAD')
  expect([head.header('content-encoding'), head.body.length]).toEqual(['gzip', 0])
  const list = await organization.call('GET', '/v5/contacts', { headers: { 'accept-encoding': 'gzip' } })
  const etag = list.headers.get('etag') ?? ''
  const again = await organization.call('GET', '/v5/contacts', {
    headers: { 'accept-encoding': 'br', 'if-none-match': etag },
  })
  expect([again.status, again.text, again.headers.get('content-encoding')]).toEqual([304, '', null])
  expect(again.headers.get('vary')).toBe(list.headers.get('vary'))
})

test('a long error is compressed like any other response', async () => {
  const names = Array.from({ length: 60 }, (_, index) => `bogus${index}=1`).join('&')
  const { header, body } = await rawGet(`/v5/contacts?${names}`, 'gzip')
  expect(header('content-encoding')).toBe('gzip')
  const refusal = JSON.parse(gunzipSync(body).toString())
  expect([refusal.code, refusal.details.length]).toEqual(['invalid_parameters', 60])
})

test('the probes need no credential, and metrics are served only on their own port', async () => {
  expect((await service.anonymous('GET', '/healthz')).body).toEqual({ status: 'ok' })
  expect((await service.anonymous('GET', '/readyz')).body).toEqual({ status: 'ready' })
  expectRefusal(await service.anonymous('GET', '/metrics'), 404)
  const line = service.logged.map((text) => JSON.parse(text)).find(({ msg }) => msg === 'metrics')
  const read = async () => (await fetch(line.url)).text()
  // A request is counted after its response was sent.
  await expect
    .poll(read)
    .toMatch(/rapport_http_request_duration_seconds_count\{method="GET",route="\/healthz",status="200"\} 1/)
  const text = await read()
  expect(text).not.toContain(organization.organizationId)
  expect((await fetch(new URL('/v5/contacts', line.url))).status).toBe(404)
  expect(serviceWithoutCors.logged.filter((logged) => logged.includes('metrics'))).toEqual([])
})
