import { randomUUID } from 'node:crypto'
import { resources, routes } from '../src/app.ts'
import { sql } from '../src/platform/model/sql.ts'
import type { Route } from '../src/platform/http/route.ts'
import { columnOf, parentsOf, type Resource } from '../src/platform/records/declare/define.ts'
import { decodeId } from '../src/platform/model/ids.ts'
import { parameterOf } from '../src/platform/records/routes/standard-routes.ts'
import { mails } from '../src/identity/mails/resource.ts'
import { members } from '../src/identity/members/resource.ts'
import { notes } from '../src/crm/notes/resource.ts'
import { companies } from '../src/crm/companies/resource.ts'
import { contacts } from '../src/crm/contacts/resource.ts'
import { dealContacts, deals } from '../src/crm/deals/resource.ts'
import { companyTimeline, contactTimeline, dealTimeline } from '../src/crm/timeline/resource.ts'
import { stageMoves } from '../src/crm/stage-moves/resource.ts'
import { inboxEntries } from '../src/inbox/resource.ts'
import { deliveryDetails } from '../src/webhooks/delivery.ts'
import { rowDetails, rows } from '../src/intake/rows/resource.ts'
import { refusedPushDetails } from '../src/intake/refused-pushes/resource.ts'
import { teamMembers } from '../src/identity/team-members/resource.ts'
import { noteAnalyses, suggestions } from '../src/assistant/suggestions/resource.ts'
import { createFinishedMail } from './mail-queue.ts'
import { until } from './processes.ts'
import { suggestionIn } from './suggested.ts'
import { addMember, type FixtureOptions, firstPipeline, insertContacts } from './fixture-records.ts'
import { idsOf, minimalBody, type References, sharedBody } from './samples.ts'
import type { Call, Json, TestResponse, TestService } from './service.ts'
import { pushesOf } from './import-row-states.ts'
import { checkResponse } from './response-checks.ts'
import type { JsonObject } from '../src/platform/model/json.ts'
import type { Collection, Fixture, RouteOptions } from './fixture.ts'

export const collections: readonly Collection[] = routes.flatMap((list) => {
  if (list.kind !== 'read' || list.query.kind !== 'list') return []
  const { resource } = list.query
  const one = `${list.path}/{${parameterOf(resource)}}`
  const find = (method: string, path: string) =>
    routes.find((route) => route.method === method && route.path === path) as never
  return {
    path: list.path,
    resource,
    list,
    count: find('GET', `${list.path}/count`),
    search: find('POST', `${list.path}/search`),
    searchCount: find('POST', `${list.path}/search/count`),
    get: find('GET', one),
    create: find('POST', list.path),
    // The correction of a row is not a change of its fields.
    ...(resource.component !== rows.component && { update: find('PATCH', one) }),
    delete: find('DELETE', one),
    restore: find('POST', `${one}/restore`),
  }
})

/** The collections that have these operations, for `test.each`. */
export const collectionsWith = <Name extends keyof Collection>(...operations: Name[]) =>
  collections
    .filter((collection) => operations.every((name) => collection[name] !== undefined))
    .map((collection) => [collection.path, collection as Collection & Required<Pick<Collection, Name>>] as const)

/** Two records of each creatable resource, two members and an import row, by default in a new organization. */
export async function createFixture(
  service: TestService,
  { given, firstIndex = 0 }: FixtureOptions = {},
): Promise<Fixture> {
  const organization = given ?? (await service.newOrganization())
  const references: Record<string, string[]> = {
    org: [organization.organizationId],
    usr: [organization.userId, await addMember(service, organization.organizationId)],
    tea: [organization.teamId],
    imp: [organization.importId],
    ...(await firstPipeline(organization.call)),
    [`con of ${dealContacts.name}`]: await insertContacts(service, organization),
  }
  const request: Fixture['request'] = async (route, options) => {
    const response = await callRoute(organization.call, route, options)
    if (response.status !== 409 || route.tag !== dealContacts.name) return response
    // There are only so many contacts: the sample's is linked already, until now.
    const link = response.body.details[0].id
    await organization.call('DELETE', `/v5/deals/${options?.params?.dealId}/contacts/${link}`)
    return callRoute(organization.call, route, options)
  }
  const pushes = pushesOf({ service, organization, request })
  pushes.rememberUrl(organization.importId, organization.triggerUrl)
  const fixture: Fixture = {
    service,
    organization,
    references,
    pushes,
    request,
    params: (collection, id) => paramsOf(references, collection, id),
    createRecord: (collection, body) => createRecord(fixture, collection, body),
  }
  for (const collection of creatableCollections()) {
    const { idPrefix } = collection.resource
    while ((references[idPrefix]?.length ?? 0) < 2) {
      const body = sharedBody(collection.resource, firstIndex + 900 + (references[idPrefix]?.length ?? 0), references)
      collectReferences(references, collection.resource, await createRecord(fixture, collection, body))
    }
  }
  await pushContactNote(fixture, references)
  const { events } = (await organization.call('GET', '/v5/events?after=start&limit=2')).body
  references.chg = events.map(({ id }: Json) => id)
  for (const event of (await organization.call('GET', '/v5/audit-log?limit=2')).body)
    collectReferences(references, resourceOf('audit_events'), event)
  return fixture
}

/** Using a key updates its `lastUsedAt` once a minute. A value in the future prevents that, so that keys stay unchanged. */
export const freezeLastUsedAt = ({ service, organization }: Fixture): Promise<object[]> =>
  service.database.crossTenantQuery(
    'check the database',
    sql`update api_keys set last_used_at = now() + interval '1 day'
      where organization_id = ${decodeId('org', organization.organizationId)}::uuid and last_used_at is not null`,
  )

function resourceOf(table: string): Resource {
  const found = resources.find((resource) => resource.table === table)
  if (!found) throw new Error(`No resource has the table ${table}`)
  return found
}

/** The collections with a create route, each after those that it refers to. */
function creatableCollections(): Collection[] {
  const tables = new Set<string>()
  const add = (table: string): void => {
    if (tables.has(table) || tablesWithoutCreateRoute.includes(table)) return
    const resource = resourceOf(table)
    const parents = parentsOf(resource).map(({ resource: parent }) => parent.table)
    const references = Object.values(resource.fields).map(({ references: target }) => target?.table)
    for (const other of [...parents, ...references]) if (other !== undefined && other !== table) add(other)
    tables.add(table)
  }
  for (const { table } of resources) add(table)
  return [...tables].map(creatorOf)
}

/** Adds the ids in a record to the references: its own and those of records that the service created with it. */
function collectReferences(references: Record<string, string[]>, { fields }: Resource, row: JsonObject): void {
  for (const [name, { idPrefix }] of Object.entries(fields)) {
    const id = row[name]
    if (idPrefix === undefined || typeof id !== 'string' || references[idPrefix]?.includes(id)) continue
    references[idPrefix] = [...(references[idPrefix] ?? []), id]
  }
}

/** Pushes a lead with a note for the second contact: only imports create such notes. */
async function pushContactNote({ organization, pushes }: Fixture, references: Record<string, string[]>): Promise<void> {
  const { call, importId } = organization
  const contact = `/v5/contacts/${idsOf(references, 'con')[1]}`
  const { email } = (await call('GET', contact)).body
  const id = await pushes.push(importId, { contact: { email, note: 'Pushed' } })
  collectReferences(references, rowDetails, (await call('GET', `/v5/imports/${importId}/rows/${id}`)).body)
  const [pushed] = (await call('GET', `${contact}/notes?filter.source.equals=import`)).body
  if (pushed?.importRowId !== id) throw new Error('The push created no note')
  collectReferences(references, notes, pushed)
}

/** By table, creates a record that has no create route, for example by pushing a lead; returns its id. */
const recordFactories: Readonly<Record<string, (fixture: Fixture, parentId: string) => Promise<string>>> = {
  [rowDetails.table]: ({ pushes }, parentId) => pushes.row(parentId),
  [refusedPushDetails.table]: async ({ pushes, organization: { call } }, importId) => {
    const newest = async () => (await call('GET', `/v5/imports/${importId}/refused-pushes?limit=1`)).body[0]?.id
    const before = await newest()
    await pushes.refuse(importId)
    // It is stored after the response.
    await until('the refused push is stored', async () => (await newest()) !== before)
    return newest()
  },
  audit_events: async ({ organization: { call, withScopes }, references }) => {
    const newest = '/v5/audit-log?limit=1&select[]=id'
    const refusal = async () => (await call('GET', `${newest}&filter.action.equals=scope.denied`)).body[0]?.id
    const before = await refusal()
    // A rejection has no record and is logged after the response.
    const callWithout = await withScopes(['contact:list:read'])
    await callWithout('GET', '/v5/notes')
    await until('the rejection is logged', async () => (await refusal()) !== before)
    const importPath = `/v5/imports/${idsOf(references, 'imp')[1]}`
    await call('PATCH', importPath, { body: { tags: [randomUUID()] } })
    return (await call('GET', newest)).body[0].id
  },
  [deliveryDetails.table]: async ({ service, organization: { call } }, webhookId) => {
    const path = `/v5/webhooks/${webhookId}`
    await call('PATCH', path, { body: { status: 'enabled' } })
    const type = deliveryCount % 2 === 0 ? 'contact.updated' : 'contact.created'
    const { id } = (await call('POST', `${path}/test`, { body: { type } })).body
    await setDeliveryState(service, id, deliveryCount++)
    return id
  },
  [stageMoves.table]: async ({ service, organization: { call }, references }, dealId = '') => {
    // Each stage for another time, however quickly the moves are made.
    await service.database.crossTenantQuery(
      'check the database',
      sql`update deals set stage_changed_at = now() - make_interval(secs => ${60 * ++moveCount})
        where id = ${decodeId('del', dealId)}::uuid`,
    )
    const { body: deal } = await call('GET', `/v5/deals/${dealId}`)
    const stageId = idsOf(references, 'stg').find((id) => id !== deal.stageId)
    await call('PATCH', `/v5/deals/${dealId}`, { body: { stageId } })
    return (await call('GET', `/v5/deals/${dealId}/stage-moves?limit=1`)).body[0].id
  },
  [contactTimeline.table]: changeParent,
  [dealTimeline.table]: changeParent,
  [companyTimeline.table]: changeParent,
  [members.table]: ({ service, organization }) => addMember(service, organization.organizationId),
  [teamMembers.table]: async ({ service, organization: { organizationId, call } }, teamId) => {
    const id = await addMember(service, organizationId)
    await call('POST', `/v5/teams/${teamId}/members/${id}`)
    return id
  },
  [suggestions.table]: suggestionIn('/v5/suggestions'),
  [noteAnalyses.table]: suggestionIn('/v5/note-analyses'),
  [mails.table]: ({ service, organization: { userId } }) => createFinishedMail(service, userId),
}

let deliveryCount = 0
let moveCount = 0

/** As if the attempts of a delivery had ended in one way or another. */
const setDeliveryState = ({ database }: TestService, id: string, index: number): Promise<object[]> =>
  database.crossTenantQuery(
    'check the database',
    sql`update webhook_deliveries set attempt_count = ${index % 5}::integer, is_test = ${index % 3 === 0}::boolean,
        status = (array['failed', 'delivered', 'retrying', 'skipped'])[${index % 4}::integer + 1],
        record_id = 'con_' || replace(new_id()::text, '-', ''),
        next_attempt_at = case when ${index % 4 >= 2}::boolean then now() + make_interval(hours => ${index % 7}::integer) end,
        error = case when ${index % 4 === 0}::boolean then 'the connection failed' end,
        finished_at = case when ${index % 4 < 2}::boolean then now() - make_interval(mins => ${index % 9}::integer) end
      where id = ${decodeId(deliveryDetails.idPrefix, id)}::uuid`,
  )

/** Changes a contact, a company or a deal, whose timeline then has another entry. */
async function changeParent({ organization: { call } }: Fixture, parentId: string): Promise<string> {
  const parent = [contacts, companies, deals].find(({ idPrefix }) => parentId.startsWith(`${idPrefix}_`))
  const path = `/v5/${parent?.name}/${parentId}`
  await call('PATCH', path, { body: { name: `Name ${randomUUID()}` } })
  return (await call('GET', `${path}/timeline?limit=1&kind=change`)).body[0].id
}

/** Tables of what a person alone has: no key reads them, so no collection does. */
export const personalTables: readonly string[] = [inboxEntries.table]

/** Tables whose records cannot be created by a request. */
export const tablesWithoutCreateRoute: readonly string[] = [...Object.keys(recordFactories), ...personalTables]

function creatorOf(table: string): Collection {
  const found = collections.find(({ resource, create }) => resource.table === table && create)
  if (!found) throw new Error(`No route creates ${table}`)
  return found
}

/** The second of two parents: the first team is the default team, which already contains other records. */
const parentOf = (references: References, { resource }: Collection): string | undefined =>
  resource.parent && idsOf(references, resource.parent.resource.idPrefix)[1]

function paramsOf(references: References, collection: Collection, id?: string): Record<string, string> {
  const { resource } = collection
  const parentId = parentOf(references, collection)
  return {
    ...(resource.parent && parentId !== undefined && { [resource.parent.parameter]: parentId }),
    ...(id !== undefined && { [parameterOf(resource)]: id }),
  }
}

/** Index of the next record created for a view, outside the range that tests use for their unique values. */
let viewIndex = 5000

async function createRecord(fixture: Fixture, collection: Collection, body: JsonObject): Promise<JsonObject> {
  const { resource, create, get } = collection
  if (create) {
    const created = await fixture.request(create, { params: fixture.params(collection), body })
    if (created.status !== 201) throw new Error(`${resource.name} were not created: ${created.text}`)
    if (typeof created.body.triggerUrl === 'string')
      fixture.pushes.rememberUrl(created.body.id, created.body.triggerUrl)
    return omit(created.body, oneTimeSecretFields(collection))
  }
  const createWithoutRoute = recordFactories[resource.table]
  if (createWithoutRoute && get) {
    const id = await createWithoutRoute(fixture, parentOf(fixture.references, collection) ?? '')
    return (await fixture.request(get, { params: fixture.params(collection, id) })).body
  }
  // A view: the record is created in its own collection, with a field that names the parent of the view.
  const field = Object.keys(resource.fields).find((name) => columnOf(name) === resource.parent?.column)
  const parentId = parentOf(fixture.references, collection)
  if ((resource.parent && field === undefined) || !get) throw new Error(`No route creates ${resource.component}`)
  // The whole record may require fields that the view does not show.
  const creator = creatorOf(resource.table)
  const minimal = minimalBody(creator.resource, ++viewIndex, fixture.references)
  const parentField = field !== undefined && parentId !== undefined ? { [field]: parentId } : {}
  const { id } = await createRecord(fixture, creator, { ...minimal, ...body, ...parentField })
  return (await fixture.request(get, { params: fixture.params(collection, String(id)) })).body
}

/** Fields that only the response to a create has: one-time secrets. */
export function oneTimeSecretFields({ resource, create }: Collection): string[] {
  const response = create?.responses[201]
  return response?.kind === 'record'
    ? response.resource.propertyNames.filter((name) => !resource.propertyNames.includes(name))
    : []
}

export const omit = (row: JsonObject, names: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !names.includes(name)))

export function urlOf(route: Route, { params = {}, query = [] }: RouteOptions): string {
  const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    if (params[name] === undefined) throw new Error(`${route.path} needs ${name}`)
    return params[name]
  })
  const pairs = query.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
  return pairs.length > 0 ? `${path}?${pairs.join('&')}` : path
}

/** Calls a route and checks the response against its declaration: status, headers and body. */
export async function callRoute(call: Call, route: Route, options: RouteOptions = {}): Promise<TestResponse<Json>> {
  const response = await call(route.method, urlOf(route, options), options)
  checkResponse(route, response, selectedPaths(options.query ?? []))
  return response
}

/** The paths in `select[]`. */
export const selectedPaths = (query: NonNullable<RouteOptions['query']>): readonly string[] =>
  query.flatMap(([name, value]) => (name === 'select[]' || name === 'select' ? [value] : []))
