import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { routes } from '../src/app.ts'
import { isScoped } from '../src/platform/http/route.ts'
import { decodeId } from '../src/platform/model/ids.ts'
import { identifier, type Sql, sql } from '../src/platform/model/sql.ts'
import { collections, urlOf } from './collections.ts'
import { type MailedService, startMailedService } from './mailed-service.ts'
import {
  expectOnlyRedundant,
  type Probe,
  type RedundantPredicate,
  type Statements,
  watchStatements,
} from './planted-faults.ts'
import {
  createReachFixture,
  isRestrictedCollection,
  isRestrictedId,
  ownedTables,
  ownerColumns,
  type ReachFixture,
} from './reach-fixture.ts'
import { until } from './processes.ts'
import type { Json } from './service.ts'
import { analysedNote } from './suggested.ts'
import { describeTemplate, isSentIn, sqlTemplates } from './source-statements.ts'
import { casesOf, findDeviation, requestOf } from './tenancy.ts'
import type { RouteOptions } from './fixture.ts'

/** What restricts a statement to the records of a person. */
const reachPredicate = {
  pattern: /(?:\w+|"\w+")\."(?:owner|assignee)_id" = (\$\d+::uuid)/g,
  without: (_: string, parameter: string) => `${parameter} is not null`,
}

let mailed: MailedService
let fixture: ReachFixture
let statements: Statements
/** The statements of all probes. */
const sent = new Set<string>()
beforeAll(async () => {
  mailed = await startMailedService()
  fixture = await createReachFixture(mailed)
  await addProperties()
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
  // Tests those candidates again: people with few contacts have no other jobs among them.
  ':uuid))) and coalesce((select parent.deleted_at is null and ',
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
  const { missed, detected, ...planted } = await statements.plant([...foreignProbes(), ...ownProbes()])
  for (const text of planted.sent) sent.add(text)
  const found = new Set(detected.map(siteOf))
  expect(found.size).toBeGreaterThan(15)
  expect([...new Set(missed.map(siteOf))].filter((site) => !found.has(site))).toEqual(redundantSites)
}, 180_000)

/** A property with an index, one whose values are unique, and one that refers to companies. */
async function addProperties(): Promise<void> {
  const { owner, person } = fixture
  const common = { resource: 'contacts', label: 'Property' }
  const level = await create(owner, '/v5/properties', { ...common, key: 'level', type: 'number', indexed: true })
  await create(owner, '/v5/properties', { ...common, key: 'code', type: 'text', unique: true, indexed: true })
  await create(owner, '/v5/properties', { ...common, key: 'partner', type: 'reference', references: 'companies' })
  for (const by of [owner, person])
    for (const number of [1, 2])
      await create(by, '/v5/contacts', { name: 'Has a level', customProperties: { level: number } })
  await until('the index is ready', async () => {
    const { body } = await owner.call('GET', `/v5/properties/${level.id}`)
    return body.indexState === 'ready'
  })
}

async function create({ call }: Pick<ReachFixture['person'], 'call'>, path: string, body: object): Promise<Json> {
  const made = await call('POST', path, { body })
  expect(made.status, made.text).toBe(201)
  return made.body
}

/** Every request that reads, with what the person has. */
const readingProbes = (): Probe[] => [
  ...routes
    .filter((route) => isScoped(route) && (route.kind === 'read' || route.kind === 'search'))
    // Its figures change by themselves.
    .filter(({ path }) => path !== '/v5/system')
    .map((route) => {
      const { body, ...options } = requestOf(route, fixture.ours)
      return probeOf(route.method, urlOf(route, options), body)
    }),
  ...ownProbes().filter(({ description }) => !/^(?:PATCH|POST \/v5\/\w+$)/.test(description)),
  ...[
    '/v5/contacts/count?customProperties.level=1',
    '/v5/contacts/count?filter.customProperties.level.gte=1&filter.city.equals=null',
    '/v5/contacts?customProperties.level=1',
    '/v5/contacts?filter.customProperties.level.gte=1',
    '/v5/contacts?filter.customProperties.level.gte=1&orderBy=name',
    '/v5/contacts?orderBy=customProperties.level',
    `/v5/contacts?view=${fixture.ours.references['vie of contacts']?.[0]}`,
    `/v5/contacts?startingAfter=${idIn('/v5/contacts')}`,
    '/v5/contacts?filter.company.name.equals=Hidden&orderBy=company.name',
    '/v5/tasks?filter.contactId.not=null&query=a',
    ...['equals', 'not'].map(
      (operator) => `/v5/deals/count?filter.contacts.contactId.${operator}=${fixture.theirs.references.con?.[0]}`,
    ),
  ].map((path) => probeOf('GET', path)),
]

test('a person gets the same answers without the records out of their reach', async () => {
  const answers = async () => {
    const found: string[] = []
    for (const { description, observe } of readingProbes()) found.push(`${description}: ${await observe()}`)
    // Indexes of properties are built in the background.
    return found.map((answer) => answer.replace(/"indexState":"\w+"/g, ''))
  }
  statements.sent()
  let before = await answers()
  // What the tests above have written may still get its position in the feed.
  const isSettled = async () => isDeepStrictEqual(before, (before = await answers()))
  await expect.poll(isSettled, { timeout: 20_000 }).toBe(true)
  expect(before.filter((answer) => / 200 /.test(answer)).length).toBeGreaterThan(100)
  for (const text of statements.sent()) sent.add(text)
  await removeHidden()
  const after = await answers()
  expect(after.filter((answer, index) => answer !== before[index])).toEqual([])
}, 60_000)

async function removeHidden(): Promise<void> {
  const organizationId = sql`${decodeId('org', fixture.owner.organizationId)}::uuid`
  const personId = sql`${decodeId('usr', fixture.person.userId)}::uuid`
  const run = (statement: Sql) => mailed.service.database.crossTenantQuery('check the database', statement)
  await run(sql`delete from import_rows where organization_id = ${organizationId} and (contact_id is null or contact_id in (
    select id from contacts where organization_id = ${organizationId} and owner_id is distinct from ${personId}))`)
  for (const table of ['refused_pushes', 'refused_push_counts', 'refused_senders'])
    await run(sql`delete from ${identifier(table)} where organization_id = ${organizationId}`)
  for (const table of ownedTables)
    await run(sql`update ${identifier(table)} set deleted_at = now() where organization_id = ${organizationId}
      and ${identifier(ownerColumns[table])} is distinct from ${personId}`)
}

/** What may read or change records, as written in the source. */
const ofRecords = new RegExp(
  String.raw`\b(?:from|join|update|into)\s+"?(?:${[...new Set(collections.filter(isRestrictedCollection).map(({ resource }) => resource.table))].join('|')}|property_entries|\?)`,
)

/** Files whose statements run for the service, which sees everything, and never for a person. */
const ofService = [
  /\/intake\/(?:accept|merge|work)\//,
  /\/assistant\/work\//,
  /\/crm\/tasks\/reminders-store\.ts$/,
  // Maintenance.
  /\/(?:retention-store|renderings|index-builds-store)\.ts$/,
]
/** Other templates that no request of a person of limited reach uses. */
const neverForPersons: readonly RedundantPredicate[] = [
  { reason: 'the tables of secrets are no records', location: /\/secrets-store\.ts/ },
  {
    reason: 'statements are divided so on Citus only',
    location: /rendering\/rendering\.ts|entry-rows\.ts: written as|unique-values\.ts: .*= any\(\?::uuid\[\]\)\)$/,
  },
  {
    reason: 'only people who see all records change the definition of a stored property',
    location:
      /stored-values-store\.ts: .*(?:select \?, property_id, value, record_id from \(\?\) found|property_id = \?::uuid|from \? record where organization_id = \? and \?)$/,
  },
  {
    reason: 'metrics count the alarms and the queues of all organizations',
    location: /many_opt_outs|measurements-store\.ts/,
  },
  { reason: 'only people who see all records remove what an import received', location: /removal-store\.ts/ },
  { reason: 'only imports choose records so', location: /current\.ts: with found|edits\.ts: .*group by 1, 2$/ },
  {
    reason: 'entries are counted and read without their records only for people who see all of them',
    location: /entry-sources\.ts/,
  },
]

test('the requests above send every statement on records that a person can have the service send', async () => {
  for (const route of routes.filter((one) => isScoped(one) && one.method !== 'GET')) {
    const { body, ...options } = requestOf(route, fixture.ours)
    await fixture.person.call(route.method, urlOf(route, options), body === undefined ? {} : { body })
  }
  await writeAsPerson()
  for (const text of statements.sent()) sent.add(text)
  const texts = [...sent]
  const unsent = sqlTemplates(/^server\/src\/(?:crm|intake|assistant|api|platform\/records)\//, /\bsql`/)
    .filter(({ text, path }) => ofRecords.test(text) && !ofService.some((one) => one.test(path)))
    .filter((template) => !texts.some((text) => isSentIn(text, template)))
  expectOnlyRedundant(unsent.map(describeTemplate), neverForPersons)
}, 60_000)

/** What the routes' own examples do not write. */
async function writeAsPerson(): Promise<void> {
  const { owner, person } = fixture
  const company = await create(person, '/v5/companies', { name: 'Own' })
  const [own, further, other] = ['own', 'further', 'other'].map((name) => ({ address: `${name}@faults.example` }))
  await create(person, '/v5/contacts', { emails: [own, further] })
  expect((await person.call('POST', '/v5/contacts', { body: { emails: [other, further] } })).status).toBe(409)
  const body = { name: 'Ada', customProperties: { code: 'A1', partner: company.id } }
  const contact = await create(person, '/v5/contacts', body)
  const path = `/v5/contacts/${contact.id}`
  expect((await person.call('POST', '/v5/contacts', { body })).status).toBe(409)
  const changed = await person.call('PATCH', path, { body: { customProperties: { code: 'A2', level: 3 } } })
  expect(changed.status, changed.text).toBe(200)
  const { email } = await create(person, '/v5/contacts', { email: 'own@example.com' })
  expect((await person.call('PATCH', path, { body: { email } })).status).toBe(409)
  const names = ['First', 'Second', 'Third']
  const pipeline = await create(person, '/v5/pipelines', { name: 'Own' })
  const stages: Json[] = []
  for (const name of names)
    stages.push(await create(person, `/v5/pipelines/${pipeline.id}/stages`, { name, kind: 'open' }))
  const stagePath = (index: number) => `/v5/pipelines/${pipeline.id}/stages/${stages[index].id}`
  const deals: Json[] = []
  for (const name of names) deals.push(await create(person, '/v5/deals', { name, stageId: stages[0].id }))
  for (const { id } of deals)
    await create(person, `/v5/deals/${id}/contacts`, { contactId: contact.id, isPrimary: true })
  for (const side of ['afterId', 'beforeId'])
    await person.call('POST', `/v5/deals/${deals[0].id}/move`, { body: { stageId: stages[0].id, [side]: deals[1].id } })
  await person.call('PATCH', `/v5/deals/${deals[2].id}`, { body: { stageId: stages[2].id } })
  await person.call('PATCH', stagePath(2), { body: { position: 0 } })
  const weekly = { title: 'Report', dueAt: '2030-01-07T08:00:00Z', recurrence: 'FREQ=WEEKLY' }
  const task = await create(person, '/v5/tasks', weekly)
  for (const done of [true, false])
    expect((await person.call('PATCH', `/v5/tasks/${task.id}`, { body: { done } })).status).toBe(200)
  expect((await person.call('DELETE', `${stagePath(0)}?moveDealsTo=${stages[1].id}`)).status).toBe(204)
  const { organizationId } = owner
  for (const text of ['No thanks, we are not interested.', 'Please call me tomorrow.', 'Stop sending me mails.']) {
    const note = await analysedNote(mailed.service, { call: person.call, organizationId }, `${path}/notes`, text)
    for (const { id, type } of (await person.call('GET', `/v5/suggestions?noteId=${note.id}`)).body) {
      for (const edits of [{}, { dealId: deals[0].id }])
        if (type !== 'suppress') await person.call('POST', `/v5/suggestions/${id}/accept`, { body: edits })
      await person.call('POST', `/v5/suggestions/${id}/reject`)
    }
  }
  for (const property of [
    { key: 'ally', type: 'reference', references: 'companies' },
    { key: 'serial', type: 'number', unique: true },
  ])
    await person.call('POST', '/v5/properties?dryRun=true', {
      body: { resource: 'contacts', label: 'Property', ...property },
    })
}
