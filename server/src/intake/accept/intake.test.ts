import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { expireUrls, newImport, newLead, pusher, rowsOf, type TestImport } from '../../../test/pushes.ts'
import { openRaw, requestText } from '../../../test/raw-http.ts'
import { expectRefusal } from '../../../test/refusals.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'
import { sql } from '../../platform/model/sql.ts'
import { newId, encodeId } from '../../platform/model/ids.ts'
import { generateTriggerSecret } from '../imports/trigger.ts'

let testDatabase: TestDatabase
let service: TestService
/** A second service on the same database, with its own memory. */
let other: TestService
let organization: TestOrganization
let target: TestImport

beforeAll(async () => {
  testDatabase = await createDatabase()
  service = await startTestService({}, { ...testDatabase, drop: async () => undefined })
  other = await startTestService({}, { ...testDatabase, drop: async () => undefined })
  organization = await service.newOrganization()
  target = await newImport(service, organization)
})
afterAll(async () => {
  await service.close()
  await other.close()
  await testDatabase.drop()
})

const check = <Row extends object = Json>(statement: ReturnType<typeof sql>) =>
  service.database.crossTenantQuery<Row>('check the database', statement)

test('the response to a push is its row, which is already committed', async () => {
  const lead = { ...newLead(), favourite: { colour: 'blue' }, n: 1.5 }
  const response = await target.push(lead)
  expect(response.status).toBe(200)
  expect(Object.keys(response.body)).toEqual(['id', 'object', 'status', 'createdAt', 'updatedAt'])
  expect(response.body).toEqual({
    id: expect.stringMatching(/^row_[0-9a-f]{32}$/),
    object: 'row',
    status: 'PENDING',
    createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    updatedAt: response.body.createdAt,
  })
  expect(Math.abs(Date.parse(response.body.createdAt) - Date.now())).toBeLessThan(60_000)
  for (const name of ['x-request-id', 'version', 'ratelimit', 'ratelimit-policy', 'etag']) {
    expect([name, response.headers.get(name)]).toEqual([name, expect.any(String)])
  }
  expect(response.headers.has('idempotent-replayed')).toBe(false)
  const client = new pg.Client(testDatabase.connection)
  await client.connect()
  const { rows } = await client
    .query('select * from import_rows where import_id = $1 order by id desc limit 1', [target.uuid])
    .finally(() => client.end())
  expect(rows).toMatchObject([{ status: 'PENDING', payload: lead, parameters: {}, attempts: 0, revision: 1 }])
  expect(encodeId('row', rows[0].id)).toBe(response.body.id)
  expect(rows[0].created_at.toISOString()).toBe(response.body.createdAt)
  expect(rows[0].updated_at.toISOString()).toBe(response.body.updatedAt)
})

test('a payload is stored as sent, with any characters, numbers and escapes', async () => {
  const { contact } = newLead()
  const note = 'Zoë ✓ 😀 "quoted" \\ back\nline\u2028 ÅÄÖ 漢字 ﷽'
  const text = ` {"contact": {"email": "${contact.email}", "note": ${JSON.stringify(note)}},\n\t"big": 1234567.0625,
    "small": 1e-7, "escaped": "\\u00e9\\ud83d\\ude00\\/", "": {"a.b": [[], {}, null, true]}} `
  const { status, body } = await target.push(text)
  expect(status).toBe(200)
  const rows = await rowsOf(service.database, target)
  expect(rows.find(({ shown }) => shown === body.id)?.payload).toEqual(JSON.parse(text))
})

test('query parameters are stored with the payload, repeated ones as lists', async () => {
  const query = '?source=spring%20fair&utm=a&utm=b&utm=&empty&__proto__=x&%F0%9F%98%80=%22'
  const { status, body } = await target.push(newLead(), { query })
  expect(status).toBe(200)
  const [row] = await check(sql`select parameters::text as text from import_rows order by id desc limit 1`)
  expect(JSON.parse(row.text)).toEqual(
    Object.fromEntries([
      ['source', 'spring fair'],
      ['utm', ['a', 'b', '']],
      ['empty', ''],
      ['__proto__', 'x'],
      ['😀', '"'],
    ]),
  )
  expect(body.status).toBe('PENDING')
})

test('rows are ordered by the acceptance of their pushes', async () => {
  const ordered = await newImport(service, organization)
  const ids: string[] = []
  for (let index = 0; index < 20; index++) ids.push((await ordered.push()).body.id)
  expect((await rowsOf(service.database, ordered)).map(({ shown }) => shown)).toEqual(ids)
})

test('an Authorization header is ignored', async () => {
  for (const authorization of ['Bearer svc_wrong', `Bearer ${organization.apiKey}`, 'nonsense']) {
    expect((await target.push(newLead(), { headers: { authorization } })).status).toBe(200)
  }
})

const contact = { email: 'ada@example.com' }

test.each<[string, unknown, string, string[]]>([
  ['an empty body', '', 'malformed_request', []],
  ['a text that is not JSON', '{"contact":', 'malformed_request', []],
  ['bytes that are not UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'malformed_request', []],
  ['33 levels', `${'['.repeat(33)}${']'.repeat(33)}`, 'malformed_request', []],
  [
    'a duplicate key',
    '{"contact":{"email":"a@example.com","email":"b@example.com"}}',
    'malformed_request',
    ['contact.email'],
  ],
  ['NUL', { contact: { ...contact, name: 'a\0b' } }, 'invalid_parameters', ['contact.name']],
  [
    'a lone surrogate',
    '{"contact":{"email":"ada@example.com","name":"\\ud800"}}',
    'invalid_parameters',
    ['contact.name'],
  ],
  ['__proto__', '{"contact":{"email":"ada@example.com"},"__proto__":{}}', 'invalid_parameters', ['__proto__']],
  ['several leads', [{ contact }, { contact }], 'invalid_parameters', ['body']],
  ['no contact', {}, 'invalid_parameters', ['contact']],
  ['no address', { contact: { name: 'Ada' } }, 'invalid_parameters', ['contact.email']],
  [
    'two errors',
    { contact: { email: 1 }, employment: { seniority: 'BOSS' } },
    'invalid_parameters',
    ['contact.email', 'employment.seniority'],
  ],
])('a push with %s gets 400', async (_, body, code, fields) => {
  const before = await rowsOf(service.database, target)
  const response = await target.push(body)
  const { details } = expectRefusal(response, 400, code)
  expect(details.map(({ field }) => field)).toEqual(fields)
  expect(await rowsOf(service.database, target)).toEqual(before)
})

test('a body of more than 1 MiB gets 413; one of exactly 1 MiB is stored', async () => {
  const whole = 1024 * 1024
  const text = (length: number) => {
    const [head, tail] = ['{"contact":{"email":"ada@example.com"},"filler":"', '"}']
    return `${head}${'x'.repeat(length - head.length - tail.length)}${tail}`
  }
  expect((await target.push(text(whole))).status).toBe(200)
  expectRefusal(await target.push(text(whole + 1)), 413, 'payload_too_large')
  const connection = await openRaw(service.url)
  connection.write(requestText('POST', target.path, { headers: { 'transfer-encoding': 'chunked' } }))
  connection.write(`${(whole + 1).toString(16)}\r\n${text(whole + 1)}\r\n0\r\n\r\n`)
  const [response] = await connection.responses(1)
  connection.socket.destroy()
  expect(response?.status).toBe(413)
})

test('every invalid URL gets the same 404 and creates no row', async () => {
  const [disabled, deleted, rotated, expired, foreign] = await Promise.all(
    Array.from({ length: 5 }, () => newImport(service, organization)),
  )
  if (!disabled || !deleted || !rotated || !expired || !foreign) throw new Error('five imports were made')
  // All of them are in the cache of the process.
  for (const one of [disabled, deleted, rotated, expired]) expect((await one.push()).status).toBe(200)
  await organization.call('POST', `/v5/imports/${disabled.importId}/disable`)
  await organization.call('DELETE', `/v5/imports/${deleted.importId}`)
  await organization.call('POST', `/v5/imports/${rotated.importId}/rotate`, { body: { overlapSeconds: 0 } })
  await expireUrls(service.database, expired.uuid, 'all')
  const before = await check(sql`select count(*) as count from import_rows`)
  const at = (importId: string, hash: string) => `/v5/imports/${importId}/trigger/${hash}`
  const { importId, hash } = target
  const responses = await Promise.all(
    [
      at(encodeId('imp', newId()), hash),
      at('imp_1', hash),
      at('con_019aa5b2c1d27e3fa4b5c6d7e8f90123', hash),
      at('%00', hash),
      at(importId, generateTriggerSecret()),
      at(importId, hash.slice(0, -1)),
      at(importId, `${hash}0`),
      at(importId, 'x'),
      at(importId, '%00'),
      at(importId, '%F0%9F%98%80'),
      at(importId, 'x'.repeat(7000)),
      at(foreign.importId, hash),
      disabled.path,
      deleted.path,
      rotated.path,
      expired.path,
    ].map((path) => pusher(service, path)()),
  )
  const [first] = responses
  expect(expectRefusal(first as Json, 404, 'not_found').description).toBe(
    'No import accepts pushes at this URL. Check the URL, and whether the import is enabled.',
  )
  for (const response of responses) {
    expect([response.status, response.text]).toEqual([404, first?.text])
    expect(response.headers.get('ratelimit-policy')).toBe(first?.headers.get('ratelimit-policy'))
  }
  expect(await check(sql`select count(*) as count from import_rows`)).toEqual(before)
})

test('an invalid URL gets 404 before any other error is reported', async () => {
  const withWrongSecret = pusher(service, target.path.replace(target.hash, generateTriggerSecret()))
  const headers = { 'idempotency-key': 'a key with spaces' }
  for (const options of [{ query: '?a=%zz' }, { headers }]) {
    expectRefusal(await withWrongSecret(newLead(), options), 404)
  }
  expectRefusal(await withWrongSecret('{'), 404)
})

test('disabling and enabling an import takes effect immediately in every process', async () => {
  const one = await newImport(service, organization)
  const pushToOther = pusher(other, one.path)
  const bad = { contact: {} }
  expect([(await one.push()).status, (await pushToOther()).status]).toEqual([200, 200])
  for (let round = 0; round < 3; round++) {
    await organization.call('POST', `/v5/imports/${one.importId}/disable`)
    for (const body of [bad, newLead(), '{', bad]) expectRefusal(await pushToOther(body), 404)
    await organization.call('POST', `/v5/imports/${one.importId}/enable`)
    expectRefusal(await pushToOther(bad), 400)
    expect((await pushToOther()).status).toBe(200)
  }
  expect(await rowsOf(service.database, one)).toHaveLength(5)
})

test('a rotated URL works in every process until its overlap ends', async () => {
  const one = await newImport(service, organization)
  const before = pusher(other, one.path)
  expect((await before()).status).toBe(200)
  const { body } = await organization.call('POST', `/v5/imports/${one.importId}/rotate`, {
    body: { overlapSeconds: 3600 },
  })
  const after = pusher(other, new URL(body.triggerUrl).pathname)
  expect([(await after()).status, (await before()).status, (await after()).status]).toEqual([200, 200, 200])
  await expireUrls(service.database, one.uuid, 'replaced')
  expectRefusal(await before(), 404)
  expectRefusal(await before({ contact: {} }), 404)
  expect((await after()).status).toBe(200)
  expect(await rowsOf(service.database, one)).toHaveLength(5)
})
