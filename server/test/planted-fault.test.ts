import { afterAll, beforeAll, expect, test } from 'vitest'
import { routes } from '../src/app.ts'
import { addMember } from '../src/identity/members/store.ts'
import { raw, sql } from '../src/platform/model/sql.ts'
import type { Route } from '../src/platform/http/route.ts'
import { isScoped } from '../src/platform/http/route.ts'
import { decodeId } from '../src/platform/model/ids.ts'
import { startTestService, type TestService } from './service.ts'
import { collections, freezeLastUsedAt, urlOf } from './collections.ts'
import {
  expectOnlyRedundant,
  isInBackground,
  organizationPredicate,
  type Probe,
  type Statements,
  watchStatements,
} from './planted-faults.ts'
import { redundantPredicates } from './redundant-predicates.ts'
import { dump, idsIn } from './dump.ts'
import { casesOf, findDeviation, newTenant, requestOf, type Tenant } from './tenancy.ts'
import type { JsonObject } from '../src/platform/model/json.ts'
import type { RouteOptions } from './fixture.ts'

let statements: Statements
let service: TestService
let ours: Tenant
let theirs: Tenant
let secrets: string[]
beforeAll(async () => {
  service = await startTestService()
  // The other organization is created first, so that a query without the predicate finds its records first.
  theirs = await newTenant(service)
  ours = await newTenant(service)
  secrets = idsIn(await dump(service.database), decodeId('org', theirs.organization.organizationId) ?? '')
  // One person is a member of both, so that the other membership can be revealed or deleted.
  const shared = ours.records.get('/v5/members') ?? ''
  const organizationId = decodeId('org', theirs.organization.organizationId) ?? ''
  await service.database.crossTenantTransaction('check the database', (db) =>
    addMember(db, { organizationId, userId: decodeId('usr', shared) ?? '', role: 'viewer' }),
  )
  statements = watchStatements(organizationPredicate, isInBackground)
})
afterAll(async () => {
  statements.restore()
  await service.close()
})

/** The requests of tenancy.test.ts that name another organization's record. */
const foreignProbes = (): Probe[] =>
  // The routes of accounts and those without a credential belong to no organization.
  routes
    .filter((route) => isScoped(route) || route.kind === 'push')
    .flatMap((route) =>
      casesOf(route, ours, theirs)
        // One filter per list is enough: filters add no organization predicate to a statement.
        .filter(({ status, description }) => status === 404 || status === 422 || description === 'filter.id.equals')
        .map((one) => ({
          description: `${route.method} ${route.path}`,
          observe: async () => (await findDeviation(one, ours, secrets)) ?? '',
        })),
    )

/** Requests that name no foreign record and must not read, count or change one. */
function ownProbes(): Probe[] {
  const lists = collections.flatMap((collection) => {
    const params = ours.params(collection)
    const own = ours.records.get(collection.path) ?? ''
    const queries = [[], [['startingAfter', own]], [['endingBefore', own]]] as RouteOptions['query'][]
    return [
      ...queries.map((query = []) =>
        probeOf(collection.list, urlOf(collection.list, { params, query: [...query, ['limit', '100']] })),
      ),
      ...(collection.count ? [probeOf(collection.count, urlOf(collection.count, { params }))] : []),
    ]
  })
  const writes = routes
    .filter((route) => route.kind === 'write')
    .map((route) => {
      const request = requestOf(route, ours)
      return probeOf(route, urlOf(route, request), request.body)
    })
  const taken = { email: 'taken@example.com', domain: 'taken.com', name: 'Taken' }
  const creates = (path: string, body: JsonObject) => probeOf({ method: 'POST', path }, path, body)
  return [
    ...lists,
    // Their company with the id of one of ours.
    ...['/v5/contacts/search', '/v5/contacts/search/count'].map((path) =>
      creates(path, { filter: { company: { some: { name: { equals: 'Copied' } } } } }),
    ),
    creates('/v5/teams', { name: taken.name }),
    creates('/v5/companies', { name: taken.name, domain: taken.domain }),
    creates('/v5/companies', { name: taken.name, externalIds: { billing: 'taken' } }),
    creates('/v5/contacts', { email: taken.email }),
    creates('/v5/contacts', { email: 'theirs@example.com' }),
    creates('/v5/contacts', { email: 'theirs@example.com', externalIds: { billing: 'taken' } }),
    probeOf({ method: 'PATCH', path: '/v5/contacts/{contactId}' }, `/v5/contacts/${ours.records.get('/v5/contacts')}`, {
      email: 'theirs@example.com',
      externalIds: { billing: 'ours' },
    }),
    ...writes,
  ]
}

/** Observes status and body; of a written record, only what does not differ between runs. */
const probeOf = ({ method, path }: Pick<Route, 'method' | 'path'>, url: string, body?: unknown): Probe => ({
  description: `${method} ${path}`,
  observe: async () => {
    const answer = await ours.organization.call(method, url, body === undefined ? {} : { body })
    const isWritten = method !== 'GET' && answer.status < 300 && answer.body?.id !== undefined
    return isWritten ? `${answer.status} ${answer.body.teamId}` : `${answer.status} ${answer.text}`
  },
})

/** Stores the same values in both organizations, so that a query without the predicate finds the other one's. */
async function createTakenValues(): Promise<void> {
  for (const { call } of [theirs.organization, ours.organization]) {
    await call('POST', '/v5/teams', { body: { name: 'Taken' } })
    await call('POST', '/v5/companies', {
      body: { name: 'Taken', domain: 'taken.com', externalIds: { billing: 'taken' } },
    })
    await call('POST', '/v5/contacts', { body: { email: 'taken@example.com', externalIds: { billing: 'taken' } } })
  }
  const company = await ours.organization.call('POST', '/v5/companies', { body: { name: 'Original' } })
  await ours.organization.call('POST', '/v5/contacts', { body: { name: 'Employee', companyId: company.body.id } })
  // No request can do this.
  await service.database.crossTenantQuery(
    'check the database',
    sql`insert into companies (organization_id, id, name) values (
      ${decodeId('org', theirs.organization.organizationId)}, ${decodeId('com', company.body.id)}, 'Copied')`,
  )
  // Our organization has deleted the contact with this address; the other organization has one.
  const { body } = await ours.organization.call('POST', '/v5/contacts', { body: { email: 'theirs@example.com' } })
  await ours.organization.call('DELETE', `/v5/contacts/${body.id}`)
  await theirs.organization.call('POST', '/v5/contacts', { body: { email: 'theirs@example.com' } })
}

test('removing any organization predicate from a statement changes the results of some route', async () => {
  await createTakenValues()
  await freezeLastUsedAt(ours)
  const { missed, detected } = await statements.plant([...foreignProbes(), ...ownProbes()])
  expect(detected.length).toBeGreaterThan(60)
  expectOnlyRedundant(missed, redundantPredicates)
}, 180_000)

test('a statement without the organization parameter is never sent', async () => {
  const caller = {
    kind: 'key',
    credentialId: '',
    userId: '',
    organizationId: decodeId('org', ours.organization.organizationId) ?? '',
    scopes: [],
    role: undefined,
    live: raw('true'),
  } as const
  statements.sent()
  const reader = service.database.reader(caller)
  await expect(reader.query(sql`select id from contacts`)).rejects.toThrow('must contain it')
  // A plain value is not accepted instead of the reader's organization parameter.
  await expect(
    reader.query(sql`select id from contacts where organization_id = ${reader.organizationId}::uuid`),
  ).rejects.toThrow('must contain it')
  expect(statements.sent()).toEqual([])
  expect(await reader.query(sql`select id from contacts where organization_id = ${reader.organization}`)).not.toEqual(
    [],
  )
  await expect(
    service.database.transaction(caller, (transaction) => transaction.query(sql`delete from contacts`)),
  ).rejects.toThrow('must contain it')
  expect(statements.sent().filter((text) => text.includes('delete'))).toEqual([])
})
