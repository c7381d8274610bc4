import { hash, randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { expireUrls, pusher } from '../../../test/pushes.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'
import { sql } from '../../platform/model/sql.ts'
import { decodeId } from '../../platform/model/ids.ts'

let service: TestService
let organization: TestOrganization
beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
})
afterAll(() => service.close())

const call: TestOrganization['call'] = (method, path, options) => organization.call(method, path, options)

/** Creates an import; returns it with its URL. */
const newImport = async (): Promise<Json> =>
  (await call('POST', '/v5/imports', { body: { name: 'Landing page' } })).body

const rotate = (id: string, options = {}) => call('POST', `/v5/imports/${id}/rotate`, options)

const secretOf = (triggerUrl: string): string => triggerUrl.slice(-43)

/** Pushes a new lead; returns the status. */
const push = async (triggerUrl: string): Promise<number> =>
  (await pusher(service, new URL(triggerUrl).pathname)()).status

const uuidOf = (id: string): string => decodeId('imp', id) ?? ''
const inDatabase = <Row extends object>(statement: ReturnType<typeof sql>) =>
  service.database.crossTenantQuery<Row>('check the database', statement)

test('a rotation returns a new URL; the previous one works until the overlap ends', async () => {
  const { id, triggerUrl } = await newImport()
  const before = Date.now()
  const rotated = await rotate(id, { body: { overlapSeconds: 600 } })
  expect(rotated.status).toBe(200)
  const { triggerUrl: newUrl, previousUrlExpiresAt, ...record } = rotated.body
  expect(record).toEqual((await call('GET', `/v5/imports/${id}`)).body)
  expect(newUrl).toMatch(new RegExp(`/v5/imports/${id}/trigger/[0-9A-Za-z]{43}$`))
  expect(newUrl).not.toBe(triggerUrl)
  const lasts = (Date.parse(previousUrlExpiresAt) - before) / 1000
  expect(lasts).toBeGreaterThan(590)
  expect(lasts).toBeLessThan(660)
  expect([await push(triggerUrl), await push(newUrl)]).toEqual([200, 200])
  await expireUrls(service.database, uuidOf(id), 'replaced')
  expect([await push(triggerUrl), await push(newUrl)]).toEqual([404, 200])
})

test('without an overlap, all previous URLs are revoked immediately', async () => {
  const { id, triggerUrl: first } = await newImport()
  const { triggerUrl: second } = (await rotate(id)).body
  const { triggerUrl: third, previousUrlExpiresAt } = (await rotate(id, { body: { overlapSeconds: 0 } })).body
  expect(previousUrlExpiresAt).toBeNull()
  expect([await push(first), await push(second), await push(third)]).toEqual([404, 404, 200])
})

test('the default overlap is one day, also without a body', async () => {
  const { id } = await newImport()
  for (const options of [{}, { body: {} }]) {
    const before = Date.now()
    const { status, body } = await rotate(id, options)
    expect(status).toBe(200)
    expect((Date.parse(body.previousUrlExpiresAt) - before) / 86_400_000).toBeCloseTo(1, 2)
  }
})

test.each([-1, 2_592_001, 1.5, '60', null])(
  'an overlap of %j is rejected and changes nothing',
  async (overlapSeconds) => {
    const { id, triggerUrl } = await newImport()
    const refused = await rotate(id, { body: { overlapSeconds } })
    expect(refused).toMatchObject({
      status: 422,
      body: { code: 'invalid_field_value', details: [{ field: 'overlapSeconds' }] },
    })
    expect(await push(triggerUrl)).toBe(200)
    const triggers = await inDatabase<object>(sql`select from import_triggers where import_id = ${uuidOf(id)}::uuid`)
    expect(triggers).toHaveLength(1)
  },
)

test('a rotation rejects unknown fields with a suggestion', async () => {
  const { id } = await newImport()
  const refused = await rotate(id, { body: { overlapSecond: 1 } })
  expect(refused.status).toBe(422)
  expect(refused.body.details).toEqual([
    { field: 'overlapSecond', message: 'unknown field; did you mean overlapSeconds?' },
  ])
})

test('after any rotations, a URL expires with the shortest overlap since it was current, and the current one never', async () => {
  const overlaps = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 60, max: 2_592_000 })), {
    minLength: 1,
    maxLength: 6,
  })
  await fc.assert(
    fc.asyncProperty(overlaps, async (sequence) => {
      const { id, triggerUrl } = await newImport()
      const urls: string[] = [triggerUrl]
      const start = Date.now()
      for (const overlapSeconds of sequence) {
        urls.push((await rotate(id, { body: { overlapSeconds } })).body.triggerUrl)
      }
      const stored = await inDatabase<{ hash: string; ends: Date | null }>(
        sql`select encode(hash, 'hex') as hash, expires_at as ends from import_secrets
          where import_id = ${uuidOf(id)}::uuid`,
      )
      expect(
        await inDatabase(
          sql`select hash, expires_at from import_triggers where import_id = ${uuidOf(id)}::uuid order by 1`,
        ),
      ).toEqual(
        await inDatabase(
          sql`select hash, expires_at from import_secrets where import_id = ${uuidOf(id)}::uuid order by 1`,
        ),
      )
      const endOf = new Map(stored.map((row) => [row.hash, row.ends]))
      const expected = urls.map((_, index) => Math.min(Infinity, ...sequence.slice(index)))
      for (const [index, url] of urls.entries()) {
        const ends = endOf.get(hash('sha256', secretOf(url)))
        const seconds = ends ? Math.round((ends.getTime() - start) / 1000) : ends === null ? Infinity : 0
        // Allows for the duration of the requests.
        const isRight = seconds === expected[index] || Math.abs(seconds - (expected[index] ?? 0)) < 30
        expect([index, isRight, seconds, expected[index]]).toEqual([index, true, seconds, expected[index]])
      }
    }),
    { numRuns: 15 },
  )
})

test('a rotation increments the revision and supports If-Match', async () => {
  const { id } = await newImport()
  const before = await call('GET', `/v5/imports/${id}`)
  const ifMatch = { headers: { 'if-match': before.headers.get('etag') ?? '' } }
  const rotated = await rotate(id, ifMatch)
  expect(rotated.status).toBe(200)
  const after = await call('GET', `/v5/imports/${id}`)
  expect(rotated.headers.get('etag')).toBe(after.headers.get('etag'))
  expect(after.headers.get('etag')).toMatch(/^"2-/)
  expect(Date.parse(after.body.updatedAt)).toBeGreaterThanOrEqual(Date.parse(before.body.updatedAt))
  expect({ ...after.body, updatedAt: '' }).toEqual({ ...before.body, updatedAt: '' })
  expect(await rotate(id, ifMatch)).toMatchObject({ status: 412, body: { code: 'precondition_failed' } })
  expect(await push(rotated.body.triggerUrl)).toBe(200)
})

test('a rotation repeated with its Idempotency-Key happens once', async () => {
  const { id, triggerUrl } = await newImport()
  const options = { headers: { 'idempotency-key': randomUUID() }, body: { overlapSeconds: 60 } }
  const first = await rotate(id, options)
  const again = await rotate(id, options)
  expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true'])
  expect([await push(triggerUrl), await push(again.body.triggerUrl)]).toEqual([200, 200])
})

test('after simultaneous rotations, one URL is current and all work', async () => {
  const { id } = await newImport()
  const responses = await Promise.all(Array.from({ length: 6 }, () => rotate(id)))
  expect(responses.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 200))
  const stored = await inDatabase<{ endless: string; total: string }>(
    sql`select count(*) filter (where expires_at is null) as endless, count(*) as total
      from import_secrets where import_id = ${uuidOf(id)}::uuid`,
  )
  expect(stored).toEqual([{ endless: '1', total: '7' }])
  for (const { body } of responses) expect(await push(body.triggerUrl)).toBe(200)
})
