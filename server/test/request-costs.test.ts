import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { roleScopes, routes } from '../src/app.ts'
import type { Route } from '../src/platform/http/route.ts'
import { run, databaseUrlOf } from './command-line.ts'
import { createDatabase, type TestDatabase } from './postgres.ts'
import { lawTimes } from './seed.ts'
import { type ServiceProcess, type ServiceProcesses, serviceProcesses } from './service-process.ts'
import type { Json } from './service.ts'
import { worstBodies, worstQueries } from './worst-bodies.ts'

/** What a request may cost beyond its floor, in times of `JSON.parse` of its bytes. */
const mostTimes = 5
/** Milliseconds beside that: an answer that names a hundred faults is longer than the floor's. */
const extra = 2
/** Attempts before a request counts as too expensive: code has to be compiled first, and other programs run beside. */
const attempts = 8

const secret = 'the same secret for all of them, of 32 characters and more'
let database: TestDatabase
let processes: ServiceProcesses
let service: ServiceProcess
let made: Json
const agent = new Agent({ keepAlive: true, maxSockets: 1 })

beforeAll(async () => {
  database = await createDatabase()
  processes = await serviceProcesses(database)
  service = await processes.start('costs', { IMPORT_WORKERS: '0', SECRET: secret, LOG_LEVEL: 'warn' })
  const words = 'bootstrap --email owner@example.com --organization Acme --password-stdin --json'
  const environment = { DATABASE_URL: databaseUrlOf(database), SECRET: secret }
  const { output } = await run(words.split(' '), { environment, input: 'a password that is long enough' })
  made = JSON.parse(output)
  const client = new pg.Client(database.connection)
  await client.connect()
  await client.query('update api_keys set scopes = $1, version = version + 1', [roleScopes('owner')])
  await client.end()
}, 120_000)
afterAll(async () => {
  agent.destroy()
  await processes.close()
  await database.drop()
})

/** Milliseconds that the service's main thread, which answers everybody, has run. */
const spent = (): number =>
  Number(readFileSync(`/proc/${service.pid}/task/${service.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6

function headersOf({ kind }: Route): Record<string, string> {
  if (kind === 'public' || kind === 'push') return {}
  if (kind === 'account') return { authorization: `Bearer ${made.accessToken}` }
  return { authorization: `Bearer ${made.apiKey}`, 'service-organization-id': made.organizationId }
}

function pathOf(route: Route): string {
  if (route.kind === 'push') return new URL(made.triggerUrl).pathname
  return route.path.replace(/\{(\w+)\}/g, (_, name: string) => `${route.params[name]?.prefix}_${'0'.repeat(32)}`)
}

const send = (method: string, path: string, headers: Record<string, string>, body?: Buffer): Promise<number> =>
  new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-type': 'application/json', 'content-length': body.length }
    const sent = request(`${service.url}${path}`, { method, agent, headers: { ...headers, ...length } }, (answer) => {
      answer.resume().once('end', () => resolve(answer.statusCode ?? 0))
    })
    sent.once('error', reject).end(body)
  })

/** What one request costs the main thread; the second request waits until the first one is over. */
async function cost(route: Route, query: string, body?: Buffer): Promise<{ milliseconds: number; status: number }> {
  const before = spent()
  const status = await send(route.method, `${pathOf(route)}${query}`, headersOf(route), body)
  await send('GET', '/healthz', {})
  return { milliseconds: spent() - before, status }
}

function cheapest(count: number, work: () => void): number {
  let best = Infinity
  for (let index = 0; index < count; index += 1) {
    const start = performance.now()
    work()
    best = Math.min(best, performance.now() - start)
  }
  return best
}

const parseTimes = new WeakMap<Buffer, number>()

/** Milliseconds that `JSON.parse` takes of these bytes. */
function timeToParse(body: Buffer): number {
  const parsed = parseTimes.get(body) ?? cheapest(3, () => parse(body))
  parseTimes.set(body, parsed)
  return parsed
}

function parse(bytes: Buffer): void {
  try {
    JSON.parse(bytes.toString())
  } catch {
    // What is no JSON has to be read as far as that.
  }
}

/** The cheapest of some attempts, as soon as one is within the bound. */
async function costWithin(
  bound: number,
  attempt: () => Promise<{ milliseconds: number; status: number }>,
  first = Infinity,
) {
  let best = first
  let status = 0
  for (let index = 0; index < attempts && best > bound; index += 1) {
    const found = await attempt()
    status = found.status
    best = Math.min(best, found.milliseconds)
  }
  return { best, status }
}

/** Half a megabyte for what takes most, and enough elsewhere to see what grows faster than the body. */
function bytesFor(route: Route): number {
  if (route.kind === 'public') return 16 * 1024
  const takesMost = route.kind === 'push' || (route.method === 'POST' && route.path === '/v5/contacts')
  return Math.min(1024, (takesMost ? 512 : 128) * lawTimes) * 1024
}

const named = routes.map((route) => ({ name: `${route.method} ${route.path}`, route }))

// The kernel of Linux alone says what one thread has used.
const isMeasurable = process.platform === 'linux'

test.skipIf(!isMeasurable).each(named.filter(({ route }) => route.method !== 'GET'))(
  'no body sent to $name costs more than five times JSON.parse of it',
  async ({ route }) => {
    const bytes = bytesFor(route)
    // The request itself, receiving as many bytes and refusing them at the first.
    const refused = Buffer.from('x'.repeat(bytes))
    let floor = 0
    for (let index = 0; index < 5; index += 1) floor = Math.max(floor, (await cost(route, '', refused)).milliseconds)
    const expensive: string[] = []
    for (const { name, bytes: body } of worstBodies(route, bytes)) {
      const { milliseconds, status } = await cost(route, '', body)
      expect([name, status]).not.toEqual([name, 500])
      if (milliseconds <= floor + extra) continue
      const bound = floor + extra + mostTimes * timeToParse(body)
      const { best } = await costWithin(bound, () => cost(route, '', body), milliseconds)
      if (best > bound) {
        const [took, base, json] = [best, floor, timeToParse(body)].map((value) => value.toFixed(1))
        expensive.push(`${name} (${status}): ${took} ms; floor ${base} ms, JSON.parse ${json} ms`)
      }
    }
    expect(expensive).toEqual([])
  },
  60_000,
)

test.skipIf(!isMeasurable).each(named.filter(({ route }) => route.method === 'GET'))(
  'no query costs $name much',
  async ({ route }) => {
    const floor = (await costWithin(0, () => cost(route, ''))).best
    // Nothing that 8 KiB can ask for has to do with their parsing, which takes a tenth of a millisecond.
    const bound = floor + 4 * extra
    const expensive: string[] = []
    for (const [name, query] of worstQueries()) {
      expect(query.length).toBeLessThan(8150)
      const { best, status } = await costWithin(bound, () => cost(route, `?${query}`))
      expect([name, status]).not.toEqual([name, 500])
      if (best > bound) expensive.push(`${name} (${status}): ${best.toFixed(1)} ms; floor ${floor.toFixed(1)} ms`)
    }
    expect(expensive).toEqual([])
  },
)
