import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { uuidOf } from '../../../test/held-locks.ts'
import { examinedState } from '../../../test/installation-state.ts'
import { createDatabase } from '../../../test/postgres.ts'
import { newImport, type TestImport } from '../../../test/pushes.ts'
import { callAs } from '../../../test/people.ts'
import { until } from '../../../test/processes.ts'
import {
  type Call,
  type Json,
  startTestService,
  type TestOrganization,
  type TestService,
} from '../../../test/service.ts'
import { analysedNote } from '../../../test/suggested.ts'
import { examineOptOuts } from '../../cli/examine-pushes.ts'
import { connect } from '../../platform/database/connect.ts'
import { sql } from '../../platform/model/sql.ts'
import { alarmingOptOuts } from '../../intake/imports/resource.ts'
import { countImportsOptingOut } from '../suggestions/store.ts'

let service: TestService
/** A connection of the doctor. */
let client: pg.Client
/** Its owners see the state of the installation. */
let first: TestOrganization
let organization: TestOrganization
let call: Call
let own: TestImport
beforeAll(async () => {
  const database = await createDatabase()
  service = await startTestService({ IMPORT_WORKERS: '1', REASONING_CONCURRENCY: '1' }, database)
  client = await connect(database.connection)
  first = await service.newOrganization()
})
beforeEach(async () => {
  organization = await service.newOrganization()
  call = organization.call
  own = await newImport(service, organization)
})
afterAll(async () => {
  await client.end()
  await service.close()
})

const read = async (path: string): Promise<Json> => (await call('GET', path)).body
const importNow = (): Promise<Json> => read(`/v5/imports/${own.importId}`)
const change = async (path: string, body: object): Promise<void> =>
  expect((await call('PATCH', path, { body })).status).toBe(200)

/** Pushes notes about addresses, and waits until they are analysed. */
async function pushNotes(notes: readonly { email: string; note: string }[], target = own): Promise<void> {
  const before = (await read('/v5/note-analyses/count')).count
  for (const contact of notes) expect((await target.push({ contact })).status).toBe(200)
  await until('the notes are analysed', async () => {
    return (await read('/v5/note-analyses/count')).count === before + notes.length
  })
}

const contactOf = async (email: string): Promise<Json> => (await read(`/v5/contacts?email=${email}`))[0]
const newAddress = () => `${randomUUID()}@example.com`

/** The latest suggestion about the contact. */
const latest = async ({ id }: Json): Promise<Json> => (await read(`/v5/suggestions?contactId=${id}`))[0]

test('a person who lets a contact receive email again is not overruled by a push of the same words', async () => {
  const email = newAddress()
  await pushNotes([{ email, note: 'Please unsubscribe me.' }])
  const contact = await contactOf(email)
  expect([contact.emailOptOut, (await latest(contact)).importId]).toEqual([true, own.importId])
  await change(`/v5/contacts/${contact.id}`, { emailOptOut: false })
  for (const note of ['Hello! Please UNSUBSCRIBE  me. 2', 'So unsubscribe\nme, now.']) {
    await pushNotes([{ email, note }])
    expect(await latest(contact)).toMatchObject({
      type: 'suppress',
      status: 'pending',
      waitingReason: 'decided_before',
    })
    expect((await contactOf(email)).emailOptOut).toBe(false)
  }
  // Another import pushes the same words.
  await pushNotes([{ email, note: 'Please unsubscribe me, at last.' }], await newImport(service, organization))
  expect((await contactOf(email)).emailOptOut).toBe(false)
  const { id } = await latest(contact)
  expect((await call('POST', `/v5/suggestions/${id}/accept`)).status).toBe(200)
  expect((await contactOf(email)).emailOptOut).toBe(true)
})

test('a rejected opt-out stays rejected against the same words; other words and other contacts opt out', async () => {
  const email = newAddress()
  await pushNotes([{ email, note: 'Unsubscribe me.' }])
  const contact = await contactOf(email)
  expect((await call('POST', `/v5/suggestions/${(await latest(contact)).id}/reject`)).status).toBe(200)
  await pushNotes([{ email, note: 'Again: unsubscribe me.' }])
  expect([(await latest(contact)).status, (await contactOf(email)).emailOptOut]).toEqual(['pending', false])
  const other = newAddress()
  await pushNotes([{ email: other, note: 'Again: unsubscribe me.' }])
  expect((await contactOf(other)).emailOptOut).toBe(true)
  await pushNotes([{ email, note: 'Take me off your mailing list.' }])
  expect([(await latest(contact)).status, (await contactOf(email)).emailOptOut]).toEqual(['auto_applied', true])
})

test('a rejected absence stays rejected against the same words, too', async () => {
  const email = newAddress()
  const note = `I am out of the office until 15 January ${new Date().getUTCFullYear() + 1}.`
  await pushNotes([{ email, note }])
  const contact = await contactOf(email)
  const first = await latest(contact)
  expect([first.type, first.status]).toEqual(['wait_until', 'auto_applied'])
  expect((await call('POST', `/v5/suggestions/${first.id}/reject`)).status).toBe(200)
  await pushNotes([{ email, note: `Hello. ${note}` }])
  expect(await latest(contact)).toMatchObject({ status: 'pending', waitingReason: 'decided_before' })
})

test('a note that a person enters opts out again: only pushed words are suspect', async () => {
  const email = newAddress()
  await pushNotes([{ email, note: 'Unsubscribe me.' }])
  const contact = await contactOf(email)
  await change(`/v5/contacts/${contact.id}`, { emailOptOut: false })
  await analysedNote(service, organization, `/v5/contacts/${contact.id}/notes`, 'Unsubscribe me.')
  expect(await latest(contact)).toMatchObject({ status: 'auto_applied', waitingReason: null, importId: null })
  expect((await contactOf(email)).emailOptOut).toBe(true)
})

test('an import whose notes may not opt out only suggests it', async () => {
  expect((await importNow()).notesMayOptOut).toBe(true)
  await change(`/v5/imports/${own.importId}`, { notesMayOptOut: false })
  const email = newAddress()
  await pushNotes([{ email, note: 'Please unsubscribe me.' }])
  const contact = await contactOf(email)
  expect(contact.emailOptOut).toBe(false)
  expect(await latest(contact)).toMatchObject({ status: 'pending', waitingReason: 'import_setting' })
  expect((await importNow()).optOuts).toEqual({ waiting: 0, since: null })
  await change(`/v5/imports/${own.importId}`, { notesMayOptOut: true })
  await pushNotes([{ email, note: 'Take me off your mailing list.' }])
  expect((await contactOf(email)).emailOptOut).toBe(true)
})

test('all opt-outs of one import that wait are decided at once, and no others', async () => {
  const flood = async (target: TestImport) => {
    const emails = Array.from({ length: alarmingOptOuts + 3 }, newAddress)
    await pushNotes(
      emails.map((email) => ({ email, note: 'Unsubscribe me.' })),
      target,
    )
    return emails
  }
  const optedOut = async (emails: readonly string[]) =>
    (await Promise.all(emails.map(contactOf))).filter(({ emailOptOut }) => emailOptOut).length
  const other = await newImport(service, organization)
  const [emails, others] = [await flood(own), await flood(other)]
  const decide = (action: string, by = call, importId = own.importId) =>
    by('POST', `/v5/imports/${importId}/opt-outs/${action}`)
  const elsewhere = await service.newOrganization()
  expect((await decide('accept', elsewhere.call)).status).toBe(404)
  const key = async (scopes: string[]) => {
    const { body } = await call('POST', '/v5/api-keys', { body: { name: 'Key', scopes } })
    return callAs(service, body.apiKey, { 'service-organization-id': organization.organizationId })
  }
  const weak = await key(['urn:service:suggestion:accept:write'])
  expect(await decide('accept', weak)).toMatchObject({ status: 403, body: { code: 'missing_scopes' } })
  expect(await optedOut(emails)).toBe(alarmingOptOuts)

  const accepted = await Promise.all([decide('accept'), decide('accept')])
  expect(accepted.map(({ status }) => status)).toEqual([200, 200])
  expect(accepted.reduce((sum, { body }) => sum + body.count, 0)).toBe(3)
  expect(await optedOut(emails)).toBe(alarmingOptOuts + 3)
  expect((await importNow()).optOuts).toEqual({ waiting: 0, since: null })
  expect(await optedOut(others)).toBe(alarmingOptOuts)

  expect((await decide('reject', call, other.importId)).body).toEqual({ count: 3, remaining: 0 })
  expect(await optedOut(others)).toBe(alarmingOptOuts)
  const [rejected] = await read(`/v5/suggestions?importId=${other.importId}&status=rejected`)
  expect(rejected).toMatchObject({ decidedById: organization.userId, resultContactId: null })
  expect((await decide('reject', call, other.importId)).body).toEqual({ count: 0, remaining: 0 })
})

test('the alarm ends with the last contact or note whose opt-out waits, and a restored contact raises it again', async () => {
  const emails = Array.from({ length: alarmingOptOuts + 1 }, newAddress)
  await pushNotes(emails.map((email) => ({ email, note: 'Unsubscribe me.' })))
  const [waiting] = await read(`/v5/suggestions?importId=${own.importId}&status=pending`)
  const alarms = async () => [
    (await importNow()).optOuts.waiting,
    await countImportsOptingOut(service.database),
    (await examineOptOuts(client)).state,
  ]
  const raised = [1, 1, 'note']
  const ended = [0, 0, 'ok']
  expect(await alarms()).toEqual(raised)
  expect((await call('DELETE', `/v5/contacts/${waiting.contactId}`)).status).toBe(204)
  expect(await alarms()).toEqual(ended)
  expect((await call('POST', `/v5/imports/${own.importId}/opt-outs/reject`)).body).toEqual({ count: 0, remaining: 0 })
  expect((await call('POST', `/v5/contacts/${waiting.contactId}/restore`)).status).toBe(200)
  expect(await alarms()).toEqual(raised)
  // The API ends the suggestions of a note that it deletes.
  const note = sql`where id = ${uuidOf(waiting.noteId)}`
  await service.database.crossTenantQuery('check the database', sql`update notes set deleted_at = now() ${note}`)
  expect(await alarms()).toEqual(ended)
  await service.database.crossTenantQuery('check the database', sql`update notes set deleted_at = null ${note}`)
  expect(await alarms()).toEqual(raised)
  expect((await call('POST', `/v5/imports/${own.importId}/disable`)).status).toBe(200)
  const removed = await call('POST', `/v5/imports/${own.importId}/remove-received`, { body: {} })
  // The restored contact stays, without its note.
  expect(removed.body).toMatchObject({ contacts: alarmingOptOuts, notes: 1, kept: 1, remaining: 0 })
  expect(await alarms()).toEqual(ended)
})

test('many opt-outs of an import within an hour raise an alarm and wait for a person, and an hour later they act', async () => {
  const emails = Array.from({ length: alarmingOptOuts + 4 }, newAddress)
  // The same contact does not count as another opt-out.
  const repeated = { email: emails[0] ?? '', note: 'As I said: unsubscribe me.' }
  await pushNotes([...emails.slice(0, 2).map((email) => ({ email, note: 'Unsubscribe me.' })), repeated])
  await pushNotes(emails.slice(2).map((email) => ({ email, note: 'Unsubscribe me.' })))
  const contacts = await Promise.all(emails.map(contactOf))
  expect(contacts.filter(({ emailOptOut }) => emailOptOut).length).toBe(alarmingOptOuts)
  const waiting = await read(`/v5/suggestions?importId=${own.importId}&status=pending`)
  expect(waiting.map(({ waitingReason }: Json) => waitingReason)).toEqual(Array(4).fill('many_opt_outs'))
  expect((await importNow()).optOuts).toEqual({ waiting: 4, since: waiting.at(-1).createdAt })
  const logged = () =>
    service.logged.filter((line) => line.includes('opts out many contacts') && line.includes(own.importId))
  // It is logged after it is stored.
  await until('the alarm is logged', () => logged().length > 0)
  expect(logged().length).toBe(1)
  expect(await countImportsOptingOut(service.database)).toBe(1)
  const state = await examinedState(callAs(service, first.accessToken))
  expect(state.findings.find(({ name }: Json) => name === 'opt-outs')).toMatchObject({ level: 'warning' })

  // Another import is not concerned.
  const other = newAddress()
  await pushNotes([{ email: other, note: 'Unsubscribe me.' }], await newImport(service, organization))
  expect((await contactOf(other)).emailOptOut).toBe(true)

  for (const { id } of waiting) expect((await call('POST', `/v5/suggestions/${id}/accept`)).status).toBe(200)
  expect((await importNow()).optOuts).toEqual({ waiting: 0, since: null })
  expect((await Promise.all(emails.map(contactOf))).every(({ emailOptOut }) => emailOptOut)).toBe(true)

  const next = newAddress()
  await pushNotes([{ email: next, note: 'Unsubscribe me.' }])
  expect((await contactOf(next)).emailOptOut).toBe(false)
  await service.database.crossTenantQuery(
    'check the database',
    sql`update suggestions set created_at = created_at - interval '1 hour'`,
  )
  const later = newAddress()
  await pushNotes([{ email: later, note: 'Unsubscribe me.' }])
  expect((await contactOf(later)).emailOptOut).toBe(true)
})

test('one call decides a hundred opt-outs and counts at most ten thousand more', async () => {
  const emails = Array.from({ length: alarmingOptOuts + 1 }, newAddress)
  await pushNotes(emails.map((email) => ({ email, note: 'Unsubscribe me.' })))
  const copy = (count: number) =>
    service.database.crossTenantQuery(
      'check the database',
      sql`insert into suggestions (organization_id, id, note_id, contact_id, analysis_id, intent, engine, type, params,
          priority, confidence, evidence, import_id, waiting_reason)
        select organization_id, gen_random_uuid(), note_id, contact_id, analysis_id, intent, engine, type, params,
          priority, confidence, evidence, import_id, waiting_reason
        from (select * from suggestions where import_id = ${own.uuid}::uuid and status = 'pending' limit 1) one,
          generate_series(1, ${count}::int)`,
    )
  const decide = async () => (await call('POST', `/v5/imports/${own.importId}/opt-outs/reject`)).body
  await copy(10_298)
  expect(await decide()).toEqual({ count: 100, remaining: 10_000 })
  expect(await decide()).toEqual({ count: 100, remaining: 10_000 })
  expect(await decide()).toEqual({ count: 100, remaining: 9999 })
})
