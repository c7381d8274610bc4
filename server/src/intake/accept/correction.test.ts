import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addRows, queueStateOf, statusesOf } from '../../../test/import-rows.ts'
import { pushesOf } from '../../../test/processed-pushes.ts'
import {
  type CallOptions,
  type Json,
  startTestService,
  type TestOrganization,
  type TestService,
} from '../../../test/service.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { rowStatuses } from '../imports/resource.ts'
import { processNextBatch } from '../work/batch.ts'

let service: TestService
let organization: TestOrganization
beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
})
afterAll(() => service.close())

const pathOf = (row: string, { importId } = organization) => `/v5/imports/${importId}/rows/${row}`
const rowOf = async (row: string): Promise<Json> => (await organization.call('GET', pathOf(row))).body
const correct = (row: string, payload: Json, options: CallOptions = {}) =>
  organization.call('PATCH', pathOf(row), { body: { payload }, ...options })
const newAddress = () => `${randomUUID()}@example.com`
const payloadOf = (email: string, more: object = {}) => ({ contact: { email, name: 'Ada Lovelace' }, ...more })
const withoutCompanyName = { company: { employeesCount: 3 } }

async function processRows(): Promise<void> {
  const organizationId = decodeId('org', organization.organizationId) ?? ''
  const batch = { maxRows: 200, leaseSeconds: 60, onClaimed: () => undefined }
  while (await processNextBatch(service.database, organizationId, batch));
}

const contactsWith = async (...emails: string[]): Promise<Json[]> =>
  (await organization.call('GET', `/v5/contacts?filter.email.in=${emails.join()}`)).body

const addRow = async (sample: Parameters<typeof addRows>[2][number]): Promise<string> =>
  (await addRows(service, organization.importId, [sample]))[0] ?? ''

test('a corrected invalid row is processed and creates one contact', async () => {
  const email = newAddress()
  const row = await addRow({
    status: 'INVALID',
    payload: { contact: { email: 'ada at example' } },
    errors: [{ code: 'invalid_payload' }],
    errorCodes: ['invalid_payload'],
  })
  const payload = { contact: { name: 'Ada Lovelace', email } }
  const corrected = await correct(row, payload)
  expect([corrected.status, corrected.body]).toMatchObject([
    200,
    { id: row, status: 'PENDING', payload, errors: [], errorCodes: [], attempts: 0, finishedAt: null },
  ])
  expect(corrected.text).toContain(JSON.stringify(payload))
  expect(await queueStateOf(service, row)).toEqual({ losses: 0, lease: null, due: true })
  const read = await organization.call('GET', pathOf(row))
  expect([read.body, read.headers.get('etag')]).toEqual([corrected.body, corrected.headers.get('etag')])
  await processRows()
  const [contact, ...others] = await contactsWith(email)
  expect([contact?.name, others]).toEqual(['Ada Lovelace', []])
  expect(await rowOf(row)).toMatchObject({ status: 'PROCESSED', contactId: contact?.id, payload })
})

test('a row whose first run created a contact changes that contact, whatever the correction changes', async () => {
  const [first, second, third] = [newAddress(), newAddress(), newAddress()]
  const push = pushesOf(service, organization)
  const [pushed] = await push(payloadOf(first, withoutCompanyName))
  expect(pushed).toMatchObject({ status: 'PARTIAL', contactId: expect.stringMatching(/^con_/) as string })
  const row = pushed?.id ?? ''
  expect((await correct(row, payloadOf(second, withoutCompanyName))).status).toBe(200)
  await processRows()
  expect(await rowOf(row)).toMatchObject({ status: 'PARTIAL', contactId: pushed?.contactId })
  const { contact } = payloadOf(third)
  expect((await correct(row, { contact: { ...contact, nickname: 'Ada' }, company: { name: 'Acme' } })).status).toBe(200)
  await processRows()
  const done = await rowOf(row)
  expect([done.status, done.contactId]).toEqual(['PROCESSED', pushed?.contactId])
  expect(done.changes.map(({ object, action }: Json) => `${object} ${action}`)).toEqual([
    'contact created',
    'company created',
    'contact updated',
  ])
  const contacts = await contactsWith(first, second, third)
  expect(contacts).toMatchObject([{ id: pushed?.contactId, email: first, nickname: 'Ada' }])
})

test('a corrected row that ends in a conflict keeps the contact that it created, and so does the next correction', async () => {
  const [address, crm] = [newAddress(), randomUUID()]
  const push = pushesOf(service, organization)
  const [other] = await push({ contact: { email: newAddress(), name: 'Grace Hopper', externalIdCrm: crm } })
  const [pushed] = await push(payloadOf(address, withoutCompanyName))
  const row = pushed?.id ?? ''
  const conflicting = { contact: { email: address, name: 'Ada Lovelace', externalIdCrm: crm } }
  expect((await correct(row, conflicting)).status).toBe(200)
  await processRows()
  const { contactId, changes } = pushed ?? {}
  expect(other?.contactId).not.toBe(contactId)
  expect(await rowOf(row)).toMatchObject({ status: 'CONFLICT', contactId, changes })
  const moved = newAddress()
  expect((await correct(row, payloadOf(moved))).status).toBe(200)
  await processRows()
  expect(await rowOf(row)).toMatchObject({ status: 'PROCESSED', contactId })
  expect((await contactsWith(address, moved)).map(({ id }) => id)).toEqual([contactId])
})

test('a retry of a row whose contact got another address since keeps that contact', async () => {
  const [old, changed] = [newAddress(), newAddress()]
  const [pushed] = await pushesOf(service, organization)(payloadOf(old, withoutCompanyName))
  await organization.call('PATCH', `/v5/contacts/${pushed?.contactId}`, { body: { email: changed } })
  expect((await organization.call('POST', `${pathOf(pushed?.id ?? '')}/retry`)).status).toBe(200)
  await processRows()
  expect(await rowOf(pushed?.id ?? '')).toMatchObject({ status: 'PARTIAL', contactId: pushed?.contactId })
  expect(await contactsWith(old, changed)).toMatchObject([{ id: pushed?.contactId, email: changed }])
})

test('a correction that names another existing contact changes that one, and one that only matched is left', async () => {
  const [mine, theirs, fresh] = [newAddress(), newAddress(), newAddress()]
  const push = pushesOf(service, organization)
  const [, other, matching] = await push(
    payloadOf(mine),
    payloadOf(theirs),
    payloadOf(mine, { company: { employeesCount: 3 } }),
  )
  const row = matching?.id ?? ''
  await correct(row, payloadOf(theirs, withoutCompanyName))
  await processRows()
  expect((await rowOf(row)).contactId).toBe(other?.contactId)
  await correct(row, payloadOf(fresh))
  await processRows()
  const [created] = await contactsWith(fresh)
  expect((await rowOf(row)).contactId).toBe(created?.id)
  expect((await contactsWith(mine, theirs)).length).toBe(2)
})

test.each([
  [{ contact: { email: 'ada at example' } }, 'payload.contact.email'],
  [{ contact: { name: 'Ada' } }, 'payload.contact.email'],
  [{}, 'payload.contact'],
  ['text', 'payload'],
  [null, 'payload'],
])('the payload %j is rejected with its fields, and nothing changes', async (payload, field) => {
  const row = await addRow({ status: 'INVALID' })
  const before = await organization.call('GET', pathOf(row))
  const { status, body } = await correct(row, payload)
  expect([status, body.details]).toEqual([422, [{ field, message: expect.any(String) as string }]])
  expect((await organization.call('GET', pathOf(row))).text).toBe(before.text)
})

test('only the payload can be corrected, and it is required', async () => {
  const row = await addRow({ status: 'INVALID' })
  const change = (body: object) => organization.call('PATCH', pathOf(row), { body })
  expect((await change({})).body).toMatchObject({ code: 'missing_required_field', details: [{ field: 'payload' }] })
  const { status, body } = await change({ payload: payloadOf(newAddress()), status: 'PROCESSED' })
  expect([status, body.details[0].field]).toEqual([422, 'status'])
  expect((await rowOf(row)).status).toBe('INVALID')
})

const correctable = ['PARTIAL', 'INVALID', 'CONFLICT', 'DEAD', 'CANCELLED']

test('only an unsuccessful row can be corrected; others stay unchanged and say what to do', async () => {
  const result: Record<string, number> = {}
  for (const status of rowStatuses) {
    const row = await addRow({ status })
    const before = await rowOf(row)
    const { status: code, body } = await correct(row, payloadOf(newAddress()))
    result[status] = code
    if (code === 200) continue
    expect(body).toMatchObject({ code: 'resource_locked', description: expect.stringMatching(/^This row .+\.$/) })
    expect(await rowOf(row)).toEqual(before)
  }
  expect(result).toEqual(
    Object.fromEntries(rowStatuses.map((status) => [status, correctable.includes(status) ? 200 : 423])),
  )
})

test('If-Match and Idempotency-Key apply, and the audit log records the correction once without the payload', async () => {
  const row = await addRow({ status: 'INVALID' })
  const email = newAddress()
  const stale = await correct(row, payloadOf(email), { headers: { 'if-match': '"7-AAAAAAAAAAAAAAAA"' } })
  expect(stale.body.code).toBe('precondition_failed')
  const tag = (await organization.call('GET', pathOf(row))).headers.get('etag') ?? ''
  const once = { headers: { 'idempotency-key': randomUUID(), 'if-match': tag } }
  const first = await correct(row, payloadOf(email), once)
  const again = await correct(row, payloadOf(email), once)
  expect([first.status, again.status, again.text]).toEqual([200, 200, first.text])
  expect(again.headers.get('idempotent-replayed')).toBe('true')
  expect((await correct(row, payloadOf(newAddress()), once)).body.code).toBe('idempotency_key_reused')
  const { body: events } = await organization.call('GET', `/v5/audit-log?filter.recordId.equals=${row}`)
  expect(events).toMatchObject([{ action: 'row.corrected', recordType: 'row', details: { fields: ['payload'] } }])
})

test('a row of another organization or import is not found, and the scope row:update:write is needed', async () => {
  const row = await addRow({ status: 'INVALID' })
  const theirs = await service.newOrganization()
  const body = { payload: payloadOf(newAddress()) }
  expect((await theirs.call('PATCH', pathOf(row), { body })).status).toBe(404)
  expect((await theirs.call('PATCH', pathOf(row, theirs), { body })).status).toBe(404)
  const other = (await organization.call('POST', '/v5/imports', { body: { name: 'Other' } })).body.id
  expect((await organization.call('PATCH', `/v5/imports/${other}/rows/${row}`, { body })).status).toBe(404)
  const retryOnly = await organization.withScopes(['row:retry:write', 'row:*:read'])
  expect((await retryOnly('PATCH', pathOf(row), { body })).body.details[0].message).toBe('urn:service:row:update:write')
  expect(await rowOf(row)).toMatchObject({ status: 'INVALID' })
  const allowed = await organization.withScopes(['row:update:write'])
  expect((await allowed('PATCH', pathOf(row), { body })).status).toBe(200)
  expect(await statusesOf(service, other)).toEqual([])
})

test.each(['PROCESSED', 'DUPLICATE'] as const)(
  'a %s row with warnings can be corrected, and changes the contact that it created or matched',
  async (status) => {
    const email = newAddress()
    const push = pushesOf(service, organization)
    const wrong = status === 'DUPLICATE' ? { webpage: 'https://ada.example.com' } : { website: 'no website' }
    const payload = { contact: { email, name: 'Ada Lovelace', ...wrong } }
    const pushed = (await push(...(status === 'DUPLICATE' ? [payload, payload] : [payload]))).at(-1)
    expect(pushed).toMatchObject({ status, warnings: [{ path: `contact.${Object.keys(wrong)[0]}` }] })
    const { contact } = payloadOf(email)
    const corrected = await correct(pushed?.id ?? '', { contact: { ...contact, website: 'https://ada.example.com' } })
    expect(corrected).toMatchObject({ status: 200, body: { status: 'PENDING', warnings: [], warningCodes: [] } })
    await processRows()
    expect(await rowOf(pushed?.id ?? '')).toMatchObject({
      status: 'PROCESSED',
      contactId: pushed?.contactId,
      warnings: [],
    })
    const { body } = await organization.call('GET', `/v5/contacts/${pushed?.contactId}`)
    expect(body.website).toBe('https://ada.example.com')
    expect((await correct(pushed?.id ?? '', payload)).status).toBe(423)
  },
)
