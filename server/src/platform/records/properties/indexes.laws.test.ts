import fc from 'fast-check'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { contacts } from '../../../crm/contacts/resource.ts'
import { contactStore } from '../../../crm/contacts/store.ts'
import { lawTimes, runsOf, seed } from '../../../../test/seed.ts'
import { casesToTry } from '../../../../test/suite.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../../test/service.ts'
import { maintainIndexes } from './index-builds.ts'
import { serviceActor } from '../../model/caller.ts'
import { decodeId, encodeId } from '../../model/ids.ts'
import { type Sql, sql } from '../../model/sql.ts'
import { toSql } from '../../database/fixed-statements.ts'
import { withDefinitions } from './resources.ts'
import { planCount, planPage } from '../page/page.ts'
import { parseList } from '../page/parse.ts'
import { parseQuery } from '../request/query-string.ts'
import type { JsonObject, JsonValue } from '../../model/json.ts'

// Each property exists twice with the same values, with an index and without one. Every answer must be the same.

let service: TestService
let organization: TestOrganization
let ids: string[]

/** More than a page scans in order before it reads the entries. */
const count = 2200
const resource = 'contacts'
const values = ['free', 'pro', 'Pro', 'max']
const choices = values.map((value) => ({ value, label: value }))
const companyIds = Array.from({ length: 4 }, (_, index) =>
  encodeId('com', `018bcfe5-0000-7000-8000-00000000000${index}`),
)
const often = <Value>(...all: [Value, ...Value[]]) => fc.constantFrom(...all)

type Values = Record<string, JsonValue | undefined>

interface Kind {
  more?: Json
  value: fc.Arbitrary<JsonValue>
  /** Operators with operands for filters; relative to the property's path. */
  operators: string[]
  operand: fc.Arbitrary<string>
  path?: string
}

const equalities = ['equals', 'in', 'not', 'notIn']
const bounds = ['equals', 'gt', 'gte', 'lt', 'lte']
const texts = ['pro', 'Pro', 'école', 'Ecole', '42', 'a,b', '%', `${'long '.repeat(50)}1`, `${'long '.repeat(50)}2`]

const kinds: Record<string, Kind> = {
  text: {
    value: often(...(texts as [string])),
    operators: [...equalities, 'contains'],
    operand: often(...(texts as [string])),
  },
  number: {
    value: often(0, 1, 1.5, -7, 42, 1e21, 1e-7),
    operators: [...bounds, 'not', 'in'],
    operand: often('0', '1.50', '42', '-7', '1e21', '3', '0.0000001'),
  },
  boolean: { value: fc.boolean(), operators: ['equals', 'not'], operand: often('true', 'false') },
  date: {
    value: often('2026-01-01', '2026-01-02', '2025-12-31', '0001-01-01', '9999-12-31'),
    operators: bounds,
    operand: often('2026-01-01', '2026-01-01T00:00:00Z', '2026-01-01T12:00:00+02:00', '9999-12-31'),
  },
  instant: {
    value: often('2026-01-01T00:00:00.000Z', '2026-01-01T23:59:59.999Z', '2026-01-02T00:00:00.001Z'),
    operators: bounds,
    operand: often('2026-01-01', '2026-01-01T23:59:59.999Z', '2026-01-02T00:00:00Z'),
  },
  choice: {
    more: { choices },
    value: often('free', 'pro', 'Pro'),
    operators: equalities,
    operand: often(...(values as [string])),
  },
  multiChoice: {
    more: { choices },
    value: fc.uniqueArray(often(...(values as [string])), { maxLength: 3 }),
    operators: ['has', 'hasEvery', 'hasSome', 'isEmpty'],
    operand: often(...(values as [string])),
  },
  money: {
    value: fc.record({ amount: often('1', '1.50', '-3', '20000'), currency: often('EUR', 'USD') }),
    operators: [...bounds, 'not', 'in'],
    operand: often('1', '1.5', '-3', '5'),
    path: '.amount',
  },
  reference: {
    more: { references: 'companies' },
    value: often(...(companyIds as [string])),
    operators: equalities,
    operand: often(...(companyIds as [string])),
  },
}

const keyOf = (type: string, isIndexed: boolean) => `${type}${isIndexed ? 'Indexed' : 'Plain'}`
const pathOf = (type: string, isIndexed: boolean) =>
  `customProperties.${keyOf(type, isIndexed)}${kinds[type]?.path ?? ''}`

const record = fc.record(Object.fromEntries(Object.entries(kinds).map(([type, { value }]) => [type, value])), {
  requiredKeys: [],
})

/** The values of a record in both properties of each type. */
const doubled = (of: Values): JsonObject =>
  Object.fromEntries(
    Object.entries(of).flatMap(([type, value = null]) =>
      [true, false].map((isIndexed) => [keyOf(type, isIndexed), value]),
    ),
  )

beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
  const { call } = organization
  const definitions: string[] = []
  for (const [type, { more }] of Object.entries(kinds))
    for (const isIndexed of [false, true]) {
      const body = { resource, type, key: keyOf(type, isIndexed), label: type, ...more }
      const { status, text, body: made } = await call('POST', '/v5/properties', { body })
      expect(status, text).toBe(201)
      if (isIndexed) definitions.push(made.id)
    }
  const uuid = decodeId('org', organization.organizationId) ?? ''
  await service.database.crossTenantQuery(
    'check the database',
    sql`insert into companies (organization_id, id, name)
      select ${uuid}::uuid, id, 'Company' from unnest(${companyIds.map((id) => decodeId('com', id))}::uuid[]) id`,
  )
  const [records = []] = fc.sample(fc.array(record, { minLength: count, maxLength: count }), { seed, numRuns: 1 })
  const half = count / 2
  ids = await create(records.slice(0, half))
  for (const id of definitions) await call('PATCH', `/v5/properties/${id}`, { body: { indexed: true } })
  // Half of the records get their entries from the index's construction, and half from their own creation.
  const [later] = await Promise.all([create(records.slice(half)), build()])
  ids.push(...later)
  await build()
  for (const id of definitions) {
    const state = async () => (await call('GET', `/v5/properties/${id}`)).body.indexState
    await vi.waitFor(async () => expect(await state()).toBe('ready'), { timeout: 20_000 })
  }
  await change(records)
  await service.database.crossTenantQuery('check the database', sql`vacuum analyze property_entries`)
  await service.database.crossTenantQuery('check the database', sql`analyze contacts`)
}, 120_000)
afterAll(() => service.close())

const build = () =>
  maintainIndexes(
    { database: service.database, definable: [contacts], onError: (error) => expect(error).toBeUndefined() },
    new AbortController().signal,
    100,
  )

async function create(records: readonly Values[]): Promise<string[]> {
  const actor = serviceActor(
    'command',
    decodeId('org', organization.organizationId) ?? '',
    decodeId('usr', organization.userId),
  )
  const created: string[] = []
  for (let start = 0; start < records.length; start += 200) {
    const changes = records.slice(start, start + 200).map((of, index) => ({
      kind: 'create' as const,
      values: {
        name: `Contact ${index % 7}`,
        city: index % 3 === 0 ? 'Berlin' : 'Paris',
        customProperties: doubled(of),
      },
    }))
    const written = await service.database.transaction(actor, (transaction) => contactStore.write(transaction, changes))
    created.push(...written.map(({ id }) => encodeId('con', id)))
  }
  return created
}

/** Changes, deletes and restores some records, as callers do. */
async function change(records: readonly Values[]): Promise<void> {
  const { call } = organization
  for (const [index, id] of ids.slice(0, 60).entries()) {
    const nulls = Object.fromEntries(Object.keys(doubled(records[index] ?? {})).map((key) => [key, null]))
    const customProperties = index % 2 === 0 ? nulls : { ...nulls, ...doubled(records[index + 100] ?? {}) }
    if (index % 5 === 4) await call('DELETE', `/v5/contacts/${id}`)
    else expect((await call('PATCH', `/v5/contacts/${id}`, { body: { customProperties } })).status).toBe(200)
    if (index % 10 === 9) expect((await call('POST', `/v5/contacts/${id}/restore`)).status).toBe(200)
  }
}

interface Wanted {
  filters: { type: string; operator: string; operand: string }[]
  orderBy: string
  sort: string
  limit: number
  others: string
}

const filter = fc.oneof(
  ...Object.entries(kinds).map(([type, { operators, operand }]) =>
    fc
      .record({ operator: often(...(operators as [string])), operand, second: operand })
      .map(({ operator, operand: one, second }) => ({
        type,
        operator,
        operand:
          operator === 'isEmpty'
            ? String(one < second)
            : /in$|Every|Some/i.test(operator)
              ? [one, second].map((text) => text.replaceAll(',', '\\,')).join(',')
              : one,
      })),
  ),
)

const wanted: fc.Arbitrary<Wanted> = fc.record({
  filters: fc.array(filter, { maxLength: 3 }),
  orderBy: often('createdAt', 'createdAt', 'name', 'city', ...Object.keys(kinds)),
  sort: often('asc', 'desc'),
  limit: often(1, 3, 25, 100),
  others: often('', '', '', 'city=Berlin', 'query=contact', 'name=Contact 1'),
})

function queryOf(
  { filters, orderBy, sort, limit, others }: Wanted,
  isIndexed: boolean,
): { filter: string; page: string } {
  const parts = filters.map(
    ({ type, operator, operand }) => `filter.${pathOf(type, isIndexed)}.${operator}=${encodeURIComponent(operand)}`,
  )
  const all = [...parts, ...(others === '' ? [] : [others.replaceAll(' ', '%20')])].join('&')
  const order = orderBy in kinds ? pathOf(orderBy, isIndexed) : orderBy
  return { filter: all, page: `${all}&orderBy=${order}&sort=${sort}&limit=${limit}` }
}

async function answers(query: { filter: string; page: string }, cursor: string) {
  const get = async (path: string): Promise<Json> => {
    const { status, body, text } = await organization.call('GET', path)
    expect(status, `${path} ${text}`).toBe(200)
    return body
  }
  const pages = ['', `&startingAfter=${cursor}`, `&endingBefore=${cursor}`].map(async (at) =>
    (await get(`/v5/contacts?${query.page}${at}&select[]=id`)).map(({ id }: Json) => id),
  )
  const [counted, ...found] = await Promise.all([get(`/v5/contacts/count?${query.filter}`), ...pages])
  return { count: counted.count, pages: found }
}

test(
  'an index never changes an answer: pages, counts, cursors and orders are those without it',
  async () => {
    const cursors = fc.nat().map((index) => ids[60 + (index % (ids.length - 60))] ?? '')
    await fc.assert(
      fc.asyncProperty(wanted, cursors, async (request, cursor) => {
        const [indexed, plain] = await Promise.all(
          [true, false].map((isIndexed) => answers(queryOf(request, isIndexed), cursor)),
        )
        expect(indexed).toEqual(plain)
      }),
      { numRuns: runsOf(40), seed },
    )
  },
  120_000 * lawTimes,
)

const typesInTurn = Object.keys(kinds).map((type, turn) => [type, turn] as const)

test.each(typesInTurn)('each operator of %s gives the same answers with an index', async (type, turn) => {
  for (const operator of casesToTry(kinds[type]?.operators ?? [], () => type, turn))
    for (const operand of fc.sample(
      filter.filter((one) => one.type === type && one.operator === operator),
      { seed, numRuns: 2 },
    ))
      for (const orderBy of ['createdAt', type]) {
        const request = { filters: [operand], orderBy, sort: 'desc', limit: 25, others: '' }
        const [indexed, plain] = await Promise.all(
          [true, false].map((isIndexed) => answers(queryOf(request, isIndexed), ids.at(-300) ?? '')),
        )
        expect({ operand, orderBy, ...indexed }).toEqual({ operand, orderBy, ...plain })
      }
})

test.each([
  ['filter.customProperties.choiceIndexed.equals=pro', 'property_entries_created'],
  ['filter.customProperties.choiceIndexed.equals=pro&orderBy=name', 'property_entries_pkey'],
  [
    'filter.customProperties.numberIndexed.gt=41.5&filter.customProperties.numberIndexed.lt=42',
    'property_entries_sorted',
  ],
  ['orderBy=customProperties.textIndexed', 'property_entries_sorted'],
  ['orderBy=customProperties.textIndexed&filter.customProperties.choiceIndexed.equals=pro', 'property_entries_sorted'],
])('the page of %s reads %s and never all entries, without the limiter of expensive queries', async (given, index) => {
  const uuid = decodeId('org', organization.organizationId) ?? ''
  const db = service.database.reader(serviceActor('command', uuid))
  const { resource: declared } = await withDefinitions(
    db,
    { resource: contacts, relations: () => ({}) },
    'customProperties',
  )
  const cursorScope = { key: Buffer.alloc(32), organizationId: uuid, list: 'contacts', orderBy: '' }
  const list = parseList(declared, parseQuery(`/?${given}`), () => cursorScope)
  const scope = { organization: db.organization, actor: db.actor }
  const page = planPage(declared, list, scope)
  const count = planCount(declared, list, scope)
  expect([page.isExpensive, count.isExpensive]).toEqual([false, !given.includes('filter')])
  const plan = await explain(toSql(page.statement))
  expect(plan).toContain(index)
  expect(plan).not.toMatch(/Seq Scan property_entries/)
  if (!given.includes('equals') || given.includes('orderBy')) return
  expect(await explain(count.statement)).toContain('Index Only Scan property_entries_value')
})

async function explain(statement: Sql): Promise<string> {
  const rows = await service.database.crossTenantQuery<object>(
    'check the database',
    sql`explain (format json) ${statement}`,
  )
  return [...JSON.stringify(rows).matchAll(/"Node Type":"([^"]*Scan)"(?:,"[^"]*":(?:"[^"]*"|[^{},[\]]+))*/g)]
    .map(
      ([text, type]) =>
        `${type} ${/"Index Name":"(\w+)"/.exec(text)?.[1] ?? /"Relation Name":"(\w+)"/.exec(text)?.[1]}`,
    )
    .join('\n')
}
