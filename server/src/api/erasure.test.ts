import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { isDistributed } from '../../test/engines.ts'
import { expectSameRecords, FeedCopy } from '../../test/feed-copy.ts'
import { created, newColleague, untilRead } from '../../test/inbox-fixture.ts'
import { enqueue } from '../../test/mail-queue.ts'
import { newOwner } from '../../test/people.ts'
import { rowsWith } from '../../test/personal-values.ts'
import { until } from '../../test/processes.ts'
import { newImport, type TestImport } from '../../test/pushes.ts'
import { type Call, type Json, startTestService, type TestOrganization, type TestService } from '../../test/service.ts'
import { analysedNote } from '../../test/suggested.ts'
import { newWebhook, sendsToLoopback } from '../../test/webhook-fixture.ts'
import { Receiver } from '../../test/webhook-receiver.ts'
import { decodeId, newId } from '../platform/model/ids.ts'
import { type Sql, sql } from '../platform/model/sql.ts'

let service: TestService
let organization: TestOrganization
let call: Call
beforeAll(async () => {
  service = await startTestService({ ...sendsToLoopback, IMPORT_WORKERS: '1' })
})
beforeEach(async () => {
  organization = await service.newOrganization()
  call = organization.call
})
afterAll(() => service.close())

const own = () => sql`${decodeId('org', organization.organizationId)}::uuid`
const query = (statement: Sql) => service.database.crossTenantQuery<Json>('check the database', statement)
const erase = (id: string, options = {}) => call('POST', `/v5/contacts/${id}/erase`, options)

/** A word that occurs nowhere else. */
const newWord = () => `zq${newId().replaceAll('-', '').slice(12)}`

async function push(one: TestImport, body: object): Promise<void> {
  const answer = await one.push(body)
  expect(answer.status, answer.text).toBe(200)
  await until('the rows are processed', async () => {
    const { count } = (await call('GET', `/v5/imports/${one.importId}/rows/count?filter.status.in=PENDING,PROCESSING`))
      .body
    return count === 0
  })
}

/** A contact with values in every field, from every way in. */
async function newPerson(word: string, receiver: Receiver): Promise<Json> {
  const email = `${word}@example.com`
  const colleague = await newColleague(service, organization)
  await newWebhook(call, receiver, {
    events: ['contact.*', 'note.*', 'task.*', 'employment.*'],
    scopes: ['contact:list:read', 'note:list:read', 'task:list:read', 'employment:list:read'],
  })
  const one = await newImport(service, organization)
  const pushed = {
    email,
    name: `${word} Pushed`,
    note: `Pushed by ${word}`,
    tags: [word],
    customProperties: { plan: word },
  }
  await push(one, {
    contact: { ...pushed, externalIdCrm: `crm-${word}`, linkedinHandle: word },
    employmentHistory: [{ organization: `${word} Ltd`, title: word, start: '2020-01' }],
  })
  const [contact] = (await call('GET', `/v5/contacts?email=${email}`)).body
  expect(contact).toMatchObject({ name: `${word} Pushed`, importId: one.importId })
  await push(one, { contact: { email, note: `Pushed again by ${word}` } })
  await one.push({ contact: { email }, company: { employeesCount: 'many' } })
  const path = `/v5/contacts/${contact.id}`
  const urls = { website: `https://${word}.example.com/`, avatar: `https://${word}.example.com/a.png` }
  const texts = { nickname: word, bio: word, location: word, city: word, state: word, employmentTitle: word }
  const handles = { githubHandle: word, twitterHandle: word, instagramHandle: word, facebookHandle: word }
  const headers = { 'idempotency-key': word }
  const emails = [{ address: email }, { address: `${word}.home@example.com`, kind: 'personal' }]
  const phones = ['+49 30 1234567', '+49 171 7654321'].map((number) => ({ number }))
  const lists = { emails, phones }
  const body = { ...urls, ...texts, ...handles, ...lists, name: `${word} Changed`, ownerId: colleague.userId }
  const changed = await call('PATCH', path, { body, headers })
  expect(changed.status, changed.text).toBe(200)
  await one.push({ contact: { email: `${word}.home@example.com` }, company: { employeesCount: 'many' } })
  await created(call, `${path}/employments`, { organization: word, title: word })
  const task = await created(call, '/v5/tasks', {
    title: `Call ${word}`,
    body: word,
    contactId: contact.id,
    assigneeId: colleague.userId,
  })
  await analysedNote(service, organization, `${path}/notes`, `I am ${word}. Please call me tomorrow at 14:00.`)
  const [suggestion] = (await call('GET', '/v5/suggestions')).body
  await call('POST', `/v5/suggestions/${suggestion.id}/accept`, { body: { title: `Do it: ${word}` } })
  const deal = await created(call, '/v5/deals', { name: 'Engine' })
  await created(call, `/v5/deals/${deal.id}/contacts`, { contactId: contact.id })
  await call('DELETE', path)
  await call('POST', `${path}/restore`)
  const mail = { organizationId: decodeId('org', organization.organizationId) ?? '', recipient: colleague.email }
  const reminder = { what: 'reminder', title: `Call ${word}`, path: `/tasks/${task.id}` } as const
  await enqueue(service, { kind: 'reminder', ...mail, facts: reminder })
  const lines = JSON.stringify([{ says: 'A note mentions you', title: word, path: '/inbox' }])
  await enqueue(service, {
    kind: 'digest',
    ...mail,
    facts: { language: 'en', count: '1', lines, records: contact.id, path: '/inbox' },
  })
  await untilRead(service, organization)
  return (await call('GET', path)).body
}

/** What names the person in texts that are encrypted: mails without a mail server, and responses to repeat. */
async function countSealed(): Promise<{ mails: number; responses: number }> {
  const [mails] = await query(sql`select count(*)::int as count from mails
    where organization_id = ${own()} and kind in ('reminder', 'digest')`)
  const [responses] = await query(sql`select count(*)::int as count from idempotency_answers
    where organization_id = ${own()}`)
  return { mails: mails.count, responses: responses.count }
}

/** Answers with what it got, as some receivers do. */
async function newEcho(): Promise<Receiver> {
  const receiver = await new Receiver().open()
  receiver.answer = (response, { text }) => void response.writeHead(200).end(text)
  return receiver
}

test('no value of an erased person is left in any table, and a copy that follows the feed has none', async () => {
  const word = newWord()
  const receiver = await newEcho()
  const person = await newPerson(word, receiver)
  // In a distributed database, workers look for events to send less often.
  await until('the events are sent', async () => {
    if (isDistributed()) return true
    const [left] = await query(sql`select count(*)::int as count from webhook_deliveries
      where organization_id = ${own()} and status <> 'delivered'`)
    return left.count === 0 && receiver.received.length > 5
  })
  await until('the refused pushes are stored', async () => {
    const [refused] = await query(
      sql`select count(*)::int as count from refused_pushes where organization_id = ${own()}`,
    )
    return refused.count === 2
  })
  const before = await rowsWith(service.database, [word])
  const tables = new Set(before.map((row) => row.split(':')[0]))
  for (const table of [
    'contacts',
    'events',
    'import_rows',
    'refused_pushes',
    'notes',
    'tasks',
    'employments',
    'suggestions',
    ...(isDistributed() ? [] : ['webhook_deliveries']),
    'root_contacts',
    'contact_renderings',
  ])
    expect(tables).toContain(table)
  expect(await countSealed()).toEqual({ mails: 2, responses: 1 })
  const copy = new FeedCopy()
  await copy.follow(call)
  const places = await query(sql`select id, "position", kind, created_at, author_id from events
    where organization_id = ${own()} and record_id = ${decodeId('con', person.id)}::uuid order by "position"`)

  const erased = await erase(person.id)
  expect([erased.status, erased.text]).toEqual([204, ''])
  expect(await rowsWith(service.database, [word])).toEqual([])
  expect(await countSealed()).toEqual({ mails: 0, responses: 0 })

  for (const path of ['', '/timeline', '/notes', '/employments'])
    expect((await call('GET', `/v5/contacts/${person.id}${path}`)).status).toBe(404)
  expect((await call('POST', `/v5/contacts/${person.id}/restore`)).status).toBe(404)
  const added = await copy.follow(call)
  const ofKind = (kind: string) => added.filter((event) => event.kind === kind).map(({ resource }) => resource)
  expect(ofKind('erased').toSorted().at(0)).toBe('contact')
  expect(new Set(ofKind('erased'))).toEqual(
    new Set(['contact', 'deal-contact', 'employment', 'note', 'suggestion', 'task']),
  )
  expect(ofKind('purged')).toEqual([])
  await expectSameRecords(copy, service.database, organization.organizationId)
  const later = new FeedCopy()
  const all = await later.follow(call)
  expect(JSON.stringify(all)).not.toContain(word)
  await expectSameRecords(later, service.database, organization.organizationId)
  const after = await query(sql`select id, "position", kind, created_at, author_id from events
    where organization_id = ${own()} and record_id = ${decodeId('con', person.id)}::uuid order by "position"`)
  expect(after.slice(0, places.length)).toEqual(places)
  expect(after.slice(places.length).map(({ kind }) => kind)).toEqual(['deleted', 'erased'])
  await receiver.close()
})

test.skipIf(isDistributed())('what a receiver answers after the person was erased is not stored', async () => {
  const word = newWord()
  const receiver = await new Receiver().open()
  const answers: (() => void)[] = []
  receiver.answer = (response, { text, body }) => {
    const answer = () => void response.writeHead(200).end(text)
    if (body.type === 'contact.created') answers.push(answer)
    else answer()
  }
  const { id } = await newWebhook(call, receiver)
  const other = await created(call, '/v5/contacts', { name: 'Grace' })
  const contact = await created(call, '/v5/contacts', { name: word })
  await until('both attempts are in progress', () => answers.length === 2)
  expect((await erase(contact.id)).status).toBe(204)
  for (const answer of answers) answer()
  const deliveries = async (type: string): Promise<Json[]> =>
    (await call('GET', `/v5/webhooks/${id}/deliveries?status=delivered&filter.type.equals=${type}`)).body
  await until('both are stored', async () => (await deliveries('contact.created')).length === 2)
  const stored = await Promise.all(
    (await deliveries('contact.created')).map(
      async (one) => (await call('GET', `/v5/webhooks/${id}/deliveries/${one.id}`)).body,
    ),
  )
  const answerOf = (record: Json) => stored.find(({ recordId }) => recordId === record.id).attempts[0].answer
  expect([answerOf(contact), answerOf(other)]).toEqual([null, expect.stringContaining('Grace')])
  expect(await rowsWith(service.database, [word])).toEqual([])
  await receiver.close()
})

test('erasing is audited without values, is repeated by its key, and finds nothing afterwards', async () => {
  const word = newWord()
  const { id } = await created(call, '/v5/contacts', { name: word, email: `${word}@example.com` })
  const headers = { 'idempotency-key': newWord() }
  const first = await erase(id, { headers })
  const again = await erase(id, { headers })
  expect([first.status, again.status, again.headers.get('idempotent-replayed')]).toEqual([204, 204, 'true'])
  expect((await erase(id)).status).toBe(404)
  expect((await erase('con_00000000000000000000000000000000')).status).toBe(404)
  const bySession: Call = (method, path, options = {}) =>
    service.anonymous(method, path, {
      ...options,
      headers: { authorization: `Bearer ${organization.accessToken}`, ...options.headers },
    })
  // An Idempotency-Key belongs to its credential.
  expect((await bySession('POST', `/v5/contacts/${id}/erase`, { headers })).status).toBe(404)
  const events = (await call('GET', '/v5/audit-log?filter.action.equals=contact.erased')).body
  expect(events).toHaveLength(1)
  expect(events[0]).toMatchObject({ recordType: 'contact', recordId: id })
  expect(JSON.stringify(events)).not.toContain(word)
  const other = await created(call, '/v5/contacts', { name: word })
  const repeat = () => bySession('POST', `/v5/contacts/${other.id}/erase`, { headers })
  expect([(await repeat()).status, (await repeat()).status]).toEqual([204, 204])
})

test('a deleted contact can be erased, and the same address makes a new contact afterwards', async () => {
  const word = newWord()
  const body = { name: word, email: `${word}@example.com`, emailOptOut: true }
  const { id, rootContactId } = await created(call, '/v5/contacts', body)
  await call('DELETE', `/v5/contacts/${id}`)
  expect((await erase(id)).status).toBe(204)
  expect(await rowsWith(service.database, [word])).toEqual([])
  const one = await newImport(service, organization)
  await push(one, { contact: { email: body.email } })
  const [contact] = (await call('GET', `/v5/contacts?email=${body.email}`)).body
  expect(contact).toMatchObject({ importId: one.importId, emailOptOut: false })
  expect([contact.id, contact.rootContactId]).not.toContain(id)
  expect(contact.rootContactId).not.toBe(rootContactId)
})

test('what belongs to others stays: another contact of the person, their rows, and deals with their links', async () => {
  const word = newWord()
  const email = `${word}@example.com`
  const team = await created(call, '/v5/teams', { name: word.slice(0, 12) })
  const one = await newImport(service, organization)
  await push(one, { contact: { email } })
  const [pushed] = (await call('GET', `/v5/contacts?email=${email}`)).body
  const other = await created(call, '/v5/contacts', { email, teamId: team.id })
  expect(other.rootContactId).toBe(pushed.rootContactId)
  const deal = await created(call, '/v5/deals', { name: 'Engine' })
  for (const { id } of [pushed, other]) await created(call, `/v5/deals/${deal.id}/contacts`, { contactId: id })
  expect((await erase(other.id)).status).toBe(204)
  expect((await call('GET', `/v5/contacts/${pushed.id}`)).body).toMatchObject({
    email,
    rootContactId: pushed.rootContactId,
  })
  expect((await call('GET', `/v5/imports/${one.importId}/rows`)).body).toHaveLength(1)
  const links = (await call('GET', `/v5/deals/${deal.id}/contacts`)).body
  expect(links.map(({ contactId }: Json) => contactId)).toEqual([pushed.id])
})

test('nothing of another organization that knows the same person changes', async () => {
  const word = newWord()
  const email = `${word}@example.com`
  const theirs = await service.newOrganization()
  for (const one of [organization, theirs]) {
    const { push: send } = await newImport(service, one)
    expect((await send({ contact: { email, note: `Pushed by ${word}` } })).status).toBe(200)
    await send({ contact: { email }, company: { employeesCount: 'many' } })
    await until(
      'the row is processed',
      async () => (await one.call('GET', `/v5/contacts?email=${email}`)).body.length > 0,
    )
    const [{ id }] = (await one.call('GET', `/v5/contacts?email=${email}`)).body
    const emails = [{ address: email }, { address: `${word}.home@example.com` }]
    expect((await one.call('PATCH', `/v5/contacts/${id}`, { body: { emails, city: word } })).status).toBe(200)
    await created(one.call, '/v5/tasks', { title: `Call ${word}`, contactId: id })
    await created(one.call, `/v5/contacts/${id}/employments`, { organization: word })
  }
  const rowsOf = async (one: TestOrganization) =>
    (await rowsWith(service.database, [word])).filter((row) => row.includes(decodeId('org', one.organizationId) ?? ''))
  // Tables, not rows: background work may add to them meanwhile.
  const tablesOf = async (one: TestOrganization) => new Set((await rowsOf(one)).map((row) => row.split(':')[0]))
  const before = await tablesOf(theirs)
  expect(before.size).toBeGreaterThan(8)
  const [{ id }] = (await call('GET', `/v5/contacts?email=${email}`)).body
  expect((await erase(id)).status).toBe(204)
  expect(await rowsOf(organization)).toEqual([])
  expect([...(await tablesOf(theirs))]).toEqual(expect.arrayContaining([...before]))
})

test('the suggestion that made a contact goes with it, also the stored response of accepting it', async () => {
  const word = newWord()
  const colleague = await created(call, '/v5/contacts', { name: 'Ada' })
  const path = `/v5/contacts/${colleague.id}/notes`
  const text = `I am the wrong person. Please contact Ann Lee, ${word}@birch.example instead.`
  const note = await analysedNote(service, organization, path, text)
  const found = (await call('GET', `/v5/suggestions?noteId=${note.id}&filter.type.equals=add_contact`)).body
  const headers = { 'idempotency-key': word }
  const body = { name: `Ann ${word}` }
  const accepted = await call('POST', `/v5/suggestions/${found[0]?.id}/accept`, { body, headers })
  expect(accepted.status, accepted.text).toBe(200)
  // People edit the note: what it says about others belongs to its contact.
  await call('PATCH', `/v5/notes/${note.id}`, { body: { body: 'Someone else is responsible.' } })
  expect((await countSealed()).responses).toBe(1)
  expect((await erase(accepted.body.resultContactId)).status).toBe(204)
  expect((await call('GET', `/v5/suggestions/${found[0].id}`)).status).toBe(404)
  expect((await countSealed()).responses).toBe(0)
  const tables = (await rowsWith(service.database, [word])).map((row) => row.split(':')[0])
  expect(new Set(tables)).toEqual(new Set(['events']))
  const { events } = (await call('GET', '/v5/events?after=start&kind=erased')).body
  expect(events.map(({ type }: Json) => type)).toEqual(['suggestion.erased', 'contact.erased'])
})

test('members, keys with wildcards and people who do not see the contact cannot erase it', async () => {
  const { id } = await created(call, '/v5/contacts', { name: 'Ada' })
  const owner = await newOwner(service)
  const member = await newColleague(service, organization)
  const path = `/v5/contacts/${id}/erase`
  expect((await member.call('POST', path)).body.code).toBe('missing_scopes')
  const wildcard = await organization.withScopes(['urn:service:*:*:write', 'urn:service:contact:*:write'])
  expect((await wildcard('POST', path)).body.code).toBe('missing_scopes')
  expect((await owner.call('POST', path)).status).toBe(404)
  expect((await call('GET', `/v5/contacts/${id}`)).status).toBe(200)
  const admin = await newColleague(service, organization, { role: 'admin' })
  expect((await admin.call('POST', path)).status).toBe(204)
})

test.skipIf(isDistributed())(
  'an event that is being given its position loses its values too, and keeps its position',
  async () => {
    const word = newWord()
    const { id } = await created(call, '/v5/contacts', { name: word })
    await call('GET', '/v5/events/position')
    const ofContact = sql`organization_id = ${own()} and record_id = ${decodeId('con', id)}::uuid`
    let request: Promise<unknown> = Promise.resolve()
    await service.database.crossTenantTransaction('check the database', async (db) => {
      await db.query(sql`update events set "position" = 4711 where ${ofContact} and kind = 'created'`)
      request = erase(id)
      await until('the request waits for it', async () => {
        const [waiting] = await query(sql`select count(*)::int as count from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%ctid%from events%'`)
        return waiting.count === 1
      })
    })
    expect(await request).toMatchObject({ status: 204 })
    expect(await query(sql`select "position", "values" from events where ${ofContact} and kind = 'created'`)).toEqual([
      { position: '4711', values: null },
    ])
  },
)
