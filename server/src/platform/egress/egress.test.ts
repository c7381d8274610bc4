import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import { makeCertificate } from '../../../test/certificate.ts'
import { least, timeOf } from '../../../test/least.ts'
import { type NameServer, startNameServer } from '../../../test/name-server.ts'
import { parseAllowedHost } from './allow.ts'
import { createEgress, type Egress, type EgressRequest } from './egress.ts'
import { EgressError } from './egress-error.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** Starts a server on a loopback address and returns its port. */
async function listen(server: TcpServer, host = '127.0.0.1', port = 0): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => sockets.add(socket))
  server.listen(port, host)
  await once(server, 'listening')
  closers.push(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((done) => server.close(done))
  })
  return (server.address() as AddressInfo).port
}

const serve = (response: RequestListener, host?: string, port?: number) => listen(createServer(response), host, port)

async function names(know: Parameters<typeof startNameServer>[0]): Promise<NameServer> {
  const server = await startNameServer(know)
  closers.push(() => server.close())
  return server
}

const egress = (...allowed: string[]): Egress => createEgress({ allowed: allowed.map(parseAllowedHost) })

async function reasonOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    (response) => ({ answer: response }),
    (caught: unknown) => caught,
  )
  return error instanceof EgressError ? error.reason : `no refusal: ${String(error)}`
}

const refusalReason = (client: Egress, url: string, request?: EgressRequest) => reasonOf(client.request(url, request))

test('an internal host is reached only if the operator allows it', async () => {
  const port = await serve((request, response) =>
    response.end(`${request.method} ${request.url} ${request.headers.host}`),
  )
  const url = `http://127.0.0.1:${port}/path?a=1#b`
  const { status, body } = await egress(`127.0.0.1:${port}`).request(url)
  expect([status, body.toString()]).toEqual([200, `GET /path?a=1 127.0.0.1:${port}`])
  expect(await refusalReason(egress(), url)).toBe('host')
  expect(await refusalReason(egress('127.0.0.2', `127.0.0.1:${port + 1}`), url)).toBe('host')
})

test('http to other machines is limited to the hosts that the operator lists; https is not', async () => {
  const addresses = Object.values(networkInterfaces()).flatMap((found) => found ?? [])
  const own = addresses.find(({ family, internal }) => family === 'IPv4' && !internal)?.address
  // Nothing listens there, which is fine: rejected requests do not connect.
  const host = own ?? '10.255.255.1'
  const client = (...plaintextHosts: string[]) =>
    createEgress({ allowed: [parseAllowedHost(host)], plaintextHosts: plaintextHosts.map(parseAllowedHost) })
  const [plain, encrypted] = [`http://${host}:9/`, `https://${host}:9/`]
  for (const named of [[], [`${host}:8`]]) {
    expect(await refusalReason(client(...named), plain)).toBe('plaintext')
    expect([client(...named).isAllowed(new URL(plain)), client().isAllowed(new URL(encrypted))]).toEqual([false, true])
  }
  for (const [open, url] of [
    [client(host), plain],
    [client(), encrypted],
  ] as const) {
    expect(await refusalReason(open, url, { timeout: 500 })).toMatch(/^(?:unreachable|slow)$/)
    expect(open.isAllowed(new URL(url))).toBe(true)
  }
})

test('only http and https URLs without credentials are accepted', async () => {
  const client = egress('127.0.0.0/8')
  for (const url of [
    'ftp://127.0.0.1/',
    'file:///etc/passwd',
    'data:,x',
    'gopher://127.0.0.1',
    'ws://127.0.0.1',
    '//x',
    '',
    'http://',
  ])
    expect(await refusalReason(client, url), url).toBe('url')
  for (const url of ['http://user@127.0.0.1/', 'http://user:password@127.0.0.1/', 'http://:password@127.0.0.1/'])
    expect(await refusalReason(client, url), url).toBe('url')
})

// A private address as four bytes, and its text forms for inet_aton(3) and URLs.
const byte = fc.nat(255)
const privateBytes = fc.oneof(
  fc.tuple(fc.constantFrom(10, 127), byte, byte, byte),
  fc.tuple(fc.constant(192), fc.constant(168), byte, byte),
  fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), byte, byte),
  fc.tuple(fc.constant(100), fc.integer({ min: 64, max: 127 }), byte, byte),
  fc.tuple(fc.constant(169), fc.constant(254), byte, byte),
)
const radix = fc.constantFrom<(value: number) => string>(
  (value) => String(value),
  (value) => `0${value.toString(8)}`,
  (value) => `0x${value.toString(16)}`,
  (value) => `0X${value.toString(16).toUpperCase()}`,
  (value) => `0x000${value.toString(16)}`,
)
const dotted = fc
  .tuple(privateBytes, fc.integer({ min: 1, max: 4 }), fc.array(radix, { minLength: 4, maxLength: 4 }))
  .map(([bytes, count, written]) => {
    const rest = bytes.slice(count - 1).reduce((sum, part) => sum * 256 + part, 0)
    return [...bytes.slice(0, count - 1), rest].map((part, index) => written[index]?.(part) ?? '').join('.')
  })
const disguised = fc.tuple(dotted, fc.constantFrom('plain', 'percent', 'wide', 'dot')).map(([text, kind]) => {
  if (kind === 'percent') return [...text].map((one) => `%${one.charCodeAt(0).toString(16)}`).join('')
  if (kind === 'wide') return [...text].map((one) => String.fromCharCode(one.charCodeAt(0) + 0xfee0)).join('')
  return kind === 'dot' ? `${text}.` : text
})
const group = (high: number, low: number) => ((high << 8) | low).toString(16)
const embedded = fc
  .tuple(
    privateBytes,
    fc.constantFrom('::ffff:', '::', '64:ff9b::', '64:ff9b:1::', '0:0:0:0:0:FFFF:', '2002:'),
    fc.boolean(),
  )
  .map(([bytes, prefix, isDotted]) => {
    const [a, b, c, d] = bytes
    if (prefix === '2002:') return `[2002:${group(a, b)}:${group(c, d)}::1]`
    return isDotted ? `[${prefix}${bytes.join('.')}]` : `[${prefix}${group(a, b)}:${group(c, d)}]`
  })

test('every text form of a private address is rejected without a DNS query', async () => {
  const server = await names(() => ({ a: ['127.0.0.1'] }))
  const client = egress()
  await fc.assert(
    fc.asyncProperty(fc.oneof(disguised, embedded), fc.constantFrom('http', 'https'), async (host, scheme) => {
      expect(await refusalReason(client, `${scheme}://${host}/`)).toBe('host')
    }),
    { numRuns: 500 },
  )
  expect(server.questions).toEqual([])
})

test.each([
  [['127.0.0.1'], []],
  [['10.0.0.1'], []],
  [[], ['::1']],
  [[], ['::ffff:7f00:1']],
  [['93.184.215.14', '192.168.0.1'], []],
  [['93.184.215.14'], ['fd00::1']],
  [[], []],
])('a name is rejected if any of its addresses is: %j %j', async (a, aaaa) => {
  await names(() => ({ a, aaaa }))
  expect(await refusalReason(egress(), 'http://id.example/')).toBe('host')
})

test('metadata and link-local addresses are rejected whatever the operator allows', async () => {
  await names((name) => ({ a: [name === 'cgnat.example' ? '100.100.100.200' : '169.254.169.254'] }))
  const client = egress('0.0.0.0/0', '::/0', 'id.example', 'cgnat.example')
  for (const host of [
    '169.254.169.254',
    '2852039166',
    '[::ffff:169.254.169.254]',
    '[fd00:ec2::254]',
    '100.100.100.200',
    '[fe80::1]',
  ])
    expect(await refusalReason(client, `http://${host}/latest/meta-data`), host).toBe('host')
  for (const host of [
    'other.example',
    'cgnat.example',
    'metadata.google.internal',
    'METADATA.google.internal.',
    'metadata',
  ])
    expect(await refusalReason(client, `http://${host}/`), host).toBe('host')
})

test('a name is resolved once and that address is used, so DNS rebinding has no effect', async () => {
  const connections: string[] = []
  const port = await serve((_, response) => response.end(String(connections.push('127.0.0.2'))), '127.0.0.2')
  await serve((_, response) => response.end(String(connections.push('127.0.0.3'))), '127.0.0.3', port)
  let answers = 0
  const server = await names(() => ({ a: [answers++ < 2 ? '127.0.0.2' : '127.0.0.3'] }))
  const client = egress('127.0.0.2')
  expect((await client.request(`http://rebound.example:${port}/`)).status).toBe(200)
  expect(server.questions.sort()).toEqual(['A rebound.example', 'AAAA rebound.example'])
  expect(connections).toEqual(['127.0.0.2'])
  expect(await refusalReason(client, `http://rebound.example:${port}/`)).toBe('host')
  expect(connections).toEqual(['127.0.0.2'])
})

test('the Host header is that of the URL, whatever headers the caller sets', async () => {
  const receivedHeaders: unknown[] = []
  const port = await serve(({ headers }, response) => {
    receivedHeaders.push(headers.host, headers['accept-encoding'], headers['transfer-encoding'], headers['x-own'])
    response.end()
  })
  await names(() => ({ a: ['127.0.0.1'] }))
  const headers = { Host: 'other.example', 'Accept-Encoding': 'gzip', 'Transfer-Encoding': 'chunked', 'X-Own': 'kept' }
  await egress('127.0.0.1').request(`http://id.example:${port}/`, { method: 'POST', headers, body: 'text' })
  expect(receivedHeaders).toEqual([`id.example:${port}`, 'identity', undefined, 'kept'])
})

test('TLS connects to the pinned address and verifies the name in the URL', async () => {
  const { certificate, key } = makeCertificate('id.example')
  const asked: unknown[] = []
  const server = createTlsServer({ cert: certificate, key }, (_, response) => response.end('inside'))
  server.on('secureConnection', (socket) => asked.push(socket.servername))
  const port = await listen(server)
  await names(() => ({ a: ['127.0.0.1'] }))
  const trusting = createEgress({ allowed: [parseAllowedHost('127.0.0.1')], authorities: certificate })
  const response = await trusting.request(`https://id.example:${port}/`)
  expect(response.body.toString()).toBe('inside')
  expect(asked).toEqual(['id.example'])
  // A name that the certificate is not for, and an authority that is not trusted.
  expect(await refusalReason(trusting, `https://other.example:${port}/`)).toBe('certificate')
  expect(await refusalReason(trusting, `https://127.0.0.1:${port}/`)).toBe('certificate')
  expect(await refusalReason(egress('127.0.0.1'), `https://id.example:${port}/`)).toBe('certificate')
})

test('certificates are verified even if the environment disables it', async () => {
  const { certificate, key } = makeCertificate('id.example')
  const port = await listen(createTlsServer({ cert: certificate, key }, (_, response) => response.end()))
  const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  try {
    expect(await refusalReason(egress('127.0.0.1'), `https://127.0.0.1:${port}/`)).toBe('certificate')
  } finally {
    if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
    else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before
  }
})

test('a redirect is returned and not followed', async () => {
  let requests = 0
  const port = await serve((_, response) => {
    requests++
    response.writeHead(302, { location: '/elsewhere' }).end()
  })
  const { status } = await egress('127.0.0.1').request(`http://127.0.0.1:${port}/`)
  const fetched = await egress('127.0.0.1').fetch(`http://127.0.0.1:${port}/`)
  expect([status, fetched.status, fetched.headers.get('location'), requests]).toEqual([302, 302, '/elsewhere', 2])
})

test('a body over the limit is abandoned, with or without Content-Length', async () => {
  const limit = 1000
  let sent = 0
  const port = await serve((request, response) => {
    if (request.url === '/told')
      return void response.writeHead(200, { 'content-length': String(10 ** 12) }).flushHeaders()
    if (request.url === '/fits') return void response.end(Buffer.alloc(limit))
    const more = () => {
      sent += 65_536
      if (!response.destroyed) response.write(Buffer.alloc(65_536), () => setImmediate(more))
    }
    more()
  })
  const client = egress('127.0.0.1')
  const url = `http://127.0.0.1:${port}`
  expect(await refusalReason(client, `${url}/told`, { limit: limit })).toBe('large')
  expect(await refusalReason(client, `${url}/endless`)).toBe('large')
  expect(sent).toBeLessThan(64 * 1_048_576)
  expect((await client.request(`${url}/fits`, { limit: limit })).body.length).toBe(limit)
  expect(await refusalReason(client, `${url}/fits`, { limit: limit - 1 })).toBe('large')
})

test('the timeout covers DNS, the headers and a body that arrives slowly', async () => {
  const port = await serve((request, response) => {
    if (request.url === '/silent') return
    response.writeHead(200)
    const drip = () => {
      if (!response.destroyed) response.write('.', () => void delay(20).then(drip))
    }
    drip()
  })
  await names(() => 'silence')
  const client = egress('127.0.0.1')
  const took = await least(2000, () =>
    timeOf(async () => {
      for (const url of [`http://127.0.0.1:${port}/silent`, `http://127.0.0.1:${port}/drips`, 'http://silent.example/'])
        expect(await refusalReason(client, url, { timeout: 150 }), url).toBe('slow')
    }),
  )
  expect(took).toBeLessThan(2000)
})

test('an aborted request rejects with the abort reason', async () => {
  const port = await serve(() => undefined)
  const leaving = new AbortController()
  const request = egress('127.0.0.1').request(`http://127.0.0.1:${port}/`, { signal: leaving.signal })
  leaving.abort(new Error('left'))
  await expect(request).rejects.toThrow('left')
  await expect(egress().request('http://id.example/', { signal: leaving.signal })).rejects.toThrow('left')
})

test('a response that is compressed, has too large headers or is not HTTP is rejected', async () => {
  const client = egress('127.0.0.1')
  const packed = gzipSync(Buffer.alloc(10_000_000))
  const port = await serve((request, response) => {
    if (request.url === '/packed') response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed)
    else response.writeHead(200, { 'x-long': 'x'.repeat(20_000) }).end()
  })
  const raw = createTcpServer((socket) => socket.end('220 mail.internal ESMTP\r\n'))
  const rawPort = await listen(raw)
  expect(await refusalReason(client, `http://127.0.0.1:${port}/packed`)).toBe('response')
  expect(await refusalReason(client, `http://127.0.0.1:${port}/long`)).toBe('large')
  expect(await refusalReason(client, `http://127.0.0.1:${rawPort}/`)).toBe('response')
})

test('an error reveals nothing about the host behind the address', async () => {
  const raw = createTcpServer((socket) => socket.end('220 mail.internal ESMTP secret\r\n'))
  const port = await listen(raw)
  await names((name) => (name === 'there.example' ? { a: ['10.9.8.7'] } : undefined))
  const messageFor = async (url: string) =>
    egress('127.0.0.1')
      .request(url)
      .catch((error: Error) => error.message) as Promise<string>
  expect(await messageFor(`http://127.0.0.1:${port}/`)).not.toMatch(/secret|mail|127/)
  expect(await messageFor('http://there.example/')).not.toContain('10.9')
  // Nor does it reveal whether an internal name exists.
  expect(await messageFor('http://there.example/')).toBe(await messageFor('http://nowhere.example/'))
})

test('a server that is down or that closes the connection early is unreachable', async () => {
  const port = await serve((_, response) => {
    response.writeHead(200, { 'content-length': '10' })
    response.write('half', () => response.destroy())
  })
  const gone = createServer()
  gone.listen(0, '127.0.0.1')
  await once(gone, 'listening')
  const { port: closed } = gone.address() as AddressInfo
  await new Promise((done) => gone.close(done))
  expect(await refusalReason(egress('127.0.0.1'), `http://127.0.0.1:${closed}/`)).toBe('unreachable')
  expect(await refusalReason(egress('127.0.0.1'), `http://127.0.0.1:${port}/`)).toBe('unreachable')
})

test('fetch sends forms and returns standard Response objects', async () => {
  const port = await serve((request, response) => {
    if (request.url === '/empty') return void response.writeHead(204).end()
    if (request.url === '/odd') return void response.writeHead(700).end()
    let text = ''
    request.on('data', (chunk) => (text += String(chunk)))
    request.on('end', () => response.writeHead(201, { 'set-cookie': ['a=1', 'b=2'] }).end(JSON.stringify({ text })))
  })
  const client = egress('127.0.0.1')
  const url = `http://127.0.0.1:${port}`
  const response = await client.fetch(url, { method: 'POST', body: new URLSearchParams({ a: 'ü' }) })
  expect(response).toBeInstanceOf(Response)
  expect([response.status, response.headers.getSetCookie(), await response.json()]).toEqual([
    201,
    ['a=1', 'b=2'],
    { text: 'a=%C3%BC' },
  ])
  expect((await client.fetch(`${url}/empty`)).status).toBe(204)
  expect(await reasonOf(client.fetch(`${url}/odd`))).toBe('response')
  expect(await reasonOf(egress().fetch(url))).toBe('host')
})

test('at most 32 requests are in progress at once', async () => {
  const waiting: (() => void)[] = []
  const port = await serve((_, response) => void waiting.push(() => response.end()))
  const client = egress('127.0.0.1')
  const url = `http://127.0.0.1:${port}/`
  const all = Array.from({ length: 32 }, () => client.request(url))
  expect(await refusalReason(client, url)).toBe('busy')
  await expect.poll(() => waiting.length).toBe(32)
  for (const response of waiting) response()
  await Promise.all(all)
  const again = client.request(url)
  await expect.poll(() => waiting.length).toBe(33)
  waiting.at(-1)?.()
  expect((await again).status).toBe(200)
})
