import { afterAll, beforeAll, expect, test } from 'vitest'
import { removeAllReceived } from '../../cli/imports.ts'
import { type Sql, sql } from '../../platform/model/sql.ts'
import { lockOf, uuidOf } from '../../../test/held-locks.ts'
import { newImport, newLead, type TestImport } from '../../../test/pushes.ts'
import { until } from '../../../test/processes.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'

let service: TestService
let organization: TestOrganization
beforeAll(async () => {
  service = await startTestService({ IMPORT_WORKERS: '2', REASONING_CONCURRENCY: '1' })
  organization = await service.newOrganization()
})
afterAll(() => service.close())

const call = (...parameters: Parameters<TestOrganization['call']>) => organization.call(...parameters)
const get = async (path: string): Promise<Json> => (await call('GET', path)).body

async function push({ path }: TestImport, body: object): Promise<void> {
  const { status, text } = await service.anonymous('POST', path, { body })
  expect(status, text).toBe(200)
}

/** The bad sender’s import, after its rows were processed. */
async function pushBadly(count: number): Promise<TestImport> {
  const bad = await newImport(service, organization)
  for (let index = 0; index < count; index++) {
    const company = { name: `Spam ${bad.uuid} ${index}`, domain: `spam-${index}-${bad.uuid}.example` }
    await push(bad, { contact: { ...newLead().contact, note: 'Buy now' }, company })
  }
  await isProcessed(bad, count)
  return bad
}

const isProcessed = ({ importId }: TestImport, count: number) =>
  until('the rows are processed', async () => {
    const path = `/v5/imports/${importId}/rows/count?filter.status.equals=PROCESSED`
    return (await get(path)).count === count
  })

const contactsOf = ({ importId }: TestImport): Promise<Json> =>
  get(`/v5/contacts?filter.importId.equals=${importId}&limit=100&orderBy=createdAt&sort=asc`)

const remove = (one: TestImport, body = {}) => call('POST', `/v5/imports/${one.importId}/remove-received`, { body })

test('what an import received is removed with the records that it created, after a dry run, and nothing else', async () => {
  const { body: mine } = await call('POST', '/v5/contacts', { body: { email: 'mine@example.com' } })
  const good = await newImport(service, organization)
  await push(good, newLead())
  await isProcessed(good, 1)
  const bad = await pushBadly(4)
  // A note on a contact that existed before.
  await push(bad, { contact: { email: 'mine@example.com', note: 'Buy now' } })
  await isProcessed(bad, 5)
  const [edited, inDeal] = await contactsOf(bad)
  await call('PATCH', `/v5/contacts/${edited.id}`, { body: { nickname: 'A real person' } })
  await call('POST', '/v5/tasks', { body: { title: 'Call', contactId: inDeal.id } })

  const locked = await remove(bad)
  expect([locked.status, locked.body.code]).toEqual([423, 'resource_locked'])
  const dryRun = await remove(bad, { dryRun: true })
  expect(dryRun.body).toMatchObject({
    dryRun: true,
    rows: 5,
    contacts: 2,
    companies: 2,
    notes: 3,
    kept: 4,
    remaining: 0,
  })
  expect(await contactsOf(bad)).toHaveLength(4)

  await call('POST', `/v5/imports/${bad.importId}/disable`)
  const removed = await remove(bad)
  expect(removed.status, removed.text).toBe(200)
  expect(removed.body).toMatchObject({ dryRun: false, rows: 5, contacts: 2, companies: 2, notes: 3, remaining: 0 })
  expect((await contactsOf(bad)).map(({ id }: Json) => id)).toEqual([edited.id, inDeal.id])
  expect(await get(`/v5/imports/${bad.importId}/rows`)).toEqual([])
  expect((await get(`/v5/imports/${bad.importId}`)).stats.total ?? 0).toBe(0)
  expect((await call('GET', `/v5/contacts/${mine.id}`)).status).toBe(200)
  expect(await get(`/v5/contacts/${mine.id}/notes`)).toEqual([])
  expect(await contactsOf(good)).toHaveLength(1)
  const deleted = await get('/v5/contacts?deleted=true&limit=100')
  expect(deleted).toHaveLength(2)
  expect((await call('POST', `/v5/contacts/${deleted[0].id}/restore`)).status).toBe(200)
  const events = await get(`/v5/audit-log?filter.action.equals=import-rows.removed`)
  expect(events).toMatchObject([{ recordId: bad.importId, details: { rows: 5, contacts: 2, companies: 2 } }])
})

test('the command removes everything in steps, after the name was typed', async () => {
  const bad = await pushBadly(3)
  await call('POST', `/v5/imports/${bad.importId}/disable`)
  const target = { database: service.database, organization: organization.organizationId }
  const counted = await removeAllReceived(target, { nameOrId: bad.importId, dryRun: true })
  expect(counted).toMatchObject({ rows: 3, contacts: 3, companies: 3, kept: 0 })
  const removed = await removeAllReceived(target, { nameOrId: bad.importId, dryRun: false })
  expect(removed).toMatchObject({ rows: 3, contacts: 3, companies: 3, kept: 0, remaining: 0 })
  expect(await contactsOf(bad)).toEqual([])
})

test('a row that a worker holds is not removed, and left for the next call', async () => {
  const bad = await pushBadly(2)
  await call('POST', `/v5/imports/${bad.importId}/disable`)
  const [row] = await get(`/v5/imports/${bad.importId}/rows?limit=1`)
  await service.database.crossTenantTransaction('check the database', async (db) => {
    await db.query(lockOf('import_rows', row.id))
    expect((await remove(bad)).body).toMatchObject({ rows: 1, remaining: 1 })
  })
  expect((await remove(bad)).body).toMatchObject({ rows: 1, remaining: 0 })
})

const disable = ({ importId }: TestImport) => call('POST', `/v5/imports/${importId}/disable`)
const query = (text: Sql) => service.database.crossTenantQuery('check the database', text)
const isHere = async (path: string): Promise<boolean> => (await call('GET', path)).status === 200

/** Removes everything as a client does; returns the sums and the last answer. */
async function removeAll(one: TestImport): Promise<Json> {
  const sums = { rows: 0, contacts: 0, companies: 0, notes: 0 }
  for (let calls = 0, after: string | null = null; calls < 20; calls++) {
    const { status, text, body } = await remove(one, { after })
    expect(status, text).toBe(200)
    for (const kind of ['rows', 'contacts', 'companies', 'notes'] as const) sums[kind] += body[kind]
    if (body.remaining === 0) return { ...body, ...sums }
    after = body.next
  }
  throw new Error('something always remains')
}

test('removing needs the scopes of what it deletes, and counting does not', async () => {
  const bad = await pushBadly(1)
  await disable(bad)
  const effects = ['contact:delete:write', 'company:delete:write', 'note:delete:write'].map(
    (one) => `urn:service:${one}`,
  )
  const route = `/v5/imports/${bad.importId}/remove-received`
  for (const missing of effects) {
    const weak = await organization.withScopes([
      'urn:service:import:remove-received:write',
      ...effects.filter((scope) => scope !== missing),
    ])
    const refused = await weak('POST', route, { body: {} })
    expect([refused.status, refused.body.code]).toEqual([403, 'missing_scopes'])
    expect(refused.body.details).toEqual([{ field: 'scope', message: missing }])
    expect((await weak('POST', route, { body: { dryRun: true } })).status).toBe(200)
  }
  expect(await contactsOf(bad)).toHaveLength(1)
})

test('contacts with a job that a person added or changed stay, and jobs that the import pushed later do not count', async () => {
  const bad = await newImport(service, organization)
  const history = [{ organization: 'Mill', title: 'Miller', start: '2020-01' }]
  for (let index = 0; index < 4; index++) await push(bad, { ...newLead(), employment: { history } })
  await isProcessed(bad, 4)
  const [added, changed, later] = await contactsOf(bad)
  await push(bad, { contact: { email: later.email }, employment: { history: [{ organization: 'Forge' }] } })
  await isProcessed(bad, 5)
  expect(await get(`/v5/contacts/${later.id}/employments`)).toHaveLength(2)
  await call('POST', `/v5/contacts/${added.id}/employments`, { body: { organization: 'Ours' } })
  const [job] = await get(`/v5/contacts/${changed.id}/employments`)
  await call('PATCH', `/v5/contacts/${changed.id}/employments/${job.id}`, { body: { title: 'Owner' } })
  await disable(bad)
  expect((await remove(bad, { dryRun: true })).body).toMatchObject({ contacts: 2, kept: 2 })
  expect(await removeAll(bad)).toMatchObject({ contacts: 2, kept: 2 })
  expect((await contactsOf(bad)).map(({ id }: Json) => id)).toEqual([added.id, changed.id])
})

test('a pushed note that a person has rewritten stays, with its contact', async () => {
  const { body: mine } = await call('POST', '/v5/contacts', { body: { email: 'rewritten@example.com' } })
  const bad = await pushBadly(2)
  await push(bad, { contact: { email: mine.email, note: 'Buy now' } })
  await isProcessed(bad, 3)
  const [contact] = await contactsOf(bad)
  for (const { id } of [mine, contact]) {
    const [note] = await get(`/v5/contacts/${id}/notes`)
    await call('PATCH', `/v5/notes/${note.id}`, { body: { body: 'Has called: a real person' } })
  }
  await disable(bad)
  expect((await remove(bad, { dryRun: true })).body).toMatchObject({ contacts: 1, companies: 1, notes: 0, kept: 2 })
  expect(await removeAll(bad)).toMatchObject({ contacts: 1, companies: 1, notes: 0, kept: 1 })
  for (const { id } of [mine, contact]) expect(await get(`/v5/contacts/${id}/notes`)).toHaveLength(1)
})

test('a contact with more notes than a call looks at stays, and its pushed notes are removed', async () => {
  const bad = await pushBadly(2)
  const [flooded] = await contactsOf(bad)
  await query(sql`
    insert into notes (organization_id, id, contact_id, body, source, import_row_id)
    select organization_id, gen_random_uuid(), contact_id, body, source, import_row_id
    from notes, generate_series(1, 99) where contact_id = ${uuidOf(flooded.id)}`)
  await disable(bad)
  expect(await removeAll(bad)).toMatchObject({ contacts: 1, notes: 1, kept: 1 })
  expect((await contactsOf(bad)).map(({ id }: Json) => id)).toEqual([flooded.id])
})

test('what the service itself has done with a pushed note does not count, and a note of another import does', async () => {
  const [bad, good] = [await newImport(service, organization), await newImport(service, organization)]
  const [optedOut, shared] = [newLead().contact, newLead().contact]
  await push(bad, { contact: { ...optedOut, note: 'Please unsubscribe me.' } })
  await push(bad, { contact: shared })
  await isProcessed(bad, 2)
  await push(good, { contact: { ...shared, note: 'Please send an offer.' } })
  await isProcessed(good, 1)
  const path = `/v5/contacts?email=${optedOut.email}`
  await until('the contact is opted out', async () => (await get(path))[0].emailOptOut)
  await disable(bad)
  expect(await removeAll(bad)).toMatchObject({ contacts: 1, kept: 1 })
  expect(await get(path)).toEqual([])
  expect(await get(`/v5/contacts?email=${shared.email}`)).toHaveLength(1)
})

test('contacts whose rows were purged are removed too, with companies, however many before them stay', async () => {
  const bad = await pushBadly(3)
  const [kept, ...others] = await contactsOf(bad)
  await call('PATCH', `/v5/contacts/${kept.id}`, { body: { nickname: 'A real person' } })
  await query(sql`delete from import_rows where import_id = ${bad.uuid}::uuid`)
  await disable(bad)
  // As many contacts as a call looks at, all of them changed by somebody.
  await query(sql`
    with made as (
      insert into contacts (organization_id, id, root_contact_id, team_id, import_id, created_at)
      select organization_id, gen_random_uuid(), root_contact_id, team_id, import_id, created_at - interval '1 hour'
      from contacts, generate_series(1, 2000) where id = ${uuidOf(kept.id)} returning organization_id, id)
    insert into events (organization_id, id, resource, is_history, record_id, kind, source, changes)
    select organization_id, gen_random_uuid(), 'contact', true, id, 'updated', 'person', '[]' from made`)
  const first = await remove(bad)
  expect(first.body).toMatchObject({ rows: 0, contacts: 0, remaining: 1, next: expect.stringMatching(/^con_/) })
  const second = await remove(bad, { after: first.body.next })
  expect(second.body).toMatchObject({ contacts: 2, companies: 2, remaining: 0, next: null, kept: 2001 })
  expect(await isHere(`/v5/contacts/${kept.id}`)).toBe(true)
  for (const { id } of others) expect(await isHere(`/v5/contacts/${id}`)).toBe(false)
  const target = { database: service.database, organization: organization.organizationId }
  expect(await removeAllReceived(target, { nameOrId: bad.importId, dryRun: false })).toMatchObject({
    remaining: 0,
    contacts: 0,
  })
})

test('a company goes with the last of its contacts, in whichever call, and the command adds up what each one removed', async () => {
  const bad = await newImport(service, organization)
  const company = { name: `Spam ${bad.uuid}`, domain: `spam-${bad.uuid}.example` }
  for (let index = 0; index < 205; index++) await push(bad, { contact: newLead().contact, company })
  await isProcessed(bad, 205)
  await disable(bad)
  const target = { database: service.database, organization: organization.organizationId }
  const removed = await removeAllReceived(target, { nameOrId: bad.importId, dryRun: false })
  expect(removed).toMatchObject({ rows: 205, contacts: 205, companies: 1, notes: 0, kept: 0, remaining: 0 })
  expect(await get(`/v5/companies?domain=${company.domain}`)).toEqual([])
  const steps = await get(
    `/v5/audit-log?filter.recordId.equals=${bad.importId}&filter.action.equals=import-rows.removed`,
  )
  expect(steps.map(({ details }: Json) => details.rows).sort()).toEqual([200, 5])
})

test('a dry run looks at the oldest ten thousand rows and contacts', async () => {
  const bad = await pushBadly(1)
  const hasMore = async () => (await remove(bad, { dryRun: true })).body.hasMore
  expect(await hasMore()).toBe(false)
  // In several statements, because a busy machine may take longer than one statement may.
  for (let batch = 0; batch < 10; batch++)
    await query(sql`
      insert into contacts (organization_id, id, root_contact_id, team_id, import_id)
      select organization_id, gen_random_uuid(), root_contact_id, team_id, import_id
      from contacts, generate_series(1, 1000) where import_id = ${bad.uuid}::uuid and email is not null`)
  expect((await remove(bad, { dryRun: true })).body).toMatchObject({ rows: 1, contacts: 10_000, hasMore: true })
  for (let batch = 0; batch < 10; batch++)
    await query(sql`delete from contacts where (organization_id, id) in (select organization_id, id from contacts
      where import_id = ${bad.uuid}::uuid and email is null limit 1000)`)
  expect(await hasMore()).toBe(false)
  for (let batch = 0; batch < 10; batch++)
    await query(sql`
      insert into import_rows (organization_id, id, import_id, status, payload)
      select organization_id, gen_random_uuid(), import_id, 'CANCELLED', '{}'
      from import_rows, generate_series(1, 1000) where import_id = ${bad.uuid}::uuid and status = 'PROCESSED'`)
  expect((await remove(bad, { dryRun: true })).body).toMatchObject({ rows: 10_000, contacts: 1, hasMore: true })
})

test('people who do not see all contacts cannot remove anything', async () => {
  const bad = await newImport(service, organization)
  const reader = await organization.withScopes(['import:*:read'])
  expect((await reader('POST', `/v5/imports/${bad.importId}/remove-received`, { body: {} })).status).toBe(403)
  const unknown = { ...bad, importId: bad.importId.replace(/.$/, (last) => (last === '0' ? '1' : '0')) }
  expect((await remove(unknown)).status).toBe(404)
})

test('an `after` that no answer named is refused, and so is one of a dry run', async () => {
  const bad = await newImport(service, organization)
  await call('POST', `/v5/imports/${bad.importId}/disable`)
  const known = `con_${'0'.repeat(32)}`
  for (const body of [{ after: 'con_1' }, { after: `imp_${'0'.repeat(32)}` }, { after: known, dryRun: true }])
    expect(await remove(bad, body)).toMatchObject({ status: 422, body: { details: [{ field: 'after' }] } })
  expect((await remove(bad, { after: known })).body).toMatchObject({ rows: 0, remaining: 0, next: null })
})
