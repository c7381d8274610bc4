import { hash, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { callAs } from '../../../test/people.ts'
import { pusher } from '../../../test/pushes.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'
import { sql } from '../../platform/model/sql.ts'
import { newId, decodeId } from '../../platform/model/ids.ts'
import { rowStatuses } from './resource.ts'

let service: TestService
let organization: TestOrganization
beforeAll(async () => {
  service = await startTestService({ LOG_LEVEL: 'trace' })
  organization = await service.newOrganization()
})
afterAll(() => service.close())

const call: TestOrganization['call'] = (method, path, options) => organization.call(method, path, options)

/** Creates an import; returns it with its URL. */
async function newImport(body: Record<string, unknown> = {}): Promise<Json> {
  const created = await call('POST', '/v5/imports', { body: { name: 'Landing page', ...body } })
  expect([created.status, created.text]).toEqual([201, expect.anything()])
  return created.body
}

const act = (id: string, action: string, options = {}) => call('POST', `/v5/imports/${id}/${action}`, options)

const secretOf = (triggerUrl: string): string => triggerUrl.slice(-43)

/** Pushes a new lead; returns the status. */
const push = async (triggerUrl: string): Promise<number> =>
  (await pusher(service, new URL(triggerUrl).pathname)()).status

const uuidOf = (id: string): string => decodeId('imp', id) ?? ''
const inDatabase = <Row extends object>(statement: ReturnType<typeof sql>) =>
  service.database.crossTenantQuery<Row>('check the database', statement)

const readImport = async (id: string): Promise<Json> => (await call('GET', `/v5/imports/${id}`)).body

const rowsOf = async (id: string): Promise<number> =>
  Object.values<number>((await readImport(id)).stats.counts).reduce((sum, count) => sum + count, 0)

test('only the response that creates an import contains its URL', async () => {
  const created = await call('POST', '/v5/imports', { body: { name: 'Landing page' } })
  expect(created.status).toBe(201)
  const { triggerUrl, ...record } = created.body
  expect(triggerUrl).toMatch(new RegExp(`^${service.url}/v5/imports/${record.id}/trigger/[0-9A-Za-z]{43}$`))
  expect(created.headers.get('location')).toBe(`/v5/imports/${record.id}`)
  const read = await call('GET', `/v5/imports/${record.id}`)
  expect(read.body).toEqual(record)
  expect(created.headers.get('etag')).toBe(read.headers.get('etag'))
  const secret = secretOf(triggerUrl)
  await push(triggerUrl)
  for (const response of [
    await call('GET', '/v5/imports?limit=100'),
    await call('GET', `/v5/imports/${record.id}`),
    await call('GET', '/v5/imports?query=landing'),
    await call('PATCH', `/v5/imports/${record.id}`, { body: { name: 'Other' } }),
    await act(record.id, 'disable'),
    await act(record.id, 'enable'),
    await act(record.id, 'rotate'),
  ]) {
    expect([response.status, response.text.includes(record.id), response.text.includes(secret)]).toEqual([
      200,
      true,
      false,
    ])
  }
  expect(service.logged.length).toBeGreaterThan(5)
  expect(service.logged.filter((line) => line.includes(secret))).toEqual([])
})

test('the database stores only a hash of the URL', async () => {
  const { id, triggerUrl } = await newImport()
  const secret = secretOf(triggerUrl)
  const stored = await inDatabase<{ hash: Buffer; text: string }>(
    sql`select hash, to_jsonb(import_triggers)::text as text from import_triggers where import_id = ${uuidOf(id)}::uuid`,
  )
  expect(stored.map((row) => row.hash)).toEqual([hash('sha256', secret, 'buffer')])
  for (const form of [secret, Buffer.from(secret).toString('hex'), Buffer.from(secret).toString('base64')]) {
    expect(stored[0]?.text).not.toContain(form)
  }
})

test('an import uses the default team unless it names another', async () => {
  const { body: team } = await call('POST', '/v5/teams', { body: { name: `Team ${randomUUID()}` } })
  expect((await newImport()).teamId).toBe(organization.teamId)
  expect((await newImport({ teamId: team.id })).teamId).toBe(team.id)
})

test('an import cannot use a deleted team', async () => {
  const { body: team } = await call('POST', '/v5/teams', { body: { name: `Team ${randomUUID()}` } })
  await call('DELETE', `/v5/teams/${team.id}`)
  const { id } = await newImport()
  for (const response of [
    await call('POST', '/v5/imports', { body: { name: 'Landing page', teamId: team.id } }),
    await call('PATCH', `/v5/imports/${id}`, { body: { teamId: team.id } }),
  ]) {
    expect(response).toMatchObject({
      status: 422,
      body: { code: 'invalid_field_value', details: [{ field: 'teamId' }] },
    })
  }
})

test('repeating the Idempotency-Key returns the same import and URL and creates nothing', async () => {
  const headers = { 'idempotency-key': randomUUID() }
  const body = { name: `Import ${randomUUID()}` }
  const first = await call('POST', '/v5/imports', { body, headers })
  const again = await call('POST', '/v5/imports', { body, headers })
  expect(again.headers.get('idempotent-replayed')).toBe('true')
  expect([again.status, again.text, again.headers.get('location')]).toEqual([
    201,
    first.text,
    first.headers.get('location'),
  ])
  const found = await call('GET', `/v5/imports/count?filter.name.equals=${encodeURIComponent(body.name)}`)
  expect(found.body).toEqual({ count: 1 })
  expect(await push(again.body.triggerUrl)).toBe(200)
})

test('a disabled import rejects pushes, keeps its rows and can be enabled again', async () => {
  const { id, triggerUrl } = await newImport()
  expect(await push(triggerUrl)).toBe(200)
  const disabled = await act(id, 'disable')
  expect(disabled).toMatchObject({ status: 200, body: { id, disabledAt: expect.any(String) } })
  expect(await push(triggerUrl)).toBe(404)
  const again = await act(id, 'disable')
  expect([again.text, again.headers.get('etag')]).toEqual([disabled.text, disabled.headers.get('etag')])
  expect(await rowsOf(id)).toBe(1)
  const enabled = await act(id, 'enable')
  expect(enabled).toMatchObject({ status: 200, body: { id, disabledAt: null } })
  expect((await act(id, 'enable')).headers.get('etag')).toBe(enabled.headers.get('etag'))
  expect(await push(triggerUrl)).toBe(200)
  expect(await rowsOf(id)).toBe(2)
  const stale = { headers: { 'if-match': disabled.headers.get('etag') ?? '' } }
  for (const action of ['disable', 'enable']) expect((await act(id, action, stale)).status).toBe(412)
})

test('disabledAt is read-only', async () => {
  const { id } = await newImport()
  const refused = await call('PATCH', `/v5/imports/${id}`, { body: { disabledAt: null } })
  expect(refused.body.details).toEqual([{ field: 'disabledAt', message: 'is read-only' }])
})

test('a deleted import rejects pushes; after a restore, its URL works again', async () => {
  const { id, triggerUrl } = await newImport()
  expect(await push(triggerUrl)).toBe(200)
  expect((await call('DELETE', `/v5/imports/${id}`)).status).toBe(204)
  expect(await push(triggerUrl)).toBe(404)
  for (const action of ['rotate', 'disable', 'enable']) expect((await act(id, action)).status).toBe(404)
  const restored = await act(id, 'restore')
  expect(restored.status).toBe(200)
  expect(Object.keys(restored.body)).not.toContain('triggerUrl')
  expect(await push(triggerUrl)).toBe(200)
  expect(await rowsOf(id)).toBe(2)
})

test('a team with an import cannot be deleted; an import restored after its team moves to the default team', async () => {
  const { body: team } = await call('POST', '/v5/teams', { body: { name: `Team ${randomUUID()}` } })
  const { id } = await newImport({ teamId: team.id })
  const refused = await call('DELETE', `/v5/teams/${team.id}`)
  expect(refused).toMatchObject({ status: 423, body: { code: 'resource_locked' } })
  expect(refused.body.description).toMatch(/import/)
  await call('DELETE', `/v5/imports/${id}`)
  expect((await call('DELETE', `/v5/teams/${team.id}`)).status).toBe(204)
  expect(await act(id, 'restore')).toMatchObject({ status: 200, body: { id, teamId: organization.teamId } })
})

test('the stats show rows per state, finished rows per second and the oldest waiting row', async () => {
  const { id, stats } = await newImport()
  const none = Object.fromEntries(rowStatuses.map((status) => [status, 0]))
  expect(stats).toEqual({ counts: none, rowsPerSecond: 0, oldestPendingAt: null })
  // Each state has as many rows as its position in the list. Waiting rows are not due before tomorrow.
  const planted = rowStatuses.flatMap((status, index) =>
    Array.from({ length: index + 1 }, () => ({ id: newId(), status })),
  )
  await inDatabase(
    sql`insert into import_rows (organization_id, id, import_id, status, payload, run_at, created_at)
      select ${decodeId('org', organization.organizationId)}::uuid, id, ${uuidOf(id)}::uuid, status, '{}',
        now() + interval '1 day', case status when 'RETRYING' then '2026-01-02T03:04:05.006Z'::timestamptz else now() end
      from jsonb_to_recordset(${JSON.stringify(planted)}::jsonb) as planted (id uuid, status text)`,
  )
  const addCounts = (changes: Record<string, number>) =>
    inDatabase(
      sql`insert into import_row_counts (organization_id, import_id, status, change)
        select ${decodeId('org', organization.organizationId)}::uuid, ${uuidOf(id)}::uuid, key, value::bigint
        from jsonb_each_text(${JSON.stringify(changes)}::jsonb)`,
    )
  const counts: Record<string, number> = Object.fromEntries(rowStatuses.map((status, index) => [status, index + 1]))
  await addCounts(counts)
  const read = await readImport(id)
  // PROCESSED, PARTIAL, DUPLICATE, INVALID, CONFLICT and DEAD.
  const ended = 4 + 5 + 6 + 7 + 8 + 9
  expect(read.stats).toEqual({
    counts,
    rowsPerSecond: Math.round((ended / 60) * 100) / 100,
    oldestPendingAt: '2026-01-02T03:04:05.006Z',
  })
  const { body: listed } = await call('GET', `/v5/imports?filter.id.equals=${id}`)
  expect(listed).toEqual([read])
  await inDatabase(
    sql`update import_rows set status = 'CANCELLED' where import_id = ${uuidOf(id)}::uuid and status = 'RETRYING'`,
  )
  const { RETRYING = 0, CANCELLED = 0 } = counts
  await addCounts({ RETRYING: -RETRYING, CANCELLED: RETRYING })
  const later = (await readImport(id)).stats
  expect(later.counts).toEqual({ ...counts, RETRYING: 0, CANCELLED: CANCELLED + RETRYING })
  expect(Math.abs(Date.parse(later.oldestPendingAt) - Date.now())).toBeLessThan(60_000)
})

test('each push creates one row in its import only', async () => {
  const [one, other] = [await newImport(), await newImport()]
  for (let round = 0; round < 3; round++) expect(await push(one.triggerUrl)).toBe(200)
  expect([await rowsOf(one.id), await rowsOf(other.id)]).toEqual([3, 0])
  const swapped = one.triggerUrl.replace(one.id, other.id)
  expect(await push(swapped)).toBe(404)
})

test.each([
  ['member', { read: 200, write: 403 }],
  ['viewer', { read: 200, write: 403 }],
  ['admin', { read: 200, write: 200 }],
] as const)('a person with the role %s can read imports and change them as the role allows', async (role, expected) => {
  const own = await service.newOrganization()
  await inDatabase(
    sql`update members set role = ${role} where organization_id = ${decodeId('org', own.organizationId)}::uuid`,
  )
  const path = `/v5/imports/${own.importId}`
  const byToken = async (method: string, to: string, body?: unknown) =>
    (await callAs(service, own.accessToken)(method, to, { body })).status
  expect([await byToken('GET', '/v5/imports'), await byToken('GET', path)]).toEqual([expected.read, expected.read])
  for (const [method, to, body] of [
    ['POST', `${path}/rotate`, undefined],
    ['POST', `${path}/disable`, undefined],
    ['POST', `${path}/enable`, undefined],
    ['PATCH', path, { name: 'Other' }],
  ] as const) {
    expect([to, await byToken(method, to, body)]).toEqual([to, expected.write])
  }
  expect(await byToken('POST', '/v5/imports', { name: 'New' })).toBe(expected.write === 200 ? 201 : 403)
})

test('the import of bootstrap is like any other', async () => {
  const { call: callAsOwner, importId, triggerUrl, teamId } = await service.newOrganization()
  expect((await callAsOwner('GET', '/v5/imports')).body).toMatchObject([
    { id: importId, name: 'Bootstrap', teamId, tags: [], mergePolicy: 'fill', disabledAt: null },
  ])
  expect(await push(triggerUrl)).toBe(200)
})
