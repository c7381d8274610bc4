import { afterAll, beforeAll, expect, test } from 'vitest'
import { collections, createFixture, personalTables } from '../../../test/collections.ts'
import { callAs, newOwner } from '../../../test/people.ts'
import { startTestService, type Call, type Json, type TestService } from '../../../test/service.ts'
import { casesToTry } from '../../../test/suite.ts'
import { resources, routes } from '../../app.ts'
import { isScoped } from '../../platform/http/route.ts'
import { newId, decodeId, encodeId } from '../../platform/model/ids.ts'
import { sql } from '../../platform/model/sql.ts'
import { allOperators } from '../../platform/records/filter/operators.ts'
import { parameterOf } from '../../platform/records/routes/standard-routes.ts'
import type { Fixture } from '../../../test/fixture.ts'

let service: TestService
let fixture: Fixture
let described: Json[]
beforeAll(async () => {
  service = await startTestService()
  fixture = await createFixture(service)
  described = await schemaFor(fixture.organization.call)
})
afterAll(() => service.close())

async function schemaFor(call: Call): Promise<Json[]> {
  const { status, body, text } = await call('GET', '/v5/schema')
  expect(status, text).toBe(200)
  return body.resources
}

const names = resources.filter(({ table }) => !personalTables.includes(table)).map(({ name }) => name)
const find = (all: Json[], name: string): Json => all.find((one) => one.name === name)
const fieldOf = (resource: Json, name: string): Json => resource.fields.find((field: Json) => field.name === name)

/** The path with the ids of existing parents. */
const pathOf = (path: string): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const collection = collections.find(({ resource }) => resource.parent?.parameter === name)
    return (collection && fixture.params(collection)[name]) ?? ''
  })

test('every resource is described once, with its own noun, label and path', () => {
  expect(described.map(({ name }) => name)).toEqual(names)
  expect(find(described, 'contacts')).toMatchObject({
    singular: 'contact',
    label: 'Contacts',
    singularLabel: 'Contact',
    path: '/v5/contacts',
    createPath: '/v5/contacts',
    parent: null,
    idPrefix: 'con',
    search: true,
    titleField: 'name',
    subtitleFields: ['employmentTitle', 'company.name'],
    statusField: 'status',
    due: null,
    softDelete: true,
    restorableDays: 30,
    events: ['created', 'updated', 'blocked', 'unblocked', 'deleted', 'restored', 'purged', 'erased'],
  })
  expect(find(described, 'deals').events).toContain('moved')
  expect(find(described, 'webhook-deliveries').events).toEqual([])
  expect(find(described, 'deal-contacts')).toMatchObject({
    path: '/v5/deals/{dealId}/contacts',
    parent: { parameter: 'dealId', resource: 'deals' },
  })
  expect(find(described, 'employments')).toMatchObject({
    path: '/v5/employments',
    createPath: '/v5/contacts/{contactId}/employments',
    permissions: { update: true, delete: true, restore: true },
  })
  expect(find(described, 'notes')).toMatchObject({
    path: '/v5/notes',
    createPath: '/v5/contacts/{contactId}/notes',
    nestedPaths: [
      { path: '/v5/contacts/{contactId}/notes', parent: { parameter: 'contactId', resource: 'contacts' } },
      { path: '/v5/companies/{companyId}/notes', parent: { parameter: 'companyId', resource: 'companies' } },
      { path: '/v5/deals/{dealId}/notes', parent: { parameter: 'dealId', resource: 'deals' } },
    ],
  })
  expect(find(described, 'api-keys')).toMatchObject({ label: 'API keys', singularLabel: 'API key', softDelete: false })
  expect(find(described, 'team-members')).toMatchObject({
    path: '/v5/teams/{teamId}/members',
    parent: { resource: 'teams' },
  })
})

test('the fields that a resource names for its title, subtitle, state and due date exist', () => {
  expect(find(described, 'tasks')).toMatchObject({ due: { field: 'deadline', overdueField: 'overdue' } })
  expect(fieldOf(find(described, 'companies'), 'foundedYear')).toMatchObject({ format: 'year' })
  expect(fieldOf(find(described, 'companies'), 'employeesCount')).toMatchObject({ format: null })
  for (const { name, fields, embedded, titleField, subtitleFields, statusField, due } of described) {
    const paths = [
      ...fields.map((field: Json) => field.name),
      ...embedded.flatMap((one: Json) => one.show.map((shown: string) => `${one.name}.${shown}`)),
    ]
    const named = [titleField, ...subtitleFields, statusField ?? titleField, due?.field ?? titleField]
    expect(paths, name).toEqual(expect.arrayContaining([...named, due?.overdueField ?? titleField]))
  }
})

test('a field has its type, limits, choices, reference and initial value', () => {
  const contacts = find(described, 'contacts')
  expect(fieldOf(contacts, 'email')).toMatchObject({ type: 'email', indexed: true, limits: { maxLength: 320 } })
  expect(fieldOf(contacts, 'email').operators).toContain('equalsIgnoreCase')
  expect(fieldOf(contacts, 'latitude').limits).toEqual({ minimum: -90, maximum: 90 })
  expect(fieldOf(contacts, 'tags')).toMatchObject({
    type: 'list',
    initial: [],
    limits: { maxItems: 100, maxLength: 100 },
  })
  expect(fieldOf(contacts, 'employmentSeniority').choices).toContain('founder')
  expect(fieldOf(contacts, 'companyId')).toMatchObject({ type: 'reference', reference: { resource: 'companies' } })
  expect(fieldOf(contacts, 'ownerId').reference).toEqual({ resource: 'members' })
  expect(fieldOf(contacts, 'rootContactId')).toMatchObject({ type: 'reference', reference: null, readOnly: true })
  const stageId = fieldOf(find(described, 'deals'), 'stageId')
  expect(stageId).toMatchObject({ nullable: true, clearable: false })
  expect(fieldOf(contacts, 'companyId')).toMatchObject({ nullable: true, clearable: true })
  expect(fieldOf(contacts, 'status')).toMatchObject({ initial: 'active', nullable: false, required: false })
  expect(fieldOf(contacts, 'createdAt')).toMatchObject({ type: 'timestamp', readOnly: true, sortable: true })
  expect(contacts.embedded).toMatchObject([
    { name: 'company', through: 'companyId', resource: 'companies', show: ['id', 'name', 'domain'] },
  ])
  expect(fieldOf(find(described, 'rows'), 'payload')).toMatchObject({ type: 'document', inList: false, operators: [] })
})

test.each(names)('%s: every property of a list and of a record is described, in the same order', async (name) => {
  const resource = find(described, name)
  const collection = collections.find(({ path }) => path === resource.path)
  if (!collection?.get) throw new Error(resource.path)
  const readFirst = async () => {
    const query = [['limit', '1']] as const
    return (await fixture.request(collection.list, { params: fixture.params(collection), query })).body[0]
  }
  const exists = (await readFirst()) !== undefined
  if (!exists) await fixture.createRecord(collection, {})
  const first = await readFirst()
  const embedded = resource.embedded.map((one: Json) => one.name)
  const fieldsIn = (row: Json) => Object.keys(row).filter((key) => !embedded.includes(key))
  const inOrder = (fields: Json[]) => fields.map((field) => field.name)
  expect(fieldsIn(first)).toEqual(inOrder(resource.fields.filter((field: Json) => field.inList)))
  for (const { name: part, show } of resource.embedded) {
    expect(first).toHaveProperty(part)
    if (first[part]) expect(Object.keys(first[part])).toEqual(show)
  }
  const { body: one } = await fixture.request(collection.get, { params: fixture.params(collection, first.id) })
  expect(fieldsIn(one)).toEqual(inOrder(resource.fields))
  const title = resource.titleField.split('.').reduce((value: Json, key: string) => value[key], one)
  expect([resource.titleField, typeof title]).toEqual([resource.titleField, expect.not.stringMatching('undefined')])
})

const valueFor = (field: Json, operator: string): string => {
  if (operator === 'isEmpty') return 'true'
  const equality = ['equals', 'equalsIgnoreCase', 'not', 'in', 'notIn'].includes(operator)
  if (field.type === 'id' || field.type === 'reference') return equality ? encodeId(field.prefix, newId()) : 'abc'
  if (field.type === 'boolean') return 'true'
  if (field.type === 'timestamp' || field.type === 'date') return operator === 'not' ? 'null' : '2026-01-01'
  if (['number', 'integer', 'decimal'].includes(field.type)) return '1'
  return equality && field.choices ? field.choices[0] : equality && field.example ? String(field.example) : 'abc'
}

test.each(names)('%s: the list accepts exactly the operators and orders that are described', async (name) => {
  const resource = find(described, name)
  const { call } = fixture.organization
  const base = `${pathOf(resource.path)}?limit=1`
  const declared = resources.find((one) => one.name === name)
  const own = resource.fields.filter((field: Json) => field.inList)
  const inside = resource.embedded.flatMap((one: Json) =>
    one.fields.map((field: Json) => ({ ...field, name: `${one.name}.${field.name}` })),
  )
  for (const [turn, field] of [...own, ...inside].entries()) {
    const prefix = declared?.fields[field.name]?.idPrefix ?? 'com'
    const path = field.type === 'properties' ? `${field.name}.plan` : field.name
    const value = (operator: string) =>
      encodeURIComponent(
        field.type === 'properties' && /^[gl]te?$/.test(operator) ? '1' : valueFor({ ...field, prefix }, operator),
      )
    const accepted = await Promise.all(
      casesToTry<string>(field.operators, () => field.name, turn).map(async (operator) => {
        const { status, text } = await call('GET', `${base}&filter.${path}.${operator}=${value(operator)}`)
        return status === 200 ? [] : [`${path} ${operator}: ${text}`]
      }),
    )
    expect(accepted.flat()).toEqual([])
    const other = allOperators.find((operator) => !field.operators.includes(operator))
    if (other) expect((await call('GET', `${base}&filter.${path}.${other}=1`)).status).toBe(400)
    const ordered = await call('GET', `${base}&orderBy=${path}`)
    expect([path, ordered.status]).toEqual([path, field.sortable ? 200 : 400])
  }
})

test('the relations are those of the filter tree, each with the fields that a search accepts there', async () => {
  const { call } = fixture.organization
  const relationsOf = (name: string) => find(described, name).relations
  expect(
    relationsOf('contacts')
      .map(({ name }: Json) => name)
      .sort(),
  ).toEqual(['company', 'dealContacts', 'deals', 'employers', 'employments', 'notes', 'suggestions', 'tasks'])
  const relation = (of: string, name: string) => relationsOf(of).find((one: Json) => one.name === name)
  expect(relation('contacts', 'company')).toMatchObject({ label: 'Company', resource: 'companies', many: false })
  expect(relation('contacts', 'dealContacts')).toMatchObject({ label: 'Deal contacts', many: true })
  expect(relation('companies', 'deals').fields).toEqual(expect.arrayContaining(['amount', 'stageId', 'createdAt']))
  expect(relationsOf('teams')).toEqual([])
  expect(described.filter(({ views }) => views).map(({ name }) => name)).toContain('contacts')
  for (const { name, path, relations } of described.filter((one) => one.relations.length > 0 && !one.parent)) {
    for (const { name: related, resource, fields } of relations) {
      const kindOf = (field: string) => fieldOf(find(described, resource), field).type
      const filters = casesToTry<string>(fields, kindOf).map((field) => {
        const { operators, type } = fieldOf(find(described, resource), field)
        const operator = operators.includes('isEmpty') ? 'isEmpty' : type === 'boolean' ? 'equals' : operators[0]
        const value = type === 'properties' ? 'a' : operator === 'isEmpty' || type === 'boolean' || 'null'
        return { [related]: { some: { [type === 'properties' ? `${field}.plan` : field]: { [operator]: value } } } }
      })
      for (const filter of filters) {
        const { status, text } = await call('POST', `${path}/search`, { body: { filter, limit: 1 } })
        // An example value need not be valid; the field must be known.
        expect([name, status, /unknown|cannot be filtered/.test(text)]).toEqual([name, expect.any(Number), false])
      }
    }
  }
})

/** The requests whose permission is described, with ids that do not exist. */
function requestsOf(resource: Json): [operation: string, method: string, path: string][] {
  const declared = resources.find(({ name }) => name === resource.name)
  if (!declared) throw new Error(resource.name)
  const nothing = encodeId(resource.idPrefix, newId())
  const record = `${pathOf(resource.path)}/${nothing}`
  const served = (method: string, path: string) =>
    routes.some((route) => isScoped(route) && route.method === method && route.path === path)
  const declaredRecord = `${resource.path}/{${parameterOf(declared)}}`
  const all: [string, string, string, string][] = [
    ['list', 'GET', resource.path, pathOf(resource.path)],
    ['get', 'GET', declaredRecord, record],
    ['create', 'POST', resource.createPath ?? '', pathOf(resource.createPath ?? '')],
    ['update', 'PATCH', declaredRecord, record],
    ['delete', 'DELETE', declaredRecord, record],
    ['restore', 'POST', `${declaredRecord}/restore`, `${record}/restore`],
  ]
  return all.flatMap(([operation, method, path, url]) => (served(method, path) ? [[operation, method, url]] : []))
}

async function expectPermissions(call: Call): Promise<void> {
  for (const resource of await schemaFor(call)) {
    const requests = requestsOf(resource)
    for (const [operation, method, path] of requests) {
      const { status, body } = await call(method, path, method === 'POST' || method === 'PATCH' ? { body: {} } : {})
      const isAllowed = !(status === 403 && body.code === 'missing_scopes')
      expect([resource.name, operation, isAllowed]).toEqual([resource.name, operation, resource.permissions[operation]])
    }
    const offered = requests.map(([operation]) => operation)
    for (const [operation, isAllowed] of Object.entries(resource.permissions)) {
      if (!offered.includes(operation))
        expect([resource.name, operation, isAllowed]).toEqual([resource.name, operation, false])
    }
  }
}

test('the permissions are what a key with narrow scopes gets', async () => {
  const call = await fixture.organization.withScopes(['schema:get:read', 'contact:*:read', 'note:create:write'])
  await expectPermissions(call)
  const all = await schemaFor(call)
  expect(find(all, 'contacts').permissions).toMatchObject({ list: true, get: true, create: false, restore: false })
  expect(find(all, 'notes').permissions).toMatchObject({ list: false, create: true })
})

test('the permissions are what each role gets: a viewer only reads records', async () => {
  const owner = await newOwner(service)
  const permissions: Record<string, Json> = {}
  for (const role of ['owner', 'member', 'viewer']) {
    await service.database.crossTenantQuery(
      'check the database',
      sql`update members set role = ${role} where organization_id = ${decodeId('org', owner.organizationId)}::uuid`,
    )
    const call = callAs(service, owner.accessToken)
    permissions[role] = find(await schemaFor(call), 'contacts').permissions
    if (role === 'viewer') await expectPermissions(call)
  }
  const none = { create: false, update: false, delete: false, restore: false }
  expect(permissions.viewer).toEqual({ list: true, get: true, ...none })
  expect(permissions.member).toEqual({ list: true, get: true, create: true, update: true, delete: true, restore: true })
  expect(permissions.owner).toEqual(permissions.member)
})

test('custom property keys are those that the organization uses, with their types', async () => {
  const ours = await service.newOrganization()
  const theirs = await service.newOrganization()
  const contact = (call: Call, customProperties: Json) =>
    call('POST', '/v5/contacts', { body: { name: 'Ada', customProperties } })
  await contact(ours.call, { plan: 'pro', seats: 12, mixed: 1, nothing: null, parts: [1] })
  await contact(ours.call, { plan: 'free', trial: true, mixed: 'one' })
  await contact(theirs.call, { secretOfOthers: 1 })
  const { body: deleted } = await contact(ours.call, { onlyDeleted: 1 })
  await ours.call('DELETE', `/v5/contacts/${deleted.id}`)

  const all = await schemaFor(ours.call)
  expect(find(all, 'contacts').customProperties).toEqual([
    { key: 'mixed', type: 'other', count: 2 },
    { key: 'plan', type: 'string', count: 2 },
    { key: 'parts', type: 'other', count: 1 },
    { key: 'seats', type: 'number', count: 1 },
    { key: 'trial', type: 'boolean', count: 1 },
  ])
  expect(find(all, 'companies').customProperties).toEqual([])
  expect(find(all, 'campaigns').customProperties).toBeNull()
  const blind = await ours.withScopes(['schema:get:read', 'contact:get:read'])
  expect(find(await schemaFor(blind), 'contacts').customProperties).toEqual([])
})

test('a conditional request returns 304, and a parameter is rejected', async () => {
  const first = await fixture.organization.call('GET', '/v5/schema')
  const etag = first.headers.get('etag') ?? ''
  expect(etag).toMatch(/^W\//)
  const again = await fixture.organization.call('GET', '/v5/schema', { headers: { 'if-none-match': etag } })
  expect(again.status).toBe(304)
  expect((await fixture.organization.call('GET', '/v5/schema?limit=3')).status).toBe(400)
})
