import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newImport, newLead, pusher, rowsOf, type TestImport } from '../../../test/pushes.ts'
import { callAs } from '../../../test/people.ts'
import { examinedState } from '../../../test/installation-state.ts'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'
import { sql } from '../../platform/model/sql.ts'
import { countImportsNearLimit } from '../imports/pushed-bytes-store.ts'
import { alarmingShare } from '../imports/resource.ts'
import { createIntake } from './intake.ts'
import { dayLength } from './push-quota-store.ts'

const maxBytes = 10_000
const environment = { IMPORT_BYTES_PER_DAY: String(maxBytes) }

let testDatabase: TestDatabase
let service: TestService
let organization: TestOrganization
beforeAll(async () => {
  testDatabase = await createDatabase()
  service = await startTestService(environment, { ...testDatabase, drop: async () => undefined })
  organization = await service.newOrganization()
})
afterAll(async () => {
  await service.close()
  await testDatabase.drop()
})

/** A body of 1,000 bytes, with two more for the empty parameters. */
const kilobyte = (): Buffer => {
  const text = JSON.stringify({ contact: { ...newLead().contact, note: '' } })
  return Buffer.from(JSON.stringify({ contact: { ...newLead().contact, note: 'x'.repeat(998 - text.length) } }))
}

const pushedToday = async ({ importId }: TestImport): Promise<Json> =>
  (await organization.call('GET', `/v5/imports/${importId}`)).body.pushedToday

const statuses = async (count: number, push: () => Promise<{ status: number }>): Promise<number[]> => {
  const all: number[] = []
  for (let index = 0; index < count; index++) all.push((await push()).status)
  return all
}

test('an import accepts the bytes of a day, shows them, raises an alarm before their end, and then answers 429', async () => {
  const own = await newImport(service, organization)
  expect(await pushedToday(own)).toEqual({ bytes: 0, maxBytes: null, isNearLimit: false })
  expect(await statuses(7, () => own.push(kilobyte()))).toEqual(Array(7).fill(200))
  expect(await pushedToday(own)).toEqual({ bytes: 7000, maxBytes, isNearLimit: false })
  const logged = (text: string) => service.logged.filter((line) => line.includes(text) && line.includes(own.importId))
  expect(logged('most of the bytes')).toEqual([])
  expect((await own.push(kilobyte())).status).toBe(200)
  expect(await pushedToday(own)).toEqual({ bytes: 8000, maxBytes, isNearLimit: true })
  expect(logged('most of the bytes').length).toBe(1)
  expect(await statuses(2, () => own.push(kilobyte()))).toEqual([200, 200])

  const refused = await own.push(kilobyte())
  expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited'])
  const midnight = Math.ceil(Date.now() / dayLength) * dayLength
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan((midnight - Date.now()) / 1000 - 60)
  expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(dayLength / 1000)
  expect((await own.push()).status).toBe(429)
  expect((await rowsOf(service.database, own)).length).toBe(10)
  expect(await pushedToday(own)).toEqual({ bytes: 10_000, maxBytes, isNearLimit: true })
  expect([logged('most of the bytes').length, logged('its pushes are refused').length]).toEqual([1, 1])

  const other = await newImport(service, organization)
  expect((await other.push(kilobyte())).status).toBe(200)
})

test('an alarm of bytes is in the findings and in the metrics', async () => {
  const before = await countImportsNearLimit(service.database, alarmingShare)
  const own = await newImport(service, organization)
  await statuses(8, () => own.push(kilobyte()))
  expect(await countImportsNearLimit(service.database, alarmingShare)).toBe(before + 1)
  const state = await examinedState(callAs(service, organization.accessToken))
  const finding = state.findings.find(({ name }: Json) => name === 'pushed bytes')
  expect(finding).toMatchObject({ level: 'warning' })
})

test('pushes at the same time do not exceed the bytes of a day', async () => {
  const own = await newImport(service, organization)
  const answers = await Promise.all(Array.from({ length: 30 }, () => own.push(kilobyte())))
  expect(answers.map(({ status }) => status).filter((status) => status === 200).length).toBe(10)
  expect((await pushedToday(own)).bytes).toBe(10_000)
})

test('what is not stored takes no bytes: refused pushes, repeated ones and a lead that no longer fits', async () => {
  const own = await newImport(service, organization)
  expect(await statuses(20, () => own.push({ contact: { note: 'x'.repeat(900) } }))).toEqual(Array(20).fill(400))
  const body = kilobyte()
  const once = () => own.push(body, { headers: { 'idempotency-key': 'once' } })
  expect(await statuses(20, once)).toEqual(Array(20).fill(200))
  expect((await pushedToday(own)).bytes).toBe(1000)
  expect(await statuses(8, () => own.push(kilobyte()))).toEqual(Array(8).fill(200))
  const large = { contact: { ...newLead().contact, note: 'x'.repeat(2000) } }
  expect((await own.push(large)).status).toBe(429)
  expect((await own.push(kilobyte())).status).toBe(200)
})

test('query parameters count', async () => {
  const own = await newImport(service, organization)
  const push = () => own.push(newLead(), { query: `?utm=${'x'.repeat(4000)}` })
  expect(await statuses(3, push)).toEqual([200, 200, 429])
})

test('another process and a restart know what an import has received', async () => {
  const other = await startTestService(environment, { ...testDatabase, drop: async () => undefined })
  try {
    const own = await newImport(service, organization)
    const elsewhere = pusher(other, own.path)
    expect(await statuses(5, () => own.push(kilobyte()))).toEqual(Array(5).fill(200))
    expect(await statuses(6, () => elsewhere(kilobyte()))).toEqual([200, 200, 200, 200, 200, 429])
    // The first process learns of it.
    await expect.poll(async () => (await own.push(kilobyte())).status, { timeout: 10_000 }).toBe(429)
  } finally {
    await other.close()
  }
})

test('a new day (UTC) begins with nothing', async () => {
  const own = await newImport(service, organization)
  let now = Date.now()
  const intake = createIntake({
    database: service.database,
    importBytesPerDay: maxBytes,
    log: pino({ level: 'silent' }),
    now: () => now,
  })
  const trigger = await intake.find(own.uuid, own.hash)
  if (!trigger) throw new Error('the import is open')
  const store = () => intake.store(trigger, { payload: Buffer.alloc(9000, '1'), parameters: {}, key: undefined })
  await store()
  await expect(store()).rejects.toMatchObject({ code: 'rate_limited' })
  now = (Math.floor(now / dayLength) + 1) * dayLength - 1
  await expect(store()).rejects.toMatchObject({ code: 'rate_limited', headers: { 'retry-after': '1' } })
  now += 1
  await store()
  const days = await service.database.crossTenantQuery<{ bytes: number }>(
    'check the database',
    sql`select sum(bytes)::int as bytes from import_pushed_bytes where import_id = ${own.uuid}::uuid
      group by counted_on order by counted_on`,
  )
  expect(days).toEqual([{ bytes: 9002 }, { bytes: 9002 }])
})

test('without a limit, everything is accepted and counted', async () => {
  const unlimited = await startTestService(
    { IMPORT_BYTES_PER_DAY: '0' },
    { ...testDatabase, drop: async () => undefined },
  )
  try {
    const own = await newImport(unlimited, organization)
    expect(await statuses(12, () => own.push(kilobyte()))).toEqual(Array(12).fill(200))
    expect(await pushedToday(own)).toEqual({ bytes: 12_000, maxBytes: null, isNearLimit: false })
  } finally {
    await unlimited.close()
  }
})
