import { afterAll, beforeAll, expect, test } from 'vitest'
import { callAs } from '../../../test/people.ts'
import { until } from '../../../test/processes.ts'
import {
  type Call,
  type Json,
  startTestService,
  type TestOrganization,
  type TestService,
} from '../../../test/service.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { sql } from '../../platform/model/sql.ts'

let service: TestService
let organization: TestOrganization
let person: Call
beforeAll(async () => {
  service = await startTestService({ IMPORT_WORKERS: '1' })
  organization = await service.newOrganization()
  person = callAs(service, organization.accessToken)
})
afterAll(() => service.close())

/** Pushes a lead and returns the contact after it was processed. */
async function pushed(triggerUrl: string, contact: Json): Promise<Json> {
  const { call } = organization
  const { body: row } = await service.anonymous('POST', new URL(triggerUrl).pathname, { body: { contact } })
  const [, importId] = /imports\/(imp_\w+)/.exec(triggerUrl) ?? []
  let done: Json
  await until('the row is processed', async () => {
    done = (await call('GET', `/v5/imports/${importId}/rows/${row.id}`)).body
    return done.finishedAt !== null
  })
  return (await call('GET', `/v5/contacts/${done.contactId}`)).body
}

const create = async (call: Call, body: Json): Promise<Json> => {
  const { status, body: made, text } = await call('POST', '/v5/contacts', { body })
  expect(status, text).toBe(201)
  return made
}

test('a contact knows whether a person, an API key or an import created it', async () => {
  const { call, importId, triggerUrl, teamId } = organization
  const { body: company } = await call('POST', '/v5/companies', { body: { name: 'Engines' } })
  // With a team, a company or an external id, several statements create it.
  for (const more of [{}, { teamId }, { companyId: company.id }, { externalIds: { billing: '1' } }]) {
    expect(await create(call, { name: 'Ada', ...more })).toMatchObject({ source: 'api_key', importId: null })
    if ('externalIds' in more) more.externalIds.billing = '2'
    expect(await create(person, { name: 'Ada', ...more })).toMatchObject({ source: 'person', importId: null })
  }
  expect(await pushed(triggerUrl, { email: 'grace@navy.example' })).toMatchObject({ source: 'import', importId })
})

test('a replayed request and a deleted and restored contact keep the source', async () => {
  const { call } = organization
  const headers = { 'idempotency-key': 'once' }
  const first = await person('POST', '/v5/contacts', { body: { name: 'Ada' }, headers })
  const again = await person('POST', '/v5/contacts', { body: { name: 'Ada' }, headers })
  expect(again.body).toEqual(first.body)
  expect(first.body.source).toBe('person')
  await call('DELETE', `/v5/contacts/${first.body.id}`)
  const { body: restored } = await call('POST', `/v5/contacts/${first.body.id}/restore`)
  expect(restored).toMatchObject({ source: 'person', importId: null })
})

test('neither a change, nor an import that updates the contact, nor the deletion of its import changes the source', async () => {
  const { call, triggerUrl } = organization
  const made = await create(call, { email: 'alan@bletchley.example' })
  const merged = await pushed(triggerUrl, { email: 'alan@bletchley.example', nickname: 'Al' })
  expect(merged).toMatchObject({ id: made.id, nickname: 'Al', source: 'api_key', importId: null })
  const { body: changed } = await person('PATCH', `/v5/contacts/${made.id}`, { body: { city: 'Paris' } })
  expect(changed).toMatchObject({ source: 'api_key', importId: null })

  const { body: other } = await call('POST', '/v5/imports', { body: { name: 'Fair' } })
  const imported = await pushed(other.triggerUrl, { email: 'edsger@example.com' })
  expect(imported.importId).toBe(other.id)
  await call('DELETE', `/v5/imports/${other.id}`)
  expect((await call('GET', `/v5/contacts/${imported.id}`)).body).toMatchObject({
    source: 'import',
    importId: other.id,
  })
})

test('the source cannot be sent', async () => {
  const { call, importId } = organization
  for (const body of [{ source: 'import' }, { importId }]) {
    const refused = await call('POST', '/v5/contacts', { body: { name: 'Ada', ...body } })
    expect(refused).toMatchObject({ status: 422, body: { details: [{ field: Object.keys(body)[0] }] } })
  }
})

test('contacts are found by their source and import, which older ones lack', async () => {
  const own = await service.newOrganization()
  const { call } = own
  const byPerson = await create(callAs(service, own.accessToken), { name: 'By a person' })
  const byKey = await create(call, { name: 'By a key' })
  const before = await create(call, { name: 'Before' })
  const imported = await create(call, { name: 'Imported' })
  const id = (contact: Json) => decodeId('con', contact.id)
  await service.database.crossTenantQuery(
    'check the database',
    sql`update contacts set source = case when id = ${id(before)}::uuid then null else 'import' end,
        import_id = case when id = ${id(imported)}::uuid then ${decodeId('imp', own.importId)}::uuid end
      where id in (${id(before)}::uuid, ${id(imported)}::uuid)`,
  )
  const found = async (query: string) =>
    (await call('GET', `/v5/contacts?${query}`)).body.map((contact: Json) => contact.name)
  expect(await found('source=person')).toEqual([byPerson.name])
  expect(await found('filter.source.in=person,api_key&sort=asc')).toEqual([byPerson.name, byKey.name])
  expect(await found('filter.source.equals=null')).toEqual(['Before'])
  expect(await found(`importId=${own.importId}`)).toEqual(['Imported'])
  expect(await found('importId=null&source=import')).toEqual([])
  expect((await call('GET', '/v5/contacts?source=letter')).status).toBe(400)
  expect((await call('GET', `/v5/contacts/count?importId=${own.importId}`)).body).toEqual({ count: 1 })
})

test('the contact of a team has neither', async () => {
  const { call, teamId } = organization
  const [contact] = (await call('GET', `/api/teams/${teamId}/contacts?limit=1`)).body
  expect(contact).toHaveProperty('rootContactId')
  expect(contact).not.toHaveProperty('source')
  expect(contact).not.toHaveProperty('importId')
})
