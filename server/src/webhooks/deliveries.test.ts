import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { until } from '../../test/processes.ts'
import { startTestService, type TestService } from '../../test/service.ts'
import { sql } from '../platform/model/sql.ts'
import {
  deliveryOf,
  hasStatus,
  type Hooked,
  newContact,
  newHooked,
  newWebhook,
  pass,
  sendAllThatIsDue,
  sendsToLoopback,
} from '../../test/webhook-fixture.ts'
import { answerWith, Receiver, verify } from '../../test/webhook-receiver.ts'
import { maxAttempts } from './schedule.ts'

let service: TestService
let hooked: Hooked
beforeAll(async () => {
  service = await startTestService(sendsToLoopback)
})
afterAll(() => service.close())
beforeEach(async () => {
  hooked = await newHooked(service)
})
afterEach(() => hooked.receiver.close())

const hour = 3600

test.each([301, 302, 304, 400, 401, 404, 409, 422, 429, 500, 502, 503, 504])(
  'status %s is a failure, which is tried again',
  async (status) => {
    const { call, receiver } = hooked
    receiver.answer = answerWith(status, { location: `${receiver.url}/elsewhere` }, status === 304 ? '' : 'no')
    await newContact(call)
    const delivery = await deliveryOf(hooked, hasStatus('retrying'))
    const error = `the receiver answered with status ${status}`
    expect(delivery).toMatchObject({ error, attempts: [{ status, answer: status === 304 ? '' : 'no', error }] })
    // Redirects are not followed.
    expect(receiver.received.length).toBe(1)
    receiver.answer = answerWith(200)
    await pass(service, hour)
    await deliveryOf(hooked, hasStatus('delivered'))
    expect(receiver.received.map(({ id }) => id)).toEqual([delivery.eventId, delivery.eventId])
  },
)

test('a connection that is reset, refused or not encrypted, and an unknown host are failures', async () => {
  const { call, receiver, path } = hooked
  receiver.answer = (response) => void response.socket?.resetAndDestroy()
  await newContact(call)
  const reset = await deliveryOf(hooked, hasStatus('retrying'))
  expect(reset.attempts).toMatchObject([{ status: null, answer: null, error: 'the connection failed' }])
  const url = new URL(receiver.url)
  const attempts = async (other: string, count: number) => {
    await call('PATCH', path, { body: { url: other } })
    await pass(service, 30 * hour)
    const delivery = await deliveryOf(
      hooked,
      ({ attemptCount, status }) => attemptCount === count && status === 'retrying',
    )
    return delivery.attempts.at(-1).error
  }
  expect(await attempts(`https://${url.host}/`, 2)).toMatch(/certificate|connection/)
  expect(await attempts('https://receiver.invalid/', 3)).toContain('host is unknown')
  expect(await attempts('https://10.0.0.1/', 4)).toContain('not allowed')
  expect(receiver.received.length).toBe(1)
  expect(await attempts('http://127.0.0.1:1/', 5)).toBe('the connection failed')
})

test('a connection stays open for the next event; if the receiver closes it, the event is sent again at once', async () => {
  const { call, receiver, path } = hooked
  const [used, closed] = [new Set<unknown>(), new Set<unknown>()]
  receiver.answer = (response) => {
    const { socket } = response
    if (used.has(socket) && closed.size === 0) {
      closed.add(socket)
      socket?.resetAndDestroy()
    } else {
      used.add(socket)
      response.writeHead(204).end()
    }
  }
  // Together, so that no connection waits for the next one for long.
  await call('PATCH', path, { body: { status: 'paused' } })
  for (let index = 0; index < 12; index++) await newContact(call)
  await call('PATCH', path, { body: { status: 'enabled' } })
  await receiver.count(13)
  await until(
    'all are delivered',
    async () => (await call('GET', `${path}/deliveries/count?status=delivered`)).body.count === 12,
  )
  expect(used.size).toBeLessThan(12)
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(12)
  const repeated = (await call('GET', `${path}/deliveries?attemptCount=2`)).body
  expect(repeated.length).toBe(1)
  const error = 'the connection, which was kept open, was closed instead of an answer'
  expect((await call('GET', `${path}/deliveries/${repeated[0].id}`)).body.attempts).toMatchObject([
    { status: null, error },
    { status: 204, error: null },
  ])
  expect((await call('GET', path)).body.health.consecutiveFailures).toBe(0)
})

test('a delivery fails for good after ten attempts, each of which is kept', async () => {
  const { call, receiver } = hooked
  receiver.answer = (response, { id }) => void response.writeHead(500).end(`${id} ${'x'.repeat(3000)}`)
  await newContact(call)
  for (let attempt = 1; attempt < maxAttempts; attempt++) {
    await deliveryOf(hooked, ({ attemptCount, status }) => attemptCount === attempt && status === 'retrying')
    await pass(service, 30 * hour)
  }
  const delivery = await deliveryOf(hooked, hasStatus('failed'))
  expect(delivery).toMatchObject({ attemptCount: 10, nextAttemptAt: null })
  expect(delivery.attempts.length).toBe(10)
  for (const { answer } of delivery.attempts)
    expect(answer).toBe(`${delivery.eventId} ${'x'.repeat(3000)}`.slice(0, 1024))
  const timestamps = receiver.received.map(({ headers }) => headers['webhook-timestamp'])
  expect(timestamps.every((text) => Math.abs(Number(text) * 1000 - Date.now()) < 60_000)).toBe(true)
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1)
})

test('Retry-After puts the event off, and the other events of a receiver that is overloaded', async () => {
  const { call, receiver } = hooked
  receiver.answer = answerWith(503, { 'retry-after': '1800' })
  await newContact(call)
  const delivery = await deliveryOf(hooked, hasStatus('retrying'))
  const seconds = (Date.parse(delivery.nextAttemptAt) - Date.now()) / 1000
  expect(seconds).toBeGreaterThan(1790)
  expect(seconds).toBeLessThan(1801)
  await newContact(call)
  await until('the second event is stored', async () => (await waiting()).length === 2)
  receiver.answer = answerWith(200)
  await pass(service, 1700)
  await sendAllThatIsDue(hooked.call)
  expect(receiver.received.length).toBe(1)
  await pass(service, 110)
  await receiver.count(3)
})

const waiting = async () => (await hooked.call('GET', `${hooked.path}/deliveries?sort=asc`)).body

test('a receiver that does not answer delays nobody, and has four requests at most', async () => {
  const { call, receiver } = hooked
  receiver.answer = () => undefined
  for (let index = 0; index < 10; index++) await newContact(call)
  await receiver.count(4)
  const quick = await new Receiver().open()
  await newWebhook(call, quick)
  for (let index = 0; index < 10; index++) await newContact(call)
  await quick.count(10)
  // None of the first four has come to its end.
  expect(receiver.received.length).toBe(4)
  expect([receiver.atOnce, receiver.mostAtOnce]).toEqual([4, 4])
  await quick.close()
})

test('while an attempt hangs, up to three more begin when they become due', async () => {
  const { call, receiver } = hooked
  receiver.answer = () => undefined
  await newContact(call)
  await receiver.count(1)
  for (let index = 0; index < 4; index++) await newContact(call)
  await receiver.count(4)
  expect(receiver.mostAtOnce).toBe(4)
})

test('what is paused is sent once it continues', async () => {
  const { call, receiver, path } = hooked
  await call('PATCH', path, { body: { status: 'paused' } })
  for (const name of ['One', 'Two']) await newContact(call, { name })
  await sendAllThatIsDue(hooked.call)
  expect(receiver.received).toEqual([])
  await call('PATCH', path, { body: { status: 'enabled' } })
  await receiver.count(2)
  expect(receiver.received.map(({ body }) => body.data.object.name).sort()).toEqual(['One', 'Two'])
})

test('an event that is no longer stored is skipped', async () => {
  const { call, receiver, path } = hooked
  receiver.answer = answerWith(500)
  const { id } = await newContact(call)
  await deliveryOf(hooked, hasStatus('retrying'))
  await service.database.crossTenantQuery(
    'check the database',
    sql`delete from events where record_id = ${uuid(id)}::uuid`,
  )
  await pass(service, hour)
  expect(await deliveryOf(hooked, hasStatus('skipped'))).toMatchObject({
    error: 'the event is no longer stored',
    attemptCount: 1,
    nextAttemptAt: null,
  })
  expect((await call('GET', `${path}/deliveries/count?status=skipped`)).body).toEqual({ count: 1 })
})

const uuid = (shown: string): string => shown.slice(4)

test('a deleted webhook sends nothing, and continues when it is restored', async () => {
  const { call, receiver, path } = hooked
  expect((await call('DELETE', path)).status).toBe(204)
  await newContact(call)
  await sendAllThatIsDue(hooked.call)
  expect(receiver.received).toEqual([])
  expect((await call('GET', `${path}/deliveries`)).status).toBe(404)
  expect((await call('POST', `${path}/restore`)).status).toBe(200)
  await receiver.count(1)
})

test('nothing is sent without a signature', async () => {
  const { call, receiver, path, id } = hooked
  await service.database.crossTenantQuery(
    'check the database',
    sql`delete from webhook_secrets where webhook_id = ${uuid(id)}::uuid`,
  )
  await newContact(call)
  const delivery = await deliveryOf(hooked, hasStatus('retrying'))
  expect(delivery.error).toContain('rotate')
  expect(receiver.received).toEqual([])
  const { body } = await call('POST', `${path}/rotate`, { body: {} })
  await pass(service, hour)
  const [received] = await receiver.count(1)
  if (received) verify(body.secret, received)
})
