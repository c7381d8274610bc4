import { createSecretKey, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { newImport, newLead, pusher, rowsOf, type TestImport } from '../../../test/pushes.ts'
import { expectRefusal } from '../../../test/refusals.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'
import { sql } from '../../platform/model/sql.ts'
import { newId } from '../../platform/model/ids.ts'

let testDatabase: TestDatabase
let service: TestService
/** A second service on the same database, with its own memory. */
let other: TestService
let organization: TestOrganization

beforeAll(async () => {
  testDatabase = await createDatabase()
  const place = { ...testDatabase, secret: createSecretKey(randomBytes(32)), drop: async () => undefined }
  service = await startTestService({}, place)
  other = await startTestService({}, place)
  organization = await service.newOrganization()
})
afterAll(async () => {
  await service.close()
  await other.close()
  await testDatabase.drop()
})

const check = (statement: ReturnType<typeof sql>) =>
  service.database.crossTenantQuery<Json>('check the database', statement)

const keyed = (key: string) => ({ headers: { 'idempotency-key': key } })

const rowIds = async (target: TestImport): Promise<string[]> =>
  (await rowsOf(service.database, target)).map(({ shown }) => shown)

test('a push repeated with its key gets the first response from any process and creates no second row', async () => {
  const target = await newImport(service, organization)
  const [key, lead] = [newId(), newLead()]
  const first = await target.push(lead, keyed(key))
  expect([first.status, first.headers.get('idempotent-replayed')]).toEqual([200, null])
  // The later state of the row is not part of the response.
  await check(
    sql`update import_rows set status = 'PROCESSED', updated_at = now() + interval '1 day' where import_id = ${target.uuid}::uuid`,
  )
  for (const push of [target.push, pusher(other, target.path), target.push]) {
    const again = await push(lead, keyed(key))
    expect([again.status, again.text]).toEqual([200, first.text])
    expect(again.headers.get('idempotent-replayed')).toBe('true')
  }
  expect(await rowIds(target)).toEqual([first.body.id])
})

test('the same push in another JSON notation is a repetition', async () => {
  const target = await newImport(service, organization)
  const [key, lead] = [newId(), newLead()]
  const first = await target.push(JSON.stringify({ ...lead, more: { a: 1, b: 2 } }), keyed(key))
  expect(first.status).toBe(200)
  const body = JSON.stringify({ more: { b: 2, a: 1 }, ...lead }, null, 2)
  for (const push of [target.push, pusher(other, target.path)]) {
    const again = await push(body, keyed(key))
    expect([again.status, again.text]).toEqual([200, first.text])
  }
  expect(await rowIds(target)).toEqual([first.body.id])
})

test('a key used for another body or query gets 400, which names the header', async () => {
  const target = await newImport(service, organization)
  const [key, lead] = [newId(), newLead()]
  expect((await target.push(lead, keyed(key))).status).toBe(200)
  const others = [
    () => target.push(newLead(), keyed(key)),
    () => target.push(lead, { ...keyed(key), query: '?source=fair' }),
    () => pusher(other, target.path)({ ...lead, more: 1 }, keyed(key)),
  ]
  for (const push of others) {
    const { details } = expectRefusal(await push(), 400, 'invalid_parameters')
    expect(details).toEqual([{ field: 'Idempotency-Key', message: expect.stringContaining('a different push') }])
  }
  expect(await rowIds(target)).toHaveLength(1)
})

test('a key is scoped to its import', async () => {
  const [one, two] = [await newImport(service, organization), await newImport(service, organization)]
  const [key, lead] = [newId(), newLead()]
  const responses = [await one.push(lead, keyed(key)), await two.push(lead, keyed(key))]
  expect(responses.map(({ status, headers }) => [status, headers.get('idempotent-replayed')])).toEqual([
    [200, null],
    [200, null],
  ])
  expect(await rowIds(one)).not.toEqual(await rowIds(two))
})

test('a push can be repeated at the new URL after a rotation', async () => {
  const target = await newImport(service, organization)
  const [key, lead] = [newId(), newLead()]
  const first = await target.push(lead, keyed(key))
  const { body } = await organization.call('POST', `/v5/imports/${target.importId}/rotate`, {
    body: { overlapSeconds: 0 },
  })
  expectRefusal(await target.push(lead, keyed(key)), 404)
  const again = await pusher(service, new URL(body.triggerUrl).pathname)(lead, keyed(key))
  expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true'])
})

test('a used key gives no access to a disabled import', async () => {
  const target = await newImport(service, organization)
  const [key, lead] = [newId(), newLead()]
  expect((await target.push(lead, keyed(key))).status).toBe(200)
  await organization.call('POST', `/v5/imports/${target.importId}/disable`)
  expectRefusal(await target.push(lead, keyed(key)), 404)
  expectRefusal(await target.push(newLead(), keyed(key)), 404)
})

test('a rejected push does not use its key', async () => {
  const target = await newImport(service, organization)
  const key = newId()
  expectRefusal(await target.push({ contact: {} }, keyed(key)), 400)
  expectRefusal(await target.push('{', keyed(key)), 400)
  const response = await target.push(newLead(), keyed(key))
  expect([response.status, response.headers.get('idempotent-replayed')]).toEqual([200, null])
})

test('a key of 255 characters is used, and the push of an unusable one is stored each time', async () => {
  const target = await newImport(service, organization)
  const [longest, tooLong, lead] = ['x'.repeat(255), 'x'.repeat(256), newLead()]
  for (const key of [longest, longest, tooLong, tooLong]) expect((await target.push(lead, keyed(key))).status).toBe(200)
  expect(await rowIds(target)).toHaveLength(3)
})

test('fifty simultaneous pushes with one key at two processes create one row and get the same response', async () => {
  const target = await newImport(service, organization)
  const pushToOther = pusher(other, target.path)
  for (let round = 0; round < 5; round++) {
    const [key, lead] = [newId(), newLead()]
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, index) => (index % 2 === 0 ? target.push : pushToOther)(lead, keyed(key))),
    )
    expect(new Set(responses.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(responses.filter(({ headers }) => !headers.has('idempotent-replayed'))).toHaveLength(1)
    expect(await rowIds(target)).toHaveLength(round + 1)
  }
})

test('of simultaneous different pushes with one key, one is stored and the others are rejected', async () => {
  const target = await newImport(service, organization)
  const pushToOther = pusher(other, target.path)
  const key = newId()
  const responses = await Promise.all(
    Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? target.push : pushToOther)(newLead(), keyed(key))),
  )
  const stored = responses.filter(({ status }) => status === 200)
  expect(await rowIds(target)).toEqual(stored.map(({ body }) => body.id))
  expect(stored).toHaveLength(1)
  for (const response of responses.filter((one) => !stored.includes(one)))
    expectRefusal(response, 400, 'invalid_parameters')
})

test('many keys pushed to two processes in opposite orders create one row each', async () => {
  const target = await newImport(service, organization)
  const pushToOther = pusher(other, target.path)
  const pushes = Array.from({ length: 100 }, () => ({ key: newId(), lead: newLead() }))
  const [here, there] = await Promise.all([
    Promise.all(pushes.map(({ key, lead }) => target.push(lead, keyed(key)))),
    Promise.all(pushes.toReversed().map(({ key, lead }) => pushToOther(lead, keyed(key)))),
  ])
  expect(here.map(({ status, text }) => `${status} ${text}`)).toEqual(
    there.toReversed().map(({ text }) => `200 ${text}`),
  )
  expect((await rowIds(target)).sort()).toEqual(here.map(({ body }) => body.id).sort())
})

test('a key can be reused after 24 hours', async () => {
  const target = await newImport(service, organization)
  const [key, lead] = [newId(), newLead()]
  const age = (interval: string) =>
    check(
      sql`update import_push_keys set created_at = now() - ${interval}::interval where import_id = ${target.uuid}::uuid`,
    )
  const first = await target.push(lead, keyed(key))
  await age('23 hours 59 minutes')
  expect((await target.push(lead, keyed(key))).body.id).toBe(first.body.id)
  await age('24 hours')
  const second = await target.push(newLead(), keyed(key))
  expect([second.status, second.headers.get('idempotent-replayed')]).toEqual([200, null])
  expect(await rowIds(target)).toEqual([first.body.id, second.body.id])
  // The key then belongs to the new push for another 24 hours.
  expectRefusal(await target.push(lead, keyed(key)), 400)
})
