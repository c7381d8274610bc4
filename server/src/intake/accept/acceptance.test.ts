import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newImport, type TestImport } from '../../../test/pushes.ts'
import { refusedOnce, refusedPath } from '../../../test/refused-pushes.ts'
import {
  type CallOptions,
  type Json,
  startTestService,
  type TestOrganization,
  type TestService,
} from '../../../test/service.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { sql } from '../../platform/model/sql.ts'
import { processNextBatch } from '../work/batch.ts'

let service: TestService
let organization: TestOrganization
beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
})
afterAll(() => service.close())

/** A push that was refused because of an invalid number of employees. */
async function refuse(
  email = `${randomUUID()}@example.com`,
): Promise<{ target: TestImport; refused: Json; email: string }> {
  const target = await newImport(service, organization)
  expect((await target.push({ contact: { email }, company: { employeesCount: 'many' } })).status).toBe(400)
  const [refused] = await refusedOnce(organization, target, 1)
  return { target, refused, email }
}

const accept = (
  target: TestImport,
  id: string,
  payload: unknown,
  options: CallOptions = {},
  call = organization.call,
) => call('POST', `${refusedPath(target, id)}/accept`, { body: { payload }, ...options })

const rowsOf = async ({ importId }: TestImport): Promise<Json[]> =>
  (await organization.call('GET', `/v5/imports/${importId}/rows`)).body

async function processRows(): Promise<void> {
  const organizationId = decodeId('org', organization.organizationId) ?? ''
  const batch = { maxRows: 200, leaseSeconds: 60, onClaimed: () => undefined }
  while (await processNextBatch(service.database, organizationId, batch));
}

test('a refused push is accepted with a corrected payload as a row, which becomes a contact', async () => {
  const { target, refused, email } = await refuse()
  const payload = { contact: { name: 'Ada Lovelace', email } }
  const accepted = await accept(target, refused.id, payload)
  expect([accepted.status, accepted.body]).toEqual([
    200,
    {
      ...refused,
      rowId: expect.stringMatching(/^row_/) as string,
      acceptedAt: expect.stringMatching(/Z$/) as string,
      updatedAt: expect.stringMatching(/Z$/) as string,
      body: JSON.stringify({ contact: { email }, company: { employeesCount: 'many' } }),
    },
  ])
  const read = await organization.call('GET', refusedPath(target, refused.id))
  expect([read.body, read.headers.get('etag')]).toEqual([accepted.body, accepted.headers.get('etag')])
  const [row] = await rowsOf(target)
  expect(row).toMatchObject({ id: accepted.body.rowId, status: 'PENDING', email })
  const stats = async () => (await organization.call('GET', `/v5/imports/${target.importId}`)).body.stats.counts
  expect(await stats()).toMatchObject({ PENDING: 1 })
  await processRows()
  expect(await rowsOf(target)).toMatchObject([
    { status: 'PROCESSED', contactId: expect.stringMatching(/^con_/) as string },
  ])
  expect(await stats()).toMatchObject({ PENDING: 0, PROCESSED: 1 })
})

test('it is accepted once: the same payload again changes nothing, and another one is a conflict', async () => {
  const { target, refused, email } = await refuse()
  const payload = { contact: { email, name: 'Ada' } }
  const answers = await Promise.all([1, 2, 3].map(() => accept(target, refused.id, payload)))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  expect(new Set(answers.map(({ body }) => body.rowId)).size).toBe(1)
  const other = await accept(target, refused.id, { contact: { email, name: 'Grace' } })
  expect(other).toMatchObject({ status: 409, body: { code: 'already_decided', details: [{ field: 'payload' }] } })
  expect(other.text).toContain(answers[0]?.body.rowId)
  expect(await rowsOf(target)).toHaveLength(1)
  const log = `/v5/audit-log?filter.action.equals=refused-push.accepted&filter.recordId.equals=${refused.id}`
  const { body: events } = await organization.call('GET', log)
  expect(events).toMatchObject([{ details: { fields: ['rowId'], rowId: answers[0]?.body.rowId } }])
  expect(JSON.stringify(events)).not.toContain(email)
})

test('an invalid payload is refused with its fields, and nothing changes', async () => {
  const { target, refused, email } = await refuse()
  const answer = await accept(target, refused.id, { contact: { email: 'nobody' }, company: { employeesCount: 'many' } })
  expect([answer.status, answer.body.details.map(({ field }: Json) => field)]).toEqual([
    422,
    ['payload.contact.email', 'payload.company.employeesCount'],
  ])
  const stale = { headers: { 'if-match': '"7-AAAAAAAAAAAAAAAA"' } }
  expect((await accept(target, refused.id, { contact: { email } }, stale)).status).toBe(412)
  expect(await rowsOf(target)).toEqual([])
  expect((await organization.call('GET', refusedPath(target, refused.id))).body.rowId).toBeNull()
})

test('an Idempotency-Key replays the response', async () => {
  const { target, refused, email } = await refuse()
  const once = { headers: { 'idempotency-key': randomUUID() } }
  const [first, again] = [
    await accept(target, refused.id, { contact: { email } }, once),
    await accept(target, refused.id, { contact: { email } }, once),
  ]
  expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true'])
})

test('reading, accepting and deleting need their scopes, and other organizations and imports see nothing', async () => {
  const { target, refused, email } = await refuse()
  const reader = await organization.withScopes(['urn:service:refused-push:*:read'])
  expect((await reader('GET', refusedPath(target, refused.id))).status).toBe(200)
  expect((await accept(target, refused.id, { contact: { email } }, {}, reader)).status).toBe(403)
  expect((await reader('DELETE', refusedPath(target, refused.id))).status).toBe(403)
  const other = await service.newOrganization()
  const otherImport = await newImport(service, organization)
  for (const [call, place] of [
    [other.call, target],
    [organization.call, otherImport],
  ] as const) {
    expect((await call('GET', refusedPath(place, refused.id))).status).toBe(404)
    expect((await accept(place, refused.id, { contact: { email } }, {}, call)).status).toBe(404)
    expect((await call('DELETE', refusedPath(place, refused.id))).status).toBe(404)
  }
  expect((await organization.call('GET', refusedPath(target))).body).toHaveLength(1)
})

test('a deleted one is gone, and the row of an accepted one stays', async () => {
  const { target, refused, email } = await refuse()
  await accept(target, refused.id, { contact: { email } })
  expect((await organization.call('DELETE', refusedPath(target, refused.id))).status).toBe(204)
  expect((await organization.call('GET', refusedPath(target, refused.id))).status).toBe(404)
  expect((await organization.call('DELETE', refusedPath(target, refused.id))).status).toBe(404)
  expect(await rowsOf(target)).toHaveLength(1)
})

test('without the secret that encrypted it, the body is null and everything else is shown', async () => {
  const { target, refused } = await refuse()
  await service.database.crossTenantQuery(
    'check the database',
    sql`update refused_pushes set content_sealed = null where import_id = ${target.uuid}::uuid`,
  )
  expect((await organization.call('GET', refusedPath(target, refused.id))).body).toEqual({ ...refused, body: null })
})
