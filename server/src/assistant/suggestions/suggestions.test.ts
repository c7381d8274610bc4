import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  type Call,
  type Json,
  startTestService,
  type TestOrganization,
  type TestService,
} from '../../../test/service.ts'
import { analysedNote } from '../../../test/suggested.ts'

let service: TestService
let organization: TestOrganization
let call: Call
let contact: Json
beforeAll(async () => {
  service = await startTestService()
})
beforeEach(async () => {
  organization = await service.newOrganization()
  call = organization.call
  contact = await create('/v5/contacts', { name: 'Ada Lovelace', email: 'ada@example.com', timeZone: 'Europe/Berlin' })
})
afterAll(() => service.close())

async function create(path: string, body: object): Promise<Json> {
  const made = await call('POST', path, { body })
  expect([made.text, made.status]).toEqual([made.text, 201])
  return made.body
}

const read = async (path: string): Promise<Json> => (await call('GET', path)).body
const decide = (suggestion: Json, decision: 'accept' | 'reject', body?: object, headers: Record<string, string> = {}) =>
  call('POST', `/v5/suggestions/${suggestion.id}/${decision}`, { headers, ...(body && { body }) })
const isOptedOut = async (): Promise<boolean> => (await read(`/v5/contacts/${contact.id}`)).emailOptOut

/** Creates a note and returns its suggestions by type, and the note itself. */
async function suggest(text: string, parent = `/v5/contacts/${contact.id}`): Promise<Record<string, Json>> {
  const note = await analysedNote(service, organization, `${parent}/notes`, text)
  const found = await read(`/v5/suggestions?noteId=${note.id}`)
  return { note, ...Object.fromEntries(found.map((one: Json) => [one.type, one])) }
}

const expectError = (response: Awaited<ReturnType<Call>>, field: string) =>
  expect(response).toMatchObject({ status: 422, body: { details: [{ field }] } })

test('a note becomes a suggestion with the words that are its reason, and accepting it creates the task once', async () => {
  const { note, call: suggestion } = await suggest('Thanks! 👋 Please call me tomorrow at 14:00.')
  expect(suggestion).toMatchObject({
    noteId: note.id,
    contactId: contact.id,
    companyId: null,
    intent: 'meeting_request',
    engine: 'rules',
    status: 'pending',
    decidedById: null,
    analysis: { language: 'en', suspicious: false, degraded: false, model: null, tokens: 0 },
  })
  const { start, end, text } = suggestion.evidence
  expect([text.length > 0, note.body.slice(start, end)]).toEqual([true, text])
  const analyses = await read(`/v5/note-analyses?noteId=${note.id}`)
  expect(analyses).toMatchObject([{ id: suggestion.analysis.id, intent: 'meeting_request', contactId: contact.id }])

  const path = `/v5/suggestions/${suggestion.id}`
  const stale = await call('POST', `${path}/accept`, { headers: { 'if-match': '"7-AAAAAAAAAAAAAAAA"' } })
  expect(stale.status).toBe(412)
  const all = await Promise.all([1, 2, 3].map(() => decide(suggestion, 'accept')))
  expect(all.map(({ status }) => status).sort()).toEqual([200, 409, 409])
  const accepted = await read(path)
  expect(accepted).toMatchObject({ status: 'accepted', edits: null, decidedById: organization.userId })
  const tasks = await read(`/v5/tasks?contactId=${contact.id}`)
  expect(tasks).toMatchObject([{ id: accepted.resultTaskId, title: 'Call Ada Lovelace', dueAt: suggestion.dueAt }])
  expect(await decide(suggestion, 'reject')).toMatchObject({ status: 409, body: { code: 'already_decided' } })
})

test('a lost response is repeated with the same Idempotency-Key', async () => {
  const { call: suggestion } = await suggest('Please call me tomorrow at 14:00.')
  const headers = { 'idempotency-key': 'once' }
  const [first, second] = [
    await decide(suggestion, 'accept', undefined, headers),
    await decide(suggestion, 'accept', undefined, headers),
  ]
  expect([first.status, second.status, second.text]).toEqual([200, 200, first.text])
  expect((await read('/v5/tasks/count')).count).toBe(1)
})

test('a suggestion is edited as it is accepted, and the statistics tell edited and rejected ones from the others', async () => {
  const { call: first } = await suggest('Please call me tomorrow at 14:00.')
  const { call: second } = await suggest('Please call me tomorrow at 15:00.')
  const { call: third } = await suggest('Please call me tomorrow at 16:00.')
  expectError(await decide(first, 'accept', { stageId: `stg_${'0'.repeat(32)}` }), 'stageId')
  expectError(await decide(first, 'accept', { title: null }), 'title')
  expectError(await decide(first, 'accept', { dueDate: '2036-01-02', dueAt: first.dueAt }), 'dueAt')
  const edits = { title: 'Ring Ada', dueDate: '2036-01-02', priority: first.priority }
  const edited = await decide(first, 'accept', edits)
  expect(edited).toMatchObject({
    status: 200,
    body: { status: 'accepted', edits: { title: 'Ring Ada', dueDate: '2036-01-02' } },
  })
  const task = await read(`/v5/tasks/${edited.body.resultTaskId}`)
  expect(task).toMatchObject({ title: 'Ring Ada', dueDate: '2036-01-02', dueAt: null, assigneeId: organization.userId })
  const rejected = await decide(second, 'reject', { reason: 'She wrote to somebody else' })
  expect(rejected.body).toMatchObject({ status: 'rejected', rejectionReason: 'She wrote to somebody else' })
  const same = await decide(third, 'accept', { dueAt: third.dueAt })
  expect(same.body).toMatchObject({ status: 'accepted', edits: null })
  await suggest('Please call me tomorrow at 17:00.')

  const statistics = await read('/v5/suggestions/statistics')
  const counts = { type: 'call', engine: 'rules', pending: 1, accepted: 2, edited: 1, rejected: 1, precision: 2 / 3 }
  expect(statistics.totals).toEqual([{ ...counts, expired: 0, superseded: 0, autoApplied: 0 }])
  expect(statistics.weeks).toEqual([{ week: expect.any(String), counts: statistics.totals }])
  expect(new Date(statistics.weeks[0].week).getUTCDay()).toBe(1)
})

test('accepting a change of stage moves the deal, which must be named if there are several', async () => {
  const [first, second] = [
    await create('/v5/deals', { name: 'Engine' }),
    await create('/v5/deals', { name: 'Loom', companyId: null }),
  ]
  for (const { id } of [first, second]) await create(`/v5/deals/${id}/contacts`, { contactId: contact.id })
  const unrelated = await create('/v5/deals', { name: 'Other' })
  const { change_stage: suggestion } = await suggest('No thanks, we are not interested.')
  const refused = await decide(suggestion, 'accept')
  expectError(refused, 'dealId')
  expect(refused.body.details[0].message).toContain(`${first.id} (Engine), ${second.id} (Loom)`)
  expectError(await decide(suggestion, 'accept', { dealId: unrelated.id }), 'dealId')
  const accepted = await decide(suggestion, 'accept', { dealId: second.id, lostReason: 'No need' })
  expect(accepted).toMatchObject({ status: 200, body: { resultDealId: second.id, edits: { lostReason: 'No need' } } })
  expect(await read(`/v5/deals/${second.id}`)).toMatchObject({ status: 'lost', lostReason: 'No need' })
  expect(await read(`/v5/deals/${second.id}/stage-moves`)).toMatchObject([{ movedById: organization.userId }])

  // A note on a deal is about that deal.
  const deal = `/v5/deals/${first.id}`
  const { change_stage: won } = await suggest('Great demo! We want to buy it and sign the contract.', deal)
  expect((await decide(won, 'accept')).body).toMatchObject({ status: 'accepted', edits: null })
  expect((await read(deal)).status).toBe('won')

  // A contact without an open deal has none to move, whenever the last one was closed.
  const third = await create('/v5/deals', { name: 'Spare parts' })
  await create(`/v5/deals/${third.id}/contacts`, { contactId: contact.id })
  const { change_stage: late } = await suggest('Great demo! We want to buy it and sign the contract.')
  await call('DELETE', `/v5/deals/${third.id}`)
  expectError(await decide(late, 'accept'), 'dealId')
  const { reply, change_stage: none } = await suggest('Great demo! We want to buy it and sign the contract.')
  expect(reply.status).toBe('pending')
  expect(none).toBeUndefined()
})

test('accepting a referral creates the contact, unless another one has the address', async () => {
  const text = 'I am the wrong person. Please contact Ann Lee, ann.lee@birch.example instead.'
  const [{ add_contact: first }, { add_contact: second }] = [await suggest(text), await suggest(text)]
  const accepted = await decide(first, 'accept', { name: 'Ann Lee' })
  expect(accepted.body).toMatchObject({ status: 'accepted', edits: { name: 'Ann Lee' } })
  const added = await read(`/v5/contacts/${accepted.body.resultContactId}`)
  expect(added).toMatchObject({ name: 'Ann Lee', email: 'ann.lee@birch.example' })
  const taken = await decide(second, 'accept')
  expect(taken).toMatchObject({
    status: 409,
    body: { code: 'already_exists', details: [{ field: 'email', id: added.id }] },
  })
  expect((await read(`/v5/suggestions/${second.id}`)).status).toBe('pending')
})

test('a contact who opts out gets no more mail at once, and a person can undo it', async () => {
  const { suppress: suggestion } = await suggest('Please unsubscribe me from your mailing list.')
  expect(suggestion).toMatchObject({ status: 'auto_applied', resultContactId: contact.id, decidedById: null })
  expect(await isOptedOut()).toBe(true)
  const [entry] = await read(`/v5/contacts/${contact.id}/timeline?kind=change`)
  expect(entry).toMatchObject({ authorId: null, change: { source: 'analysis' } })
  expect(entry.change.changes).toEqual([{ field: 'emailOptOut', before: false, after: true }])

  const { suppress: again } = await suggest('Please unsubscribe me from your mailing list.')
  expect(again).toMatchObject({ status: 'auto_applied', resultContactId: null })
  // It was so before, so rejecting this one changes nothing.
  await decide(again, 'reject')
  expect(await isOptedOut()).toBe(true)
  const onlySuggestions = await organization.withScopes(['suggestion:*:write'])
  const refused = await onlySuggestions('POST', `/v5/suggestions/${suggestion.id}/reject`)
  expect(refused).toMatchObject({ status: 403, body: { code: 'missing_scopes' } })
  await decide(suggestion, 'reject')
  expect(await isOptedOut()).toBe(false)
})

test('a contact who opted out twice gets mail again only after both suggestions are rejected', async () => {
  const { suppress: first } = await suggest('Please unsubscribe me from your mailing list.')
  const { suppress: second } = await suggest('Again: please unsubscribe me from your mailing list.')
  expect([first.status, second.status]).toEqual(['auto_applied', 'auto_applied'])
  expect((await decide(first, 'reject')).status).toBe(200)
  expect(await isOptedOut()).toBe(true)
  expect((await decide(second, 'reject')).status).toBe(200)
  expect(await isOptedOut()).toBe(false)

  const { suppress: third } = await suggest('Unsubscribe me.')
  const { suppress: fourth } = await suggest('I said: unsubscribe me.')
  expect((await decide(fourth, 'accept')).status).toBe(200)
  expect((await decide(third, 'reject')).status).toBe(200)
  expect(await isOptedOut()).toBe(true)
})

test('an opt-out in a note on a company stays a suggestion, and accepting it names the contact', async () => {
  const company = await create('/v5/companies', { name: 'Engines' })
  const { suppress: suggestion } = await suggest(
    'Please unsubscribe me from your mailing list.',
    `/v5/companies/${company.id}`,
  )
  expect(suggestion.status).toBe('pending')
  expectError(await decide(suggestion, 'accept'), 'contactId')
  expectError(await decide(suggestion, 'accept', { contactId: `con_${'0'.repeat(32)}` }), 'contactId')
  const accepted = await decide(suggestion, 'accept', { contactId: contact.id })
  expect(accepted.body).toMatchObject({ status: 'accepted', edits: null, resultContactId: contact.id })
  expect(await isOptedOut()).toBe(true)
})

test('an absence is in effect without a person, and can still become a task', async () => {
  const year = new Date().getUTCFullYear() + 1
  const { wait_until: suggestion } = await suggest(`I am out of the office until 15 January ${year}.`)
  expect(suggestion).toMatchObject({ status: 'auto_applied', dueAt: `${year}-01-15T08:00:00.000Z` })
  expect(await isOptedOut()).toBe(false)
  const accepted = await decide(suggestion, 'accept')
  expect(accepted.body.status).toBe('accepted')
  const task = await read(`/v5/tasks/${accepted.body.resultTaskId}`)
  expect(task).toMatchObject({ title: 'Get back to Ada Lovelace', dueAt: suggestion.dueAt })
})

test('a date that nobody wrote says that it is a default, and so does the task', async () => {
  const { wait_until: assumed } = await suggest('Maybe later.')
  expect(assumed).toMatchObject({ status: 'pending', dueAtSource: 'default' })
  const accepted = await decide(assumed, 'accept')
  expect(await read(`/v5/tasks/${accepted.body.resultTaskId}`)).toMatchObject({
    dueAt: assumed.dueAt,
    body: 'The note names no date. This due date is the usual wait.',
  })
  const { wait_until: moved } = await suggest('Not now, maybe later.')
  const edited = await decide(moved, 'accept', { dueDate: '2036-01-02' })
  expect(await read(`/v5/tasks/${edited.body.resultTaskId}`)).toMatchObject({ dueDate: '2036-01-02', body: null })
  const year = new Date().getUTCFullYear() + 1
  const { wait_until: named } = await suggest(`Not now, please get back to me on 15 January ${year}.`)
  expect(named.dueAtSource).toBe('note')
  const { reply } = await suggest('Is there a discount for schools?')
  expect([reply.dueAt, reply.dueAtSource]).toEqual([null, null])
})

test('only a wish of the author about their mail opts out; the rest waits for a person', async () => {
  for (const text of ['She asked us to unsubscribe her.', 'If you cannot lower the price, take me off your list.']) {
    const { suppress } = await suggest(text)
    expect([text, suppress.status, await isOptedOut()]).toEqual([text, 'pending', false])
  }
  expect((await suggest('Why did you take me off your list? I want your mails.')).suppress).toBe(undefined)
  const { suppress } = await suggest('Please delete all my data under GDPR.')
  expect([suppress.status, await isOptedOut()]).toEqual(['auto_applied', true])
})

test('accepting needs the scope of what it does', async () => {
  const { call: suggestion } = await suggest('Please call me tomorrow at 14:00.')
  const path = `/v5/suggestions/${suggestion.id}/accept`
  const without = await organization.withScopes(['suggestion:accept:write'])
  expect(await without('POST', path)).toMatchObject({
    status: 403,
    body: { code: 'missing_scopes', details: [{ message: 'urn:service:task:create:write' }] },
  })
  const withBoth = await organization.withScopes(['suggestion:accept:write', 'task:create:write'])
  expect((await withBoth('POST', path)).status).toBe(200)
})

test('a changed text is analysed again, and a deleted note takes its suggestions along', async () => {
  const { note, call: suggestion } = await suggest('Please call me tomorrow at 14:00.')
  const path = `/v5/notes/${note.id}`
  await call('PATCH', path, { body: { body: 'Can you send me the price list?' } })
  expect((await read(`/v5/suggestions/${suggestion.id}`)).status).toBe('superseded')
  expect(await decide(suggestion, 'accept')).toMatchObject({ status: 409, body: { code: 'already_decided' } })
  const { note: other } = await suggest('Please call me tomorrow at 15:00.')
  const [latest] = await read(`/v5/suggestions?noteId=${note.id}&status=pending`)
  expect(latest).toMatchObject({ type: 'reply' })
  const listed = await read(`/v5/suggestions?filter.noteId.in=${note.id},${other.id}&status=pending`)
  expect(listed.map(({ type }: Json) => type).sort()).toEqual(['call', 'reply'])

  await call('DELETE', path)
  expect(await decide(latest, 'accept')).toMatchObject({ status: 404 })
  await call('POST', `${path}/restore`)
  expect((await read(`/v5/suggestions/${latest.id}`)).status).toBe('expired')
  expect(await decide(latest, 'accept')).toMatchObject({ status: 409 })
  expect((await read('/v5/tasks/count')).count).toBe(0)
})
