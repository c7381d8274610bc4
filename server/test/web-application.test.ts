import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { webFolder } from '../src/release.ts'
import { chromium, sharedChromium } from './chromium.ts'
import { returnPage, takePage } from './page-pool.ts'
import { requestText, sendRaw } from './raw-http.ts'
import { startTestService, type TestService } from './service.ts'

let service: TestService
/** With AUTH_ORIGIN, the application is on the host of the logins. */
let split: TestService
/** A script and a font of the build. */
let script: string
beforeAll(async () => {
  ;[service, split] = await Promise.all([
    startTestService({ RATE_LIMIT_PER_MINUTE: '30' }),
    startTestService({ AUTH_ORIGIN: 'https://app.example.com', PUBLIC_URL: 'https://api.example.com' }),
  ])
  script = /src="(\/assets\/[^"]+)"/.exec((await open('/login')).text)?.[1] ?? ''
})
afterAll(() => Promise.all([service.close(), split.close()]))

const browser = {
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'sec-fetch-mode': 'navigate',
}
const open = (path: string, headers = {}) => service.anonymous('GET', path, { headers: { ...browser, ...headers } })
const load = (path: string, headers = {}) => service.anonymous('GET', path, { headers: { accept: '*/*', ...headers } })
const ask = (host: string, path: string, accept = browser.accept) =>
  sendRaw(split.url, requestText('GET', path, { headers: { ...browser, host, accept } }))

test('browsers get the application at each of its paths, and its own "not found" elsewhere', async () => {
  for (const path of ['/', '/login', '/contacts', '/contacts/con_1?tab=notes', '/settings/members/']) {
    const { status, headers, text } = await open(path)
    expect([path, status, headers.get('content-type')]).toEqual([path, 200, 'text/html; charset=utf-8'])
    expect(text).toContain('<div id="root">')
    expect(headers.get('vary')).toContain('accept')
  }
  const absent = await open('/nothing')
  expect([absent.status, absent.text]).toEqual([404, (await open('/')).text])
})

test.skipIf(!chromium)('a browser runs the application under its policy, with files of this service only', async () => {
  const page = await takePage(await sharedChromium(), {})
  onTestFinished(() => returnPage(page))
  const troubles: string[] = []
  page.on('pageerror', (error) => troubles.push(String(error)))
  page.on('console', (message) => {
    // The application asks whether the person is logged in.
    if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) troubles.push(message.text())
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(`${service.url}/`)) troubles.push(request.url())
  })
  await page.goto(`${service.url}/`)
  // Not waitForFunction: its second attempt evaluates a string, which the policy refuses.
  await page.getByRole('heading', { name: 'Log in' }).waitFor()
  expect(troubles).toEqual([])
})

test('programs get JSON at the same paths', async () => {
  expect((await load('/')).body).toMatchObject({ name: 'Rapport', api: '/v5' })
  for (const path of ['/contacts', '/login', '/nothing', '/assets/absent.js']) {
    const { status, body } = await load(path)
    expect([path, status, body.code]).toEqual([path, 404, 'not_found'])
  }
  const posted = await service.anonymous('POST', '/contacts', { headers: browser, body: {} })
  expect([posted.status, posted.body.code]).toEqual([404, 'not_found'])
})

test('the page allows only files of this service, and is revalidated', async () => {
  const { headers } = await open('/contacts')
  expect(headers.get('content-security-policy')).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
      "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  )
  expect(headers.get('cache-control')).toBe('no-cache')
  // On a busy machine, a page may not know in time that nobody has set the service up.
  await expect
    .poll(async () => {
      const etag = (await open('/contacts')).headers.get('etag') ?? ''
      const again = await open('/', { 'if-none-match': etag })
      return [again.status, again.text]
    })
    .toEqual([304, ''])
})

test('each file of the build is served with its type, and hashed ones are cached for ever', async () => {
  const { files } = JSON.parse(await readFile(join(webFolder, 'build.json'), 'utf8')) as { files: string[] }
  const plain = files.filter((name) => !/\.(?:br|gz|html)$/.test(name))
  expect(plain.length).toBeGreaterThan(2)
  const types: Record<string, string> = { js: 'text/javascript; charset=utf-8', svg: 'image/svg+xml' }
  for (const name of plain) {
    const { status, headers } = await load(`/${name}`)
    const cached = name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache'
    expect([name, status, headers.get('cache-control')]).toEqual([name, 200, cached])
    const type = types[name.split('.').pop() ?? '']
    if (type) expect([name, headers.get('content-type')]).toEqual([name, type])
    const again = await load(`/${name}`, { 'if-none-match': headers.get('etag') ?? '' })
    expect([name, again.status, again.text]).toEqual([name, 304, ''])
  }
})

test.each([
  ['gzip, deflate, br, zstd', 'br'],
  ['gzip', 'gzip'],
  ['br;q=0, gzip;q=0.5', 'gzip'],
  ['GZIP ; q=1', 'gzip'],
  ['identity', undefined],
  ['br;q=0', undefined],
])('with Accept-Encoding: %s, a script is sent in the coding %s that the build made', async (accepted, coding) => {
  const plain = await readFile(join(webFolder, script))
  const bytes = await rawBody(script, accepted)
  expect(bytes.header('content-encoding')).toBe(coding)
  expect(bytes.header('vary')).toBe('accept-encoding')
  expect(Number(bytes.header('content-length'))).toBe(bytes.body.length)
  const text = coding === 'br' ? brotliDecompressSync(bytes.body) : coding ? gunzipSync(bytes.body) : bytes.body
  expect(text.equals(plain)).toBe(true)
})

/** The undecoded body of a response with its headers. */
async function rawBody(path: string, acceptEncoding: string) {
  const text = requestText('GET', path, { headers: { 'accept-encoding': acceptEncoding, connection: 'close' } })
  const chunks: Buffer[] = []
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1', () => socket.write(text))
  for await (const chunk of socket) chunks.push(chunk as Buffer)
  const whole = Buffer.concat(chunks)
  const end = whole.indexOf('\r\n\r\n')
  const head = whole.subarray(0, end).toString()
  return {
    header: (name: string) => new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1],
    body: whole.subarray(end + 4),
  }
}

test('a HEAD request gets the headers of a file without its content', async () => {
  const { status, headers, text } = await service.anonymous('HEAD', script)
  expect([status, text, Number(headers.get('content-length')) > 1000]).toEqual([200, '', true])
})

test('pages and files do not count against the rate limit of an address', async () => {
  for (let attempt = 0; attempt < 20; attempt++) {
    expect((await load(script)).headers.get('ratelimit')).toBeNull()
    expect((await open('/contacts')).status).toBe(200)
  }
  expect((await load('/v5')).status).toBe(200)
})

test('a browser that opens a URL of the API is sent to the login, and programs get a 401', async () => {
  const sent = await service.anonymous('GET', '/v5/contacts?limit=1', { headers: browser })
  expect([sent.status, sent.headers.get('location')]).toEqual([303, '/login?next=%2Fv5%2Fcontacts%3Flimit%3D1'])
  expect((await load('/v5/contacts')).status).toBe(401)
  const absent = await open('/v5/nothing')
  expect([absent.status, absent.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8'])
  expect(absent.text).toContain('<h1>404 Not found</h1>')
})

test('with AUTH_ORIGIN, its host serves the application, which names the API and may connect to it', async () => {
  const page = await ask('app.example.com', '/contacts')
  expect(page.status).toBe(200)
  expect(page.body).toContain('<meta name="rapport-api" content="https://api.example.com" />')
  expect(page.headers['content-security-policy']).toContain("connect-src 'self' https://api.example.com;")
  expect((await open('/contacts')).text).not.toContain('rapport-api')
  const preflight = await sendRaw(
    split.url,
    requestText('OPTIONS', '/v5/contacts', {
      headers: {
        host: 'api.example.com',
        origin: 'https://app.example.com',
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'authorization',
      },
    }),
  )
  expect([preflight.status, preflight.headers['access-control-allow-origin']]).toEqual([204, 'https://app.example.com'])
})

test('with AUTH_ORIGIN, the API’s host sends browsers to the application', async () => {
  for (const path of ['/', '/contacts?page=2']) {
    const { status, headers } = await ask('api.example.com', path)
    expect([status, headers.location]).toEqual([302, `https://app.example.com${path}`])
  }
  const refused = await ask('api.example.com', '/v5/contacts')
  expect([refused.status, refused.headers.location]).toEqual([
    303,
    'https://app.example.com/login?next=%2Fv5%2Fcontacts',
  ])
  expect((await ask('api.example.com', '/', '*/*')).status).toBe(200)
  expect((await ask('app.example.com', '/v5/nothing')).status).toBe(404)
})
