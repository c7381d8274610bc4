import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { lawTimes, seed } from '../../../../test/seed.ts'
import { type Json, startTestService, type TestService } from '../../../../test/service.ts'
import { decodeId } from '../../model/ids.ts'
import { sql } from '../../model/sql.ts'
import { parseRelativeDate, type RelativeDate, type RelativeSpan, relativeSpansSql } from './relative-dates.ts'
import type { JsonObject } from '../../model/json.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

const query = <Row extends object>(statement: ReturnType<typeof sql>): Promise<Row[]> =>
  service.database.crossTenantQuery<Row>('check the database', statement)

const spansAt = (dates: readonly RelativeDate[], zone: string, now: string): Promise<RelativeSpan[]> =>
  query(relativeSpansSql(dates, { zone, organization: sql`1`, now: sql`${now}::timestamptz` }))

function dateOf(value: JsonObject): RelativeDate {
  const date = parseRelativeDate(value)
  if ('error' in date) throw new Error(date.error)
  return date
}

/** The first day and the last one. */
async function daysAt(now: string, zone: string, value: JsonObject): Promise<string> {
  const [span] = await spansAt([dateOf(value)], zone, now)
  const last = new Date(Date.parse(span?.days.end ?? '') - 86_400_000).toISOString()
  return `${span?.days.start.slice(0, 10)} to ${last.slice(0, 10)}`
}

test('last ends with today and next begins with it, and periods are those of the calendar', async () => {
  // A Tuesday.
  const at = (value: JsonObject) => daysAt('2026-11-24T12:00:00Z', 'UTC', value)
  const cases: [JsonObject, string][] = [
    [{ last: { days: 1 } }, '2026-11-24 to 2026-11-24'],
    [{ last: { days: 30 } }, '2026-10-26 to 2026-11-24'],
    [{ last: { weeks: 2 } }, '2026-11-11 to 2026-11-24'],
    [{ last: { months: 1 } }, '2026-10-25 to 2026-11-24'],
    [{ last: { quarters: 1 } }, '2026-08-25 to 2026-11-24'],
    [{ last: { years: 1000 } }, '1026-11-25 to 2026-11-24'],
    [{ next: { days: 1 } }, '2026-11-24 to 2026-11-24'],
    [{ next: { weeks: 2 } }, '2026-11-24 to 2026-12-07'],
    [{ next: { months: 3 } }, '2026-11-24 to 2027-02-23'],
    [{ period: 'yesterday' }, '2026-11-23 to 2026-11-23'],
    [{ period: 'today' }, '2026-11-24 to 2026-11-24'],
    [{ period: 'tomorrow' }, '2026-11-25 to 2026-11-25'],
    [{ period: 'thisWeek' }, '2026-11-23 to 2026-11-29'],
    [{ period: 'lastWeek' }, '2026-11-16 to 2026-11-22'],
    [{ period: 'nextMonth' }, '2026-12-01 to 2026-12-31'],
    [{ period: 'thisQuarter' }, '2026-10-01 to 2026-12-31'],
    [{ period: 'nextQuarter' }, '2027-01-01 to 2027-03-31'],
    [{ period: 'lastYear' }, '2025-01-01 to 2025-12-31'],
  ]
  for (const [value, days] of cases) expect([value, await at(value)]).toEqual([value, days])
})

test('a month that is shorter than today’s day of the month ends with its last day', async () => {
  expect(await daysAt('2026-03-31T12:00:00Z', 'UTC', { last: { months: 1 } })).toBe('2026-03-01 to 2026-03-31')
  expect(await daysAt('2026-01-31T12:00:00Z', 'UTC', { next: { months: 1 } })).toBe('2026-01-31 to 2026-02-27')
  expect(await daysAt('2024-02-29T12:00:00Z', 'UTC', { last: { years: 1 } })).toBe('2023-03-01 to 2024-02-29')
})

test('a day begins at local midnight or, where clocks skip it, at the first instant of the date', async () => {
  const today = async (zone: string, now: string) => {
    const [span] = await spansAt([dateOf({ period: 'today' })], zone, now)
    return [span?.instants.start, span?.instants.end].map((text) => new Date(text ?? '').toISOString().slice(0, 16))
  }
  // Half an hour before and after midnight, and days of 23 and 25 hours.
  expect(await today('Europe/Berlin', '2026-11-24T22:30Z')).toEqual(['2026-11-23T23:00', '2026-11-24T23:00'])
  expect(await today('Europe/Berlin', '2026-11-24T23:30Z')).toEqual(['2026-11-24T23:00', '2026-11-25T23:00'])
  expect(await today('Europe/Berlin', '2026-03-29T10:00Z')).toEqual(['2026-03-28T23:00', '2026-03-29T22:00'])
  expect(await today('America/New_York', '2026-11-01T10:00Z')).toEqual(['2026-11-01T04:00', '2026-11-02T05:00'])
  // In São Paulo, clocks went from 23:59 to 01:00.
  expect(await today('America/Sao_Paulo', '2018-11-04T12:00Z')).toEqual(['2018-11-04T03:00', '2018-11-05T02:00'])
})

test('every span contains exactly the instants of its local dates', async () => {
  const zones = ['Europe/Berlin', 'America/New_York', 'America/Sao_Paulo', 'Asia/Kathmandu', 'Australia/Lord_Howe']
  const counted = fc.record({
    kind: fc.constantFrom('last' as const, 'next' as const),
    count: fc.integer({ min: 1, max: 40 }),
    unit: fc.constantFrom('day' as const, 'week' as const, 'month' as const, 'quarter' as const),
  })
  const period = fc.record({
    kind: fc.constant('period' as const),
    offset: fc.integer({ min: -1, max: 1 }),
    unit: fc.constantFrom('day' as const, 'week' as const, 'month' as const, 'year' as const),
  })
  const instant = fc.date({ min: new Date('1995-01-01'), max: new Date('2030-01-01'), noInvalidDate: true })
  const dates = fc.array(fc.oneof(counted, period), { minLength: 1, maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(dates, fc.constantFrom(...zones), instant, async (some, zone, now) => {
      const spans = await spansAt(some, zone, now.toISOString())
      expect(spans).toHaveLength(some.length)
      for (const { instants, days } of spans) {
        const [first, until] = [days.start.slice(0, 10), days.end.slice(0, 10)]
        const [start, end] = [Date.parse(instants.start), Date.parse(instants.end)]
        expect([localDate(start, zone), localDate(end - 1, zone) < until]).toEqual([first, true])
        expect([localDate(start - 1, zone) < first, localDate(end, zone)]).toEqual([true, until])
      }
    }),
    { seed, numRuns: Math.ceil(40 * lawTimes) },
  )
})

const formats = new Map<string, Intl.DateTimeFormat>()

/** The local date, by another implementation of time zones than that of the database. */
function localDate(instant: number, timeZone: string): string {
  const options = { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' } as const
  const format = formats.get(timeZone) ?? new Intl.DateTimeFormat('en-CA', options)
  formats.set(timeZone, format)
  return format.format(instant)
}

/**
 * Two time zones a day apart, so that today's date differs between them whatever time it is in UTC; their midnight, at
 * 10:00 or 11:00 UTC, is not within the next hour.
 */
const distantZones = (): string[] =>
  new Date().getUTCHours() === 9
    ? ['Pacific/Tongatapu', 'Pacific/Pago_Pago']
    : ['Pacific/Kiritimati', 'Pacific/Honolulu']

test('a search uses the time zone of the organization: today ends at its midnight', async () => {
  const { call, organizationId } = await service.newOrganization()
  for (const timeZone of distantZones()) {
    expect((await call('PATCH', '/v5/organization', { body: { timeZone } })).status).toBe(200)
    const times = ['first', 'last', 'before', 'after'] as const
    const ids: Record<string, string> = {}
    for (const name of times) ids[name] = (await call('POST', '/v5/contacts', { body: { name } })).body.id
    const midnight = sql`date_trunc('day', now() at time zone ${timeZone}::text) at time zone ${timeZone}::text`
    for (const [name, shift] of Object.entries({
      first: '0 seconds',
      last: '1 day -1 milliseconds',
      before: '-1 milliseconds',
      after: '1 day',
    }))
      await query(sql`update contacts set created_at = ${midnight} + ${shift}::interval
        where organization_id = ${decodeId('org', organizationId)}::uuid and id = ${decodeId('con', ids[name] ?? '')}::uuid`)
    const found = async (createdAt: object) => {
      const body = { filter: { createdAt }, sort: 'asc' }
      return (await call('POST', '/v5/contacts/search', { body })).body.map(({ name }: Json) => name).join()
    }
    const today = { period: 'today' }
    expect([timeZone, await found({ equals: today })]).toEqual([timeZone, 'first,last'])
    expect(await found({ gte: today })).toBe('first,last,after')
    expect(await found({ gt: today })).toBe('after')
    expect(await found({ lt: today })).toBe('before')
    expect(await found({ lte: { last: { days: 1 } } })).toBe('before,first,last')
    expect(await found({ gte: { next: { days: 1 } }, lt: { period: 'tomorrow' } })).toBe('first,last')
    for (const id of Object.values(ids)) await call('DELETE', `/v5/contacts/${id}`)
  }
})

test('a field without a time has the local date, in every time zone', async () => {
  const { call } = await service.newOrganization()
  for (const timeZone of distantZones()) {
    await call('PATCH', '/v5/organization', { body: { timeZone } })
    const now = Date.now()
    const deals = new Map([-1, 0, 1].map((days) => [days, localDate(now + days * 86_400_000, timeZone)]))
    for (const [days, expectedCloseDate] of deals)
      await call('POST', '/v5/deals', { body: { name: `${timeZone} ${days}`, expectedCloseDate } })
    const found = async (expectedCloseDate: object) => {
      const body = { filter: { expectedCloseDate, name: { startsWith: timeZone } }, sort: 'asc' }
      const { body: list } = await call('POST', '/v5/deals/search', { body })
      return list.map(({ name }: Json) => name.slice(timeZone.length + 1)).join()
    }
    expect(await found({ equals: { period: 'today' } })).toBe('0')
    expect(await found({ equals: { last: { days: 2 } } })).toBe('-1,0')
    expect(await found({ gt: { period: 'today' } })).toBe('1')
  }
})

test('a time zone that the database does not know is reported, and only a relative date needs it', async () => {
  const { call, organizationId } = await service.newOrganization()
  await query(sql`update organizations set time_zone = 'Mars/Base' where id = ${decodeId('org', organizationId)}::uuid`)
  const search = (filter: object) => call('POST', '/v5/contacts/search', { body: { filter } })
  expect((await search({ createdAt: { gt: '2026-01-01' } })).status).toBe(200)
  const refused = await search({ createdAt: { gt: { period: 'today' } } })
  expect(refused).toMatchObject({ status: 422, body: { details: [{ field: 'filter' }] } })
  expect(refused.body.details[0].message).toContain('does not know the time zone')
})

test('a custom property with a date is compared with a relative date too', async () => {
  const { call } = await service.newOrganization()
  for (const [name, since] of Object.entries({ old: '2001-05-05', now: new Date().toISOString(), none: 'soon' }))
    await call('POST', '/v5/contacts', { body: { name, customProperties: { since } } })
  const found = async (since: object) => {
    const body = { filter: { 'customProperties.since': since } }
    return (await call('POST', '/v5/contacts/search', { body })).body.map(({ name }: Json) => name).join()
  }
  expect(await found({ equals: { last: { days: 3 } } })).toBe('now')
  expect(await found({ lt: { last: { days: 3 } } })).toBe('old')
})
