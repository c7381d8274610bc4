import { afterAll, beforeAll, expect, test } from 'vitest'
import { routes } from '../src/app.ts'
import { isScoped } from '../src/platform/http/route.ts'
import { collections, type RouteOptions, urlOf } from './collections.ts'
import { type MailedService, startMailedService } from './mailed-service.ts'
import { type Probe, type Statements, watchStatements } from './planted-faults.ts'
import { createReachFixture, isRestrictedCollection, isRestrictedId, type ReachFixture } from './reach-fixture.ts'
import { casesOf, findDeviation } from './tenancy.ts'

/** What restricts a statement to the records of a person. */
const reachPredicate = {
  pattern: /(?:\w+|"\w+")\."(?:owner|assignee)_id" = (\$\d+::uuid)/g,
  without: (_: string, parameter: string) => `${parameter} is not null`,
}

let mailed: MailedService
let fixture: ReachFixture
let statements: Statements
beforeAll(async () => {
  mailed = await startMailedService()
  fixture = await createReachFixture(mailed)
  statements = watchStatements(reachPredicate)
}, 60_000)
afterAll(async () => {
  statements.restore()
  await mailed.close()
})

/** The text before a predicate, by which the place in the code that adds it can be recognized in all its statements. */
const siteOf = (location: string): string =>
  location
    .replace(/.* all of .*/, 'all of a statement')
    .slice(-80)
    .replaceAll(/related_\d/g, 'related')
    .replaceAll(/contact|company|deal/g, 'record')
    .slice(-60)

const redundantSites = [
  // The parents of related notes and tasks: they have only one, from which the search comes.
  '.id = related."record_id" and parent.deleted_at is null and ',
  // Only finds the candidates in an index; each of them is tested again.
  'deleted_at is null and (select use_index from decision) and ',
]

/** The requests of reach.test.ts that name a record out of reach. */
const foreignProbes = (): Probe[] =>
  routes
    .filter((route) => isScoped(route) && !route.path.startsWith('/v5/mails'))
    .flatMap((route) => {
      const isWhole = Object.values(route.params).every(({ prefix }) => isRestrictedId(`${prefix}_`))
      return casesOf(route, fixture.ours, fixture.theirs)
        .filter(({ foreign }) => isRestrictedId(foreign.id))
        .filter(
          ({ status, description }) =>
            (status !== 200 &&
              !description.includes('endingBefore') &&
              (isWhole || description !== 'the whole path')) ||
            /^filter\.id\.equals$|\.some in a tree$/.test(description),
        )
        .map((one) => ({
          description: `${route.method} ${route.path}`,
          observe: async () => (await findDeviation(one, fixture.ours, fixture.secrets)) ?? '',
        }))
    })

/** Requests that name no record and must not read, count or name one that is out of reach. */
function ownProbes(): Probe[] {
  const lists = collections.filter(isRestrictedCollection).flatMap((collection) => {
    const params = fixture.ours.params(collection)
    const queries: NonNullable<RouteOptions['query']>[] = [
      [['limit', '100']],
      [
        ['query', 'a'],
        ['limit', '100'],
      ],
    ]
    const isSearched = collection.resource.search.length > 0
    return [
      ...queries.slice(0, isSearched ? 2 : 1).map((query) => probeOf('GET', urlOf(collection.list, { params, query }))),
      ...(collection.restore ? [probeOf('GET', urlOf(collection.list, { params, query: [['deleted', 'true']] }))] : []),
      ...(collection.get
        ? [probeOf('GET', urlOf(collection.get, { params: fixture.ours.params(collection, idIn(collection.path)) }))]
        : []),
    ]
  })
  const name = 'out of reach'
  return [
    ...lists,
    ...['summary', 'forecast'].map((sums) => probeOf('GET', `/v5/deals/${sums}`)),
    probeOf('GET', '/v5/contacts/statistics'),
    probeOf('GET', '/v5/schema'),
    probeOf('POST', '/v5/contacts', { email: 'faults@example.com' }),
    probeOf('POST', '/v5/contacts', { name, externalIds: { billing: 'faults' } }),
    probeOf('POST', '/v5/companies', { name, domain: 'faults.example' }),
    probeOf('PATCH', `/v5/contacts/${idIn('/v5/contacts')}`, { companyId: null }),
    probeOf('POST', '/v5/deals/search/count', { filter: { contacts: { none: { nickname: { equals: name } } } } }),
    probeOf('GET', '/v5/contacts/count?filter.company.name.not=null'),
    probeOf('GET', '/v5/contacts/count?query=hidden'),
  ]
}

const idIn = (path: string): string => fixture.ours.records.get(path) ?? ''

/** Observes status and body; of a written record, only what does not differ between runs. */
const probeOf = (method: string, url: string, body?: unknown): Probe => ({
  description: `${method} ${url.replaceAll(/_[0-9a-f]{32}/g, '')}`,
  observe: async () => {
    const answer = await fixture.person.call(method, url, body === undefined ? {} : { body })
    const { updatedAt: _, ...record } = answer.body ?? {}
    return method === 'PATCH' ? `${answer.status} ${JSON.stringify(record)}` : `${answer.status} ${answer.text}`
  },
})

test('removing the reach of any statement changes the results of some route', async () => {
  const { owner, ours, theirs } = fixture
  await owner.call('PATCH', `/v5/companies/${theirs.references.com?.[0]}`, { body: { name: 'Hidden' } })
  await owner.call('POST', '/v5/contacts', {
    body: { email: 'faults@example.com', nickname: 'out of reach', externalIds: { billing: 'faults' } },
  })
  await owner.call('POST', '/v5/companies', { body: { name: 'Taken', domain: 'faults.example' } })
  await owner.call('POST', '/v5/contacts', { body: { name: 'Ada', customProperties: { secretProperty: 1 } } })
  expect(ours.records.size).toBeGreaterThan(10)
  const { missed, detected } = await statements.plant([...foreignProbes(), ...ownProbes()])
  const found = new Set(detected.map(siteOf))
  expect(found.size).toBeGreaterThan(15)
  expect([...new Set(missed.map(siteOf))].filter((site) => !found.has(site))).toEqual(redundantSites)
}, 180_000)
