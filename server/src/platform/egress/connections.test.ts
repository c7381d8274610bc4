import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { makeCertificate } from '../../../test/certificate.ts'
import { least, timeOf } from '../../../test/least.ts'
import { startNameServer } from '../../../test/name-server.ts'
import { parseAllowedHost } from './allow.ts'
import { createEgress, type Egress } from './egress.ts'
import { EgressError } from './egress-error.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

interface Listening {
  port: number
  sockets: Socket[]
}

async function listen(server: Server | ReturnType<typeof createTlsServer>, host = '127.0.0.1', port = 0) {
  const sockets: Socket[] = []
  server.on('connection', (socket: Socket) => void sockets.push(socket))
  server.listen(port, host)
  await once(server, 'listening')
  closers.push(async () => {
    server.closeAllConnections()
    await new Promise((done) => server.close(done))
  })
  return { port: (server.address() as AddressInfo).port, sockets } satisfies Listening
}

const serve = (
  answer: (request: IncomingMessage, response: ServerResponse) => void = (_, response) => response.end(),
) => listen(createServer((request, response) => void request.resume().once('end', () => answer(request, response))))

function egress(options: Partial<Parameters<typeof createEgress>[0]> = {}): Egress {
  const created = createEgress({ allowed: [parseAllowedHost('127.0.0.0/8')], ...options })
  closers.push(async () => created.close())
  return created
}

const post = (client: Egress, url: string, group?: string) => client.request(url, { method: 'POST', body: '{}', group })

/** Milliseconds for which a connection without a request is kept, and the addresses of a name. */
const idleTime = 1000

/** What `work` does within that time, each time with servers and an egress of its own. */
async function withinIdleTime<Result>(work: () => Promise<Result>): Promise<Result> {
  const results: Result[] = []
  await least(idleTime, () => timeOf(async () => results.push(await work())))
  return results.at(-1) as Result
}

test('requests of a group share a connection, those of other groups and without one do not', async () => {
  const counts = await withinIdleTime(async () => {
    const { port, sockets } = await serve((request, response) => response.end(request.headers.connection))
    const client = egress()
    const url = `http://127.0.0.1:${port}/`
    for (let count = 0; count < 3; count++) expect((await post(client, url, 'one')).body.toString()).toBe('keep-alive')
    const ofOne = sockets.length
    await post(client, `http://127.0.0.1:${port}/elsewhere`, 'one')
    const elsewhere = sockets.length
    await post(client, url, 'two')
    const ofTwo = sockets.length
    expect((await post(client, url)).body.toString()).toBe('close')
    return [ofOne, elsewhere, ofTwo, sockets.length]
  })
  expect(counts).toEqual([1, 1, 2, 3])
})

test('a connection is not used for another name at the same address', async () => {
  const { connections, questions } = await withinIdleTime(async () => {
    const { port, sockets } = await serve()
    const server = await startNameServer(() => ({ a: ['127.0.0.1'] }))
    closers.push(() => server.close())
    const client = egress()
    for (const name of ['one.example', 'two.example', 'one.example', 'two.example'])
      await post(client, `http://${name}:${port}/`, 'group')
    return { connections: sockets.length, questions: server.questions.toSorted() }
  })
  expect(connections).toBe(2)
  // A burst asks for the addresses of each name once.
  expect(questions).toEqual(['A one.example', 'A two.example', 'AAAA one.example', 'AAAA two.example'])
})

test('a connection is not used once the name has other addresses, also if they are not allowed', async () => {
  const first = await serve()
  const second = await listen(
    createServer((_, response) => response.end('second')),
    '127.0.0.2',
    first.port,
  )
  let address = '127.0.0.1'
  const server = await startNameServer(() => ({ a: [address] }))
  closers.push(() => server.close())
  const client = egress({ allowed: ['127.0.0.1', '127.0.0.2'].map(parseAllowedHost) })
  const url = `http://moving.example:${first.port}/`
  const isKept = async () => (await post(client, url, 'group')).body.toString()
  expect(await isKept()).toBe('')
  address = '127.0.0.2'
  await expect.poll(isKept, { timeout: 5000 }).toBe('second')
  expect(second.sockets.length).toBe(1)
  address = '127.0.0.3'
  const reason = () =>
    post(client, url, 'group').then(
      () => 'none',
      (error: EgressError) => error.reason,
    )
  await expect.poll(reason, { timeout: 5000 }).toBe('host')
})

test('the ports and schemes of a host are checked apart', async () => {
  const { port } = await serve()
  const server = await startNameServer(() => ({ a: ['127.0.0.1'] }))
  closers.push(() => server.close())
  const client = egress({ allowed: [parseAllowedHost(`127.0.0.1:${port}`)] })
  await post(client, `http://one.example:${port}/`, 'group')
  for (const url of [`http://one.example:${port + 1}/`, 'http://one.example/'])
    await expect(post(client, url, 'group'), url).rejects.toMatchObject({ reason: 'host' })
})

test('an idle connection is closed after a second, or sooner if the server says so, and all are when the egress closes', async () => {
  const { port, sockets } = await serve()
  const hurried = await listen(
    createServer(
      { keepAliveTimeout: 1000 },
      (request, response) => void request.resume().once('end', () => response.end()),
    ),
  )
  const client = egress()
  const start = performance.now()
  await post(client, `http://127.0.0.1:${port}/`, 'group')
  await post(client, `http://127.0.0.1:${hurried.port}/`, 'group')
  await post(client, `http://127.0.0.1:${hurried.port}/`, 'group')
  expect(hurried.sockets.length).toBe(2)
  await expect.poll(() => sockets[0]?.destroyed, { timeout: 5000 }).toBe(true)
  expect(performance.now() - start).toBeGreaterThan(900)
  await post(client, `http://127.0.0.1:${port}/`, 'group')
  client.close()
  await expect.poll(() => sockets[1]?.destroyed).toBe(true)
})

test('no more connections are kept than requests may be in progress', async () => {
  const { port, sockets } = await serve()
  const client = egress({ maxConcurrent: 2 })
  for (let count = 0; count < 5; count++) await post(client, `http://127.0.0.1:${port}/`, `group ${count}`)
  expect(sockets.length).toBe(5)
  await expect.poll(() => sockets.filter(({ destroyed }) => !destroyed).length).toBe(2)
})

test('a kept connection that the server closes instead of answering is reported as such, a new one is not', async () => {
  const found = await withinIdleTime(async () => {
    let isClosing = false
    const { port, sockets } = await serve((_, response) => {
      if (isClosing) response.socket?.resetAndDestroy()
      else response.end()
    })
    const client = egress()
    const url = `http://127.0.0.1:${port}/`
    await post(client, url, 'group')
    isClosing = true
    const reason = () => post(client, url, 'group').catch((error: EgressError) => error.reason)
    return [await reason(), await reason(), sockets.length]
  })
  expect(found).toEqual(['closed', 'unreachable', 2])
})

test('a connection on which something is left to read is not kept', async () => {
  const long = 'x'.repeat(100_000)
  const { port, sockets } = await serve((_, response) => response.end(long))
  const client = egress()
  const request = { limit: 10, cutsBody: true, group: 'group' }
  for (let count = 0; count < 2; count++)
    expect((await client.request(`http://127.0.0.1:${port}/`, request)).body.length).toBe(10)
  expect(sockets.length).toBe(2)
})

test('a kept connection with TLS is verified when it is opened, and used for its name only', async () => {
  const { certificate, key } = makeCertificate('id.example')
  const server = await startNameServer(() => ({ a: ['127.0.0.1'] }))
  closers.push(() => server.close())
  const { port, client, connections } = await withinIdleTime(async () => {
    const answering = createTlsServer({ cert: certificate, key }, (_, response) => response.end())
    const { port: ofServer, sockets } = await listen(answering)
    const sender = egress({ authorities: certificate })
    for (let count = 0; count < 3; count++) await post(sender, `https://id.example:${ofServer}/`, 'group')
    return { port: ofServer, client: sender, connections: sockets.length }
  })
  expect(connections).toBe(1)
  await expect(post(client, `https://other.example:${port}/`, 'group')).rejects.toMatchObject({ reason: 'certificate' })
  await delay(0)
  await expect(post(client, `http://id.example:${port}/`, 'group')).rejects.toBeInstanceOf(EgressError)
})
