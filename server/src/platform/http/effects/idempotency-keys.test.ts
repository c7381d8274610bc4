import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { routes } from '../../../app.ts'
import { type Sql, sql } from '../../model/sql.ts'
import { supportsIdempotencyKey } from '../route.ts'
import { expectRefusal } from '../../../../test/refusals.ts'
import {
  type Call,
  type Json,
  startTestService,
  type TestOrganization,
  type TestService,
} from '../../../../test/service.ts'
import { dump } from '../../../../test/dump.ts'
import { createSuggestion } from '../../../../test/suggested.ts'
import { newTenant, requestOf, type Tenant } from '../../../../test/tenancy.ts'

let service: TestService
let organization: TestOrganization
let call: Call
let tenant: Tenant

beforeAll(async () => {
  service = await startTestService({ WEBHOOK_CONCURRENCY: '0' })
  organization = await service.newOrganization()
  call = organization.call
  tenant = await newTenant(service)
})
afterAll(() => service.close())

const execute = (statement: Sql): Promise<Json[]> => service.database.crossTenantQuery('check the database', statement)
const keyHeader = (key: string) => ({ 'idempotency-key': key })
const newAddress = () => `${randomUUID()}@example.com`
const create = (key: string, body: Json, as = call) => as('POST', '/v5/contacts', { body, headers: keyHeader(key) })
const countByName = async (name: string) => (await call('GET', `/v5/contacts/count?name=${name}`)).body.count as number

test('a repeated create returns the first response and creates one record', async () => {
  const [key, name] = [randomUUID(), randomUUID()]
  const first = await create(key, { name })
  const again = await create(key, { name })
  expect([first.status, first.headers.get('idempotent-replayed')]).toEqual([201, null])
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true'])
  expect(again.text).toBe(first.text)
  for (const header of ['etag', 'location', 'content-type', 'version']) {
    expect([header, again.headers.get(header)]).toEqual([header, first.headers.get(header)])
    expect(first.headers.get(header)).not.toBeNull()
  }
  expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'))
  expect(await countByName(name)).toBe(1)
})

test('a repeated update, block and restore return the first response and change nothing', async () => {
  const { id } = (await create(randomUUID(), { email: newAddress() })).body
  const path = `/v5/contacts/${id}`
  const revision = async () => (await call('GET', path)).headers.get('etag')
  const twice = async (method: string, at: string, body?: Json) => {
    const options = { headers: keyHeader('the same key'.replaceAll(' ', '-')), ...(body !== undefined && { body }) }
    const first = await call(method, at, options)
    const between = method === 'POST' && at.endsWith('restore') ? undefined : await revision()
    const again = await call(method, at, options)
    expect([again.status, again.text, again.headers.get('etag')]).toEqual([200, first.text, first.headers.get('etag')])
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    if (between !== undefined) expect(await revision()).toBe(between)
  }
  await twice('PATCH', path, { city: 'Rome' })
  await twice('POST', `${path}/block`)
  expect((await call('DELETE', path)).status).toBe(204)
  await twice('POST', `${path}/restore`)
})

/** Verifying a domain needs a DNS record, which the domains of these tests do not have. */
const needsNoNameServer = ({ path }: (typeof routes)[number]) => path !== '/v5/domains/{domainId}/verify'

/** A row can be corrected only while it does not wait, so it is cancelled first. */
const isCorrection = ({ method, path }: (typeof routes)[number]) =>
  method === 'PATCH' && path === '/v5/imports/{importId}/rows/{rowId}'
/** What an import received can be removed only while it is disabled. */
const isRemoval = ({ path }: (typeof routes)[number]) => path === '/v5/imports/{importId}/remove-received'
const routeOf = (ending: string) => routes.find(({ method, path }) => method === 'POST' && path.endsWith(ending))

/** A delivery can be sent again once it is finished, unless it is a test. */
const finishDeliveries = () =>
  service.database.crossTenantQuery(
    'check the database',
    sql`update webhook_deliveries set status = 'failed', is_test = false, next_attempt_at = null, finished_at = now()
      returning id`,
  )

/** Deletions come last, and child records are deleted before their parents. */
const deletionRank = (route: (typeof routes)[number]) =>
  route.method === 'DELETE' || isRemoval(route) ? 1000 - route.path.split('/').length : 0

test.each(
  routes
    .filter((route) => supportsIdempotencyKey(route) && needsNoNameServer(route))
    .toSorted((one, other) => deletionRank(one) - deletionRank(other))
    .map((route) => [`${route.method} ${route.path}`, route] as const),
)(
  '%s: a repeated request with the same key returns the first response, including one-time secrets, and changes nothing',
  async (_, route) => {
    const request = requestOf(route, tenant)
    // A suggestion can be decided once.
    if (route.params.suggestionId)
      request.params = { suggestionId: await createSuggestion(service, tenant.organization, '/v5/suggestions') }
    // Other requests are about the contact of the tenant.
    if (route.path.endsWith('/erase')) {
      const { body } = await tenant.organization.call('POST', '/v5/contacts', { body: { name: 'Eve' } })
      request.params = { contactId: body.id }
    }
    const send = (key: string) => tenant.request(route, { ...request, headers: keyHeader(key) })
    const preparation = isCorrection(route)
      ? routeOf('/rows/cancel')
      : isRemoval(route)
        ? routeOf('{importId}/disable')
        : undefined
    if (preparation) await tenant.request(preparation, requestOf(preparation, tenant))
    if (route.path.endsWith('/{webhookDeliveryId}/replay')) await finishDeliveries()
    const key = randomUUID()
    const first = await send(key)
    expect([first.status < 300, first.headers.get('idempotent-replayed')], first.text).toEqual([true, null])
    const before = await dump(service.database)
    const again = await send(key)
    expect(again.text).toBe(first.text)
    for (const header of ['etag', 'location']) expect(again.headers.get(header)).toBe(first.headers.get(header))
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([first.status, 'true'])
    expect(await dump(service.database)).toEqual(before)
  },
)

test('a replay returns the first response even if the record has changed since', async () => {
  const { id } = (await create(randomUUID(), { email: newAddress() })).body
  const key = randomUUID()
  const patch = () => call('PATCH', `/v5/contacts/${id}`, { body: { city: 'Rome' }, headers: keyHeader(key) })
  const first = await patch()
  await call('PATCH', `/v5/contacts/${id}`, { body: { city: 'Oslo' } })
  expect((await patch()).text).toBe(first.text)
  expect((await call('GET', `/v5/contacts/${id}`)).body.city).toBe('Oslo')
  // A replay does not check the precondition again.
  const stale = {
    ...keyHeader(randomUUID()),
    'if-match': (await call('GET', `/v5/contacts/${id}`)).headers.get('etag') ?? '',
  }
  const conditional = () => call('PATCH', `/v5/contacts/${id}`, { body: { city: 'Bern' }, headers: stale })
  expect([(await conditional()).status, (await conditional()).status]).toEqual([200, 200])
})

test('the key with another body gets 422, with the same body a replay', async () => {
  const [key, name] = [randomUUID(), randomUUID()]
  await create(key, { name })
  const other = await create(key, { name, city: 'Rome' })
  expect(expectRefusal(other, 422, 'idempotency_key_reused').details[0]?.field).toBe('Idempotency-Key')
  expect((await create(key, { name })).headers.get('idempotent-replayed')).toBe('true')
  expect(await countByName(name)).toBe(1)
})

test('a key is independent for each path, method and credential', async () => {
  const [key, name] = [randomUUID(), randomUUID()]
  const contact = await create(key, { name })
  const company = await call('POST', '/v5/companies', { body: { name }, headers: keyHeader(key) })
  const patched = await call('PATCH', `/v5/contacts/${contact.body.id}`, {
    body: { city: 'Rome' },
    headers: keyHeader(key),
  })
  const otherKey = await create(key, { name }, await organization.withScopes(['urn:service:*:*:write']))
  const byToken = await service.anonymous('POST', '/v5/contacts', {
    body: { name },
    headers: { authorization: `Bearer ${organization.accessToken}`, ...keyHeader(key) },
  })
  const elsewhere = await create(key, { name }, (await service.newOrganization()).call)
  const responses = [contact, company, patched, otherKey, byToken, elsewhere]
  expect(responses.map(({ status }) => status)).toEqual([201, 201, 200, 201, 201, 201])
  expect(responses.map(({ headers }) => headers.get('idempotent-replayed'))).toEqual(responses.map(() => null))
  expect(new Set(responses.map(({ body }) => body.id)).size).toBe(5)
})

test('of twenty concurrent equal creates, one creates a record; the others get 409 or its response', async () => {
  const [key, name] = [randomUUID(), randomUUID()]
  const responses = await Promise.all(Array.from({ length: 20 }, () => create(key, { name })))
  const [created, ...replays] = responses.filter(({ status }) => status === 201)
  const running = responses.filter(({ status }) => status !== 201)
  for (const response of running) expectRefusal(response, 409, 'idempotency_in_progress')
  for (const replay of replays) expect(replay.text).toBe(created!.text)
  expect(await countByName(name)).toBe(1)
  expect((await create(key, { name })).text).toBe(created!.text)
})

test('a rejected request does not use up its key', async () => {
  const [key, email] = [randomUUID(), newAddress()]
  expectRefusal(await create(key, { email: 'nobody' }), 422)
  expectRefusal(await create(key, '{"email":'), 400)
  expectRefusal(await create(key, { email }, await organization.withScopes(['urn:service:*:*:read'])), 403)
  const taken = (await create(randomUUID(), { email })).body
  expectRefusal(await create(key, { email }), 409, 'already_exists')
  expect((await call('DELETE', `/v5/contacts/${taken.id}`)).status).toBe(204)
  const created = await create(key, { email })
  expect([created.status, created.headers.get('idempotent-replayed')]).toEqual([201, null])
})

test('a revoked API key gets no stored response', async () => {
  const [key, name] = [randomUUID(), randomUUID()]
  const other = await organization.withScopes(['urn:service:*:*:write'])
  expect((await create(key, { name }, other)).status).toBe(201)
  const [last] = await execute(sql`select credential_id from idempotency_answers order by created_at desc limit 1`)
  await execute(sql`update api_keys set revoked_at = now() where id = ${last?.credential_id}::uuid`)
  expectRefusal(await create(key, { name }, other), 401, 'invalid_token')
})

test('a key expires after 24 hours, not before', async () => {
  const [key, name] = [randomUUID(), randomUUID()]
  const age = (hours: number) =>
    execute(sql`update idempotency_answers set created_at = now() - make_interval(mins => ${hours * 60}::integer)
      where created_at = (select max(created_at) from idempotency_answers) returning 1`)
  const first = await create(key, { name })
  expect(await age(23.9)).toHaveLength(1)
  expect((await create(key, { name })).text).toBe(first.text)
  await execute(sql`update idempotency_answers set created_at = now() - interval '24 hours 1 minute'`)
  const afterExpiry = await create(key, { name, city: 'Rome' })
  expect([afterExpiry.status, afterExpiry.headers.get('idempotent-replayed')]).toEqual([201, null])
  expect((await create(key, { name, city: 'Rome' })).text).toBe(afterExpiry.text)
})

test('a body with equal JSON in another notation is the same request', async () => {
  const [key, name] = [randomUUID(), randomUUID()]
  const first = await create(key, `{"name":"${name}","customProperties":{"a":1,"b":[100,"é"]}}`)
  expect(first.status).toBe(201)
  for (const body of [
    `{"customProperties":{"b":[100,"é"],"a":1},"name":"${name}"}`,
    `\n{ "name" : "${name}" ,\t"customProperties": { "a": 1.0, "b": [ 1e2, "\\u00e9" ] } }\n`,
  ]) {
    const again = await create(key, body)
    expect([body, again.status, again.text]).toEqual([body, 201, first.text])
    expect(again.headers.get('idempotent-replayed')).toBe('true')
  }
  for (const body of [
    `{"name":"${name}","customProperties":{"a":1,"b":["é",100]}}`,
    `{"name":"${name}","customProperties":{"a":"1","b":[100,"é"]}}`,
    `{"name":"${name}","customProperties":{"a":1,"b":[100,"é"]},"city":null}`,
  ]) {
    expectRefusal(await create(key, body), 422, 'idempotency_key_reused')
  }
})

test('a repeated DELETE returns the first response', async () => {
  const { id } = (await create(randomUUID(), { email: newAddress() })).body
  const path = `/v5/contacts/${id}`
  const remove = (key: string, body?: Json) => call('DELETE', path, { headers: keyHeader(key), ...(body && { body }) })
  const key = randomUUID()
  const first = await remove(key)
  expect([first.status, first.text, first.headers.get('idempotent-replayed')]).toEqual([204, '', null])
  for (const body of [undefined, {}]) {
    const again = await remove(key, body)
    expect([again.status, again.text, again.headers.get('idempotent-replayed')]).toEqual([204, '', 'true'])
    for (const header of ['content-type', 'etag']) {
      expect([header, again.headers.get(header)]).toEqual([header, first.headers.get(header)])
    }
  }
  expectRefusal(await remove(randomUUID()), 404)
  expect((await call('POST', `${path}/restore`)).status).toBe(200)
  // A replayed DELETE deletes nothing.
  expect((await remove(key)).status).toBe(204)
  expect((await call('GET', path)).status).toBe(200)
})

test.each(['', 'x'.repeat(256), 'two words', 'caf\u00e9', 'a, b'])('the key "%s" is rejected', async (key) => {
  const refusal = await create(key, { name: 'Ada' })
  expect(expectRefusal(refusal, 400, 'invalid_parameters').details[0]?.field).toBe('Idempotency-Key')
})

test('requests and responses are not readable in the database', async () => {
  const [key, secret] = [`key-${randomUUID()}`, `secret-${randomUUID()}`]
  const created = await create(key, { name: secret, email: `${secret}@example.com`, customProperties: { pin: secret } })
  const rows = await execute(sql`select to_jsonb(idempotency_answers) as row, key_hash, request_hash, answer_encrypted
    from idempotency_answers order by created_at desc limit 1`)
  expect(rows).toHaveLength(1)
  const { row, ...bytes } = rows[0]
  const texts = [JSON.stringify(row), ...Object.values<Buffer>(bytes).map((value) => value.toString('latin1'))]
  for (const hidden of [key, secret, created.body.id, created.body.id.slice(4), created.headers.get('location')]) {
    expect(texts.filter((text) => text.includes(hidden))).toEqual([])
  }
})

/** Runs `work` while each stored response is checked; `body` creates the function `on_insert` of the check. */
async function withInsertCheck(body: Sql, work: () => Promise<void>): Promise<void> {
  await execute(body)
  await execute(sql`alter table idempotency_answers add constraint on_insert check (on_insert()) not valid`)
  try {
    await work()
  } finally {
    await execute(sql`alter table idempotency_answers drop constraint on_insert`)
    await execute(sql`drop function on_insert`)
  }
}

test('a request is rolled back if its response cannot be stored', async () => {
  const [key, name] = [randomUUID(), randomUUID()]
  const failing = sql`create function on_insert() returns boolean language plpgsql as $$ begin raise 'no room'; end $$`
  await withInsertCheck(failing, async () => {
    expectRefusal(await create(key, { name }), 500, 'internal_error')
    expect(await countByName(name)).toBe(0)
  })
  expect((await create(key, { name })).status).toBe(201)
})

test('a connection lost before the commit leaves neither record nor response; the retry creates one record', async () => {
  const [key, name] = [randomUUID(), randomUUID()]
  const slow = sql`create function on_insert() returns boolean language plpgsql as $$ begin perform pg_sleep(60); return true; end $$`
  await withInsertCheck(slow, async () => {
    const sleeping = () =>
      execute(sql`select pid from pg_stat_activity where datname = current_database() and state = 'active'
        and query like 'insert into idempotency_answers%'`)
    const lost = create(key, { name })
    await expect.poll(sleeping).toHaveLength(1)
    // The first request is in progress, so the second is rejected without waiting.
    const second = await create(key, { name })
    expectRefusal(second, 409, 'idempotency_in_progress')
    expect(second.headers.get('retry-after')).toBe('1')
    const [{ pid }] = await sleeping()
    await execute(sql`select pg_terminate_backend(${pid}::integer)`)
    expectRefusal(await lost, 503)
    expect(await countByName(name)).toBe(0)
  })
  const created = await create(key, { name })
  expect([created.status, created.headers.get('idempotent-replayed')]).toEqual([201, null])
  expect(await countByName(name)).toBe(1)
})
