import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { serviceActor } from '../../model/caller.ts'
import { decodeId } from '../../model/ids.ts'
import { contactStore } from '../../../crm/contacts/store.ts'
import { contactBodies, contactModel, filters, nastyTexts, orderPaths } from '../../../../test/list-arbitraries.ts'
import { modelList, type ModelRecord, type ModelResource } from '../../../../test/list-model.ts'
import { runsOf, seed } from '../../../../test/seed.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../../test/service.ts'
import {
  bodyOf,
  levelsOf,
  matchesTree,
  relationsIn,
  type RelatedModel,
  type Tree,
  treesOf,
} from '../../../../test/tree-model.ts'

const companyModel: ModelResource = {
  types: { id: 'id', name: 'string', domain: 'string', employeesCount: 'number', createdAt: 'date' },
  searched: [],
  standsFor: {},
}
const noteModel: ModelResource = {
  types: { id: 'id', contactId: 'id', body: 'string', source: 'string', createdAt: 'date' },
  searched: [],
  standsFor: {},
}

let service: TestService
let organization: TestOrganization
let records: readonly ModelRecord[]
let model: RelatedModel
/** Conditions on contacts and on the records that are related to them. */
let leaves: fc.Arbitrary<Tree>

beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
  const names = nastyTexts.filter((text) => [...text].length < 100).slice(0, 9)
  const companyIds: string[] = []
  for (const [index, name] of names.entries())
    companyIds.push(await create('/v5/companies', { name, employeesCount: index % 3 === 0 ? null : index }))
  await createContacts(100, companyIds.slice(0, 7))
  await organization.call('DELETE', `/v5/companies/${companyIds[0]}`)
  const contactIds = (await readAll('/v5/contacts')).map(({ id }) => id)
  for (let index = 0; index < 60; index++) {
    const path = `/v5/contacts/${contactIds[(index * index) % 37]}/notes`
    const noteId = await create(path, { body: `${names[index % names.length]} ${index % 5}` })
    if (index % 6 === 0) await organization.call('DELETE', `/v5/notes/${noteId}`)
  }
  const [companies, notes] = [await readAll('/v5/companies'), await readAll('/v5/notes')]
  // Notes have changed the time of the last activity.
  records = await readAll('/v5/contacts')
  const company: RelatedModel = {
    resource: companyModel,
    relations: {
      contacts: {
        get model() {
          return model
        },
        of: ({ id }) => records.filter(({ companyId }) => companyId === id),
      },
    },
  }
  model = {
    resource: contactModel,
    relations: {
      company: { model: company, of: ({ companyId }) => companies.filter(({ id }) => id === companyId) },
      notes: {
        model: { resource: noteModel, relations: {} },
        of: ({ id }) => notes.filter(({ contactId }) => contactId === id),
      },
    },
  }
  leaves = leavesOf(names)
})
afterAll(() => service.close())

async function create(path: string, body: object): Promise<string> {
  const created = await organization.call('POST', path, { body })
  if (created.status !== 201) throw new Error(created.text)
  return created.body.id
}

async function createContacts(count: number, companyIds: readonly string[]): Promise<void> {
  const [bodies = []] = fc.sample(contactBodies(count, companyIds), { seed, numRuns: 1 })
  const actor = serviceActor('command', uuid(organization.organizationId), uuid(organization.userId))
  await service.database.transaction(actor, (transaction) =>
    contactStore.write(
      transaction,
      bodies.map((values) => ({ kind: 'create' as const, values })),
    ),
  )
}

const uuid = (id: string): string => decodeId(id.slice(0, 3), id) ?? ''

const readAll = async (path: string): Promise<ModelRecord[]> =>
  (await organization.call('GET', `${path}?limit=100`)).body

function leavesOf(names: readonly string[]): fc.Arbitrary<Tree> {
  const name = fc.constantFrom(...names)
  const text = fc.constantFrom('equals', 'not', 'contains', 'startsWith', 'endsWith')
  const number = fc.record({
    field: fc.constant('employeesCount'),
    operator: fc.constantFrom('equals', 'not', 'gt', 'lte'),
    value: fc.constantFrom('1', '4', '7.5'),
  })
  const companies: fc.Arbitrary<Tree> = fc.oneof(
    fc.record({ field: fc.constant('name'), operator: text, value: name }),
    fc.record({ field: fc.constant('domain'), operator: fc.constantFrom('equals', 'not'), value: fc.constant('null') }),
    number,
  )
  const notes: fc.Arbitrary<Tree> = fc.oneof(
    fc.record({ field: fc.constant('body'), operator: text, value: fc.oneof(name, fc.constantFrom(' 1', ' 4', ' 7')) }),
    fc.record({
      field: fc.constant('source'),
      operator: fc.constantFrom('equals', 'not'),
      value: fc.constantFrom('manual', 'import'),
    }),
  )
  const related = (relation: string, inner: fc.Arbitrary<Tree>): fc.Arbitrary<Tree> =>
    fc.record({ relation: fc.constant(relation), test: fc.constantFrom('some', 'none'), tree: treesOf(inner, 1) })
  const notesOrContacts = fc.oneof(companies, related('contacts', filters(records)))
  return fc.oneof(
    { weight: 2, arbitrary: filters(records) },
    { weight: 1, arbitrary: related('company', notesOrContacts) },
    { weight: 1, arbitrary: related('notes', notes) },
  )
}

/** Two of these trees can be negated and combined within the limits. */
const trees = () => fc.noShrink(treesOf(leaves, 2)).filter((tree) => levelsOf(tree) <= 3 && relationsIn(tree) <= 5)

async function search(body: object, url = '/v5/contacts/search'): Promise<Json> {
  const answer = await organization.call('POST', url, { body })
  if (answer.status !== 200) throw new Error(`${JSON.stringify(body)} returned ${answer.text}`)
  return answer
}

const count = async (filter: object): Promise<number> =>
  (await search({ filter }, '/v5/contacts/search/count')).body.count

const idsOf = (found: readonly { id: string }[]): string[] => found.map(({ id }) => id)

/** The pages in the direction of `rel`, from the first response on. */
async function follow(
  first: Json,
  relation: 'next' | 'prev',
  body: object,
): Promise<{ pages: string[][]; last: Json }> {
  const pages = [idsOf(first.body)]
  let last = first
  for (;;) {
    const url = new RegExp(`<[^>]*?(/v5[^>]+)>; rel="${relation}"`).exec(last.headers.get('link') ?? '')?.[1]
    if (url === undefined) return { pages, last }
    last = await search(body, url)
    pages.push(idsOf(last.body))
  }
}

const law = <Case>(cases: fc.Arbitrary<Case>, runs: number, check: (one: Case) => Promise<void>): Promise<void> =>
  fc.assert(
    fc.asyncProperty(cases, (one) => check(one)),
    { seed, numRuns: runsOf(runs) },
  )

test('the pages of a search add up to the records that the model finds, in order and in both directions', async () => {
  const cases = fc.record({
    tree: trees(),
    orderBy: fc.constantFrom(...orderPaths),
    sort: fc.constantFrom('asc' as const, 'desc' as const),
    limit: fc.constantFrom(1, 7, 30, 100),
  })
  await law(cases, 40, async ({ tree, orderBy, sort, limit }) => {
    const matching = records.filter((record) => matchesTree(model, tree, record))
    const expected = idsOf(modelList(contactModel, matching, { filters: [], orderBy, sort }))
    // Few pages, so that each case is quick.
    const body = {
      filter: bodyOf(model, tree),
      orderBy,
      sort,
      select: ['id'],
      limit: expected.length > 30 ? 30 : limit,
    }
    const forward = await follow(await search(body), 'next', body)
    expect(forward.pages.flat()).toEqual(expected)
    const back = await follow(forward.last, 'prev', body)
    expect(back.pages.reverse()).toEqual(forward.pages)
  })
})

test('the count is the length of the list, and not matches exactly the other records', async () => {
  await law(trees(), 40, async (tree) => {
    const filter = bodyOf(model, tree)
    const expected = records.filter((record) => matchesTree(model, tree, record)).length
    expect([await count(filter), await count({ not: filter })]).toEqual([expected, records.length - expected])
    const { body } = await search({ filter, limit: 100, select: ['id'] })
    expect(body).toHaveLength(expected)
  })
})

test('not distributes over and and or (De Morgan)', async () => {
  await law(fc.tuple(trees(), trees()), 30, async ([left, right]) => {
    const [a, b] = [bodyOf(model, left), bodyOf(model, right)]
    const ids = async (filter: object) => idsOf((await search({ filter, limit: 100, select: ['id'] })).body)
    expect(await ids({ not: { or: [a, b] } })).toEqual(await ids({ and: [{ not: a }, { not: b }] }))
    expect(await ids({ not: { and: [a, b] } })).toEqual(await ids({ or: [{ not: a }, { not: b }] }))
  })
})

test('some and none of a relation together match every record exactly once', async () => {
  const relations = leaves.filter((leaf) => 'relation' in leaf)
  await law(relations, 25, async (leaf) => {
    if (!('relation' in leaf)) return
    const counts = [bodyOf(model, { ...leaf, test: 'some' }), bodyOf(model, { ...leaf, test: 'none' })].map(count)
    const [some = Number.NaN, none = Number.NaN] = await Promise.all(counts)
    expect(some + none).toBe(records.length)
  })
})
