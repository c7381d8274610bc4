import { afterAll, beforeAll, expect, test } from 'vitest'
import { newImport, newLead, pusher } from '../../../test/pushes.ts'
import { sendRaw } from '../../../test/raw-http.ts'
import { expectRefusal } from '../../../test/refusals.ts'
import {
  type Json,
  startTestService,
  type TestOrganization,
  type TestResponse,
  type TestService,
} from '../../../test/service.ts'
import { sql } from '../../platform/model/sql.ts'
import { generateTriggerSecret } from '../imports/trigger.ts'

/** Low enough to be used up. */
const quota = 30

/** The most tokens that were refilled since then. */
const refilledSince = (began: number): number => Math.ceil(((performance.now() - began) / 60_000) * quota)

/** Sends `more` than the limit at once, and as many again as were refilled meanwhile. */
async function beyondLimit(more: number, send: () => Promise<TestResponse<Json>>): Promise<TestResponse<Json>[]> {
  const responses: TestResponse<Json>[] = []
  const began = performance.now()
  for (let wanted = quota + more; responses.length < wanted; wanted = quota + more + refilledSince(began))
    responses.push(...(await Promise.all(Array.from({ length: wanted - responses.length }, send))))
  return responses
}

let service: TestService
let organization: TestOrganization
beforeAll(async () => {
  service = await startTestService({ RATE_LIMIT_PER_MINUTE: String(quota), METRICS_PORT: '0', LOG_LEVEL: 'trace' })
  organization = await service.newOrganization()
})
afterAll(() => service.close())

const check = (statement: ReturnType<typeof sql>) =>
  service.database.crossTenantQuery<Json>('check the database', statement)

test('each import has its own limit, and responses show what remains', async () => {
  const [one, two] = [await newImport(service, organization), await newImport(service, organization)]
  const first = await one.push()
  expect(first.headers.get('ratelimit-policy')).toBe(`"trigger";q=${quota};w=60`)
  expect(first.headers.get('ratelimit')).toMatch(new RegExp(`^"trigger";r=${quota - 1};t=\\d+$`))
  const responses = await beyondLimit(5, () => one.push())
  const refused = responses.filter(({ status }) => status !== 200)
  expect(refused.length).toBeGreaterThanOrEqual(5)
  for (const response of refused) {
    expectRefusal(response, 429, 'rate_limited')
    expect(response.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect(response.headers.get('ratelimit')).toMatch(/^"trigger";r=0;t=\d+$/)
  }
  // A push with invalid content counts too.
  const began = performance.now()
  expectRefusal(await two.push({ contact: {} }), 400)
  const left = Number(/;r=(\d+);/.exec((await two.push()).headers.get('ratelimit') ?? '')?.[1])
  expect(left).toBeGreaterThanOrEqual(quota - 2)
  expect(left).toBeLessThan(quota - 2 + refilledSince(began))
})

test('a disabled import returns 404, not 429, even if its limit is used up', async () => {
  const one = await newImport(service, organization)
  const responses = await beyondLimit(1, () => one.push())
  expect(responses.some(({ status }) => status === 429)).toBe(true)
  await check(sql`update imports set disabled_at = now() where id = ${one.uuid}::uuid`)
  expectRefusal(await one.push(), 404)
})

test('wrong URLs are charged to the client address and do not limit valid pushes', async () => {
  const own = await startTestService({ RATE_LIMIT_PER_MINUTE: String(quota) })
  const one = await newImport(own, await own.newOrganization())
  const withWrongSecret = pusher(own, one.path.replace(one.hash, generateTriggerSecret()))
  const responses = await beyondLimit(5, () => withWrongSecret())
  expect(responses.filter(({ status }) => status === 404).length).toBeGreaterThanOrEqual(quota - 1)
  const limited = responses.filter(({ status }) => status === 429)
  expect(limited.length).toBeGreaterThanOrEqual(4)
  for (const response of limited) expectRefusal(response, 429, 'rate_limited')
  const good = await one.push()
  await own.close()
  expect(good.status).toBe(200)
})

test('the secret of a URL never appears in responses, logs or metrics', async () => {
  const one = await newImport(service, organization)
  const { hash, path, importId } = one
  const send = (method: string, target: string, options = {}) => service.anonymous(method, target, options)
  const headers = { 'idempotency-key': 'secrecy' }
  const lead = newLead()
  const texts: string[] = []
  const note = ({ text, headers: responseHeaders }: { text: string; headers: Headers }) =>
    void texts.push(text, ...[...responseHeaders.values()])
  for (const act of [
    () => one.push(lead, { headers }),
    () => one.push(lead, { headers }),
    () => one.push(newLead(), { headers }),
    () => one.push('{'),
    () => one.push({ contact: {} }),
    () => one.push(newLead(), { query: '?a=%zz' }),
    () => one.push(newLead(), { headers: { 'content-type': 'text/plain' } }),
    () => one.push('x'.repeat(1024 * 1024 + 1)),
    () => send('POST', `/v5/imports/imp_1/trigger/${hash}`, { body: {} }),
    () => send('POST', `/v5/imports/${importId}/trigger/${hash}x`, { body: {} }),
    () => send('POST', `/v5/imports/${importId}/trigger/${hash}%zz`, { body: {} }),
    () => send('POST', `/v5/imports/${importId}/trigger/${hash}/${hash.slice(0, 10)}`, { body: {} }),
    () => send('POST', `/v5/imports/${importId}/triger/${hash}`, { body: {} }),
    () => send('POST', `/v5/imports/${importId}/${hash}`, { body: {} }),
    () => send('POST', `/v5/imports/${importId}%2Ftrigger%2F${hash}`, { body: {} }),
    () => send('POST', `/imports/${importId}/trigger/${hash.slice(0, 20)}/${hash.slice(20)}`, { body: {} }),
    () => send('POST', `/${hash}`, { body: {} }),
    () => send('POST', `${path}/`, { body: {} }),
    ...['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].map((method) => () => send(method, path)),
    () => organization.call('GET', `/v5/imports/${importId}`),
    () => organization.call('GET', `/v5/imports/${importId}/rows`),
    () => organization.call('GET', '/v5/imports'),
  ])
    note(await act())
  await check(sql`alter table import_rows add constraint nothing check (false) not valid`)
  const broken = await one.push()
  await check(sql`alter table import_rows drop constraint nothing`)
  expectRefusal(broken, 500)
  note(broken)
  const limited = await Promise.all(Array.from({ length: quota }, () => one.push()))
  expect(limited.some(({ status }) => status === 429)).toBe(true)
  limited.forEach(note)
  await organization.call('POST', `/v5/imports/${importId}/disable`)
  note(await one.push())
  const parserError = await sendRaw(service.url, `POST ${path} HTTP/1.1\r\nno header\r\n\r\n`)
  texts.push(parserError.body, JSON.stringify(parserError.headers))
  const exporter = service.logged.map((line): Json => JSON.parse(line)).find(({ msg }) => msg === 'metrics')
  const metrics = await (await fetch(exporter.url)).text()
  expect(metrics).toContain('route="/v5/imports/{importId}/trigger/{hash}",status="200"')
  expect(texts.length).toBeGreaterThan(60)
  for (const part of [hash, hash.slice(0, 20), hash.slice(20)]) {
    expect([...texts, ...service.logged, metrics].filter((text) => text.includes(part))).toEqual([])
  }
  // The message for an unknown path still helps with a misspelled URL.
  expect(expectRefusal(await send('POST', `/v5/import/${importId}/trigger/x`), 404).description).toContain(
    `There is no route POST /v5/import/${importId}/trigger/…;`,
  )
})
