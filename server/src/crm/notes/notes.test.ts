import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { callAs } from '../../../test/people.ts'
import {
  type Call,
  type Json,
  startTestService,
  type TestOrganization,
  type TestService,
} from '../../../test/service.ts'
import { type Sql, sql } from '../../platform/model/sql.ts'
import { newId, decodeId, encodeId } from '../../platform/model/ids.ts'

let service: TestService
let organization: TestOrganization
let call: Call
let contactId: string
let path: string
beforeAll(async () => {
  service = await startTestService()
})
beforeEach(async () => {
  organization = await service.newOrganization()
  call = organization.call
  contactId = await newContact('Ada')
  path = `/v5/contacts/${contactId}/notes`
})
afterAll(() => service.close())

const database = (statement: Sql): Promise<Json[]> => service.database.crossTenantQuery('check the database', statement)
const uuid = (id: string): string => decodeId(id.slice(0, 3), id) ?? ''

const newContact = async (name: string): Promise<string> =>
  (await call('POST', '/v5/contacts', { body: { name } })).body.id

async function newNote(body: string, of = contactId): Promise<Json> {
  const created = await call('POST', `/v5/contacts/${of}/notes`, { body: { body } })
  expect(created.status).toBe(201)
  return created.body
}

const bodies = async (query = ''): Promise<string[]> =>
  (await call('GET', `/v5/notes${query}`)).body.map(({ body }: { body: string }) => body)

test('a note belongs to the contact in its path', async () => {
  const created = await call('POST', path, { body: { body: 'Prefers letters.\n\nNot on Mondays.' } })
  expect(created).toMatchObject({
    status: 201,
    body: { contactId, body: 'Prefers letters.\n\nNot on Mondays.', source: 'manual', importRowId: null },
  })
  expect(created.headers.get('location')).toBe(`${path}/${created.body.id}`)
  const otherPath = `/v5/contacts/${await newContact('Bob')}/notes`
  expect((await call('GET', otherPath)).body).toEqual([])
  for (const method of ['GET', 'DELETE'])
    expect((await call(method, `${otherPath}/${created.body.id}`)).status).toBe(404)
  expect((await call('PATCH', `${otherPath}/${created.body.id}`, { body: { body: 'Other' } })).status).toBe(404)
  expect((await call('GET', `${path}/${created.body.id}`)).body).toEqual(created.body)
})

test('a note can have 100,000 characters of any script and is found by its last word', async () => {
  const text = `${'Ünïcödé, и кириллица тоже. '.repeat(4000).slice(0, 99_991)} Quixotic`
  const { id } = await newNote(text)
  expect((await call('GET', `/v5/notes/${id}`)).body.body).toBe(text)
  expect(await bodies('?query=quixotic&select[]=body')).toEqual([text])
  const longer = await call('POST', path, { body: { body: `${text}!` } })
  expect(longer).toMatchObject({ status: 422, body: { code: 'invalid_field_value', details: [{ field: 'body' }] } })
})

test('the list of all notes contains the same records as the lists of the contacts, newest first', async () => {
  const other = await newContact('Bob')
  const created = [await newNote('one'), await newNote('two', other), await newNote('three')]
  const { body: all } = await call('GET', '/v5/notes')
  expect(all).toEqual([...created].reverse())
  expect((await call('GET', '/v5/notes/count')).body).toEqual({ count: 3 })
  for (const note of created) {
    const one = await call('GET', `/v5/notes/${note.id}`)
    const same = await call('GET', `/v5/contacts/${note.contactId}/notes/${note.id}`)
    expect([one.text, one.headers.get('etag')]).toEqual([same.text, same.headers.get('etag')])
  }
  expect(await bodies(`?filter.contactId.equals=${contactId}`)).toEqual(['three', 'one'])
  expect(await bodies(`?contactId=${other}&sort=asc`)).toEqual(['two'])
  expect(await bodies(`?startingAfter=${created[2]?.id}&limit=1`)).toEqual(['two'])
})

test('a note can be changed, deleted and restored without its contact in the path, but not created', async () => {
  const { id } = await newNote('one')
  const one = `/v5/notes/${id}`
  const { headers } = await call('GET', one)
  const changed = await call('PATCH', one, {
    body: { body: 'two' },
    headers: { 'if-match': headers.get('etag') ?? '' },
  })
  expect(changed).toMatchObject({ status: 200, body: { id, contactId, body: 'two' } })
  const late = await call('PATCH', `${path}/${id}`, {
    body: { body: 'three' },
    headers: { 'if-match': headers.get('etag') ?? '' },
  })
  expect(late.status).toBe(412)
  expect((await call('DELETE', one)).status).toBe(204)
  expect((await call('GET', `${path}/${id}`)).status).toBe(404)
  expect((await call('POST', `${one}/restore`)).body).toMatchObject({ id, body: 'two' })
  const refused = await call('POST', '/v5/notes', { body: { contactId, body: 'four' } })
  expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
})

test('the notes of a deleted contact are not found by any request until the contact is restored', async () => {
  const kept = await newNote('kept', await newContact('Bob'))
  const created = await newNote('gone with Ada')
  const deleted = await newNote('deleted before')
  await call('DELETE', `/v5/notes/${deleted.id}`)
  await call('DELETE', `/v5/contacts/${contactId}`)
  expect((await call('GET', '/v5/notes')).body).toEqual([kept])
  expect((await call('GET', '/v5/notes/count')).body).toEqual({ count: 1 })
  for (const query of ['?query=with', `?filter.contactId.equals=${contactId}`, '?filter.body.contains=gone']) {
    expect([query, await bodies(query)]).toEqual([query, []])
    expect([query, (await call('GET', `/v5/notes/count${query}`)).body]).toEqual([query, { count: 0 }])
  }
  expect((await call('GET', `/v5/notes?startingAfter=${created.id}`)).status).toBe(404)
  for (const one of [`/v5/notes/${created.id}`, `${path}/${created.id}`]) {
    const responses = [
      await call('GET', one),
      await call('PATCH', one, { body: { body: 'Other' } }),
      await call('DELETE', one),
      await call('POST', `${one.replace(created.id, deleted.id)}/restore`),
    ]
    for (const response of responses) expect(response).toMatchObject({ status: 404, body: { code: 'not_found' } })
  }
  await call('POST', `/v5/contacts/${contactId}/restore`)
  expect((await call('GET', `/v5/notes/${created.id}`)).body).toEqual(created)
  expect((await call('POST', `/v5/notes/${deleted.id}/restore`)).status).toBe(200)
  expect(await bodies()).toEqual(['deleted before', 'gone with Ada', 'kept'])
})

/** Adds a member who becomes the creator of the organization’s API keys. */
async function newKeyCreator(): Promise<string> {
  const [id, email] = [newId(), `${newId()}@example.com`]
  const own = sql`${uuid(organization.organizationId)}::uuid`
  await database(sql`insert into users (id, email, email_key, name) values (${id}, ${email}, ${email}, 'Grace')`)
  await database(sql`insert into members (organization_id, user_id, role) values (${own}, ${id}, 'member')`)
  await database(
    sql`update api_keys set created_by = ${id}::uuid, version = version + 1 where organization_id = ${own}`,
  )
  return encodeId('usr', id)
}

const bySession: Call = (...args) => callAs(service, organization.accessToken)(...args)

test('the author is the logged-in user or the creator of the key, and does not change with the text', async () => {
  const maker = await newKeyCreator()
  const { body: typed } = await bySession('POST', path, { body: { body: 'typed' } })
  expect(typed.authorId).toBe(organization.userId)
  const sent = await newNote('sent')
  expect(sent.authorId).toBe(maker)
  expect((await bySession('PATCH', `/v5/notes/${sent.id}`, { body: { body: 'sent, corrected' } })).body.authorId).toBe(
    maker,
  )
  expect(await bodies(`?filter.authorId.equals=${maker}`)).toEqual(['sent, corrected'])
  expect(await bodies(`?filter.authorId.not=${maker}`)).toEqual(['typed'])
})

test('an author who leaves remains the author, and their API key then writes notes without an author', async () => {
  const maker = await newKeyCreator()
  const note = await newNote('before')
  await database(sql`delete from members where user_id = ${uuid(maker)}::uuid`)
  expect((await call('GET', `/v5/notes/${note.id}`)).body).toEqual(note)
  expect(await newNote('after')).toMatchObject({ body: 'after', authorId: null })
})

/** Texts queued for the reasoning step, in order. */
const queue = async (): Promise<string[]> => {
  const rows = await database(sql`select body from notes
    where organization_id = ${uuid(organization.organizationId)}::uuid
      and reasoning_queued_at is not null and deleted_at is null order by reasoning_queued_at, id`)
  return rows.map(({ body }) => body)
}

/** Marks a note as read by the reasoning step. */
const read = (note: Json) =>
  database(sql`update notes set reasoning_queued_at = null where id = ${uuid(note.id)}::uuid`)

test('a note is queued for the reasoning step when it is created and whenever its text changes', async () => {
  const note = await newNote('first')
  expect(note.reasoningQueuedAt).toBe(note.createdAt)
  await newNote('second')
  expect(await queue()).toEqual(['first', 'second'])
  await read(note)
  expect((await call('GET', `/v5/notes/${note.id}`)).body).toEqual({ ...note, reasoningQueuedAt: null })
  expect(await queue()).toEqual(['second'])
  const changed = await call('PATCH', `/v5/notes/${note.id}`, { body: { body: 'first, corrected' } })
  expect(changed.body.reasoningQueuedAt).toBe(changed.body.updatedAt)
  expect(await queue()).toEqual(['second', 'first, corrected'])
  expect(await bodies('?filter.reasoningQueuedAt.not=null&sort=asc')).toEqual(['first, corrected', 'second'])
})

test('a change without a new text does not queue the note, and a deleted note leaves the queue', async () => {
  const [note, waiting] = [await newNote('read'), await newNote('waiting')]
  await read(note)
  const one = `/v5/notes/${note.id}`
  expect((await call('PATCH', one, { body: { body: 'read' } })).body).toMatchObject({ reasoningQueuedAt: null })
  await call('DELETE', one)
  expect((await call('POST', `${one}/restore`)).body).toMatchObject({ reasoningQueuedAt: null })
  await call('DELETE', `/v5/notes/${waiting.id}`)
  expect(await queue()).toEqual([])
  const { body: back } = await call('POST', `/v5/notes/${waiting.id}/restore`)
  expect(back.reasoningQueuedAt).toBe(waiting.reasoningQueuedAt)
  expect(await queue()).toEqual(['waiting'])
  for (const [name, value] of Object.entries({
    reasoningQueuedAt: null,
    source: 'import',
    authorId: null,
    contactId,
  })) {
    expect((await call('PATCH', one, { body: { body: 'x', [name]: value } })).status).toBe(422)
  }
})

test('creating a note counts as activity of its contact; changing it does not', async () => {
  const other = await newContact('Bob')
  const before = await call('GET', `/v5/contacts/${contactId}`)
  expect(before.body.lastActivityAt).toBeNull()
  const note = await newNote('one')
  const after = await call('GET', `/v5/contacts/${contactId}`)
  expect(after.body).toEqual({ ...before.body, lastActivityAt: note.createdAt })
  expect((await call('GET', `/v5/contacts/${other}`)).body.lastActivityAt).toBeNull()
  await call('PATCH', `/v5/notes/${note.id}`, { body: { body: 'two' } })
  await call('DELETE', `/v5/notes/${note.id}`)
  await call('POST', `/v5/notes/${note.id}/restore`)
  expect((await call('GET', `/v5/contacts/${contactId}`)).text).toBe(after.text)
  const { createdAt } = await newNote('three')
  expect((await call('GET', `/v5/contacts/${contactId}`)).body.lastActivityAt).toBe(createdAt)
  const ids = (await call('GET', '/v5/contacts?orderBy=lastActivityAt')).body.map(({ id }: Json) => id)
  expect(ids).toEqual([contactId, other])
})

test('adding a note does not conflict with a concurrent change of the contact', async () => {
  const { headers } = await call('GET', `/v5/contacts/${contactId}`)
  await newNote('meanwhile')
  const changed = await call('PATCH', `/v5/contacts/${contactId}`, {
    body: { city: 'London' },
    headers: { 'if-match': headers.get('etag') ?? '' },
  })
  expect(changed).toMatchObject({ status: 200, body: { city: 'London' } })
})

test('lastActivityAt never moves back', async () => {
  await database(sql`update contacts set last_activity_at = '2999-01-01Z' where id = ${uuid(contactId)}::uuid`)
  await newNote('earlier')
  expect((await call('GET', `/v5/contacts/${contactId}`)).body.lastActivityAt).toBe('2999-01-01T00:00:00.000Z')
})

test('a search ignores case and accents and finds parts of words, for one contact and for all', async () => {
  const other = await newContact('Bob')
  await newNote('Möchte ein Angebot für 200 Stühle', other)
  await newNote('Asked for an offer: 200 chairs')
  await newNote('Called back')
  expect(await bodies('?query=200')).toEqual(['Asked for an offer: 200 chairs', 'Möchte ein Angebot für 200 Stühle'])
  expect(await bodies('?query=STUHLE+angeb')).toEqual(['Möchte ein Angebot für 200 Stühle'])
  expect(await bodies('?query=200+back')).toEqual([])
  expect(await bodies('?filter.body.startsWith=call')).toEqual(['Called back'])
  const own = (await call('GET', `${path}?query=200`)).body.map(({ body }: Json) => body)
  expect(own).toEqual(['Asked for an offer: 200 chairs'])
})

test('notes of another organization are not accessible', async () => {
  const note = await newNote('ours')
  const otherOrganization = await service.newOrganization()
  const responses = [
    await otherOrganization.call('GET', path),
    await otherOrganization.call('GET', `${path}/count`),
    await otherOrganization.call('POST', path, { body: { body: 'theirs' } }),
    await otherOrganization.call('GET', `/v5/notes/${note.id}`),
    await otherOrganization.call('PATCH', `/v5/notes/${note.id}`, { body: { body: 'theirs' } }),
    await otherOrganization.call('DELETE', `/v5/notes/${note.id}`),
  ]
  for (const response of responses) expect(response).toMatchObject({ status: 404, body: { code: 'not_found' } })
  expect((await otherOrganization.call('GET', `/v5/notes?filter.contactId.equals=${contactId}`)).body).toEqual([])
  expect((await call('GET', '/v5/notes')).body).toEqual([note])
  expect((await call('GET', `/v5/contacts/${contactId}`)).body.lastActivityAt).toBe(note.createdAt)
})

test('a viewer cannot write notes, a member can', async () => {
  const note = await newNote('one')
  const readingKey = await organization.withScopes(['*:*:read', 'contact:*:write'])
  const setRole = (role: string) =>
    database(sql`update members set role = ${role} where user_id = ${uuid(organization.userId)}::uuid`)
  await setRole('viewer')
  for (const reader of [bySession, readingKey]) {
    expect((await reader('GET', '/v5/notes')).body).toEqual([note])
    const responses = [
      await reader('POST', path, { body: { body: 'two' } }),
      await reader('PATCH', `${path}/${note.id}`, { body: { body: 'two' } }),
      await reader('DELETE', `/v5/notes/${note.id}`),
    ]
    for (const response of responses) expect(response).toMatchObject({ status: 403, body: { code: 'missing_scopes' } })
  }
  expect((await call('GET', '/v5/notes')).body).toEqual([note])
  await setRole('member')
  expect((await bySession('POST', path, { body: { body: 'two' } })).status).toBe(201)
})
