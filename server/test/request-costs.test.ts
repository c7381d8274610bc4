import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
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

/** Maximum cost of a body beyond the floor, as a multiple of the time for `JSON.parse`. */
const maxParseTimes = 5
/** Milliseconds added to that: a response that reports a hundred errors is longer than the floor's. */
const allowance = 2
/** Attempts before a request counts as too expensive: code is compiled first, and other programs may be running. */
const attempts = 8

const secret = 'the same secret for all of them, of 32 characters and more'
let database: TestDatabase
let processes: ServiceProcesses
let service: ServiceProcess
let created: Json
const agent = new Agent({ keepAlive: true, maxSockets: 1 })

beforeAll(async () => {
  database = await createDatabase()
  processes = await serviceProcesses(database)
  service = await processes.start('costs', { IMPORT_WORKERS: '0', SECRET: secret, LOG_LEVEL: 'warn' })
  const command = 'bootstrap --email owner@example.com --organization Acme --password-stdin --json'
  const environment = { DATABASE_URL: databaseUrlOf(database), SECRET: secret }
  const { output } = await run(command.split(' '), { environment, input: 'a password that is long enough' })
  created = JSON.parse(output)
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

/** CPU time of the service's main thread, in milliseconds. */
const cpuMilliseconds = (): number =>
  Number(readFileSync(`/proc/${service.pid}/task/${service.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6

function headersOf({ kind }: Route): Record<string, string> {
  if (kind === 'public' || kind === 'push') return {}
  if (kind === 'account') return { authorization: `Bearer ${created.accessToken}` }
  return { authorization: `Bearer ${created.apiKey}`, 'service-organization-id': created.organizationId }
}

function pathOf(route: Route): string {
  if (route.kind === 'push') return new URL(created.triggerUrl).pathname
  return route.path.replace(/\{(\w+)\}/g, (_, name: string) => `${route.params[name]?.prefix}_${'0'.repeat(32)}`)
}

const send = (method: string, path: string, headers: Record<string, string>, body?: Buffer): Promise<number> =>
  new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-type': 'application/json', 'content-length': body.length }
    const sent = request(`${service.url}${path}`, { method, agent, headers: { ...headers, ...length } }, (response) => {
      const status = response.statusCode ?? 0
      response.resume().once('end', () => resolve(status))
      // A stream of events has no end.
      if (response.headers['content-type']?.startsWith('text/event-stream'))
        response.once('close', () => resolve(status)).destroy()
    })
    sent.once('error', reject).end(body)
  })

/** CPU time of one request; the second request returns only after the work for the first one. */
async function cost(route: Route, query: string, body?: Buffer): Promise<{ milliseconds: number; status: number }> {
  const before = cpuMilliseconds()
  const status = await send(route.method, `${pathOf(route)}${query}`, headersOf(route), body)
  await send('GET', '/healthz', {})
  return { milliseconds: cpuMilliseconds() - before, status }
}

/** Milliseconds that `JSON.parse` takes of these bytes, the cheapest of two. */
function timeToParse(body: Buffer): number {
  let best = Infinity
  for (let index = 0; index < 2; index += 1) {
    const start = performance.now()
    parse(body)
    best = Math.min(best, performance.now() - start)
  }
  return best
}

function parse(bytes: Buffer): void {
  try {
    JSON.parse(bytes.toString())
  } catch {
    // Invalid JSON is parsed up to its first error.
  }
}

interface Attempt {
  milliseconds: number
  bound: number
  status: number
}

/**
 * The first attempt within its bound, else the one that exceeds it the least. Each one measures its bound again: other
 * programs slow down both. The pauses grow, so that something short does not spoil all of them.
 */
async function costWithin(attempt: () => Promise<Attempt>): Promise<Attempt> {
  let best: Attempt | undefined
  for (let index = 0; index < attempts; index += 1) {
    await delay(index * 50)
    const found = await attempt()
    if (!best || found.milliseconds - found.bound < best.milliseconds - best.bound) best = found
    if (best.milliseconds <= best.bound) break
  }
  if (!best) throw new Error('there is at least one attempt')
  return best
}

/** The routes with the most fields. */
const isLarge = (route: Route): boolean =>
  route.kind === 'push' || (['GET', 'POST'].includes(route.method) && route.path === '/v5/contacts')

/** Half a megabyte for the largest bodies; elsewhere enough to find costs that grow faster than the body. */
const bytesFor = (route: Route): number =>
  route.kind === 'public' ? 16 * 1024 : Math.min(1024, (isLarge(route) ? 512 : 128) * lawTimes) * 1024

/** The largest last, when the service has compiled the code that they share with the others. */
const named = routes
  .map((route, index) => ({ name: `${route.method} ${route.path}`, route, index }))
  .sort((one, other) => Number(isLarge(one.route)) - Number(isLarge(other.route)))

/** Everything for the largest routes and with `LAW_TIMES`; else a third, in turn, because routes share the code. */
const isChosen = (route: Route, index: number) => (position: number) =>
  isLarge(route) || lawTimes > 1 || position % 3 === index % 3

// Only Linux reports the CPU time of one thread.
const isMeasurable = process.platform === 'linux'

test.skipIf(!isMeasurable).each(named.filter(({ route }) => route.method !== 'GET'))(
  'no body sent to $name costs more than five times JSON.parse of it',
  async ({ route, index }) => {
    // Costs of a request whose body of the same size is rejected at its first byte.
    const invalid = Buffer.from('x'.repeat(bytesFor(route)))
    const floorNow = async () => (await cost(route, '', invalid)).milliseconds
    let floor = 0
    for (let time = 0; time < 5; time += 1) floor = Math.max(floor, await floorNow())
    const expensive: string[] = []
    for (const { name, bytes: body } of worstBodies(route, bytesFor(route), isChosen(route, index))) {
      const first = await cost(route, '', body)
      expect([name, first.status]).not.toEqual([name, 500])
      if (first.milliseconds <= floor + allowance) continue
      const { milliseconds, bound, status } = await costWithin(async () => {
        const beyondFloor = allowance + maxParseTimes * timeToParse(body)
        const base = Math.max(floor, await floorNow())
        return { ...(await cost(route, '', body)), bound: base + beyondFloor }
      })
      if (milliseconds > bound)
        expensive.push(`${name} (${status}): ${milliseconds.toFixed(1)} ms; bound ${bound.toFixed(1)} ms`)
    }
    expect(expensive).toEqual([])
  },
  60_000,
)

test.skipIf(!isMeasurable).each(named.filter(({ route }) => route.method === 'GET'))(
  'no query of $name takes 8 ms longer than the floor',
  async ({ route, index }) => {
    const expensive: string[] = []
    const isWanted = isChosen(route, index)
    for (const [name, query] of worstQueries().filter((_, position) => isWanted(position))) {
      expect(query.length).toBeLessThan(8150)
      // Parsing the 8 KiB takes a tenth of a millisecond.
      const { milliseconds, bound, status } = await costWithin(async () => {
        const floor = (await cost(route, '')).milliseconds
        return { ...(await cost(route, `?${query}`)), bound: floor + 4 * allowance }
      })
      expect([name, status]).not.toEqual([name, 500])
      if (milliseconds > bound)
        expensive.push(`${name} (${status}): ${milliseconds.toFixed(1)} ms; bound ${bound.toFixed(1)} ms`)
    }
    expect(expensive).toEqual([])
  },
)
