import { seesAll } from '../../../../test/readers.ts'
import { toSql } from '../../database/fixed-statements.ts'
import { createSecretKey, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { roleScopes } from '../../../app.ts'
import { createIdentifier } from '../../../identity/access/identify.ts'
import { createTokens } from '../../../identity/access/tokens.ts'
import { sql } from '../../model/sql.ts'
import { parseQuery } from '../request/query-string.ts'
import { type PageRow, planCount, planPage } from './page.ts'
import { parseFilters, parseList } from './parse.ts'
import { decodeId } from '../../model/ids.ts'
import { contacts } from '../../../crm/contacts/resource.ts'
import { contactStore } from '../../../crm/contacts/store.ts'
import {
  contactBodies,
  contactModel,
  contactPaths,
  filters,
  nastyTexts,
  operators,
  requests,
} from '../../../../test/list-arbitraries.ts'
import { runConcurrently } from '../../../../test/list-calls.ts'
import { isDistributed, organizationOnEngine } from '../../../../test/engines.ts'
import { testCluster } from '../../../../test/postgres.ts'
import {
  filterParameter,
  filterParameters,
  listParameters,
  type Parameters,
  queryString,
} from '../../../../test/list-parameters.ts'
import { modelList, type ModelFilter, type ModelRecord, modelSelect, typeOf } from '../../../../test/list-model.ts'
import { lawTimes, runsOf, seed } from '../../../../test/seed.ts'
import {
  startTestService,
  type TestResponse,
  type Json,
  type TestOrganization,
  type TestService,
} from '../../../../test/service.ts'
import type { JsonObject } from '../../model/json.ts'

/** An organization with unusual records, and those records as its list returns them. */
interface FilledOrganization {
  organization: TestOrganization
  records: readonly ModelRecord[]
}

let service: TestService
/** As many records as fit in one page, so that one response is the whole list. */
let small: FilledOrganization
/** More records than a page scans in order before it falls back to the index of the filter. */
let large: FilledOrganization
/** Connections to the same database with all scan types, without sequential scans and without index scans. */
let clients: pg.Client[] = []

beforeAll(async () => {
  service = await startTestService()
  small = await fill(100)
  large = await fill(2100)
  clients = await Promise.all([[], ['seqscan'], ['indexscan', 'bitmapscan', 'indexonlyscan']].map(connectWithout))
}, 120_000)

afterAll(async () => {
  await Promise.all(clients.map((client) => client.end()))
  await service.close()
})

async function fill(count: number): Promise<FilledOrganization> {
  const organization = await service.newOrganization()
  const companyIds: string[] = []
  const names = nastyTexts.filter((text) => [...text].length < 100).slice(0, 12)
  for (const [index, name] of names.entries()) {
    const { body } = await organization.call('POST', '/v5/companies', {
      body: { name, ...(index % 2 === 0 && { domain: `c${index}.example` }) },
    })
    companyIds.push(body.id)
  }
  const [bodies = []] = fc.sample(contactBodies(count, companyIds), { seed, numRuns: 1 })
  await create(organization, bodies)
  // Contacts of a deleted company have no company.
  await organization.call('DELETE', `/v5/companies/${companyIds[0]}`)
  await spreadTimes(organization)
  await service.database.crossTenantQuery('check the database', sql`analyze contacts`)
  const records: ModelRecord[] = []
  for (let last: string | undefined; ; last = records.at(-1)?.id) {
    const page = await get(organization, [['limit', '100'], ...(last ? [['startingAfter', last] as const] : [])])
    records.push(...page.body)
    if (page.body.length < 100) break
  }
  expect(records).toHaveLength(count)
  return { organization, records }
}

/** Creates contacts through the store, 200 at a time. */
async function create({ apiKey, organizationId }: TestOrganization, bodies: readonly JsonObject[]): Promise<void> {
  const { database } = service
  const tokens = createTokens({ database, secret: createSecretKey(randomBytes(32)), roleScopes })
  const identifier = createIdentifier({ database, tokens, roleScopes })
  const caller = await identifier.selectOrganization(await identifier.authenticate(`Bearer ${apiKey}`), organizationId)
  for (let start = 0; start < bodies.length; start += 200) {
    const changes = bodies.slice(start, start + 200).map((values) => ({ kind: 'create' as const, values }))
    await database.transaction(caller, (transaction) => contactStore.write(transaction, changes))
  }
}

/**
 * Sets the read-only times of all contacts or of one to a few values at the edges of days, so that many are equal. The
 * values depend on the id.
 */
async function spreadTimes({ organizationId }: TestOrganization, contactId?: string): Promise<void> {
  const first = ['2026-01-01T00:00:00Z', '2026-01-01T23:59:59.999Z', '2026-01-02T00:00:00Z', '2026-01-02T00:00:00.001Z']
  const times = (nulls: boolean) => [...first, '2026-03-29T01:30:00.5Z', nulls ? null : '2025-12-31T23:59:59.999Z']
  const time = (salt: string, nulls: boolean) =>
    sql`(${times(nulls)}::timestamptz[])[1 + abs(hashtext(${salt} || id::text)) % 6]`
  await service.database.crossTenantQuery(
    'check the database',
    sql`update contacts set created_at = ${time('a', false)}, updated_at = ${time('b', false)},
      last_activity_at = ${time('c', true)}, blocked_at = ${time('d', true)}
      where organization_id = ${decodeId('org', organizationId)}::uuid
        and id = coalesce(${contactId === undefined ? null : decodeId('con', contactId)}::uuid, id)`,
  )
}

async function connectWithout(scans: readonly string[]): Promise<pg.Client> {
  const [row] = await service.database.crossTenantQuery<{ name: string }>(
    'check the database',
    sql`select current_database() as name`,
  )
  const { host, port, user } = testCluster()
  const options = ['-c timezone=UTC', ...scans.map((scan) => `-c enable_${scan}=off`)].join(' ')
  const client = new pg.Client({ host, port, user, database: row?.name, options } as pg.ClientConfig)
  await client.connect()
  return client
}

async function get(
  { call }: TestOrganization,
  parameters: Parameters,
  path = '/v5/contacts',
): Promise<TestResponse<Json>> {
  const response = await call('GET', `${path}?${queryString(parameters)}`)
  if (response.status !== 200) throw new Error(`${queryString(parameters)} returned ${response.text}`)
  return response
}

const idsOf = (records: readonly { id: string }[]): string[] => records.map(({ id }) => id)

/** All pages, each with the last id of the previous one as its cursor. */
async function pagesOf(organization: TestOrganization, parameters: Parameters, limit: number): Promise<string[][]> {
  const pages: string[][] = []
  for (let last: string | undefined; ; last = pages.at(-1)?.at(-1)) {
    const cursor = last === undefined ? [] : [['startingAfter', last] as const]
    const { body } = await get(organization, [...parameters, ['limit', String(limit)], ['select[]', 'id'], ...cursor])
    if (body.length > 0) pages.push(idsOf(body))
    if (body.length < limit) return pages
  }
}

/** The path and query of a `rel` in the Link header. */
function linkOf({ headers }: TestResponse<Json>, rel: 'next' | 'prev'): string | undefined {
  const found = new RegExp(`<([^>]*)>; rel="${rel}"`).exec(headers.get('link') ?? '')?.[1]
  if (found === undefined) return undefined
  const { pathname, search } = new URL(found)
  return pathname + search
}

/** The timeout of a property test in milliseconds, for a busy machine. */
const lawTimeout = 60_000 * lawTimes

/** Checks a property with generated values; `TEST_SEED` repeats them. Each engine runs half of them. */
async function checkLaw<Value>(runs: number, arbitrary: fc.Arbitrary<Value>, check: (value: Value) => Promise<void>) {
  try {
    await fc.assert(fc.asyncProperty(arbitrary, check), { numRuns: runsOf(runs / 2), seed })
  } catch (error) {
    throw new Error(`With TEST_SEED=${seed}: ${error instanceof Error ? error.message : error}`, {
      cause: error,
    })
  }
}

const limits = fc.constantFrom(1, 2, 7, 25, 99, 100)

test(
  'the pages of any list together equal the model’s list: no record is missing, repeated or out of order',
  async () => {
    await checkLaw(20, fc.tuple(requests(small.records), limits), async ([request, limit]) => {
      const pages = await pagesOf(small.organization, listParameters(request), limit)
      const expected = idsOf(modelList(contactModel, small.records, request))
      expect(pages.flat()).toEqual(expected)
      expect(pages.map((page) => page.length).slice(0, -1)).toEqual(pages.slice(0, -1).map(() => limit))
    })
  },
  lawTimeout,
)

test('every orderBy sorts like the model, ascending and descending', async () => {
  const paths = [...contactPaths, 'company']
  const orders = paths.flatMap((orderBy) => (['asc', 'desc'] as const).map((sort) => ({ filters: [], orderBy, sort })))
  await runConcurrently(orders, async (request) => {
    const { body } = await get(small.organization, [...listParameters(request), ['limit', '100'], ['select[]', 'id']])
    expect([request, idsOf(body)]).toEqual([request, idsOf(modelList(contactModel, small.records, request))])
  })
})

test.each(contactPaths)('every filter on %s finds the same records as the model', async (path) => {
  await checkLaw(12, filters(small.records, [path]), async (filter) => {
    const request = { filters: [filter] }
    const { body } = await get(small.organization, [...listParameters(request), ['limit', '100'], ['select[]', 'id']])
    expect(idsOf(body)).toEqual(idsOf(modelList(contactModel, small.records, request)))
  })
})

test(
  'the page after or before any record equals the model’s, whether or not that record matches the filter',
  async () => {
    const cursors = fc.constantFrom(...large.records)
    await checkLaw(40, fc.tuple(requests(large.records), cursors, limits), async ([request, cursor, limit]) => {
      const order = idsOf(modelList(contactModel, large.records, { ...request, filters: [], query: undefined }))
      const matching = new Set(idsOf(modelList(contactModel, large.records, request)))
      const position = order.indexOf(cursor.id)
      const isMatch = (id: string) => matching.has(id)
      const parameters = [...listParameters(request), ['limit', String(limit)] as const, ['select[]', 'id'] as const]
      const fetchIds = async (more: Parameters) => idsOf((await get(large.organization, [...parameters, ...more])).body)
      const pages = [[], [['startingAfter', cursor.id]], [['endingBefore', cursor.id]]] as Parameters[]
      const [first, after, before] = await Promise.all(pages.map(fetchIds))
      const matches = (part: readonly string[]) => part.filter(isMatch)
      expect(first).toEqual(matches(order).slice(0, limit))
      expect(after).toEqual(matches(order.slice(position + 1)).slice(0, limit))
      expect(before).toEqual(matches(order.slice(0, position)).slice(-limit))
    })
  },
  lawTimeout,
)

test(
  'a deleted record is not a valid cursor, but a Link header created from it still works',
  async () => {
    const { organization, records } = small
    const some = requests(records).filter((request) => modelList(contactModel, records, request).length > 1)
    await checkLaw(25, fc.tuple(some, limits), async ([request, limit]) => {
      const expected = idsOf(modelList(contactModel, records, request))
      const cut = Math.min(limit, expected.length - 1)
      const parameters = listParameters(request)
      const first = await get(organization, [...parameters, ['limit', String(cut)]])
      const next = linkOf(first, 'next') ?? ''
      const last = first.body.at(-1).id
      await organization.call('DELETE', `/v5/contacts/${last}`)
      try {
        const deleted = await organization.call(
          'GET',
          `/v5/contacts?${queryString([...parameters, ['startingAfter', last]])}`,
        )
        expect(deleted).toMatchObject({
          status: 404,
          body: { code: 'not_found', details: [{ field: 'startingAfter' }] },
        })
        const followed = await organization.call('GET', next)
        expect(idsOf(followed.body)).toEqual(expected.slice(cut, 2 * cut))
        const back = await organization.call('GET', linkOf(followed, 'prev') ?? '')
        expect(idsOf(back.body)).toEqual(expected.slice(0, cut - 1))
      } finally {
        await organization.call('POST', `/v5/contacts/${last}/restore`)
        await spreadTimes(organization, last)
      }
    })
  },
  lawTimeout,
)

test(
  'endingBefore reverses startingAfter: paging back from the end gives the same pages',
  async () => {
    await checkLaw(25, fc.tuple(requests(small.records), limits), async ([request, limit]) => {
      const pages = await pagesOf(small.organization, listParameters(request), limit)
      const parameters = [...listParameters(request), ['limit', String(limit)] as const]
      for (const [index, page] of pages.entries()) {
        const { body } = await get(small.organization, [...parameters, ['endingBefore', page[0] ?? '']])
        expect(idsOf(body)).toEqual(pages[index - 1] ?? [])
      }
    })
  },
  lawTimeout,
)

test(
  'following Link gives the same pages forward and back, and ends at the first and last page',
  async () => {
    await checkLaw(25, fc.tuple(requests(small.records), limits), async ([request, limit]) => {
      const expected = idsOf(modelList(contactModel, small.records, request))
      const forward: string[][] = []
      const back: string[][] = []
      let response = await get(small.organization, [...listParameters(request), ['limit', String(limit)]])
      expect(linkOf(response, 'prev')).toBeUndefined()
      forward.push(idsOf(response.body))
      for (let next = linkOf(response, 'next'); next !== undefined; next = linkOf(response, 'next')) {
        response = await small.organization.call('GET', next)
        forward.push(idsOf(response.body))
      }
      expect(forward.flat()).toEqual(expected)
      expect(forward).toHaveLength(Math.max(1, Math.ceil(expected.length / limit)))
      back.unshift(forward.at(-1) ?? [])
      for (let previous = linkOf(response, 'prev'); previous !== undefined; previous = linkOf(response, 'prev')) {
        response = await small.organization.call('GET', previous)
        back.unshift(idsOf(response.body))
      }
      expect(back).toEqual(forward)
    })
  },
  lawTimeout,
)

test(
  'count equals the length of the list',
  async () => {
    await checkLaw(30, requests(large.records), async (request) => {
      const { body } = await get(large.organization, filterParameters(request), '/v5/contacts/count')
      expect(body).toEqual({ count: modelList(contactModel, large.records, request).length })
    })
  },
  lawTimeout,
)

test(
  'equals and not, like in and notIn, together match every record exactly once',
  async () => {
    const counted = async (filter: ModelFilter) =>
      (await get(small.organization, [filterParameter(filter)], '/v5/contacts/count')).body.count as number
    const opposite: Record<string, string> = { equals: 'not', in: 'notIn' }
    const positive = filters(small.records).filter(({ field, operator, value }) => {
      const other = opposite[operator]
      const type = typeOf(contactModel, field)
      return other !== undefined && (operators[type].includes(other) || (type === 'date' && value === 'null'))
    })
    await checkLaw(60, positive, async (filter) => {
      const complement = { ...filter, operator: opposite[filter.operator] ?? '' }
      const [some = Number.NaN, others = Number.NaN] = await Promise.all([filter, complement].map(counted))
      expect(some + others).toBe(small.records.length)
    })
  },
  lawTimeout,
)

test('select[] returns only the named paths of a record', async () => {
  const paths = [
    ...contactPaths.filter((path) => path !== 'company'),
    'company',
    'customProperties',
    'externalIds',
    'avatar',
  ]
  const selections = fc.uniqueArray(fc.constantFrom(...paths), { minLength: 1, maxLength: 6 })
  await checkLaw(20, selections, async (selected) => {
    const { body } = await get(small.organization, [
      ['limit', '100'],
      ...selected.map((path) => ['select[]', path] as const),
    ])
    expect(body).toEqual(small.records.map((record) => modelSelect(record, selected)))
  })
})

test.skipIf(isDistributed())(
  'every scan type gives the same results',
  async () => {
    const organizationId = decodeId('org', large.organization.organizationId) ?? ''
    const scope = { organization: organizationOnEngine(organizationId), actor: seesAll }
    const cursorScope = { key: Buffer.alloc(32), organizationId, list: 'contacts', orderBy: '' }
    await checkLaw(
      30,
      fc.tuple(requests(large.records), limits, fc.constantFrom(...large.records)),
      async ([request, limit, cursor]) => {
        const narrowing = parseQuery(`/?${queryString(filterParameters(request))}`)
        const count = planCount(contacts, parseFilters(contacts, narrowing), scope).statement.render()
        for (const direction of ['startingAfter', 'endingBefore']) {
          const text = queryString([...listParameters(request), ['limit', String(limit)], [direction, cursor.id]])
          const list = parseList(contacts, parseQuery(`/?${text}`), () => cursorScope)
          const page = toSql(planPage(contacts, list, scope).statement).render()
          const results = await Promise.all(
            clients.map(async (client) => ({
              page: (await client.query<PageRow>(page.text, page.values)).rows,
              count: (await client.query(count.text, count.values)).rows,
            })),
          )
          expect(results[0]?.page[0]).toBeDefined()
          expect(results).toEqual(results.map(() => results[0]))
        }
      },
    )
  },
  lawTimeout,
)
