import { afterAll, beforeAll, expect, test } from 'vitest'
import { sendRaw, requestText } from '../../../../test/raw-http.ts'
import { startTestService, type TestService } from '../../../../test/service.ts'

let local: TestService
let secure: TestService
beforeAll(async () => {
  ;[local, secure] = await Promise.all([
    startTestService(),
    startTestService({ PUBLIC_URL: 'https://crm.example.com', TRUST_PROXY: '1' }),
  ])
})
afterAll(() => Promise.all([local.close(), secure.close()]))

/** Requests for each kind of response: pages, files, records, errors of the service and of the HTTP parser. */
const requests = [
  requestText('GET', '/contacts', { headers: { accept: 'text/html' } }),
  requestText('GET', '/theme.js'),
  requestText('GET', '/account'),
  requestText('GET', '/v5/swagger'),
  requestText('GET', '/v5/docs'),
  requestText('GET', '/docs'),
  requestText('GET', '/docs/guides/api.md'),
  requestText('GET', '/docs/none.md'),
  requestText('GET', '/.well-known/jwks.json'),
  requestText('GET', '/healthz'),
  requestText('GET', '/v5/contacts'),
  requestText('GET', '/v5/nothing'),
  requestText('GET', '/v5/%zz'),
  requestText('DELETE', '/v5/contacts'),
  requestText('OPTIONS', '/v5/contacts'),
  requestText('TRACE', '/v5/contacts'),
  requestText('POST', '/auth/login', { headers: { 'content-type': 'text/plain' }, body: '{}' }),
  requestText('POST', '/auth', { headers: { 'content-type': 'application/json' }, body: '{"token":"none"}' }),
  requestText('GET', '/', { headers: { long: 'x'.repeat(60_000) } }),
  requestText('GET', `/${'x'.repeat(20_000)}`),
  'hello\r\n\r\n',
  'POST /auth HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
]

/** The value of a directive in a Content-Security-Policy, with its fallback `default-src`. */
function directiveOf(policy: string, name: string): string | undefined {
  const directives = new Map(
    policy.split('; ').map((text) => [text.split(' ', 1)[0], text.split(' ').slice(1).join(' ')]),
  )
  return directives.get(name) ?? (name.endsWith('-src') ? directives.get('default-src') : undefined)
}

test('every response, including parser errors, forbids foreign scripts, framing, sniffing and referrers', async () => {
  for (const text of requests) {
    const { headers, status } = await sendRaw(local.url, text)
    const requestLine = `${text.slice(0, 60)} ${status}`
    const policy = headers['content-security-policy'] ?? ''
    for (const name of ['object-src', 'base-uri', 'frame-ancestors', 'form-action', 'default-src']) {
      expect([requestLine, name, directiveOf(policy, name)]).toEqual([requestLine, name, "'none'"])
    }
    expect([requestLine, directiveOf(policy, 'script-src')]).toEqual([
      requestLine,
      expect.stringMatching(/^'(?:none|self)'$/),
    ])
    expect([requestLine, headers['x-content-type-options']]).toEqual([requestLine, 'nosniff'])
    expect([requestLine, headers['referrer-policy']]).toEqual([requestLine, 'no-referrer'])
    expect([requestLine, headers['strict-transport-security']]).toEqual([requestLine, undefined])
  }
})

test('behind https every response makes browsers use https for more than a year', async () => {
  for (const text of requests) {
    const { headers } = await sendRaw(secure.url, text)
    const [, seconds] = /^max-age=(\d+)/.exec(headers['strict-transport-security'] ?? '') ?? []
    expect([text.slice(0, 60), Number(seconds) > 365 * 24 * 60 * 60]).toEqual([text.slice(0, 60), true])
  }
})

test('every response with a body has a content type with UTF-8', async () => {
  for (const text of requests) {
    const { headers, status, body } = await sendRaw(local.url, text)
    if (status === 204) continue
    expect([text.slice(0, 60), String(body).length > 0]).toEqual([text.slice(0, 60), true])
    expect([text.slice(0, 60), headers['content-type']]).toEqual([
      text.slice(0, 60),
      expect.stringMatching(/^(?:application\/json|text\/(?:html|javascript)); charset=utf-8$/),
    ])
  }
})
