import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Call, type Json, startTestService, type TestService } from '../../../test/service.ts'
import { sql } from '../../platform/model/sql.ts'

let service: TestService
let call: Call
/** By the field of notes that names the record: the path of the record and its id. */
let records: Record<'contactId' | 'companyId' | 'dealId', { path: string; id: string }>
beforeAll(async () => {
  service = await startTestService()
})
beforeEach(async () => {
  ;({ call } = await service.newOrganization())
  const create = async (name: string) => {
    const { id } = (await call('POST', `/v5/${name}`, { body: { name: 'Engine' } })).body
    return { path: `/v5/${name}/${id}`, id }
  }
  records = { contactId: await create('contacts'), companyId: await create('companies'), dealId: await create('deals') }
})
afterAll(() => service.close())

async function newNote(of: { path: string }, body: string): Promise<Json> {
  const created = await call('POST', `${of.path}/notes`, { body: { body } })
  expect([created.text, created.status]).toEqual([created.text, 201])
  return created.body
}

test('a note is on the contact, the company or the deal in its path, and all are in one list', async () => {
  const nowhere = { contactId: null, companyId: null, dealId: null }
  const made: Json[] = []
  for (const [name, record] of Object.entries(records)) {
    const note = await newNote(record, name)
    expect(note).toMatchObject({ ...nowhere, [name]: record.id, source: 'manual' })
    made.push(note)
    expect((await call('GET', `${record.path}/notes`)).body).toEqual([note])
    expect((await call('GET', `/v5/notes?${name}=${record.id}`)).body).toEqual([note])
    expect((await call('GET', `/v5/notes?filter.${name}.equals=null`)).body).toHaveLength(made.length - 1)
    for (const other of Object.values(records)) {
      const { status } = await call('GET', `${other.path}/notes/${note.id}`)
      expect([other.path, status]).toEqual([other.path, other === record ? 200 : 404])
    }
  }
  expect((await call('GET', '/v5/notes')).body).toEqual(made.toReversed())
})

test('a note cannot be moved to another record', async () => {
  const note = await newNote(records.companyId, 'one')
  for (const name of Object.keys(records)) {
    const refused = await call('PATCH', `/v5/notes/${note.id}`, { body: { [name]: null } })
    expect(refused).toMatchObject({ status: 422, body: { details: [{ field: name, message: 'is read-only' }] } })
  }
})

test('the Markdown of a note is stored and returned as it is', async () => {
  const body = '# Offer\r\n\n- **40** seats  \n- <b>bold</b> & [link](javascript:alert(1))\n\n```sh\n$ ls\t\n```\n'
  const { id } = await newNote(records.dealId, body)
  expect((await call('GET', `/v5/notes/${id}`)).body.body).toBe(body)
})

test('the notes of a deleted company or deal are not found until it is restored', async () => {
  for (const record of [records.companyId, records.dealId]) {
    const note = await newNote(record, 'Quixotic')
    await call('DELETE', record.path)
    expect((await call('GET', '/v5/notes/count?query=quixotic')).body).toEqual({ count: 0 })
    for (const path of [`/v5/notes/${note.id}`, `${record.path}/notes/${note.id}`])
      expect((await call('PATCH', path, { body: { body: 'Other' } })).status).toBe(404)
    await call('POST', `${record.path}/restore`)
    expect((await call('GET', `/v5/notes/${note.id}`)).body).toEqual(note)
    await call('DELETE', `/v5/notes/${note.id}`)
  }
})

test('only the edited notes of contacts are stored for imports', async () => {
  for (const record of [records.companyId, records.dealId]) {
    const { id } = await newNote(record, 'one')
    await call('PATCH', `/v5/notes/${id}`, { body: { body: 'two' } })
    expect((await call('DELETE', `/v5/notes/${id}`)).status).toBe(204)
  }
  const edited = () =>
    service.database.crossTenantQuery('check the database', sql`select field from contact_edited_values`)
  expect(await edited()).toEqual([])
  const { id } = await newNote(records.contactId, 'one')
  await call('PATCH', `/v5/notes/${id}`, { body: { body: 'two' } })
  expect(await edited()).toEqual([{ field: 'notes' }])
})
