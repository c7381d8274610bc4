import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sql } from '../src/platform/model/sql.ts'
import { until } from './processes.ts'
import { openRaw, requestText, sendRaw } from './raw-http.ts'
import { expectRefusal } from './refusals.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from './service.ts'

let service: TestService
let organization: TestOrganization

beforeAll(async () => {
  service = await startTestService({ LOG_LEVEL: 'trace', IMPORT_WORKERS: '1' })
  organization = await service.newOrganization()
})
afterAll(() => service.close())

const lines = (): Json[] => service.logged.map((line) => JSON.parse(line))

/** The log line of a request; it is written after the response, so this waits for it. */
async function findLine(requestId: string | null | undefined): Promise<Json> {
  const found = () => lines().filter((line) => line.requestId === requestId && line.msg === 'request')
  await expect.poll(() => found().length).toBe(1)
  return found()[0]
}

test('each request writes one log line with its caller, route and outcome', async () => {
  const path = '/v5/contacts/con_019aa5b2c1d27e3fa4b5c6d7e8f90123'
  const response = await organization.call('GET', path)
  const line = await findLine(response.headers.get('x-request-id'))
  expect(line).toMatchObject({
    level: 30,
    method: 'GET',
    route: '/v5/contacts/{contactId}',
    status: 404,
    organization: organization.organizationId,
    credential: expect.stringMatching(/^key_[0-9a-f]{32}$/),
    milliseconds: expect.any(Number),
  })
  const anonymous = await service.anonymous('GET', '/v5/me')
  expect(await findLine(anonymous.headers.get('x-request-id'))).toMatchObject({ status: 401, route: '/v5/me' })
  const { triggerUrl, importId, organizationId } = organization
  const lead = { contact: { email: 'ada@example.com' } }
  const pushed = await service.anonymous('POST', new URL(triggerUrl).pathname, { body: lead })
  expect(await findLine(pushed.headers.get('x-request-id'))).toMatchObject({
    status: 200,
    route: '/v5/imports/{importId}/trigger/{hash}',
    organization: organizationId,
    credential: importId,
  })
})

test('every kind of response writes exactly one log line', async () => {
  // Background work writes lines too.
  const requestLines = () => lines().filter(({ requestId }) => requestId !== undefined)
  const before = requestLines().length
  const ids: (string | null | undefined)[] = []
  for (const [method, path] of [
    ['GET', '/v5/contacts'],
    ['HEAD', '/v5/contacts'],
    ['OPTIONS', '/v5/contacts'],
    ['PUT', '/v5/contacts'],
    ['GET', '/v5/nowhere'],
    ['GET', '/v5/%zz'],
    ['GET', `/v5/${'x'.repeat(9000)}`],
    ['GET', '/healthz'],
    ['POST', '/auth'],
  ] as const) {
    ids.push((await organization.call(method, path)).headers.get('x-request-id'))
  }
  ids.push((await sendRaw(service.url, 'no HTTP\r\n\r\n')).headers['x-request-id'])
  for (const id of ids) await findLine(id)
  expect(requestLines().length - before).toBe(ids.length)
  expect(new Set(ids).size).toBe(ids.length)
})

test('a request whose caller disconnected before the response is logged with status 499', async () => {
  const connection = await openRaw(service.url)
  const sentRequestId = randomUUID()
  const headers = { 'content-type': 'application/json', 'content-length': '10', 'x-request-id': sentRequestId }
  connection.write(requestText('POST', '/auth', { headers }))
  await new Promise<void>((resolve) => connection.socket.write('{', () => resolve()))
  connection.socket.destroy()
  await expect
    .poll(() => lines().filter(({ callerRequestId }) => callerRequestId === sentRequestId))
    .toMatchObject([{ route: '/auth', status: 499 }])
})

test('no log line contains a secret or personal data of the records, whatever goes wrong', async () => {
  const secret = (kind: string) => `${kind}-${randomUUID()}`
  const secrets = {
    email: `${secret('address')}@example.com`,
    query: secret('query'),
    path: secret('path'),
    idempotencyKey: secret('idempotency'),
    wrongKey: `svc_${secret('wrong').replaceAll('-', '')}`,
    token: secret('token'),
    password: secret('password'),
    agent: secret('agent'),
    cookie: secret('cookie'),
    name: secret('name'),
    field: secret('field'),
    lead: `${secret('lead')}@example.com`,
    note: secret('note'),
    parameter: secret('parameter'),
    member: secret('member'),
  }
  const { apiKey, accessToken, refreshToken, call, importId, triggerUrl } = organization
  const trigger = new URL(triggerUrl).pathname
  const lead = { contact: { email: secrets.lead, note: secrets.note, [secrets.member]: 1 } }
  const push = (path: string, body: Json) => service.anonymous('POST', path, { body, headers })
  const headers = { 'idempotency-key': secrets.idempotencyKey, cookie: secrets.cookie, 'user-agent': secrets.agent }
  const wrongKeyHeaders = { authorization: `Bearer ${secrets.wrongKey}`, ...headers }
  const person = { email: secrets.email, name: secrets.name }
  await call('POST', '/v5/contacts', { body: person, headers })
  await call('POST', '/v5/contacts', { body: { ...person, [secrets.field]: secrets.password }, headers })
  expectRefusal(await call('POST', '/v5/contacts', { body: person }), 409)
  await call('POST', '/v5/contacts', { body: `{"email":"${secrets.email}"`, headers })
  await call('GET', `/v5/contacts?email=${secrets.email}&query=${secrets.query}`, { headers })
  await call('GET', `/v5/contacts?${secrets.query}=1`, { headers: { 'service-organization-id': secrets.token } })
  await call('GET', `/v5/${secrets.path}`, { headers: { 'if-none-match': secrets.token } })
  await call('GET', `/v5/contacts/${secrets.path}%zz`)
  await service.anonymous('GET', '/v5/me', { headers: wrongKeyHeaders })
  await service.anonymous('GET', '/v5/me', { headers: { authorization: `Bearer ${accessToken}x` } })
  await service.anonymous('GET', '/v5/me', { headers: { authorization: `Basic ${secrets.password}` } })
  await service.anonymous('POST', '/auth', { body: { token: secrets.token, password: secrets.password }, headers })
  const refreshed = (await service.anonymous('POST', '/auth', { body: { token: refreshToken } })).body
  await service.anonymous('GET', `/v5/me?access_token=${accessToken}`, { headers: { authorization: accessToken } })
  await sendRaw(service.url, `GET /${secrets.path} HTTP/1.1\r\nauthorization ${apiKey}\r\n\r\n`)
  expectRefusal(await push(trigger, { contact: { email: secrets.note, name: [secrets.lead] } }), 400)
  expectRefusal(await push(trigger, `{"contact":"${secrets.lead}`), 400)
  expectRefusal(await push(`${trigger}x`, lead), 404)
  expectRefusal(await push(`${trigger}/${secrets.path}`, lead), 404)
  await withFailingInsert(async () => {
    const { id } = (await push(`${trigger}?${secrets.parameter}=${secrets.query}`, lead)).body
    const row = async () => (await call('GET', `/v5/imports/${importId}/rows/${id}`)).body
    await until('the row has failed', async () => (await row()).status === 'RETRYING')
    return call('POST', '/v5/contacts', { body: { ...person, email: `x${secrets.email}` } })
  })
  const hidden = {
    ...secrets,
    apiKey,
    accessToken,
    refreshToken,
    newAccessToken: refreshed.accessToken,
    newRefreshToken: refreshed.refreshToken,
    signature: accessToken.split('.')[2] ?? '',
    keyBody: apiKey.slice(4, 30),
    signIn: 'a password that is long enough',
    hash: trigger.split('/').at(-1) ?? '',
  }
  await findLine((await call('GET', '/v5/me')).headers.get('x-request-id'))
  const failures = lines().filter(({ level }) => level >= 50)
  expect(failures.map(({ msg }) => msg).sort()).toEqual(['imports: a row failed', 'internal_error'])
  for (const [kind, value] of Object.entries(hidden)) {
    expect([kind, service.logged.filter((line) => line.includes(value))]).toEqual([kind, []])
  }
})

test('successful and failed authentications are logged with time and address; other requests without an address', async () => {
  const path = new URL(organization.triggerUrl).pathname
  const body = { email: 'nobody@example.com', password: 'guess after guess' }
  const sso = '/auth/sso/sso_019aa5b2c1d27e3fa4b5c6d7e8f90123'
  const authentications = [
    await service.anonymous('POST', '/auth/login', { body }),
    await service.anonymous('POST', '/auth', { body: { token: 'rft_none' } }),
    await service.anonymous('POST', '/auth', { body: { token: organization.refreshToken } }),
    await service.anonymous('POST', '/auth/login/totp', { body: { pendingToken: 'pnd_none', code: '000000' } }),
    await service.anonymous('POST', '/auth/reset-password', { body: { token: 'ott_none', password: 'x' } }),
    await service.anonymous('GET', '/v5/me', { headers: { authorization: 'Bearer svc_none' } }),
    await service.anonymous('GET', sso),
    await service.anonymous('POST', path.replace(/.$/, '!'), { body: {} }),
  ]
  for (const { headers } of authentications) {
    expect(await findLine(headers.get('x-request-id'))).toMatchObject({
      time: expect.anything(),
      address: '127.0.0.1',
      status: expect.any(Number),
    })
  }
  const refused = lines().find(({ msg }) => msg === 'single sign-on: rejected')
  expect(refused).toMatchObject({ reason: 'unavailable', address: '127.0.0.1' })
  for (const response of [
    await organization.call('GET', '/v5/me'),
    await service.anonymous('POST', path, { body: {} }),
  ]) {
    expect(await findLine(response.headers.get('x-request-id'))).not.toHaveProperty('address')
  }
})

/** Runs a request while the database rejects its row with an error that contains the row. */
async function withFailingInsert(send: () => Promise<Json>): Promise<void> {
  const database = (statement: ReturnType<typeof sql>) =>
    service.database.crossTenantQuery('check the database', statement)
  await database(sql`create function refuse_row() returns trigger language plpgsql as $$
    begin raise 'refused' using detail = new::text, hint = new.email; end $$`)
  await database(sql`create trigger refuse_row before insert on contacts for each row execute function refuse_row()`)
  try {
    const response = await send()
    const { description } = expectRefusal(response, 500, 'internal_error')
    expect(description).toContain('X-Request-Id')
    const requestId = response.headers.get('x-request-id')
    await findLine(requestId)
    const errorLines = lines().filter((line) => line.requestId === requestId && line.level === 50)
    expect(errorLines).toMatchObject([{ msg: 'internal_error', route: '/v5/contacts', err: { message: 'refused' } }])
  } finally {
    await database(sql`drop trigger refuse_row on contacts`)
    await database(sql`drop function refuse_row`)
  }
}
