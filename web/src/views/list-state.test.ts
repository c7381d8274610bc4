import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { ResourceSchema } from '../api/schema.ts'
import { inBrowser } from '../../test/browser-globals.ts'

afterAll(inBrowser())
const { defaultBase, isChanged, parseListState, recordFilterOf, writeListState } = await import('./list-state.ts')
const { parseSearch, stringifySearch } = await import('../api/search.ts')

const fields = ['name', 'status', 'tags', 'createdAt'].map((name) => ({ name, type: 'text' }))
const resourceOf = (name: string) => ({ name, titleField: 'name', fields, embedded: [] }) as unknown as ResourceSchema
const [contacts, deals] = [resourceOf('contacts'), resourceOf('deals')]

type State = ReturnType<typeof parseListState>

/** The state of a page that opens the URL of a list. */
const reopened = (resource: ResourceSchema, state: State, base = defaultBase(resource)): State =>
  parseListState(resource, parseSearch(stringifySearch(writeListState(resource, state, base))), base)

const filter = fc.record({
  field: fc.constantFrom('name', 'status', 'customProperties.plan', 'company.name'),
  operator: fc.constantFrom('equals', 'not', 'contains', 'in'),
  value: fc.constantFrom('a', 'b', 'a,b', 'ä & b', '100%', 'null'),
})
/** In a URL, conditions with the same field and operator are adjacent. */
const inAddress = <Filter extends { field: string; operator: string }>(filters: readonly Filter[]): Filter[] =>
  [...new Set(filters.map(({ field, operator }) => `${field} ${operator}`))].flatMap((key) =>
    filters.filter(({ field, operator }) => `${field} ${operator}` === key),
  )
const column = fc.record({
  name: fc.constantFrom('name', 'status', 'customProperties.plan'),
  width: fc.integer({ min: 40, max: 900 }),
  isPinned: fc.boolean(),
})
const states = fc.record({
  query: fc.constantFrom('', 'ada', 'a&b=c'),
  filters: fc.array(filter, { maxLength: 4 }).map(inAddress),
  parts: fc.constantFrom([], [{ or: [{ name: { equals: 'a' } }, { tags: { has: 'b' } }] }]),
  orderBy: fc.constantFrom('createdAt', 'name'),
  sort: fc.constantFrom('asc' as const, 'desc' as const),
  columns: fc.array(column, { minLength: 1, maxLength: 3 }),
  layout: fc.constantFrom('table' as const, 'board' as const),
  board: fc.constantFrom(undefined, 'pip_1'),
})
const shown = fc.record({
  isDeleted: fc.boolean(),
  peek: fc.constantFrom(undefined, 'con_1'),
  view: fc.constantFrom(undefined, 'vie_1'),
})

test('the URL of a list restores the same list, with or without a view', () => {
  fc.assert(
    fc.property(states, states, shown, (base, changed, more) => {
      // A URL cannot remove the board of a view.
      const state: State = { ...changed, board: changed.board ?? base.board, ...more, isFilterInvalid: false }
      expect(reopened(deals, state, base)).toEqual(state)
      // Values that do not differ from the view are omitted.
      const { view: _, layout: __, ...rest } = writeListState(deals, { ...state, ...base }, base)
      expect(Object.keys(rest)).toEqual([...(more.isDeleted ? ['deleted'] : []), ...(more.peek ? ['peek'] : [])])
      expect(isChanged({ ...state, ...base }, base)).toBe(false)
    }),
  )
})

test('two conditions on a field are both in the URL, and in the request', () => {
  const filters = ['a', 'b'].map((value) => ({ field: 'tags', operator: 'has', value }))
  const state = { ...parseListState(contacts, {}), filters }
  expect(stringifySearch(writeListState(contacts, state))).toBe('?filter.tags.has=a&filter.tags.has=b')
  expect(reopened(contacts, state).filters).toEqual(filters)
  const { query } = recordFilterOf(contacts, state).requestOf('/v5/contacts', new URLSearchParams())
  expect(query.getAll('filter.tags.has')).toEqual(['a', 'b'])
  const inTree = { ...state, query: 'ada', isDeleted: true, parts: [{ or: [{ name: { equals: 'a' } }] }] }
  expect(recordFilterOf(contacts, inTree).requestOf('/v5/contacts', new URLSearchParams({ limit: '3' }))).toMatchObject(
    {
      path: '/v5/contacts/search',
      body: {
        query: 'ada',
        deleted: true,
        limit: 3,
        filter: { and: [{ tags: { has: 'a' } }, { tags: { has: 'b' } }, { or: [{ name: { equals: 'a' } }] }] },
      },
    },
  )
})

test('the URL of a list without the filter of its view says so', () => {
  const base = { ...defaultBase(contacts), filters: [{ field: 'status', operator: 'equals', value: 'active' }] }
  const state = { ...parseListState(contacts, {}, base), filters: [] }
  expect(writeListState(contacts, state, base)).toEqual({ tree: '{}' })
  expect(reopened(contacts, state, base).filters).toEqual([])
  expect(parseListState(contacts, { tree: '[' }).isFilterInvalid).toBe(true)
})
