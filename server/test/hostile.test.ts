import { afterAll, beforeAll, expect, test } from 'vitest'
import { sql } from '../src/platform/model/sql.ts'
import { until } from './processes.ts'
import { openRaw, requestText } from './raw-http.ts'
import { expectRefusal } from './refusals.ts'
import { type Call, type Json, startTestService, type TestOrganization, type TestService } from './service.ts'

let service: TestService
let organization: TestOrganization
let call: Call
let contactId: string
const unhandled: unknown[] = []
const recordError = (error: unknown) => void unhandled.push(error)

beforeAll(async () => {
  process.on('unhandledRejection', recordError)
  service = await startTestService({ IMPORT_WORKERS: '1' })
  organization = await service.newOrganization()
  call = organization.call
  contactId = (await call('POST', '/v5/contacts', { body: { email: 'ada@example.com' } })).body.id
})
afterAll(async () => {
  process.off('unhandledRejection', recordError)
  await service.close()
  expect(unhandled).toEqual([])
})

/** Checks that the service responds and its data is still there. */
async function expectAlive(): Promise<void> {
  expect((await call('GET', `/v5/contacts/${contactId}`)).status).toBe(200)
  expect((await service.anonymous('GET', '/readyz')).status).toBe(200)
}

const mebibyte = 1024 * 1024
const post = (body: string | Uint8Array, path = '/v5/contacts') => call('POST', path, { body })
const deep = (levels: number, open: string, close: string) => open.repeat(levels) + close.repeat(levels)

test.each<[string, string | Uint8Array, number]>([
  ['arrays a thousand deep', deep(1000, '[', ']'), 400],
  ['arrays half a million deep', deep(mebibyte / 2, '[', ']'), 400],
  ['arrays that are never closed', '['.repeat(mebibyte), 400],
  ['objects 150,000 deep', deep(150_000, '{"a":', '}').replace(/:}/, ':1}'), 400],
  ['custom properties 30 deep', `{"name":"A","customProperties":{"a":${deep(29, '[', ']')}}}`, 201],
  ['custom properties 33 deep', `{"name":"A","customProperties":{"a":${deep(33, '[', ']')}}}`, 400],
  ['a megabyte of blanks', ' '.repeat(mebibyte), 400],
  ['a string of a megabyte', `{"bio":"${'x'.repeat(mebibyte - 10)}"}`, 422],
  ['a megabyte of escapes', `{"bio":"${'\\u0041'.repeat(170_000)}"}`, 422],
  ['a number of a megabyte', `{"latitude":${'1'.repeat(mebibyte - 20)}}`, 422],
  ['a megabyte of zeros behind the point', `{"latitude":0.${'0'.repeat(mebibyte - 20)}1}`, 422],
  ['a name of a megabyte', `{"${'x'.repeat(mebibyte - 10)}":1}`, 422],
  ['seventy thousand unknown fields', object(70_000, (index) => `"f${index}":1`), 422],
  ['seventy thousand custom properties', `{"customProperties":${object(70_000, (index) => `"f${index}":1`)}}`, 422],
  ['three hundred thousand bad tags', `{"tags":[${'1,'.repeat(300_000)}1]}`, 422],
  ['two hundred thousand equal tags', `{"tags":[${'"a",'.repeat(200_000)}"a"]}`, 422],
  ['a megabyte of nulls', `[${'null,'.repeat(200_000)}null]`, 422],
  ['a duplicate property', '{"name":"A","name":"B"}', 400],
  ['a duplicate property, escaped differently', '{"name":"A","n\\u0061me":"B"}', 400],
  ['a duplicate custom property', '{"name":"A","customProperties":{"a":1,"a":2}}', 400],
  ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d]), 400],
  ['an overlong encoding', Buffer.from([0x22, 0xc0, 0xaf, 0x22]), 400],
  ['half a character', Buffer.from([0x22, 0xe2, 0x82]), 400],
  ['UTF-16', Buffer.from('{"name":"A"}', 'utf16le'), 400],
  ['a byte order mark', '\ufeff{"name":"A"}', 201],
  ['NUL in a value', '{"name":"a\\u0000b"}', 422],
  ['NUL in a custom property', '{"name":"A","customProperties":{"a":["\\u0000"]}}', 422],
  ['NUL in a custom name', '{"name":"A","customProperties":{"a":{"\\u0000":1}}}', 422],
  ['NUL in a field name', '{"\\u0000":1}', 422],
  ['a bare NUL', '{"name":"a\0b"}', 400],
  ['a lone surrogate', '{"name":"\\ud800"}', 422],
  ['surrogates in the wrong order', '{"name":"\\udc00\\ud800"}', 422],
  ['a lone surrogate in a tag', '{"name":"A","tags":["\\udfff"]}', 422],
  ['__proto__', '{"__proto__":{"isAdmin":true}}', 422],
  ['__proto__ in custom properties', '{"name":"A","customProperties":{"__proto__":{"a":1}}}', 422],
  ['__proto__ deep in custom properties', '{"name":"A","customProperties":{"a":[{"__proto__":1}]}}', 422],
  ['constructor as a field', '{"constructor":{"prototype":{"a":1}}}', 422],
  ['toString as a field', '{"toString":1,"valueOf":2,"hasOwnProperty":3}', 422],
  [
    'constructor as a custom property',
    '{"name":"A","customProperties":{"constructor":{"prototype":1},"toString":"a"}}',
    201,
  ],
  ['__proto__ as an external id', '{"name":"A","externalIds":{"__proto__":"1"}}', 422],
  ['constructor as an external id', '{"name":"A","externalIds":{"constructor":"1"}}', 201],
  ['1e400', '{"latitude":1e400}', 422],
  ['1e400 as a custom property', '{"name":"A","customProperties":{"a":1e400}}', 422],
  ['12345678901234567890 as a custom property', '{"name":"A","customProperties":{"a":12345678901234567890}}', 422],
  ['9007199254740993', '{"name":"A","customProperties":{"a":9007199254740993}}', 422],
  ['-0', '{"name":"A","latitude":-0,"customProperties":{"a":-0}}', 201],
  ['1e-400', '{"name":"A","customProperties":{"a":1e-400}}', 422],
  ['NaN', '{"latitude":NaN}', 400],
  ['Infinity', '{"latitude":Infinity}', 400],
  ['a comment', '{"name":"A"/* b */}', 400],
  ['a trailing comma', '{"name":"A",}', 400],
  ['single quotes', "{'name':'A'}", 400],
  ['two values', '{"name":"A"}{"name":"B"}', 400],
  ['nothing but a string', '"name"', 422],
  ['nothing but null', 'null', 422],
  ['SQL as a field', `{"name\\"; drop table contacts; --":"A"}`, 422],
  ['SQL as a value', `{"name":"'; drop table contacts; --"}`, 201],
  ['SQL as a custom property', `{"name":"A","customProperties":{"a' || (select 1) || '":1}}`, 422],
  ['text with a bidirectional override', '{"name":"\\u202eadA"}', 201],
])('a body with %s is answered', async (_what, body, status) => {
  const response = await post(body)
  if (status === 201) {
    expect(response.status, response.text).toBe(201)
    expect((await call('DELETE', `/v5/contacts/${response.body.id}`)).status).toBe(204)
  } else {
    expectRefusal(response, status)
    expect(response.text.length).toBeLessThan(50_000)
    expectRefusal(await call('PATCH', `/v5/contacts/${contactId}`, { body }), status)
  }
  await pushWithExtra(body)
  expect(Object.keys(Object.prototype)).toEqual([])
  expect(({} as Json).isAdmin).toBeUndefined()
  await expectAlive()
})

/** Pushes a valid lead with this extra value: it is either rejected or stored without a loss and processed. */
async function pushWithExtra(body: string | Uint8Array): Promise<void> {
  const { triggerUrl, importId } = organization
  const whole = Buffer.concat([
    Buffer.from('{"contact":{"name":"Eve","xHandle":"eve"},"extra":'),
    Buffer.from(body),
    Buffer.from('}'),
  ])
  const response = await service.anonymous('POST', new URL(triggerUrl).pathname, { body: whole })
  if (response.status !== 200) return void expectRefusal(response, response.status === 413 ? 413 : 400)
  const path = `/v5/imports/${importId}/rows/${response.body.id}`
  const isEnded = async () => (await call('GET', `${path}?select[]=finishedAt`)).body.finishedAt !== null
  await until('the row is finished', isEnded)
  const { status, payload } = (await call('GET', path)).body
  // A number that JSON.parse would round or lose is stored as the text that was sent.
  const sent = JSON.parse(whole.toString().replaceAll(/(?<=:)(?:1e-?400|\d{16,})(?=[,}])/g, '"$&"'))
  expect([status, payload]).toEqual([expect.stringMatching(/^(?:PROCESSED|DUPLICATE)$/), sent])
}

function object(count: number, member: (index: number) => string): string {
  return `{${Array.from({ length: count }, (_, index) => member(index)).join()}}`
}

test('a hostile body of a megabyte does not delay other requests', async () => {
  const bodies = ['['.repeat(mebibyte), deep(mebibyte / 2, '[', ']'), `{"tags":[${'1,'.repeat(500_000)}1]}`]
  for (const body of bodies) {
    const started = performance.now()
    const [refusal] = await Promise.all([post(body), call('GET', '/v5/me')])
    expect(refusal!.status).toBeGreaterThanOrEqual(400)
    expect(performance.now() - started).toBeLessThan(3000)
  }
})

test('custom properties are stored exactly as sent, including names of object methods', async () => {
  const customProperties = { constructor: 'a', toString: 1, hasOwnProperty: true, valueOf: { prototype: null, a: [] } }
  const created = await call('POST', '/v5/contacts', { body: { name: 'Eve', customProperties } })
  const path = `/v5/contacts/${created.body.id}`
  expect(Object.entries(created.body.customProperties).sort()).toEqual(Object.entries(customProperties).sort())
  const patched = await call('PATCH', path, {
    body: { customProperties: { toString: { valueOf: 2 }, constructor: null } },
  })
  expect(Object.entries(patched.body.customProperties).sort()).toEqual(
    Object.entries({ toString: { valueOf: 2 }, hasOwnProperty: true, valueOf: { prototype: null, a: [] } }).sort(),
  )
  const found = await call('GET', '/v5/contacts/count?filter.customProperties.hasOwnProperty.equals=true')
  expect(found.body).toEqual({ count: 1 })
  const selected = await call('GET', `${path}?select[]=customProperties.toString&select[]=customProperties.constructor`)
  expect(selected.body.customProperties).toMatchObject({ toString: { valueOf: 2 } })
  expect((await call('DELETE', path)).status).toBe(204)
})

test.each(
  [
    [`/v5/contacts?${'x&'.repeat(4000)}`, 400],
    [`/v5/contacts?${'&'.repeat(8000)}`, 200],
    [`/v5/contacts?${'a=1&'.repeat(2000)}`, 400],
    [`/v5/contacts?${'limit=1&'.repeat(900)}`, 400],
    [`/v5/contacts?${'select[]=id&'.repeat(600)}`, 400],
    [`/v5/contacts?${'tags=a&'.repeat(26)}`, 400],
    [`/v5/contacts?filter.email.in=${'a,'.repeat(101)}a`, 400],
    [`/v5/contacts?query=${'a'.repeat(8000)}`, 200],
    [`/v5/contacts?query=${'a+'.repeat(3000)}`, 400],
    [`/v5/contacts?filter.${'a.'.repeat(3000)}equals=1`, 400],
    [`/v5/contacts?orderBy=customProperties.${'a'.repeat(7000)}`, 400],
    ['/v5/contacts?filter.email.equals=%00', 400],
    ['/v5/contacts?%00=1', 400],
    ['/v5/contacts?filter.email.equals=%ED%A0%80', 400],
    ['/v5/contacts?filter.email.equals=%C0%AF', 400],
    ['/v5/contacts?filter.email.equals=%', 400],
    ["/v5/contacts?filter.email'%20or%201=1--.equals=a", 400],
    ["/v5/contacts?filter.email.equals='%20or%20'1'='1", 400],
    ["/v5/contacts?filter.city.equals='%20or%20'1'='1", 200],
    ['/v5/contacts?filter.email.contains=%25', 200],
    ['/v5/contacts?orderBy=email;drop%20table%20contacts', 400],
    ['/v5/contacts?sort=desc;select%201', 400],
    ['/v5/contacts?filter.__proto__.equals=1', 400],
    ['/v5/contacts?filter.constructor.equals=1', 400],
    ['/v5/contacts?__proto__=1', 400],
    ['/v5/contacts?toString=1', 400],
    ['/v5/contacts?constructor.prototype=1', 400],
    ['/v5/contacts?select[]=__proto__', 400],
    ['/v5/contacts?select[]=constructor', 400],
    ['/v5/contacts?orderBy=__proto__', 400],
    ['/v5/contacts?orderBy=toString', 400],
    ['/v5/contacts?filter.latitude.gt=1e400', 400],
    ['/v5/contacts?filter.latitude.gt=NaN', 400],
    ['/v5/contacts?filter.createdAt.gt=99999-01-01', 400],
    ['/v5/contacts?filter.createdAt.gt=2026-02-30', 400],
    ['/v5/contacts?limit=1e1', 400],
    ['/v5/contacts?limit=99999999999999999999', 400],
    ['/v5/contacts?limit=-1', 400],
    ['/v5/contacts?startingAfter=%F0%9F%92%A9', 400],
  ].map(([path, status]) => ({ name: String(path).slice(12, 72), path: String(path), status: Number(status) })),
)('the query $name is answered with $status', async ({ path, status }) => {
  const before = (await call('GET', '/v5/contacts/count')).body.count
  const response = await call('GET', path)
  if (status === 200) expect(response.status, response.text).toBe(200)
  else expectRefusal(response, status, 'invalid_parameters')
  if (path.includes('1=1') && status === 200) expect(response.body).toEqual([])
  expect((await call('GET', '/v5/contacts/count')).body.count).toBe(before)
})

test('input from a caller never becomes a response header', async () => {
  const injected = '%0d%0aX-Injected:%20yes%0d%0a%0d%0a<script>'
  for (const path of [`/v5/${injected}`, `/v5/contacts/${injected}`, `/v5/contacts?query=${injected}&limit=1`]) {
    const { headers, text } = await call('GET', path)
    expect(headers.get('x-injected')).toBeNull()
    if (headers.get('content-type')?.includes('html')) throw new Error(text)
  }
  for (let count = 0; count < 3; count++) await call('POST', '/v5/contacts', { body: { name: 'Linked' } })
  const { headers } = await call('GET', `/v5/contacts?name=Linked&limit=1&filter.bio.not=${injected}">;rel="next"`)
  expect(headers.get('link')).toMatch(/^<http[^<>"\s]*>; rel="next"$/)
})

test('pipelined requests are answered in order, even if the last one is not HTTP', async () => {
  const connection = await openRaw(service.url)
  const headers = {
    authorization: `Bearer ${organization.apiKey}`,
    'service-organization-id': organization.organizationId,
  }
  const body = JSON.stringify({ name: 'Pipelined' })
  connection.write(
    requestText('GET', '/v5/me', { headers }) +
      requestText('POST', '/v5/contacts', { headers: { ...headers, 'content-type': 'application/json' }, body }) +
      requestText('GET', '/v5/contacts/count?name=Nobody', { headers }) +
      requestText('GET', '/v5/nowhere', { headers }) +
      'THIS IS NOT HTTP\r\n\r\n',
  )
  const responses = await connection.responses(5)
  expect(responses.map(({ status }) => status)).toEqual([200, 201, 200, 404, 400])
  expect(JSON.parse(responses[2]!.body)).toEqual({ count: 0 })
  expect((await call('GET', '/v5/contacts/count?name=Pipelined')).body).toEqual({ count: 1 })
  expectRefusal(responses[4]!, 400, 'malformed_request')
  await connection.closed
  connection.socket.destroy()
})

test('a caller that disconnects in the middle of a body leaves no record and no error', async () => {
  const before = (await call('GET', '/v5/contacts/count')).body.count
  const headers = {
    authorization: `Bearer ${organization.apiKey}`,
    'service-organization-id': organization.organizationId,
    'content-type': 'application/json',
  }
  const logged = service.logged.length
  for (const closeMethod of ['end', 'destroy', 'resetAndDestroy'] as const) {
    for (const length of ['content-length', 'transfer-encoding']) {
      const connection = await openRaw(service.url)
      const framing = length === 'content-length' ? '100' : 'chunked'
      connection.write(requestText('POST', '/v5/contacts', { headers: { ...headers, [length]: framing } }))
      connection.write(length === 'content-length' ? '{"name":"Half' : 'ff\r\n{"name":"Half')
      await new Promise<void>((resolve) => connection.socket.write('', () => resolve()))
      connection.socket[closeMethod]()
      if (closeMethod === 'end') await connection.closed
      connection.socket.destroy()
    }
  }
  const aborted = () => service.logged.slice(logged).filter((line) => line.includes('"route":"/v5/contacts"'))
  await expect.poll(() => aborted().length).toBe(6)
  expect((await call('GET', '/v5/contacts/count')).body.count).toBe(before)
  expect(service.logged.slice(logged).filter((line) => /"level":[56]0/.test(line))).toEqual([])
  await expectAlive()
})

test('a caller that closes its half of the connection after the request gets the response', async () => {
  const connection = await openRaw(service.url)
  const headers = {
    authorization: `Bearer ${organization.apiKey}`,
    'service-organization-id': organization.organizationId,
  }
  connection.socket.end(requestText('GET', '/v5/contacts', { headers }))
  const [response] = await connection.responses(1)
  expect(response!.status).toBe(200)
  await connection.closed
})

test('the requests above left no error in the log and no open transaction in the database', async () => {
  const failures = service.logged.filter((line) => /"level":[56]0/.test(line))
  expect(failures).toEqual([])
  const busy = () =>
    service.database.crossTenantQuery(
      'check the database',
      sql`select state from pg_stat_activity
        where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()`,
    )
  await expect.poll(busy).toEqual([])
})
