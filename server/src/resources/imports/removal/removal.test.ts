import { afterAll, beforeAll, expect, test } from 'vitest'
import { removeAllReceived } from '../../../commands/imports.ts'
import { newImport, newLead, type TestImport } from '../../../../test/pushes.ts'
import { until } from '../../../../test/processes.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../../test/service.ts'

let service: TestService
let organization: TestOrganization
beforeAll(async () => {
  service = await startTestService({ IMPORT_WORKERS: '2' })
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

test('people who do not see all contacts cannot remove anything', async () => {
  const bad = await newImport(service, organization)
  const reader = await organization.withScopes(['import:*:read'])
  expect((await reader('POST', `/v5/imports/${bad.importId}/remove-received`, { body: {} })).status).toBe(403)
  const unknown = { ...bad, importId: bad.importId.replace(/.$/, (last) => (last === '0' ? '1' : '0')) }
  expect((await remove(unknown)).status).toBe(404)
})
