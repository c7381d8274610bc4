import { raw } from '../src/platform/model/sql.ts'
import { seesAll } from './readers.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ApiError } from '../src/platform/model/errors.ts'
import { parseQuery } from '../src/platform/records/request/query-string.ts'
import { conditionSql, indexKindOf } from '../src/platform/records/filter/condition.ts'
import { conditionsOf } from '../src/platform/records/filter/filter.ts'
import { allOperators } from '../src/platform/records/filter/operators.ts'
import { parseFilters, parseList } from '../src/platform/records/page/parse.ts'
import { columnOf, type Resource, searchedPaths } from '../src/platform/records/declare/define.ts'
import { collectionsWith, createFixture, freezeLastUsedAt } from './collections.ts'
import { filtersFor, fold, jsonOperand, matchesFilter, sortRows, type Path, pathsOf, valueAt } from './field-model.ts'
import { runConcurrently } from './list-calls.ts'
import { lawTimes } from './seed.ts'
import { chosenFields, fullBody, minimalBody, isUniform, variedBody } from './samples.ts'
import { startTestService, type TestService } from './service.ts'
import { casesToTry, isShort } from './suite.ts'
import type { JsonObject } from '../src/platform/model/json.ts'
import type { Fixture, Collection } from './fixture.ts'

const keys = ['plan', 'mixed', 'deep.level', 'absent']
const records = 12

/** In `npm test`, each kind of record once: the notes of a company are a list like those of a contact. */
const lists = casesToTry(collectionsWith('list'), ([, { resource }]) => resource.component)

interface FilledList {
  fixture: Fixture
  rows: JsonObject[]
}

let service: TestService
const filledLists = new Map<string, FilledList>()
beforeAll(async () => {
  service = await startTestService()
  await runConcurrently(
    lists.map(([, collection]) => collection),
    async (collection) => void filledLists.set(collection.path, await fillList(collection)),
  )
})
afterAll(() => service.close())

/** Creates records: one with every field, one with only the required fields, the others with some fields. */
async function fillList(collection: Collection): Promise<FilledList> {
  const { resource } = collection
  const fixture = await createFixture(service)
  for (let index = 1; index <= records; index++) {
    const bodyOf = index === 1 ? fullBody : index === 2 ? minimalBody : variedBody
    await fixture.createRecord(collection, bodyOf(resource, index, fixture.references))
  }
  await freezeLastUsedAt(fixture)
  const { body } = await fixture.request(collection.list, {
    params: fixture.params(collection),
    query: [['limit', '100']],
  })
  expect(body.length).toBeGreaterThanOrEqual(records)
  return { fixture, rows: body }
}

const filledOf = (collection: Collection): FilledList => {
  const found = filledLists.get(collection.path)
  if (!found) throw new Error(`${collection.path} has no records`)
  return found
}

/** The ids in the list, in its order. */
async function idsOfList(collection: Collection, query: readonly (readonly [string, string])[]): Promise<string[]> {
  const { fixture } = filledOf(collection)
  const params = fixture.params(collection)
  const response = await fixture.request(collection.list, { params, query: [...query, ['select[]', 'id']] })
  if (response.status !== 200) throw new Error(`${query.join()}: ${response.text}`)
  return response.body.map(({ id }: JsonObject) => id)
}

/** The ids that a search finds, as many as it counts. */
async function searched({ search, searchCount, ...collection }: Collection, filter: JsonObject): Promise<unknown> {
  const { fixture } = filledOf(collection)
  if (!search || !searchCount) return undefined
  const params = fixture.params(collection)
  const found = await fixture.request(search, { params, body: { filter, limit: 100 } })
  const counted = await fixture.request(searchCount, { params, body: { filter } })
  expect([filter, found.status, counted.body]).toEqual([filter, 200, { count: found.body.length }])
  return found.body.map(({ id }: JsonObject) => id)
}

const isComparable = ({ operators }: Path): boolean => operators.length > 0

/** Milliseconds; the tests send hundreds of requests. */
const timeout = 120_000

test.each(lists)(
  '%s: every operator of every field finds the matching records',
  async (_, collection) => {
    const { resource } = collection
    const { fixture, rows } = filledOf(collection)
    const paths = pathsOf(resource, keys).filter(isComparable)
    // The count uses the same conditions, so it is tested once per operator, type and nesting.
    const counted = new Set<string>()
    expect(paths.length).toBeGreaterThan(3)
    for (const path of paths) {
      const values = rows.map((row) => valueAt(resource, row, path.name))
      const cases = filtersFor(path, values)
      const operators = new Set(cases.map(([operator]) => operator))
      // A date supports `not` only with null, so a required date has no case for `not`.
      expect(path.operators.filter((operator) => !operators.has(operator))).toEqual(
        path.type === 'date' && !path.nullable ? ['not'] : [],
      )
      await runConcurrently(selectCases(resource, path, cases), async ([operator, text]) => {
        const filter = [`filter.${path.name}.${operator}`, text] as const
        const expected = rows.filter((_row, index) => matchesFilter(path, operator, text, values[index] ?? null))
        const ids = await idsOfList(collection, [filter, ['limit', '100']])
        expect([...filter, ids]).toEqual([...filter, expected.map(({ id }) => id)])
        const kind = `${operator} ${path.type} ${path.name.split('.').length}`
        if (!collection.count || counted.has(kind)) return
        counted.add(kind)
        const response = await fixture.request(collection.count, {
          params: fixture.params(collection),
          query: [filter],
        })
        expect([...filter, response.body]).toEqual([...filter, { count: expected.length }])
        if (!collection.search) return
        const tree = { [path.name]: { [operator]: jsonOperand(path, operator, text) } }
        expect([tree, await searched(collection, tree)]).toEqual([tree, expected.map(({ id }) => id)])
      })
    }
  },
  timeout,
)

type Case = ReturnType<typeof filtersFor>[number]

/** SQL of the conditions that were already tested on some list. */
const testedConditions = new Set<string>()

/**
 * The first value of each operator, which some record has; in `npm test`, that of the first operator. Of the other values,
 * those whose SQL was not tested yet on any list, apart from the name of the column; with `LAW_TIMES`, always the last
 * too, which is null or which no record has.
 */
function selectCases(resource: Resource, path: Path, cases: readonly Case[]): Case[] {
  return path.operators.flatMap((operator, position) => {
    const ofOperator = cases.filter(([name]) => name === operator)
    return ofOperator.filter(([, text], index) => {
      const condition = `${path.type} ${index} ${conditionOf(resource, `filter.${path.name}.${operator}`, text)}`
      const isNew = !testedConditions.has(condition)
      testedConditions.add(condition)
      // This key has values of every type.
      const isLast = lawTimes > 1 && index === ofOperator.length - 1
      const isFirst = index === 0 && (position === 0 || !isShort)
      return isNew || isFirst || isLast || path.name.endsWith('.mixed')
    })
  })
}

/** The SQL of a filter, without the name of the column. */
function conditionOf(resource: Resource, name: string, text: string): string {
  const query = parseQuery(`/?${encodeURIComponent(name)}=${encodeURIComponent(text)}`)
  const conditions = conditionsOf(parseFilters(resource, query).filter) ?? []
  return conditions
    .map((condition) => {
      const { value, isOwn } = condition.target
      const statement = conditionSql(resource, condition, { organization: raw('organization'), actor: seesAll })
        .render()
        .text.replaceAll(value.render().text, 'column')
      return `${isOwn} ${indexKindOf(condition)} ${statement}`
    })
    .join()
}

test.each(lists)('%s: an operator of another type is rejected', async (_, collection) => {
  const { fixture } = filledOf(collection)
  const params = fixture.params(collection)
  // One path of each type is tested over HTTP; for the others, only the parser is tested.
  const testedTypes = new Set<string>()
  for (const path of pathsOf(collection.resource, keys)) {
    const others = allOperators.filter((operator) => !path.operators.includes(operator))
    for (const operator of [...others, 'like', 'constructor']) {
      const name = `filter.${path.name}.${operator}`
      for (const fields of refusalsOf(collection, name)) expect(fields).toEqual([400, 'invalid_parameters', name])
      if (testedTypes.has(path.type)) continue
      testedTypes.add(path.type)
      for (const route of [collection.list, collection.count]) {
        if (!route) continue
        const { status, body } = await fixture.request(route, { params, query: [[name, 'null']] })
        expect([status, body.code, ...body.details.map(({ field }: { field: string }) => field)]).toEqual([
          400,
          'invalid_parameters',
          name,
        ])
      }
    }
  }
  expect(testedTypes.size).toBeGreaterThan(2)
})

/** Status, code and fields of the errors for this parameter, of the list and of the count. */
function refusalsOf({ resource }: Collection, name: string): unknown[][] {
  const query = parseQuery(`/?${encodeURIComponent(name)}=null`)
  const cursorScope = { key: Buffer.alloc(32), organizationId: '', list: resource.name, orderBy: '' }
  const read = [() => parseList(resource, query, () => cursorScope), () => parseFilters(resource, query)]
  return read.map((one) => {
    try {
      return [one()]
    } catch (error) {
      const { status, code, details = [] } = error as ApiError
      return [status, code, ...details.map(({ field }) => field)]
    }
  })
}

test.each(lists)(
  '%s: the list can be ordered by every field in both directions, and its pages add up to the whole list',
  async (_, collection) => {
    const { resource } = collection
    const { fixture, rows } = filledOf(collection)
    // Paging is tested for one path of each kind.
    const paged = new Set<string>()
    await runConcurrently(casesToTry(pathsOf(resource, keys), kindOfPath), async (path) => {
      const kind = kindOfPath(path)
      const isFirst = !paged.has(kind)
      paged.add(kind)
      // The SQL of the other direction differs by the kind of path alone.
      const directions = isFirst || lawTimes > 1 ? (['asc', 'desc'] as const) : (['asc'] as const)
      for (const sort of directions) {
        const order = [
          ['orderBy', path.name],
          ['sort', sort],
        ] as const
        if (path.type === 'none') {
          const refused = await fixture.request(collection.list, { params: fixture.params(collection), query: order })
          expect(refused).toMatchObject({ status: 400, body: { details: [{ field: 'orderBy' }] } })
          continue
        }
        const expected = sortRows(resource, rows, path, sort).map(({ id }) => id)
        expect([path.name, sort, await idsOfList(collection, [...order, ['limit', '100']])]).toEqual([
          path.name,
          sort,
          expected,
        ])
        if (isFirst) expect([path.name, sort, await readPages(collection, order)]).toEqual([path.name, sort, expected])
      }
    })
  },
  timeout,
)

const kindOfPath = ({ type, nullable, name }: Path): string => `${type} ${nullable} ${name.split('.').length}`

async function readPages(collection: Collection, order: readonly (readonly [string, string])[]): Promise<string[]> {
  const all: string[] = []
  for (;;) {
    const after = all.at(-1)
    const cursor = after === undefined ? [] : [['startingAfter', after] as const]
    const page = await idsOfList(collection, [...order, ...cursor, ['limit', '5']])
    all.push(...page)
    if (page.length < 5 || all.length > 100) return all
  }
}

test.each(lists)(
  '%s: a search finds a word in any case in every searched field and in no other field',
  async (_, collection) => {
    const { resource } = collection
    const { rows } = filledOf(collection)
    const searched = searchedPaths(resource)
    expect(searched.length).toBeGreaterThan(0)
    const textOf = (row: JsonObject, path: string) => fold([valueAt(resource, row, path)].flat().join('\n'))
    // A view may search fields that it does not show.
    const shown = searched.filter((path) => resource.propertyNames.includes(path.split('.')[0] ?? ''))
    const words = shown.flatMap((path) => {
      const [longest] = rows
        .flatMap((row) => textOf(row, path).split(/\s+/))
        .sort((left, right) => right.length - left.length)
      return longest ? [longest] : []
    })
    // Without a search column, the searched fields may be ones that no sample has.
    if (resource.search.length > 0) expect(words).toHaveLength(shown.length)
    expect(words.length).toBeGreaterThan(0)
    for (const word of [...words, 'zzzz']) {
      const found = await idsOfList(collection, [
        ['query', word.toUpperCase()],
        ['limit', '100'],
      ])
      const isFound = (row: JsonObject) => shown.some((path) => textOf(row, path).includes(word))
      const expected = rows.filter(isFound).map(({ id }) => id)
      const comparable = shown.length === searched.length ? found : found.filter((id) => expected.includes(id))
      expect([word, comparable]).toEqual([word, expected])
    }
  },
)

test.each(lists)('%s: ordering and filtering by an object is rejected', async (_, collection) => {
  const { resource } = collection
  const { fixture } = filledOf(collection)
  const params = fixture.params(collection)
  const objects = resource.propertyNames.filter((name) =>
    ['properties', 'none'].includes(resource.fields[name]?.filter ?? ''),
  )
  for (const name of [...objects, 'unknown', '__proto__', 'createdAt.year']) {
    for (const query of [[['orderBy', name]], [[`filter.${name}.equals`, 'x']]] as const) {
      const response = await fixture.request(collection.list, { params, query })
      expect([query, response.status, response.body.code]).toEqual([query, 400, 'invalid_parameters'])
    }
  }
})

test.each(lists)('%s: every path can be selected, and the response contains only that path', async (_, collection) => {
  const { resource, list, get } = collection
  const { fixture, rows } = filledOf(collection)
  const params = fixture.params(collection)
  const members = resource.propertyNames.filter((name) => name === name.split('.')[0])
  const inner = pathsOf(resource, keys).filter(({ name }) => name.includes('.'))
  const paths = [...members, ...inner.map(({ name }) => name)]
  const kindOf = (path: string) => `${resource.fields[path]?.filter} ${path.split('.').length}`
  await runConcurrently(casesToTry(paths, kindOf), async (path) => {
    const query = [['select[]', path] as const]
    const response = await fixture.request(list, { params, query: [...query, ['limit', '100']] })
    expect(response.status, path).toBe(200)
    expect([path, response.body]).toEqual([path, rows.map((row) => selected(row, path.split('.')))])
    if (!get) return
    const one = await fixture.request(get, { params: fixture.params(collection, String(rows[0]?.id)), query })
    expect([path, one.body]).toEqual([path, selected(rows[0] ?? {}, path.split('.'))])
  })
  const query = ['bogus', 'createdAt.bogus'].map((path) => ['select[]', path] as const)
  const unknown = await fixture.request(list, { params, query })
  expect(unknown).toMatchObject({ status: 400, body: { details: [{ field: 'select[]' }, { field: 'select[]' }] } })
  expect(unknown.body.details[0].message).toMatch(/^"bogus": unknown field/)
  expect(unknown.body.details[1].message).toMatch(/^"createdAt.bogus": unknown field/)
})

/** The part of a record at a path. A missing key is null, and so is a missing object. */
function selected(row: JsonObject, [head = '', ...rest]: string[]): JsonObject {
  const value = row[head] ?? null
  if (rest.length === 0) return { [head]: value }
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return { [head]: isObject ? selected(value, rest) : null }
}

test.each(collectionsWith('count').filter(([path]) => lists.some(([listed]) => listed === path)))(
  '%s: without a filter, the count is the length of the list',
  async (_, collection) => {
    const { fixture, rows } = filledOf(collection)
    const { body } = await fixture.request(collection.count, { params: fixture.params(collection) })
    expect(body).toEqual({ count: rows.length })
  },
)

test.each(lists)('%s: the samples differ in every field', (_, collection) => {
  const { resource } = collection
  const { rows } = filledOf(collection)
  const writable = resource.propertyNames.filter((name) => resource.fields[name]?.writable && name !== 'status')
  // If no field is writable, all stored fields must differ.
  const generated = resource.propertyNames.filter(
    (name) => !resource.fields[name]?.computed && columnOf(name) !== resource.parent?.column,
  )
  const differing = (writable.length > 0 ? writable : generated).filter((name) => !isUniform(resource, name))
  for (const name of differing) {
    const values = new Set(rows.map((row) => JSON.stringify(row[name])))
    expect([name, values.size > 1]).toEqual([name, true])
    const isRequired = name in minimalBody(resource, 1, filledOf(collection).fixture.references)
    const isChosen = chosenFields.includes(`${resource.name}.${name}`)
    if (resource.fields[name]?.nullable && !isRequired && !isChosen)
      expect([name, values.has('null')]).toEqual([name, true])
  }
})
