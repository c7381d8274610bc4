import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dump } from '../../../test/dump.ts'
import { examinedState } from '../../../test/installation-state.ts'
import { callAs } from '../../../test/people.ts'
import { newImport, newLead, pusher, type TestImport } from '../../../test/pushes.ts'
import { until } from '../../../test/processes.ts'
import { sendRaw } from '../../../test/raw-http.ts'
import { refusedIn, refusedOnce, refusedPath, storedCount } from '../../../test/refused-pushes.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'
import { sql } from '../../platform/model/sql.ts'
import { countAlarmingImports } from '../refused-pushes/store.ts'
import { generateTriggerSecret } from '../imports/trigger.ts'

let service: TestService
let organization: TestOrganization
beforeAll(async () => {
  service = await startTestService({ TRUST_PROXY: '127.0.0.1', LOG_LEVEL: 'trace' })
  organization = await service.newOrganization()
})
afterAll(() => service.close())

const check = <Row extends object>(statement: ReturnType<typeof sql>) =>
  service.database.crossTenantQuery<Row>('check the database', statement)

const read = async (target: TestImport, id: string): Promise<Json> =>
  (await organization.call('GET', refusedPath(target, id))).body

test('sixty refused pushes are stored, counted and shown, with their bodies and reasons', async () => {
  const own = await newImport(service, organization)
  const body = (index: number) => ({
    contact: { email: `lead-${index}@example.com`, index },
    company: { employeesCount: 'many' },
  })
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, index) =>
      own.push(body(index), { headers: { 'user-agent': 'Form/1.0', 'x-forwarded-for': '203.0.113.7' } }),
    ),
  )
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([400]))
  const stored = await refusedOnce(organization, own, 60)
  const [newest] = stored
  const [answer] = answers
  expect(newest).toEqual({
    id: expect.stringMatching(/^ref_[0-9a-f]{32}$/) as string,
    importId: own.importId,
    code: 'invalid_parameters',
    message: answer?.body.description,
    details: answer?.body.details,
    email: expect.stringMatching(/^lead-\d+@example\.com$/) as string,
    sender: '203.0.113.7',
    address: '203.0.113.7',
    userAgent: 'Form/1.0',
    contentType: 'application/json',
    bodyBytes: expect.any(Number) as number,
    isTruncated: false,
    rowId: null,
    acceptedAt: null,
    createdAt: expect.stringMatching(/Z$/) as string,
    updatedAt: newest.createdAt,
  })
  const whole = await read(own, newest.id)
  expect(whole).toEqual({ ...newest, body: expect.any(String) as string })
  expect(JSON.parse(whole.body).contact.email).toBe(newest.email)
  expect(Buffer.byteLength(whole.body)).toBe(newest.bodyBytes)
  expect(await refusedIn(organization, own)).toEqual({
    count: 60,
    lastAt: newest.createdAt,
    senders: [null, '203.0.113.7'].map((sender) => ({
      sender,
      count: 60,
      since: expect.stringMatching(/Z$/) as string,
      lastAt: expect.stringMatching(/Z$/) as string,
      code: 'invalid_parameters',
      message: answer?.body.description,
    })),
  })
  const { days } = (await organization.call('GET', '/v5/imports/statistics?timeZone=UTC')).body
  expect(days.at(-1).counts.REFUSED).toBeGreaterThanOrEqual(60)
  // It is logged after it is stored.
  await until('the alarm is logged', () =>
    service.logged.some((line) => line.includes('every recent push of a sender was refused')),
  )
})

const form = 'application/x-www-form-urlencoded'

test.each([
  [
    'a field of the wrong type',
    {},
    '{"contact":{"email":"typed@example.com"},"company":{"employeesCount":"many"}}',
    'invalid_parameters',
  ],
  ['an invalid address', {}, '{"contact":{"email":"nobody"}}', 'invalid_parameters'],
  ['a body that is no JSON', {}, '{"contact":{"email":"json@example.com"', 'malformed_request'],
  ['an empty body', {}, '', 'malformed_request'],
  [
    'invalid UTF-8',
    {},
    Buffer.from('{"contact":{"email":"utf@example.com","name":"Jos\xe9"}}', 'latin1'),
    'malformed_request',
  ],
  ['a repeated property', {}, '{"contact":{"email":"twice@example.com"},"contact":{}}', 'malformed_request'],
  ['a NUL', {}, '{"contact":{"email":"nul@example.com","name":"\\u0000"}}', 'invalid_parameters'],
  ['another media type', { 'content-type': 'text/csv' }, 'name,media@example.com', 'invalid_parameters'],
  ['a form', { 'content-type': form }, 'name=Ada&email=form%40example.com', 'invalid_parameters'],
  ['a compressed body', { 'content-encoding': 'gzip' }, 'gzip@example.com', 'invalid_parameters'],
] as const)('%s is refused and stored with its body', async (_, headers, body, code) => {
  const own = await newImport(service, organization)
  const sent = typeof body === 'string' ? Buffer.from(body) : body
  const answer = await own.push(sent, { headers: { 'content-type': 'application/json', ...headers } })
  expect([answer.status, answer.body.code]).toEqual([400, code])
  const [stored] = await refusedOnce(organization, own, 1)
  const email = /\w+(?:@|%40)example\.com/.exec(sent.toString('latin1'))?.[0].replace('%40', '@') ?? null
  expect(stored).toMatchObject({ code, message: answer.body.description, email, bodyBytes: sent.length })
  expect(stored.details).toEqual(answer.body.details ?? [])
  expect((await read(own, stored.id)).body).toBe(sent.toString(sent.includes(0xe9) ? 'latin1' : 'utf8'))
})

test.each([
  ['with its length', true],
  ['without its length', false],
])('of a body over 1 MiB, sent %s, the first 64 KiB are stored', async (_, hasLength) => {
  const own = await newImport(service, organization)
  const text = `{"contact":{"email":"large@example.com","note":"${'x'.repeat(1024 * 1024)}"}}`
  const framing = hasLength ? `Content-Length: ${text.length}` : 'Transfer-Encoding: chunked'
  const content = hasLength ? text : `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`
  const head = `POST ${own.path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${framing}\r\n\r\n`
  expect((await sendRaw(service.url, head + content)).status).toBe(413)
  const [stored] = await refusedOnce(organization, own, 1)
  expect(stored).toMatchObject({ code: 'payload_too_large', email: 'large@example.com', isTruncated: true })
  expect((await read(own, stored.id)).body).toBe(text.slice(0, stored.bodyBytes))
  expect(stored.bodyBytes).toBe(64 * 1024)
})

test('pushes to invalid URLs, and to imports that accept none, leave no trace', async () => {
  const own = await newImport(service, organization)
  const invalid = { contact: {} }
  const withWrongSecret = pusher(service, own.path.replace(own.hash, generateTriggerSecret()))
  const large = `{"contact":{"note":"${'x'.repeat(1024 * 1024)}"}}`
  expect((await withWrongSecret(invalid)).status).toBe(404)
  expect((await withWrongSecret(large)).status).toBe(413)
  await organization.call('POST', `/v5/imports/${own.importId}/disable`)
  expect((await own.push(invalid)).status).toBe(404)
  await organization.call('POST', `/v5/imports/${own.importId}/enable`)
  expect((await own.push(invalid)).status).toBe(400)
  // Stored after those before.
  expect(await refusedOnce(organization, own, 1)).toHaveLength(1)
  expect(await refusedIn(organization, own)).toMatchObject({ count: 1 })
})

test('neither the secret of the URL nor the body is in the database or the log', async () => {
  const own = await newImport(service, organization)
  const body = { contact: { email: 1, note: `unguessable ${randomUUID()}`, url: `${service.url}${own.path}` } }
  const headers = { 'user-agent': `Sender ${own.hash}`, 'content-type': `application/json; x=${own.hash}` }
  expect((await own.push(body, { headers })).status).toBe(400)
  const [stored] = await refusedOnce(organization, own, 1)
  const shown = await organization.call('GET', refusedPath(own, stored.id))
  expect(shown.body.body).toContain(body.contact.note)
  const everything = `${shown.text}${service.logged.join()}${JSON.stringify(await dump(service.database))}`
  expect(everything).toContain(stored.id.slice(4, 12))
  expect(everything.includes(own.hash)).toBe(false)
  const [row] = await check<{ text: string; sealed: Buffer }>(
    sql`select to_jsonb(refused_pushes)::text as text, content_sealed as sealed from refused_pushes
      where import_id = ${own.uuid}::uuid`,
  )
  expect(`${row?.text}${row?.sealed.toString('latin1')}${service.logged.join()}`).not.toContain(body.contact.note)
})

test('the response does not wait for the database that stores it, and nothing is lost meanwhile', async () => {
  const own = await newImport(service, organization)
  const lock = service.database.crossTenantTransaction('check the database', async (db) => {
    await db.query(sql`lock table refused_pushes in access exclusive mode`)
    const answers = await Promise.all([1, 2, 3].map((name) => own.push({ contact: { email: null, name } })))
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400])
    expect((await own.push(newLead())).status).toBe(200)
  })
  await lock
  expect(await refusedOnce(organization, own, 3)).toHaveLength(3)
})

test('of an import, the oldest ones go first when there are too many, or they are too large', async () => {
  const [many, large] = [await newImport(service, organization), await newImport(service, organization)]
  const fill = (uuid: string, count: number, bytes: number) =>
    check(sql`
      insert into refused_pushes (organization_id, id, import_id, code, message, sender, address, body_bytes, created_at)
      select organization_id, md5(id::text || number)::uuid, id, 'filled', 'filled', '-', '-', ${bytes}::int,
        now() - number * interval '1 minute'
      from imports, generate_series(1, ${count}::int) number where id = ${uuid}::uuid`)
  await fill(many.uuid, 1000, 10)
  await fill(large.uuid, 256, 64 * 1024)
  for (const one of [many, large]) {
    for (let index = 0; index < 3; index++) expect((await one.push({ contact: { name: {} } })).status).toBe(400)
    await until('three are stored', async () => {
      const [row] = await check<{ count: number }>(
        sql`select count(*)::int as count from refused_pushes where import_id = ${one.uuid}::uuid and code <> 'filled'`,
      )
      return row?.count === 3
    })
    expect(await storedCount(service, one)).toBe(one === many ? 1000 : 258)
    const [oldest] = await check<{ age: number }>(
      sql`select extract(epoch from now() - min(created_at))::float8 / 60 as age from refused_pushes
        where import_id = ${one.uuid}::uuid`,
    )
    expect(Math.floor(oldest?.age ?? 0)).toBe(one === many ? 997 : 255)
  }
})

describe('a sender whose pushes are all refused', () => {
  const from = (origin: string) => ({ headers: { origin } })
  const sendersOf = async (own: TestImport) =>
    (await refusedIn(organization, own)).senders.map(({ sender, count }: Json) => [sender, count])

  test('is reported from the fifth on, even if another one is fine, until one of its pushes is accepted', async () => {
    const own = await newImport(service, organization)
    const [broken, fine] = ['https://broken.example', 'https://fine.example']
    const refuse = async (total: number) => {
      expect((await own.push({ contact: {} }, from(broken))).status).toBe(400)
      await refusedOnce(organization, own, total)
    }
    for (let total = 1; total <= 4; total++) await refuse(total)
    expect(await sendersOf(own)).toEqual([])
    expect((await own.push(newLead(), from(fine))).status).toBe(200)
    await refuse(5)
    await until('the sender is reported', async () => (await sendersOf(own)).length > 0)
    expect(await sendersOf(own)).toEqual([[broken, 5]])
    expect((await own.push(newLead(), from(fine))).status).toBe(200)
    await refuse(6)
    expect(await sendersOf(own)).toEqual([[broken, 6]])
    const state = await examinedState(callAs(service, organization.accessToken))
    expect(state.findings.find(({ name }: Json) => name === 'pushes')).toMatchObject({ level: 'warning' })
    expect(await countAlarmingImports(service.database)).toBeGreaterThan(0)
    expect((await own.push(newLead(), from(broken))).status).toBe(200)
    await until('the sender is fine again', async () => (await sendersOf(own)).length === 0)
    await refuse(7)
    expect(await sendersOf(own)).toEqual([])
  })

  test('is many visitors with an address each: then the import as a whole is reported', async () => {
    const own = await newImport(service, organization)
    for (let index = 1; index <= 6; index++) {
      const headers = { 'x-forwarded-for': `198.51.100.${index}` }
      expect((await own.push({ contact: {} }, { headers })).status).toBe(400)
    }
    await refusedOnce(organization, own, 6)
    expect(await sendersOf(own)).toEqual([[null, 6]])
  })
})

test('a push over the rate limit is counted, and neither stored nor a reason for an alarm', async () => {
  const limited = await startTestService({ RATE_LIMIT_PER_MINUTE: '20' })
  const own = await limited.newOrganization()
  const one = await newImport(limited, own)
  const answers = await Promise.all(Array.from({ length: 30 }, () => one.push()))
  const refused = answers.filter(({ status }) => status === 429).length
  expect(refused).toBeGreaterThan(5)
  const reader = await own.withScopes(['urn:service:*:*:read'])
  await until('they are counted', async () => {
    const { body } = await reader('GET', `/v5/imports/${one.importId}`)
    return body.refused?.count === refused && body.refused.lastAt === null && body.refused.senders.length === 0
  })
  expect(await storedCount(limited, one)).toBe(0)
  await limited.close()
})

test('they are found by the address in them', async () => {
  const own = await newImport(service, organization)
  await own.push({ contact: { email: 'Ada@Example.com' }, company: { employeesCount: 'many' } })
  await own.push({ contact: { email: 'grace@example.com' }, company: { employeesCount: 'many' } })
  await refusedOnce(organization, own, 2)
  const found = async (query: string) =>
    (await organization.call('GET', `${refusedPath(own)}?query=${query}`)).body.map(({ email }: Json) => email)
  expect(await found('ada@example.com')).toEqual(['Ada@Example.com'])
  expect(await found('GRA')).toEqual(['grace@example.com'])
  expect(await found('example.com')).toEqual([])
})
