import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BodyBudget } from './body-budget.ts'
import { createMetrics } from '../metrics.ts'
import { createRateLimiter } from './rate-limit.ts'
import type { Route, Services } from '../route.ts'
import { noGuides } from '../pages/guides.ts'
import { createServer } from '../server.ts'
import { text } from '../../records/declare/fields.ts'
import { openRaw, type RawConnection, requestText } from '../../../../test/raw-http.ts'
import { until } from '../../../../test/processes.ts'
import { expectRefusal } from '../../../../test/refusals.ts'

/** Timeouts of the server, shorter than in production. No request here reaches the database. */
const timeouts = { headers: 300, request: 900 }
/** Timeouts that end nothing while a test looks at it. */
const longTimeouts = { headers: 60_000, request: 60_000 }

const echo: Route = {
  kind: 'public',
  host: 'api',
  method: 'POST',
  path: '/echo',
  operation: 'echo',
  summary: 'Give the word back',
  tag: 'test',
  params: {},
  query: { kind: 'none' },
  body: {
    component: 'Echo',
    shape: { mode: 'create', readOnly: [], fields: { word: text({ label: 'Word', required: true }) } },
    required: true,
  },
  responses: { 200: { kind: 'none' } },
  handle: async ({ body }) => ({ status: 200, text: JSON.stringify(body) }),
}

/** A tenth of a percent of the budget in production. */
const budget = new BodyBudget(64 * 1024)

let app: FastifyInstance
let url: string
/** Another server with the same budget, and with long timeouts. */
let patientApp: FastifyInstance
let patientUrl: string

beforeAll(async () => {
  const log = pino({ level: 'silent' })
  const database = { longestWait: () => 0 }
  const services = { log, database, limiter: createRateLimiter() } as unknown as Services
  const metrics = createMetrics({ version: '1.2.3', pool: () => ({ total: 0, idle: 0, waiting: 0 }) })
  const isReady = () => true
  const web = { page: '', segments: new Set<string>(), files: new Map() }
  const needsSetUp = async () => false
  const options = { trustProxy: 1, budget, corsOrigins: [], authOrigin: undefined, web, needsSetUp, metrics, isReady }
  const start = (limits: typeof timeouts) =>
    createServer({ services, routes: [echo], timeouts: limits, guides: noGuides, ...options })
  app = await start(timeouts)
  url = await app.listen({ port: 0, host: '127.0.0.1' })
  patientApp = await start(longTimeouts)
  patientUrl = await patientApp.listen({ port: 0, host: '127.0.0.1' })
})
afterAll(() => Promise.all([app.close(), patientApp.close()]))

/** Sends one piece at a time until the other side closes the connection; returns how many it sent. */
async function sendSlowly(connection: RawConnection, bytes: Iterable<string>): Promise<number> {
  let isClosed = false
  let sent = 0
  void connection.closed.then(() => (isClosed = true))
  for (const byte of bytes) {
    if (isClosed) return sent
    connection.write(byte)
    sent += 1
    // The speed of the slow client, not a wait for an event.
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return sent
}

const json = { 'content-type': 'application/json' }

test('a client that sends its headers too slowly gets an error and is disconnected', async () => {
  const connection = await openRaw(url)
  const sent = await sendSlowly(connection, requestText('GET', '/healthz', { headers: { 'x-long': 'x'.repeat(1000) } }))
  const [response] = await connection.responses(1)
  expect(expectRefusal(response!, 400, 'malformed_request').description).toMatch(/in time/)
  // In less than five seconds, if they take 20 ms each.
  expect(sent).toBeLessThan(250)
  await connection.closed
  connection.socket.destroy()
})

test('a connection that was opened in advance and never used is closed without an answer', async () => {
  const connection = await openRaw(url)
  await connection.closed
  expect(connection.bytes().toString()).toBe('')
  connection.socket.destroy()
})

test.each(['content-length', 'transfer-encoding'])(
  'a client that sends its body (%s) too slowly gets an error and is disconnected',
  async (framing) => {
    const connection = await openRaw(url)
    const hasLength = framing === 'content-length'
    connection.write(requestText('POST', '/echo', { headers: { ...json, [framing]: hasLength ? '1000' : 'chunked' } }))
    await sendSlowly(
      connection,
      (hasLength ? 'x' : '1\r\nx\r\n').repeat(1000).match(hasLength ? /x/g : /1\r\nx\r\n/g) ?? [],
    )
    const [response] = await connection.responses(1)
    expect(expectRefusal(response!, 400, 'malformed_request').description).toMatch(/in time/)
    await connection.closed
    connection.socket.destroy()
  },
)

test('a rejected client that keeps sending is disconnected without a second response', async () => {
  const connection = await openRaw(url)
  connection.write(requestText('POST', '/nowhere', { headers: { ...json, 'content-length': '100000' } }))
  const [refusal] = await connection.responses(1)
  expectRefusal(refusal!, 404)
  await sendSlowly(connection, 'x'.repeat(1000))
  await connection.closed
  expect(connection.bytes().toString()).toBe('')
  connection.socket.destroy()
})

test('slow clients do not block other clients', async () => {
  const slow = await Promise.all(Array.from({ length: 100 }, () => openRaw(url)))
  for (const connection of slow) connection.write('POST /echo HTTP/1.1\r\nhost: a\r\n')
  const response = await fetch(`${url}/echo`, { method: 'POST', headers: json, body: '{"word":"hello"}' })
  expect([response.status, await response.json()]).toEqual([200, { word: 'hello' }])
  await Promise.all(slow.map(({ closed }) => closed))
  for (const { socket } of slow) socket.destroy()
})

test('unfinished bodies share one budget: a client that sends many is rejected, others are served, and all of it is released', async () => {
  const sendPart = async (address: string) => {
    const connection = await openRaw(patientUrl)
    const headers = { ...json, 'content-length': '15000', 'x-forwarded-for': address }
    connection.write(requestText('POST', '/echo', { headers }) + 'x'.repeat(14_000))
    return connection
  }
  const senders = await Promise.all(Array.from({ length: 10 }, () => sendPart('192.0.2.1')))
  const refusedConnections = () => senders.filter(({ bytes }) => bytes().includes('overloaded'))
  await until('the budget is used up', () => refusedConnections().length >= 6)
  const [refusal] = await refusedConnections()[0]!.responses(1)
  expect(expectRefusal(refusal!, 503, 'overloaded').description).toMatch(/bodies/)
  expect(budget.usedBytes).toBeGreaterThan(40_000)
  const headers = { ...json, 'x-forwarded-for': '192.0.2.2' }
  const body = JSON.stringify({ word: 'w'.repeat(150) })
  for (let count = 0; count < 5; count++) {
    expect((await fetch(`${patientUrl}/echo`, { method: 'POST', headers, body })).status).toBe(200)
  }
  for (const { socket } of senders) socket.destroy()
  await until('the budget is released', () => budget.usedBytes === 0)
})

test('a body in chunks of one byte takes no more of the budget than its bytes need', async () => {
  const connection = await openRaw(patientUrl)
  const text = JSON.stringify({ word: 'w'.repeat(150) })
  connection.write(requestText('POST', '/echo', { headers: { ...json, 'transfer-encoding': 'chunked' } }))
  for (const character of text) connection.write(`1\r\n${character}\r\n`)
  await until('the body is counted', () => budget.usedBytes > 0)
  expect(budget.usedBytes).toBeLessThanOrEqual(4096)
  connection.write('0\r\n\r\n')
  const [response] = await connection.responses(1)
  expect([response!.status, response!.body]).toEqual([200, text])
  await until('the budget is released', () => budget.usedBytes === 0)
  connection.socket.destroy()
})
