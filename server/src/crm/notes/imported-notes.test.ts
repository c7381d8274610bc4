import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { isDistributed } from '../../../test/engines.ts'
import { until } from '../../../test/processes.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'
import { serviceActor } from '../../platform/model/caller.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { sql } from '../../platform/model/sql.ts'
import { newId, decodeId, encodeId } from '../../platform/model/ids.ts'
import { allNoteStore } from './store.ts'
import type { Change } from '../../platform/records/declare/changes.ts'

let service: TestService
let organization: TestOrganization
beforeAll(async () => {
  service = await startTestService()
})
beforeEach(async () => {
  organization = await service.newOrganization()
})
afterAll(() => service.close())

const uuid = (id: string): string => decodeId(id.slice(0, 3), id) ?? ''

/** Creates contacts; returns their ids, oldest first. */
async function newContacts(count: number): Promise<string[]> {
  const ids: string[] = []
  for (let number = 1; number <= count; number++) {
    ids.push((await organization.call('POST', '/v5/contacts', { body: { name: `Contact ${number}` } })).body.id)
  }
  return ids
}

/** Runs `work` in a transaction of the import workers. */
const asImport = <Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result> =>
  service.database.transaction(serviceActor('work', uuid(organization.organizationId)), work)

const imported = (contactId: string, body: string, rowId = newId()): Change => ({
  kind: 'create',
  values: { body },
  columns: { contact_id: uuid(contactId), source: 'import', import_row_id: rowId },
})

test('imported notes have no author, are queued and count as activity of their contacts', async () => {
  const { call } = organization
  const contactIds = await newContacts(3)
  const rowIds = contactIds.map(() => newId())
  const changes = contactIds.map((id, index) => imported(id, `pushed ${index}`, rowIds[index]))
  const written = await asImport((transaction) => allNoteStore.write(transaction, changes))
  expect(written.map(({ after }) => after.body)).toEqual(['pushed 0', 'pushed 1', 'pushed 2'])
  for (const [index, { id }] of written.entries()) {
    const contactId = contactIds[index] ?? ''
    const { body: note, text } = await call('GET', `/v5/notes/${encodeId('not', id)}`)
    expect(note).toMatchObject({
      contactId,
      source: 'import',
      authorId: null,
      importRowId: encodeId('row', rowIds[index] ?? ''),
      reasoningQueuedAt: note.createdAt,
    })
    expect((await call('GET', `/v5/contacts/${contactId}/notes/${note.id}`)).text).toBe(text)
    expect((await call('GET', `/v5/contacts/${contactId}`)).body.lastActivityAt).toBe(note.createdAt)
  }
  expect((await call('GET', '/v5/notes/count?source=import')).body).toEqual({ count: 3 })
  expect(
    (await call('GET', `/v5/notes?filter.importRowId.equals=${encodeId('row', rowIds[1] ?? '')}`)).body,
  ).toHaveLength(1)
})

test('an imported note keeps its source when it is edited, deleted and restored', async () => {
  const { call } = organization
  const [contactId = ''] = await newContacts(1)
  await asImport((transaction) => allNoteStore.write(transaction, [imported(contactId, 'pushed')]))
  const {
    body: [note],
  } = await call('GET', '/v5/notes')
  const changed = await call('PATCH', `/v5/notes/${note.id}`, { body: { body: 'corrected' } })
  const { updatedAt } = changed.body
  expect(changed.body).toEqual({ ...note, body: 'corrected', updatedAt, reasoningQueuedAt: updatedAt })
  expect((await call('DELETE', `/v5/notes/${note.id}`)).status).toBe(204)
  expect((await call('POST', `/v5/notes/${note.id}/restore`)).body).toMatchObject({
    body: 'corrected',
    source: 'import',
  })
})

test('several notes on one contact in one set are stored in order', async () => {
  const { call } = organization
  const [contactId = ''] = await newContacts(1)
  const changes = ['one', 'two', 'three'].map((body) => imported(contactId, body))
  await asImport((transaction) => allNoteStore.write(transaction, changes))
  const { body } = await call('GET', '/v5/notes?orderBy=id&sort=asc')
  expect(body.map((note: Json) => note.body)).toEqual(['one', 'two', 'three'])
})

test('a failed import leaves neither notes nor activity', async () => {
  const { call } = organization
  const [contactId = ''] = await newContacts(1)
  const failing = asImport(async (transaction) => {
    await allNoteStore.write(transaction, [imported(contactId, 'pushed')])
    throw new Error('the row cannot be ended')
  })
  await expect(failing).rejects.toThrow('the row cannot be ended')
  expect((await call('GET', '/v5/notes')).body).toEqual([])
  expect((await call('GET', `/v5/contacts/${contactId}`)).body.lastActivityAt).toBeNull()
})

test('a note cannot be added to a contact of another organization', async () => {
  const [contactId = ''] = await newContacts(1)
  const theirs = organization
  organization = await service.newOrganization()
  const refused = asImport((transaction) => allNoteStore.write(transaction, [imported(contactId, 'pushed')]))
  await expect(refused).rejects.toMatchObject({ code: '23503' })
  expect((await theirs.call('GET', '/v5/notes')).body).toEqual([])
  expect((await theirs.call('GET', `/v5/contacts/${contactId}`)).body.lastActivityAt).toBeNull()
})

// It makes the server's planner choose a physical order, and watches its locks.
test.skipIf(isDistributed())('a set locks its contacts in id order, so that two sets cannot deadlock', async () => {
  const [first = '', second = ''] = await newContacts(2)
  // Now the first contact is stored after the second one.
  await organization.call('PATCH', `/v5/contacts/${first}`, { body: { city: 'London' } })
  const lock = (transaction: Transaction, id: string) =>
    transaction.query(sql`select from contacts
      where organization_id = ${transaction.organization} and id = ${uuid(id)}::uuid for update`)
  let attempts = 0
  let notes: Promise<unknown> = Promise.resolve()
  await asImport(async (transaction) => {
    attempts++
    await lock(transaction, first)
    notes = asImport(async (another) => {
      attempts++
      // Without an index, records are read in physical order.
      await another.query(sql`select set_config(name, 'off', true), ${another.organization}
        from unnest(array['enable_indexscan', 'enable_bitmapscan', 'enable_indexonlyscan']) name`)
      return allNoteStore.write(another, [imported(second, 'to the second'), imported(first, 'to the first')])
    })
    await until('the set waits', isWaiting)
    // The set waits for the first contact, so it must not hold the second.
    await lock(transaction, second)
  })
  await notes
  // A deadlock would have been broken and retried.
  expect(attempts).toBe(2)
  expect((await organization.call('GET', '/v5/notes/count')).body).toEqual({ count: 2 })
})

/** Whether a transaction waits for a lock. */
async function isWaiting(): Promise<boolean> {
  const waiting = await service.database.crossTenantQuery(
    'check the database',
    sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return waiting.length > 0
}
