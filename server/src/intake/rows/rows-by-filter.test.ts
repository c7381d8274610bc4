import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { addImport, addRows, queueStateOf, type SampleRow, statusesOf } from '../../../test/import-rows.ts'
import { seed } from '../../../test/seed.ts'
import { type Call, startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'
import { sql } from '../../platform/model/sql.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { type RowStatus, rowStatuses } from '../imports/resource.ts'

let service: TestService
let organization: TestOrganization
let call: Call
let importId: string
let path: string
beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
  call = organization.call
})
beforeEach(async () => {
  importId = await addImport(service, organization)
  path = `/v5/imports/${importId}/rows`
})
afterAll(() => service.close())

const everyStatus = rowStatuses.map((status) => ({ status }))
const allowed = {
  retry: ['RETRYING', 'PARTIAL', 'INVALID', 'CONFLICT', 'DEAD', 'CANCELLED'],
  cancel: ['PENDING', 'RETRYING'],
} as const
type Action = keyof typeof allowed
const resultingStatus = { retry: 'PENDING', cancel: 'CANCELLED' } as const
const mayBe = (action: Action, status: RowStatus): boolean => (allowed[action] as readonly RowStatus[]).includes(status)

test.each(['retry', 'cancel'] as const)('%s changes only the rows whose state allows it', async (action) => {
  await addRows(service, importId, everyStatus)
  const other = await addImport(service, organization)
  await addRows(service, other, everyStatus)
  const count = allowed[action].length
  const dry = await call('POST', `${path}/${action}?dryRun=true`)
  expect([dry.status, dry.body]).toEqual([200, { dryRun: true, count, remaining: 0 }])
  expect(await statusesOf(service, importId)).toEqual(rowStatuses)
  const done = await call('POST', `${path}/${action}?dryRun=false`)
  expect([done.status, done.body]).toEqual([200, { dryRun: false, count, remaining: 0 }])
  expect(await statusesOf(service, importId)).toEqual(
    rowStatuses.map((status) => (mayBe(action, status) ? resultingStatus[action] : status)),
  )
  expect(await statusesOf(service, other)).toEqual(rowStatuses)
  expect((await call('POST', `${path}/${action}`)).body).toEqual({ dryRun: false, count: 0, remaining: 0 })
})

test('a retry by filter has the same result as a retry of a single row', async () => {
  const createdAt = '2026-01-01T00:00:00.000Z'
  const sample: SampleRow = {
    status: 'PARTIAL',
    payload: { contact: { email: 'ada@example.com' } },
    errors: [{ code: 'invalid_employment' }],
    errorCodes: ['invalid_employment'],
    warnings: [{ code: 'unknown_member' }],
    warningCodes: ['unknown_member'],
    changes: [{ object: 'contact', action: 'created' }],
    createdAt,
  }
  const [one = '', other = ''] = await addRows(service, importId, [sample, sample])
  await call('POST', `${path}/${one}/retry`)
  expect((await call('POST', `${path}/retry`)).body.count).toBe(1)
  const comparable = async (id: string) => {
    const { body, headers } = await call('GET', `${path}/${id}`)
    const revision = headers.get('etag')?.split('-')[0]
    return { ...body, id: '', runAt: '', updatedAt: '', revision, ...(await queueStateOf(service, id)) }
  }
  expect(await comparable(other)).toEqual(await comparable(one))
  expect((await call('GET', `${path}/${other}`)).body.updatedAt).not.toBe(createdAt)
})

test('a cancelled row leaves the queue and is finished', async () => {
  const [id = ''] = await addRows(service, importId, [{ status: 'RETRYING', errorCodes: ['processing_failed'] }])
  const before = await call('GET', `${path}/${id}`)
  await call('POST', `${path}/cancel`)
  const { body, headers } = await call('GET', `${path}/${id}`)
  expect(body).toEqual({
    ...before.body,
    status: 'CANCELLED',
    runAt: null,
    finishedAt: body.updatedAt,
    updatedAt: expect.stringMatching(/Z$/),
  })
  expect(headers.get('etag')).toMatch(/^"2-/)
  expect(await queueStateOf(service, id)).toEqual({ losses: 0, lease: null, due: null })
})

test.each([
  ['dryRun=yes', 'dryRun', 'expected true or false'],
  ['dryRun=', 'dryRun', 'expected a value'],
  ['dryRun=true&dryRun=true', 'dryRun', 'is given twice; send it once'],
  ['dryrun=true', 'dryrun', 'did you mean dryRun?'],
  ['limit=5', 'limit', 'unknown parameter'],
  ['sort=asc', 'sort', 'unknown parameter'],
  ['select[]=id', 'select', 'has no fields to select'],
  ['filter.payload.equals=x', 'filter.payload.equals', 'unknown field'],
  ['filter.status.gt=DEAD', 'filter.status.gt', 'supports equals'],
  ['filter.createdAt.gt=yesterday', 'filter.createdAt.gt', 'expected an ISO 8601 date'],
  ['filter.status.in=', 'filter.status.in', 'expected a value'],
])('?%s is rejected and changes nothing', async (query, field, message) => {
  await addRows(service, importId, everyStatus)
  for (const action of ['retry', 'cancel']) {
    const { status, body } = await call('POST', `${path}/${action}?${query}`)
    expect([status, body.code, body.details]).toEqual([
      400,
      'invalid_parameters',
      [{ field, message: expect.stringContaining(message) }],
    ])
  }
  expect(await statusesOf(service, importId)).toEqual(rowStatuses)
})

test('all errors of a change by filter are reported at once, before an unknown import', async () => {
  const { status, body } = await call('POST', `/v5/imports/imp_${'0'.repeat(32)}/rows/cancel?dryRun=1&colour=red`)
  expect([status, body.details.map(({ field }: { field: string }) => field)]).toEqual([400, ['colour', 'dryRun']])
})

test('a change by filter accepts no body', async () => {
  await addRows(service, importId, everyStatus)
  for (const action of ['retry', 'cancel']) {
    expect((await call('POST', `${path}/${action}`, { body: { filter: 'all' } })).status).toBe(422)
  }
  expect(await statusesOf(service, importId)).toEqual(rowStatuses)
})

test('an Idempotency-Key makes a change by filter happen once and is invalid for another filter', async () => {
  await addRows(service, importId, [{ status: 'DEAD' }])
  const once = { headers: { 'idempotency-key': 'once' } }
  const first = await call('POST', `${path}/retry?filter.status.equals=DEAD`, once)
  expect(first.body).toEqual({ dryRun: false, count: 1, remaining: 0 })
  await addRows(service, importId, [{ status: 'DEAD' }])
  const again = await call('POST', `${path}/retry?filter.status.equals=DEAD`, once)
  expect([again.body, again.headers.get('idempotent-replayed')]).toEqual([first.body, 'true'])
  expect((await call('POST', `${path}/retry`, once)).body.code).toBe('idempotency_key_reused')
  expect(await statusesOf(service, importId)).toEqual(['PENDING', 'DEAD'])
})

test('one call changes at most ten thousand rows, oldest first, and returns how many remain', async () => {
  const uuid = decodeId('imp', importId)
  await service.database.crossTenantQuery(
    'check the database',
    sql`insert into import_rows (organization_id, id, import_id, status, payload, created_at)
      select organization_id, gen_random_uuid(), imports.id, (array['PENDING', 'RETRYING', 'PROCESSED'])[1 + number % 3], '{}',
        now() - number * interval '1 second'
      from imports, generate_series(1, 18000) number where imports.id = ${uuid}`,
  )
  const cancel = async (query = '') => (await call('POST', `${path}/cancel${query}`)).body
  expect(await cancel('?dryRun=true')).toEqual({ dryRun: true, count: 12_000, remaining: 0 })
  expect(await cancel()).toEqual({ dryRun: false, count: 10_000, remaining: 2000 })
  const [row] = await service.database.crossTenantQuery<{ inOrder: boolean }>(
    'check the database',
    sql`select max(created_at) filter (where status = 'CANCELLED') <
        min(created_at) filter (where status in ('PENDING', 'RETRYING')) as "inOrder"
      from import_rows where import_id = ${uuid}`,
  )
  expect(row).toEqual({ inOrder: true })
  expect(await cancel()).toEqual({ dryRun: false, count: 2000, remaining: 0 })
  expect(await cancel()).toEqual({ dryRun: false, count: 0, remaining: 0 })
})

interface ModelRow {
  status: RowStatus
  errorCodes: string[]
  createdAt: string
}

interface Filter {
  text: string
  matches: (row: ModelRow) => boolean
}

const codes = ['worker_lost', 'ambiguous_contact']
const day = (number: number): string => `2026-02-0${number}`
const drawnRows = fc.array(
  fc.record({
    status: fc.constantFrom(...rowStatuses),
    errorCodes: fc.subarray(codes),
    createdAt: fc.integer({ min: 1, max: 5 }).map((number) => `${day(number)}T12:00:00.000Z`),
  }),
  { maxLength: 25 },
)
const drawnFilter: fc.Arbitrary<Filter> = fc.oneof(
  fc.constantFrom(...rowStatuses).map((status) => ({
    text: `filter.status.equals=${status}`,
    matches: (row: ModelRow) => row.status === status,
  })),
  fc.subarray([...rowStatuses], { minLength: 1 }).map((statuses) => ({
    text: `filter.status.notIn=${statuses.join()}`,
    matches: (row: ModelRow) => !statuses.includes(row.status),
  })),
  fc.constantFrom(...codes).map((code) => ({
    text: `filter.errorCodes.has=${code}`,
    matches: (row: ModelRow) => row.errorCodes.includes(code),
  })),
  fc.constant({ text: 'filter.errorCodes.isEmpty=true', matches: (row: ModelRow) => row.errorCodes.length === 0 }),
  fc.integer({ min: 1, max: 5 }).map((number) => ({
    text: `filter.createdAt.lt=${day(number)}`,
    matches: (row: ModelRow) => row.createdAt < day(number),
  })),
)
const drawnCalls = fc.array(
  fc.record({
    action: fc.constantFrom('retry' as const, 'cancel' as const),
    filters: fc.array(drawnFilter, { maxLength: 2 }),
    dryRun: fc.boolean(),
  }),
  { minLength: 1, maxLength: 6 },
)

/** Number of rows in each state, from the stats of the import. */
const countsOf = async (id: string): Promise<Record<string, number>> =>
  (await call('GET', `/v5/imports/${id}`)).body.stats.counts

test('after any sequence of retries and cancellations, row states and import counts match the model', async () => {
  await fc.assert(
    fc.asyncProperty(drawnRows, drawnCalls, async (drawn, calls) => {
      const id = await addImport(service, organization)
      await addRows(service, id, drawn)
      const model: ModelRow[] = drawn
        .map((row, index) => ({ ...row, index }))
        .sort((left, right) =>
          left.createdAt < right.createdAt ? -1 : left.createdAt > right.createdAt ? 1 : left.index - right.index,
        )
      for (const { action, filters, dryRun } of calls) {
        const query = [...filters.map(({ text }) => text), `dryRun=${dryRun}`].join('&')
        const matching = model.filter(
          (row) => mayBe(action, row.status) && filters.every(({ matches }) => matches(row)),
        )
        const { body } = await call('POST', `/v5/imports/${id}/rows/${action}?${query}`)
        expect([query, body]).toEqual([query, { dryRun, count: matching.length, remaining: 0 }])
        if (dryRun) continue
        for (const row of matching) {
          row.status = resultingStatus[action]
          if (action === 'retry') row.errorCodes = []
        }
        expect([query, await statusesOf(service, id)]).toEqual([query, model.map(({ status }) => status)])
      }
      const expected = rowStatuses.map((status) => [status, model.filter((row) => row.status === status).length])
      expect(await countsOf(id)).toEqual(Object.fromEntries(expected))
    }),
    { seed, numRuns: 40 },
  )
})
