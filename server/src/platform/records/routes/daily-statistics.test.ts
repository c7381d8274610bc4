import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../../test/service.ts'
import { newId, decodeId, encodeId } from '../../model/ids.ts'
import { sql } from '../../model/sql.ts'

let service: TestService
let organization: TestOrganization
beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
})
afterAll(() => service.close())

const execute = (statement: Parameters<TestService['database']['crossTenantQuery']>[1]) =>
  service.database.crossTenantQuery('check the database', statement)

/** Creates a contact at each of these instants. */
async function createAt(of: TestOrganization, instants: readonly string[], more: Json = {}): Promise<string[]> {
  const ids: string[] = []
  for (const instant of instants) {
    const { body } = await of.call('POST', '/v5/contacts', { body: { name: 'Ada', ...more } })
    await execute(
      sql`update contacts set created_at = ${instant}::timestamptz where id = ${decodeId('con', body.id)}::uuid`,
    )
    ids.push(body.id)
  }
  return ids
}

/** Pushes a row at each of these instants; no worker processes them. */
async function pushAt(of: TestOrganization, instants: readonly string[]): Promise<string[]> {
  const ids: string[] = []
  for (const [index, instant] of instants.entries()) {
    const body = { contact: { email: `${index}-${newId()}@example.com` } }
    const { body: row } = await service.anonymous('POST', new URL(of.triggerUrl).pathname, { body })
    await execute(
      sql`update import_rows set created_at = ${instant}::timestamptz where id = ${decodeId('row', row.id)}::uuid`,
    )
    ids.push(row.id)
  }
  return ids
}

async function statistics(of: TestOrganization, resource: 'contacts' | 'imports', query = ''): Promise<Json> {
  const { status, body, text } = await of.call('GET', `/v5/${resource}/statistics?${query}`)
  expect(status, text).toBe(200)
  return body
}

const total = (counts: Json): number =>
  (Array.isArray(counts) ? counts.map(({ count }) => count) : Object.values(counts)).reduce(
    (sum: number, count: number) => sum + count,
    0,
  )

/** The days with anything, as `[date, total]`. */
const filledDays = ({ days }: Json): [string, number][] =>
  days.flatMap(({ date, counts }: Json) => (total(counts) > 0 ? [[date, total(counts)]] : []))

// Each case: the time zone, instants, and the expected local days. The clocks change at 01:00 UTC in Berlin, at
// midnight in Havana (00:00 occurs twice) and in Santiago (00:00 does not occur), and Apia skipped a whole day.
const cases: [string, string, string[], [string, number][]][] = [
  [
    'midnight in winter',
    'Europe/Berlin',
    ['2026-01-14T22:59:59.999Z', '2026-01-14T23:00:00Z', '2026-01-15T22:59:59.999Z', '2026-01-15T23:00:00Z'],
    [
      ['2026-01-14', 1],
      ['2026-01-15', 2],
      ['2026-01-16', 1],
    ],
  ],
  [
    'the end of summer time',
    'Europe/Berlin',
    ['2026-10-24T21:59:59.999Z', '2026-10-24T22:00:00Z', '2026-10-25T22:59:59.999Z', '2026-10-25T23:00:00Z'],
    [
      ['2026-10-24', 1],
      ['2026-10-25', 2],
      ['2026-10-26', 1],
    ],
  ],
  [
    'the beginning of summer time',
    'Europe/Berlin',
    ['2026-03-28T22:59:59.999Z', '2026-03-28T23:00:00Z', '2026-03-29T21:59:59.999Z', '2026-03-29T22:00:00Z'],
    [
      ['2026-03-28', 1],
      ['2026-03-29', 2],
      ['2026-03-30', 1],
    ],
  ],
  [
    'a midnight that occurs twice',
    'America/Havana',
    ['2025-11-02T03:59:59.999Z', '2025-11-02T04:00:00Z', '2025-11-02T05:00:00Z', '2025-11-03T05:00:00Z'],
    [
      ['2025-11-01', 1],
      ['2025-11-02', 2],
      ['2025-11-03', 1],
    ],
  ],
  [
    'a midnight that does not occur',
    'America/Santiago',
    ['2025-09-07T03:59:59.999Z', '2025-09-07T04:00:00Z', '2025-09-08T02:59:59.999Z', '2025-09-08T03:00:00Z'],
    [
      ['2025-09-06', 1],
      ['2025-09-07', 2],
      ['2025-09-08', 1],
    ],
  ],
  [
    'a day that does not occur',
    'Pacific/Apia',
    ['2011-12-30T09:59:59.999Z', '2011-12-30T10:00:00Z'],
    [
      ['2011-12-29', 1],
      ['2011-12-31', 1],
    ],
  ],
]

test.each(cases)('contacts and pushes count on their local day: %s', async (_, timeZone, instants, expected) => {
  const own = await service.newOrganization()
  await createAt(own, instants)
  await pushAt(own, instants)
  const [[first = ''] = [], [last = ''] = []] = [expected[0] ?? [], expected.at(-1) ?? []]
  for (const resource of ['contacts', 'imports'] as const) {
    const shown = await statistics(own, resource, `from=${first}&to=${last}&timeZone=${timeZone}`)
    expect(shown).toMatchObject({ from: first, to: last, timeZone })
    expect([resource, filledDays(shown)]).toEqual([resource, expected])
    // A range of a single day has exactly that day.
    for (const [day, count] of expected) {
      const one = await statistics(own, resource, `from=${day}&to=${day}&timeZone=${timeZone}`)
      expect(one.days.map(({ date, counts }: Json) => [date, total(counts)])).toEqual([[day, count]])
    }
  }
})

test('contacts are counted by source and import, and by country, without the deleted ones and other organizations', async () => {
  const own = await service.newOrganization()
  const other = await service.newOrganization()
  await createAt(other, ['2026-05-01T12:00:00Z'], { countryCode: 'FR' })
  const ids = await createAt(
    own,
    Array.from({ length: 5 }, () => '2026-05-01T12:00:00Z'),
    { countryCode: 'DE' },
  )
  await createAt(own, ['2020-01-01T00:00:00Z'], { countryCode: 'AT' })
  await createAt(own, ['2020-01-01T00:00:00Z'])
  const importId = own.importId
  const [imported, unknown, deleted] = ids.map((one) => decodeId('con', one))
  await execute(
    sql`update contacts set source = 'import', import_id = ${decodeId('imp', importId)}::uuid where id = ${imported}::uuid`,
  )
  await execute(sql`update contacts set source = null where id = ${unknown}::uuid`)
  await own.call('DELETE', `/v5/contacts/${encodeId('con', deleted ?? '')}`)
  const { days, countries } = await statistics(own, 'contacts', 'from=2026-04-30&to=2026-05-02&timeZone=UTC')
  expect(days).toEqual([
    { date: '2026-04-30', counts: [] },
    {
      date: '2026-05-01',
      counts: [
        { source: 'api_key', importId: null, count: 2 },
        { source: 'import', importId, count: 1 },
        { source: null, importId: null, count: 1 },
      ],
    },
    { date: '2026-05-02', counts: [] },
  ])
  expect(countries).toEqual([
    { countryCode: 'DE', count: 4 },
    { countryCode: 'AT', count: 1 },
    { countryCode: null, count: 1 },
  ])
})

test('pushes to all imports are counted by status, without those of deleted imports and other organizations', async () => {
  const own = await service.newOrganization()
  const other = await service.newOrganization()
  await pushAt(other, ['2026-05-01T12:00:00Z'])
  const [first] = await pushAt(own, ['2026-05-01T12:00:00Z', '2026-05-01T13:00:00Z', '2026-05-02T13:00:00Z'])
  await execute(sql`update import_rows set status = 'PROCESSED' where id = ${decodeId('row', first ?? '')}::uuid`)
  const { body: second } = await own.call('POST', '/v5/imports', { body: { name: 'Fair' } })
  await pushAt({ ...own, triggerUrl: second.triggerUrl }, ['2026-05-01T12:00:00Z'])
  const query = 'from=2026-05-01&to=2026-05-03&timeZone=UTC'
  const [day, next, empty] = (await statistics(own, 'imports', query)).days
  expect(day).toEqual({ date: '2026-05-01', counts: { PENDING: 2, PROCESSED: 1 } })
  expect([next.counts, empty.counts]).toEqual([{ PENDING: 1 }, {}])
  await own.call('DELETE', `/v5/imports/${second.id}`)
  expect((await statistics(own, 'imports', query)).days[0].counts).toEqual({ PENDING: 1, PROCESSED: 1 })
})

test('without parameters, the last 30 days in the time zone of the organization', async () => {
  const own = await service.newOrganization()
  for (const timeZone of ['Pacific/Kiritimati', 'Pacific/Pago_Pago']) {
    const changed = await own.call('PATCH', '/v5/organization', { body: { timeZone } })
    expect(changed.status, changed.text).toBe(200)
    const dayIn = () => new Intl.DateTimeFormat('sv', { timeZone }).format(new Date())
    const before = dayIn()
    const { from, to, days, timeZone: shown } = await statistics(own, 'contacts')
    expect([before, dayIn()]).toContain(to)
    expect(shown).toBe(timeZone)
    expect(days).toHaveLength(30)
    expect([days[0].date, days.at(-1).date]).toEqual([from, to])
  }
})

test('with only one end, 30 days before or after it; at most 366 days', async () => {
  const ends = async (query: string) => {
    const { from, to, days } = await statistics(organization, 'imports', query)
    return [from, to, days.length]
  }
  expect(await ends('from=2024-02-01')).toEqual(['2024-02-01', '2024-03-01', 30])
  expect(await ends('to=2024-03-01')).toEqual(['2024-02-01', '2024-03-01', 30])
  expect(await ends('from=2024-01-01&to=2024-12-31')).toEqual(['2024-01-01', '2024-12-31', 366])
})

test.each([
  ['from=2026-02-30', 'from'],
  ['from=2026-2-3', 'from'],
  ['from=', 'from'],
  ['to=1969-12-31', 'to'],
  ['to=2026-01-01T00:00:00Z', 'to'],
  ['from=2026-01-02&to=2026-01-01', 'to'],
  ['from=2025-01-01&to=2026-01-02', 'to'],
  ['timeZone=Mars/Base', 'timeZone'],
  ['timeZone=', 'timeZone'],
  ['days=3', 'days'],
  ['from=2026-01-01&from=2026-01-02', 'from'],
])('%s is rejected', async (query, field) => {
  for (const resource of ['contacts', 'imports']) {
    const refused = await organization.call('GET', `/v5/${resource}/statistics?${query}`)
    expect(refused).toMatchObject({ status: 400, body: { code: 'invalid_parameters', details: [{ field }] } })
  }
})

test('all errors are reported at once, and a zone that the database does not know is one of them', async () => {
  const { body } = await organization.call('GET', '/v5/contacts/statistics?from=x&to=y&timeZone=z')
  expect(body.details.map(({ field }: Json) => field).sort()).toEqual(['from', 'timeZone', 'to'])
  const own = await service.newOrganization()
  await execute(
    sql`update organizations set time_zone = 'Mars/Base' where id = ${decodeId('org', own.organizationId)}::uuid`,
  )
  const refused = await own.call('GET', '/v5/contacts/statistics')
  expect(refused).toMatchObject({ status: 400, body: { details: [{ field: 'timeZone' }] } })
  expect((await own.call('GET', '/v5/contacts/statistics?timeZone=europe/berlin')).body.timeZone).toBe('Europe/Berlin')
})
