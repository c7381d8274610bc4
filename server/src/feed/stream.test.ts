import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { callAs } from '../../test/people.ts'
import { until } from '../../test/processes.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../test/service.ts'

let service: TestService
let organization: TestOrganization
beforeAll(async () => {
  service = await startTestService()
})
beforeEach(async () => {
  organization = await service.newOrganization()
})
afterAll(() => service.close())

interface Stream {
  status: number
  headers: Headers
  events: Json[]
  /** The last id, also of a block without data. */
  lastId: string | undefined
  /** Resolves when the service ends the stream. */
  ended: Promise<void>
  leave(): void
}

async function open(query = '', headers: Record<string, string> = {}, url = service.url): Promise<Stream> {
  const leaving = new AbortController()
  const response = await fetch(`${url}/v5/events/stream${query}`, {
    headers: {
      authorization: `Bearer ${organization.apiKey}`,
      'service-organization-id': organization.organizationId,
      ...headers,
    },
    signal: leaving.signal,
  })
  const stream: Stream = {
    status: response.status,
    headers: response.headers,
    events: [],
    lastId: undefined,
    ended: Promise.resolve(),
    leave: () => leaving.abort(),
  }
  stream.ended = read(response, stream).catch(() => undefined)
  return stream
}

async function read({ body }: Response, stream: Stream): Promise<void> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true })
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      for (const line of block.split('\n')) {
        if (line.startsWith('id: ')) stream.lastId = line.slice(4)
        if (line.startsWith('data: ')) stream.events.push(JSON.parse(line.slice(6)))
      }
    }
  }
}

const create = async (name: string): Promise<Json> => {
  const { status, body } = await organization.call('POST', '/v5/companies', { body: { name } })
  expect(status).toBe(201)
  return body
}

const names = ({ events }: Stream) => events.map(({ values }) => values?.name)

test('a stream has every event from now on, in the form of the list', async () => {
  await create('Before')
  const stream = await open()
  expect(stream.status).toBe(200)
  expect(stream.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  expect(stream.headers.get('x-accel-buffering')).toBe('no')
  const { id } = await create('Engines')
  await organization.call('PATCH', `/v5/companies/${id}`, { body: { name: 'Motors' } })
  await until('the events have arrived', () => stream.events.length === 2)
  expect(names(stream)).toEqual(['Engines', 'Motors'])
  expect(stream.lastId).toBe(stream.events[1].position)
  const listed = await organization.call('GET', `/v5/events?after=start&record=${id}`)
  expect(stream.events).toEqual(listed.body.events)
  stream.leave()
})

test('a client that was away continues behind the last event that it got, also if its URL says otherwise', async () => {
  const first = await open()
  await create('A')
  await until('the first event has arrived', () => first.events.length === 1)
  first.leave()
  await create('B')
  const lastId = String(first.lastId)
  const [byHeader, byQuery] = await Promise.all([
    open('?after=start', { 'last-event-id': lastId }),
    open(`?after=${lastId}`),
  ])
  for (const stream of [byHeader, byQuery]) {
    await until('the missed event has arrived', () => stream.events.length === 1)
    expect(names(stream)).toEqual(['B'])
    stream.leave()
  }
})

test('a filtered stream moves its position past events that it leaves out', async () => {
  const stream = await open('?resource=contact')
  await create('Left out')
  const { body } = await organization.call('GET', '/v5/events/position')
  await until('the position has moved', () => stream.lastId === body.position)
  expect(stream.events).toEqual([])
  stream.leave()
})

test('a stream ends when its credential is revoked, and its client learns why when it connects again', async () => {
  const bySession = callAs(service, organization.accessToken)
  const body = { name: 'Stream', scopes: ['event:*:read', 'company:*:read'] }
  const made = await bySession('POST', '/v5/api-keys', { body })
  const headers = { authorization: `Bearer ${made.body.apiKey}` }
  const stream = await open('', headers)
  await create('Seen')
  await until('the event has arrived', () => stream.events.length === 1)
  expect((await bySession('POST', `/v5/api-keys/${made.body.id}/revoke`)).status).toBe(200)
  await stream.ended
  expect((await open('', headers)).status).toBe(401)
})

test('a stream that cannot begin is refused like any request', async () => {
  expect((await open('?after=3f9a1c07-1')).status).toBe(410)
  expect((await open('?after=later')).status).toBe(400)
  expect((await open('?limit=1')).status).toBe(400)
  expect((await open('', { authorization: 'Bearer none' })).status).toBe(401)
  const headed = await organization.call('HEAD', '/v5/events/stream')
  expect([headed.status, headed.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
})

test('a service that stops ends its streams and waiting requests at once', async () => {
  const other = await startTestService()
  organization = await other.newOrganization()
  const stream = await open('', {}, other.url)
  const { body } = await organization.call('GET', '/v5/events/position')
  const waiting = organization.call('GET', `/v5/events?after=${body.position}&wait=25`)
  // By then, the other request waits.
  await organization.call('GET', '/v5/events/position')
  await other.close()
  await stream.ended
  expect((await waiting).body).toMatchObject({ events: [] })
})

test('the time of a request leaves out what it waited for events, and a stream counts until it begins', async () => {
  /** Of this request: the streams of other tests may end meanwhile. */
  const line = async ({ headers }: { headers: Headers }): Promise<Json> => {
    let found: Json
    await until('the request is logged', () => {
      found = service.logged
        .map((text) => JSON.parse(text) as Json)
        .find(({ msg, requestId }) => msg === 'request' && requestId === headers.get('x-request-id'))
      return found !== undefined
    })
    return found
  }
  const opened = performance.now()
  const stream = await open()
  const { body } = await organization.call('GET', '/v5/events/position')
  const began = performance.now()
  const page = await organization.call('GET', `/v5/events?after=${body.position}&wait=2`)
  const took = performance.now() - began
  expect(page.body.events).toEqual([])
  stream.leave()
  const waited = await line(page)
  expect([waited.route, waited.status]).toEqual(['/v5/events', 200])
  expect(waited.waitedSeconds).toBeGreaterThanOrEqual(1)
  // The seconds are rounded.
  expect(waited.milliseconds + 1000 * (waited.waitedSeconds - 0.5)).toBeLessThan(took)
  const streamed = await line(stream)
  expect([streamed.route, streamed.status]).toEqual(['/v5/events/stream', 200])
  expect(streamed.streamedSeconds).toBeGreaterThanOrEqual(1)
  expect(streamed.milliseconds + 1000 * (streamed.streamedSeconds - 0.5)).toBeLessThan(performance.now() - opened)
})
