import { seesAll } from '../../../../test/readers.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { serviceActor } from '../../model/caller.ts'
import { defineResource, type Resource } from '../declare/define.ts'
import { text } from '../declare/fields.ts'
import { decodeId } from '../../model/ids.ts'
import { raw, type Sql, sql } from '../../model/sql.ts'
import { planPage } from '../page/page.ts'
import { parseList } from '../page/parse.ts'
import { readPage, readRecord } from '../page/read.ts'
import { refreshRenderings } from './renderings.ts'
import { renderStale } from '../../operations/maintenance/maintenance.ts'
import { findOrganizationIds } from '../../../identity/organizations/store.ts'
import { companies } from '../../../crm/companies/resource.ts'
import { contacts } from '../../../crm/contacts/resource.ts'
import { contactStore } from '../../../crm/contacts/store.ts'
import {
  startTestService,
  type TestOrganization,
  type TestService,
  withoutBackground,
} from '../../../../test/service.ts'

let service: TestService
let organization: TestOrganization
beforeAll(async () => {
  // Without maintenance of its own, which would do the same meanwhile.
  service = await startTestService(withoutBackground)
})
afterAll(() => service.close())

const execute = (statement: Sql) =>
  service.database.crossTenantQuery<Record<string, string>>('check the database', statement)
const refresh = (resources: Resource[]) =>
  renderStale({ ...service, rendered: resources, organizations: nextOrganizations }, new AbortController().signal)
const nextOrganizations = (after: string | undefined, limit: number) =>
  findOrganizationIds(service.database, after, limit)
const create = async (body: Record<string, unknown>): Promise<{ id: string }> =>
  (await organization.call('POST', '/v5/contacts', { body })).body
const get = (id: string) => organization.call('GET', `/v5/contacts/${id}`)
const uuid = (id: string) => decodeId('con', id) ?? ''

/** The number of contacts with an invalid rendering, which this refreshes. */
async function staleCount(resource: Resource = contacts): Promise<number> {
  const organizationId = decodeId('org', organization.organizationId) ?? ''
  const range = { organizationId, after: undefined, limit: 10_000 }
  const { rendered } = await refreshRenderings(service.database, resource, range)
  return rendered
}

beforeAll(async () => {
  organization = await service.newOrganization()
})

test('creating and changing a record through the API stores its rendering, also when a note changes it', async () => {
  const { id } = await create({ name: 'Ada' })
  await organization.call('PATCH', `/v5/contacts/${id}`, { body: { city: 'London' } })
  await organization.call('POST', `/v5/contacts/${id}/notes`, { body: { body: 'Met in Turin' } })
  expect(await staleCount()).toBe(0)
})

test('a write outside the service is visible at once, and its rendering is refreshed with the same entity tag', async () => {
  const { id } = await create({ name: 'Grace' })
  await execute(sql`update contacts set city = 'Arlington' where id = ${uuid(id)}::uuid`)
  const before = await get(id)
  expect(before.body.city).toBe('Arlington')
  expect((await organization.call('GET', '/v5/contacts?filter.city.equals=Arlington')).body).toEqual([before.body])
  expect(await staleCount()).toBe(1)
  expect(await staleCount()).toBe(0)
  const after = await get(id)
  expect([after.body, after.headers.get('etag')]).toEqual([before.body, before.headers.get('etag')])
})

test('the rendering of a first write does not hide a second one in the same transaction', async () => {
  const { id } = await create({ name: 'Emmy' })
  const actor = serviceActor(
    'command',
    decodeId('org', organization.organizationId) ?? '',
    decodeId('usr', organization.userId) ?? '',
  )
  await service.database.transaction(actor, async (transaction) => {
    await contactStore.write(transaction, [{ kind: 'update', id: uuid(id), values: { city: 'Erlangen' } }])
    await transaction.query(sql`update contacts set city = 'Göttingen'
      where organization_id = ${transaction.organization} and id = ${uuid(id)}::uuid`)
  })
  expect((await get(id)).body.city).toBe('Göttingen')
})

test('a new field rewrites no table, and responses are correct before and after the refresh', async () => {
  const { id } = await create({ name: 'Ada', firstName: 'Ada' })
  const [{ files: before } = {}] = await execute(sql`select pg_relation_filenode('contacts') as files`)
  const [{ source = '' } = {}] = await execute(
    sql`select pg_get_functiondef('contact_document(contacts)'::regprocedure) as source`,
  )
  await execute(raw(`alter table contacts add column motto text default 'onwards'`))
  await execute(
    raw(
      source.replace(
        `'"nickname":'`,
        `'"motto":' || coalesce(to_json(record.motto)::text, 'null') || ',' || '"nickname":'`,
      ),
    ),
  )
  const { id: idField, ...otherFields } = contacts.fields
  const extended = defineResource({
    ...contacts,
    fields: { id: idField, ...otherFields, motto: text({ label: 'Motto' }) },
    renderingVersion: Number(contacts.renderingVersion) + 1,
  })
  const db = service.database.reader({
    ...serviceActor(
      'command',
      decodeId('org', organization.organizationId) ?? '',
      decodeId('usr', organization.userId) ?? '',
    ),
  })
  const readSingle = async () => JSON.parse((await readRecord(db, extended, uuid(id))).text)
  const listAll = async () => {
    const request = parseList(extended, [], () => ({ key: Buffer.alloc(32), scope: '' }) as never)
    return JSON.parse(
      (
        await readPage(
          db,
          extended,
          planPage(extended, request, { organization: db.organization, actor: seesAll }),
          undefined,
        )
      ).text,
    )
  }
  const beforeRefresh = [await readSingle(), await listAll()]
  expect(beforeRefresh[0]).toMatchObject({ id, motto: 'onwards', nickname: null })
  expect(beforeRefresh[1].map(({ motto }: { motto: string }) => motto)).toEqual(beforeRefresh[1].map(() => 'onwards'))
  await refresh([extended, companies])
  expect(await staleCount(extended)).toBe(0)
  // A process of the previous version neither replaces nor uses newer renderings.
  expect(await staleCount(contacts)).toBe(0)
  expect([await readSingle(), await listAll()]).toEqual(beforeRefresh)
  expect((await get(id)).body).toMatchObject({ id, name: 'Ada' })
  const [{ files: after } = {}] = await execute(sql`select pg_relation_filenode('contacts') as files`)
  expect(after).toBe(before)
})
