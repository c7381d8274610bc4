import fc from 'fast-check'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { modelList, type ModelFilter, type ModelRecord, type ModelResource } from '../../../../test/list-model.ts'
import { filterParameter, type Parameters, queryString } from '../../../../test/list-parameters.ts'
import { type MailedService, startMailedService } from '../../../../test/mailed-service.ts'
import { newOwner, type TestOwner, type TestPerson } from '../../../../test/people.ts'
import { newRole, personWith } from '../../../../test/reach-fixture.ts'
import { lawTimes, runsOf, seed } from '../../../../test/seed.ts'
import type { Call, Json } from '../../../../test/service.ts'
import { bodyOf, levelsOf, matchesTree, type RelatedModel, type Tree, treesOf } from '../../../../test/tree-model.ts'
import { companies } from '../../../crm/companies/resource.ts'
import { contacts } from '../../../crm/contacts/resource.ts'
import { maintainIndexes } from '../properties/index-builds.ts'

// The laws of lists for declared properties, with and without an index, for people who see all records or only some.

const often = <const Value>(...all: [Value, ...Value[]]) => fc.constantFrom(...all)
const choices = ['pro', 'free', 'Max'].map((value) => ({ value, label: value }))
const texts = often('pro', 'Pro', 'école', 'Ecole', '42', 'a,b', '%', 'two words')

interface Kind {
  /** The type in the model. */
  type: ModelResource['types'][string]
  value: fc.Arbitrary<Json>
  operators: [string, ...string[]]
  operand: fc.Arbitrary<string>
  more?: Json
  /** Of the part that is filtered. */
  suffix?: string
}

const equalities = ['equals', 'not', 'in', 'notIn'] as const
const comparisons = ['gt', 'gte', 'lt', 'lte'] as const

const kinds: Record<string, Kind> = {
  text: { type: 'string', value: texts, operators: [...equalities, 'contains', 'startsWith'], operand: texts },
  number: {
    type: 'number',
    value: often(0, 1, 1.5, -7, 42),
    operators: ['equals', 'not', 'in', ...comparisons],
    operand: often('0', '1.50', '42', '-7', '3'),
  },
  boolean: { type: 'boolean', value: fc.boolean(), operators: ['equals', 'not'], operand: often('true', 'false') },
  date: {
    type: 'date',
    value: often('2026-01-01', '2026-01-02', '2025-12-31'),
    operators: ['equals', ...comparisons],
    operand: often('2026-01-01', '2026-01-02', '2024-02-29'),
  },
  choice: {
    type: 'string',
    value: often('pro', 'free'),
    operators: [...equalities],
    operand: often('pro', 'free', 'Max'),
    more: { choices },
  },
  multiChoice: {
    type: 'array',
    value: fc.uniqueArray(often('pro', 'free', 'Max'), { maxLength: 3 }),
    operators: ['has', 'hasEvery', 'hasSome', 'isEmpty'],
    operand: often('pro', 'free', 'Max'),
    more: { choices },
  },
  money: {
    type: 'number',
    value: fc.record({ amount: often('1.00', '1.50', '-3.00', '20000.00'), currency: fc.constant('EUR') }),
    operators: ['equals', 'not', 'in', ...comparisons],
    operand: often('1', '1.5', '-3', '5'),
    suffix: '.amount',
  },
}

const keys = Object.keys(kinds).flatMap((name) => [`${name}Indexed`, `${name}Plain`])
const kindOf = (key: string): Kind => kinds[key.replace(/Indexed|Plain/, '')] as Kind
const pathOf = (key: string) => `customProperties.${key}${kindOf(key).suffix ?? ''}`
const types = Object.fromEntries(keys.map((key) => [pathOf(key), kindOf(key).type]))

const contactModel: ModelResource = {
  types: { ...types, id: 'id', name: 'string', city: 'string', createdAt: 'date' },
  searched: [],
  standsFor: {},
}
const companyModel: ModelResource = { types: { ...types, id: 'id', name: 'string' }, searched: [], standsFor: {} }
const taskModel: ModelResource = { types: { title: 'string', done: 'boolean' }, searched: [], standsFor: {} }

const properties = fc.record(Object.fromEntries(keys.map((key) => [key, kindOf(key).value])), { requiredKeys: [] })

/** A person, what they see, and a view of theirs. */
interface Reader {
  call: Call
  visible: readonly ModelRecord[]
  model: RelatedModel
  viewId: string
}

let mailed: MailedService
let owner: TestOwner
let readers: Record<'all' | 'team' | 'own', Reader>

beforeAll(async () => {
  mailed = await startMailedService()
  owner = await newOwner(mailed.service)
  const definitions = await define()
  const [own, team] = [await personWith(mailed, owner, await newRole(owner, 'own')), await teamMember()]
  const teamIds = (await owner.call('GET', '/v5/teams')).body.map(({ id }: Json) => id)
  await fill([null, own.userId, team.userId, owner.userId], teamIds, 0)
  for (const id of definitions) await owner.call('PATCH', `/v5/properties/${id}`, { body: { indexed: true } })
  // Half of the records get their entries from the construction of the indexes, and half from their own creation.
  await fill([null, own.userId, team.userId, owner.userId], teamIds, 1)
  for (const id of definitions) await waitForIndex(id)
  readers = {
    all: await readerOf(owner.call, () => true),
    team: await readerOf(team.call, (id, teamId) => id === team.userId || teamId === team.teamId),
    own: await readerOf(own.call, (id) => id === own.userId),
  }
  for (const { visible } of Object.values(readers)) expect(visible.length).toBeGreaterThan(8)
}, 120_000)
afterAll(() => mailed.close())

async function create(call: Call, path: string, body: object): Promise<Json> {
  const made = await call('POST', path, { body })
  expect(made.status, `${path} ${made.text}`).toBe(201)
  return made.body
}

/** Declares each property for contacts and companies; returns those that get an index. */
async function define(): Promise<string[]> {
  const indexed: string[] = []
  for (const resource of ['contacts', 'companies'])
    for (const key of keys) {
      const body = { resource, key, type: key.replace(/Indexed|Plain/, ''), label: key, ...kindOf(key).more }
      const { id } = await create(owner.call, '/v5/properties', body)
      if (key.endsWith('Indexed')) indexed.push(id)
    }
  return indexed
}

/** A person who sees the records of a team, of which nobody else is a member. */
async function teamMember(): Promise<TestPerson & { teamId: string }> {
  const person = await personWith(mailed, owner, await newRole(owner, 'team'))
  const { id } = await create(owner.call, '/v5/teams', { name: 'North' })
  await owner.call('POST', `/v5/teams/${id}/members/${person.userId}`)
  return { ...person, teamId: id }
}

async function fill(people: readonly (string | null)[], teamIds: readonly string[], half: number): Promise<void> {
  const { call } = owner
  const [values = []] = fc.sample(fc.array(properties, { minLength: 48, maxLength: 48 }), {
    seed: seed + half,
    numRuns: 1,
  })
  const ids: string[] = []
  for (const [index, customProperties] of values.entries()) {
    const ownerId = people[index % people.length]
    const common = { name: `Record ${index % 7}`, ownerId, customProperties }
    if (index < 8) {
      ids.push((await create(call, '/v5/companies', common)).id)
      continue
    }
    const companyId = index % 3 === 0 ? null : ids[(index * 5) % ids.length]
    const teamId = teamIds[(index >> 2) % teamIds.length]
    const body = { ...common, city: index % 3 === 0 ? 'Berlin' : 'Paris', companyId, teamId }
    const contact = await create(call, '/v5/contacts', body)
    if (index % 2 === 0) continue
    const task = { title: `Task ${index % 5}`, contactId: contact.id, assigneeId: people[(index >> 1) % people.length] }
    const { id } = await create(call, '/v5/tasks', task)
    if (index % 3 === 0) await call('PATCH', `/v5/tasks/${id}`, { body: { done: true } })
  }
}

async function waitForIndex(id: string): Promise<void> {
  await maintainIndexes(
    {
      database: mailed.service.database,
      definable: [contacts, companies],
      onError: (error) => expect(error).toBeUndefined(),
    },
    new AbortController().signal,
    20,
  )
  const state = async () => (await owner.call('GET', `/v5/properties/${id}`)).body.indexState
  await vi.waitFor(async () => expect(await state()).toBe('ready'), { timeout: 20_000 })
}

/** `sees`: the rule of docs/guides/permissions.md for the owner and the team of a record. */
async function readerOf(call: Call, sees: (ownerId: string | null, teamId?: string) => boolean): Promise<Reader> {
  const all = async (path: string) => (await owner.call('GET', `${path}?limit=100`)).body as Json[]
  const contactsSeen = (await all('/v5/contacts')).filter(({ ownerId, teamId }) => sees(ownerId, teamId))
  const companiesSeen = (await all('/v5/companies')).filter(({ ownerId }) => sees(ownerId))
  const tasksSeen = (await all('/v5/tasks')).filter(({ assigneeId }) => sees(assigneeId))
  const related = (resource: ModelResource) => ({ resource, relations: {} })
  const view = { name: 'Law', resource: 'contacts' }
  return {
    call,
    visible: contactsSeen,
    model: {
      resource: contactModel,
      relations: {
        company: {
          model: related(companyModel),
          of: ({ companyId }) => companiesSeen.filter(({ id }) => id === companyId) as ModelRecord[],
        },
        tasks: {
          model: related(taskModel),
          of: (contact) => tasksSeen.filter(({ contactId }) => contactId === contact.id) as ModelRecord[],
        },
      },
    },
    viewId: (await create(call, '/v5/views', view)).id,
  }
}

const filter: fc.Arbitrary<ModelFilter> = fc.constantFrom(...keys).chain((key) => {
  const { operators, operand, type } = kindOf(key)
  return fc
    .record({ operator: often(...operators), one: operand, two: operand, isNull: often(false, false, true) })
    .map(({ operator, one, two, isNull }): ModelFilter => {
      const isList = ['in', 'notIn', 'hasEvery', 'hasSome'].includes(operator)
      const mayBeNull = isNull && (operator === 'equals' || (operator === 'not' && type !== 'date'))
      const value = operator === 'isEmpty' ? String(one < two) : isList ? [one, two] : mayBeNull ? 'null' : one
      return { field: pathOf(key), operator, value }
    })
})

const builtIn: fc.Arbitrary<ModelFilter> = fc.record({
  field: fc.constant('city'),
  operator: often('equals', 'not'),
  value: often('Berlin', 'Paris'),
})
const ofTask: fc.Arbitrary<Tree> = fc.oneof(
  fc.record({ field: fc.constant('done'), operator: fc.constant('equals'), value: often('true', 'false') }),
  fc.record({ field: fc.constant('title'), operator: often('equals', 'not'), value: often('Task 1', 'Task 3') }),
)
const related = (relation: string, inner: fc.Arbitrary<Tree>): fc.Arbitrary<Tree> =>
  fc.record({ relation: fc.constant(relation), test: often('some', 'none'), tree: treesOf(inner, 1) })

const leaf: fc.Arbitrary<Tree> = fc.oneof(
  { weight: 5, arbitrary: filter },
  { weight: 1, arbitrary: builtIn },
  { weight: 1, arbitrary: related('company', filter) },
  { weight: 1, arbitrary: related('tasks', ofTask) },
)
const trees = fc.noShrink(treesOf(leaf, 2)).filter((tree) => levelsOf(tree) <= 3)

const cases = fc.record({
  who: often('all', 'team', 'own'),
  tree: trees,
  also: filter,
  orderBy: fc.constantFrom('createdAt', 'name', ...keys.map(pathOf)),
  sort: often('asc', 'desc'),
  limit: often(3, 10, 40),
})

async function send(call: Call, method: string, path: string, body?: object): Promise<Json> {
  const answer = await call(method, path, body ? { body } : {})
  expect(answer.status, `${path} ${JSON.stringify(body)} ${answer.text}`).toBe(200)
  return answer
}

const idsOf = (found: readonly { id: string }[]): string[] => found.map(({ id }) => id)

/** The ids of all pages, of which each but the last one must be full. */
async function pagesOf(call: Call, method: string, path: string, limit: number, body?: object): Promise<string[]> {
  const ids: string[] = []
  for (let next: string | undefined = path; next !== undefined;) {
    const { body: page, headers } = await send(call, method, next, body)
    ids.push(...idsOf(page))
    next = /<[^>]*?(\/v5[^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1]
    expect(page.length === limit || next === undefined).toBe(true)
  }
  return ids
}

const url = (path: string, parameters: Parameters) => `${path}?${queryString(parameters)}`

test(
  'lists, searches and views find what the model finds, page by page; counts are their length, and not finds the rest',
  async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ who, tree, also, orderBy, sort, limit }) => {
        const { call, visible, model, viewId } = readers[who]
        const both = { and: [tree, also] }
        const matching = visible.filter((record) => matchesTree(model, both, record))
        const expected = idsOf(modelList(contactModel, matching, { filters: [], orderBy, sort }))
        const [filter, whole] = [bodyOf(model, tree), bodyOf(model, both)]
        const size = { limit, select: ['id'] }
        const searched = await pagesOf(call, 'POST', '/v5/contacts/search', limit, {
          filter: whole,
          orderBy,
          sort,
          ...size,
        })
        expect(searched).toEqual(expected)
        await send(call, 'PATCH', `/v5/views/${viewId}`, { filter, orderBy, sort })
        const parameters: Parameters = [['view', viewId], filterParameter(also)]
        const shown = url('/v5/contacts', [...parameters, ['limit', String(limit)], ['select[]', 'id']])
        expect(await pagesOf(call, 'GET', shown, limit)).toEqual(expected)
        const counts = await Promise.all([
          send(call, 'GET', url('/v5/contacts/count', parameters)),
          send(call, 'POST', '/v5/contacts/search/count', { view: viewId, filter: bodyOf(model, also) }),
          send(call, 'POST', '/v5/contacts/search/count', { filter: { not: whole } }),
        ])
        expect(counts.map(({ body }) => body.count)).toEqual([
          expected.length,
          expected.length,
          visible.length - expected.length,
        ])
      }),
      { seed, numRuns: runsOf(60) },
    )
  },
  120_000 * lawTimes,
)

test('every filter and every order of a declared property finds what the model finds', async () => {
  for (const key of keys) {
    const path = pathOf(key)
    const { visible, call } = readers.all
    for (const operator of kindOf(key).operators)
      for (const one of fc.sample(
        filter.filter((given) => given.field === path && given.operator === operator),
        { seed, numRuns: 2 },
      )) {
        const request = { filters: [one], orderBy: path, sort: 'desc' as const }
        const found = await send(
          call,
          'GET',
          url('/v5/contacts', [filterParameter(one), ['orderBy', path], ['sort', 'desc'], ['limit', '100']]),
        )
        expect([one, idsOf(found.body)]).toEqual([one, idsOf(modelList(contactModel, visible, request))])
      }
  }
})
