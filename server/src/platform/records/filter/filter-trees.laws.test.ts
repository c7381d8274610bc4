import { seesAll } from '../../../../test/readers.ts'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { serviceActor } from '../../model/caller.ts'
import { toSql } from '../../database/fixed-statements.ts'
import { decodeId, encodeId } from '../../model/ids.ts'
import { type Sql, sql } from '../../model/sql.ts'
import { type Filter, filterIndexKind } from './filter.ts'
import { matching, type PageRow, planCount, planPage } from '../page/page.ts'
import { parseFilters, parseList } from '../page/parse.ts'
import { contacts } from '../../../crm/contacts/resource.ts'
import { contactStore } from '../../../crm/contacts/store.ts'
import { contactBodies, contactModel, filters } from '../../../../test/list-arbitraries.ts'
import type { ModelRecord } from '../../../../test/list-model.ts'
import { organizationOnEngine } from '../../../../test/engines.ts'
import { runsOf, seed } from '../../../../test/seed.ts'
import { startTestService, type TestService } from '../../../../test/service.ts'
import { matchesTree, type RelatedModel, type Tree, treesOf } from '../../../../test/tree-model.ts'

let service: TestService
let organization: Sql
let records: ModelRecord[]
beforeAll(async () => {
  service = await startTestService()
  const { organizationId, userId, call } = await service.newOrganization()
  const uuid = decodeId('org', organizationId) ?? ''
  organization = organizationOnEngine(uuid)
  const company = await call('POST', '/v5/companies', { body: { name: 'Engines', domain: 'engines.example' } })
  const [bodies = []] = fc.sample(contactBodies(100, [company.body.id]), { seed, numRuns: 1 })
  const changes = bodies.map((values) => ({ kind: 'create' as const, values }))
  await service.database.transaction(serviceActor('command', uuid, decodeId('usr', userId) ?? ''), (transaction) =>
    contactStore.write(transaction, changes),
  )
  records = (await call('GET', '/v5/contacts?limit=100')).body
  expect(records).toHaveLength(100)
})
afterAll(() => service.close())

const model: RelatedModel = { resource: contactModel, relations: {} }

function filterOf(tree: Tree): Filter {
  if ('not' in tree) return { not: filterOf(tree.not) }
  if ('and' in tree) return { and: tree.and.map(filterOf) }
  if ('or' in tree) return { or: tree.or.map(filterOf) }
  if ('relation' in tree) throw new Error('these trees have no relations')
  const { field, operator, value } = tree
  const text = typeof value === 'string' ? value : value.map((item) => item.replace(/[\\,]/g, '\\$&')).join(',')
  return parseFilters(contacts, [{ name: `filter.${field}.${operator}`, value: text }]).filter
}

const query = <Row extends object>(statement: Sql): Promise<Row[]> =>
  service.database.crossTenantQuery<Row>('check the database', statement)

const allContacts = () =>
  parseList(contacts, [{ name: 'limit', value: '100' }], (orderBy) => ({
    key: Buffer.alloc(32),
    organizationId: '',
    list: '',
    orderBy,
  }))

test('a tree of and, or and not finds the same records as in memory: in a list, in a count and by record', async () => {
  await fc.assert(
    fc.asyncProperty(treesOf(filters(records)), async (tree) => {
      const expected = records.filter((record) => matchesTree(model, tree, record)).map(({ id }) => id)
      const filter = filterOf(tree)
      const [page] = await query<PageRow>(
        toSql(planPage(contacts, { ...allContacts(), filter }, { organization, actor: seesAll }).statement),
      )
      expect(JSON.parse(page?.text ?? '').map(({ id }: ModelRecord) => id)).toEqual(expected)
      const request = { filter, words: [], deleted: false }
      const [{ count } = { count: '' }] = await query<{ count: string }>(
        planCount(contacts, request, { organization, actor: seesAll }).statement,
      )
      expect(Number(count)).toBe(expected.length)
      // Conditions on embedded records need joins, which only lists and counts have.
      if (JSON.stringify(tree).includes('"company')) return
      const found = await query<{ id: string }>(
        sql`select id from contacts record where ${matching(contacts, request, { organization, actor: seesAll })}`,
      )
      expect(found.map(({ id }) => encodeId('con', id)).sort()).toEqual([...expected].sort())
    }),
    { numRuns: runsOf(150), seed },
  )
})

test('the cost of a tree is that of its most expensive alternative and its cheapest required condition', () => {
  const filterBy = (name: string, value: string): Filter => parseFilters(contacts, [{ name, value }]).filter
  const [indexed, searched, scanned] = [
    filterBy('filter.email.equals', 'a@b.com'),
    filterBy('filter.name.contains', 'lovelace'),
    filterBy('filter.city.equals', 'Paris'),
  ]
  expect(filterIndexKind({ and: [scanned, searched, indexed] })).toBe('sorted')
  expect(filterIndexKind({ or: [searched, indexed] })).toBe('inverted')
  expect(filterIndexKind({ or: [indexed] })).toBe('sorted')
  expect(filterIndexKind({ or: [indexed, scanned] })).toBeUndefined()
  expect(filterIndexKind({ not: indexed })).toBeUndefined()
  expect(
    planCount(
      contacts,
      { filter: { or: [indexed, scanned] }, words: [], deleted: false },
      { organization, actor: seesAll },
    ).isExpensive,
  ).toBe(true)
})

test('the filters of a URL make the same statement whether flat or nested', () => {
  const [first, second] = ['status', 'city'].map((name) => parseFilters(contacts, [{ name, value: 'x' }]).filter)
  if (!first || !second) throw new Error('expected two filters')
  const textOf = (filter: Filter) =>
    planCount(contacts, { filter, words: [], deleted: false }, { organization, actor: seesAll }).statement.render().text
  const flat = parseFilters(contacts, [
    { name: 'status', value: 'x' },
    { name: 'city', value: 'x' },
  ]).filter
  expect(textOf({ and: [first, { and: [second] }] })).toBe(textOf(flat))
  expect(textOf(first)).toBe(textOf({ and: [{ and: [first] }] }))
})
