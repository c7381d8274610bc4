import { afterAll, beforeAll, expect, test } from 'vitest'
import { untilFinished } from '../../../test/import-audit.ts'
import { until } from '../../../test/processes.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'

let service: TestService
let organization: TestOrganization
beforeAll(async () => {
  service = await startTestService({ IMPORT_WORKERS: '2' })
  organization = await service.newOrganization()
})
afterAll(() => service.close())

/** Pushes to the import of the organization and waits until the row is finished. */
async function push(payload: Json, { triggerUrl, importId, call }: TestOrganization = organization): Promise<Json> {
  const response = await service.anonymous('POST', new URL(triggerUrl).pathname, { body: payload })
  expect(response).toMatchObject({ status: 200, body: { object: 'row', status: 'PENDING' } })
  const { id } = response.body
  const path = `/v5/imports/${importId}/rows/${id}`
  let row: Json
  await until('the row came to an end', async () => {
    const { status, body } = await call('GET', path)
    row = body
    // With many simultaneous requests, some get a 503.
    return status === 200 && body.finishedAt !== null
  })
  return row
}

test('a push creates a contact with company, employments and note, and the row lists the changes', async () => {
  const { call } = organization
  const row = await push({
    contact: {
      email: 'Ada@engines.example',
      name: 'Ada Lovelace',
      externalIdBilling: 'cus_1',
      note: 'Met at the fair',
    },
    employment: {
      title: 'Analyst',
      seniority: 'SENIOR',
      history: [{ organization: 'Engines', title: 'Analyst', start: '2020-01', current: true }],
    },
    company: { name: 'Analytical Engines', domain: 'engines.example', annualRevenue: '1250000.50', stack: ['brass'] },
  })
  expect(row).toMatchObject({ object: 'row', status: 'PROCESSED', warnings: [], errors: [], attempts: 0, runAt: null })
  expect(row.changes.map(({ object, action }: Json) => `${object} ${action}`)).toEqual([
    'company created',
    'contact created',
    'employment created',
    'note created',
  ])
  const { body: contact } = await call('GET', `/v5/contacts/${row.contactId}`)
  expect(contact).toMatchObject({
    email: 'Ada@engines.example',
    firstName: 'Ada',
    lastName: 'Lovelace',
    employmentTitle: 'Analyst',
    employmentSeniority: 'senior',
    companyId: row.companyId,
    company: { name: 'Analytical Engines' },
    externalIds: { billing: 'cus_1' },
    teamId: organization.teamId,
  })
  const path = `/v5/contacts/${row.contactId}`
  expect((await call('GET', `${path}/employments`)).body).toMatchObject([{ organization: 'Engines', current: true }])
  expect((await call('GET', `${path}/notes`)).body).toMatchObject([
    { body: 'Met at the fair', source: 'import', importRowId: row.id, authorId: null },
  ])
  expect((await call('GET', `/v5/companies/${row.companyId}`)).body).toMatchObject({ annualRevenue: '1250000.50' })
})

test('a repeated push is a duplicate; one with new values shows them before and after', async () => {
  const { call } = organization
  const lead = { contact: { email: 'bob@b.example', name: 'Bob', note: 'call back' }, company: { name: 'Bob Ltd' } }
  const first = await push(lead)
  const again = await push(lead)
  expect(again).toMatchObject({
    status: 'DUPLICATE',
    contactId: first.contactId,
    companyId: first.companyId,
    changes: [],
  })
  const { body: before } = await call('GET', `/v5/contacts/${first.contactId}`)
  const more = await push({ contact: { email: 'BOB@b.example', name: 'Robert', bio: 'Sells' } })
  expect(more).toMatchObject({ status: 'PROCESSED', contactId: first.contactId })
  expect(more.changes).toEqual([
    { object: 'contact', id: first.contactId, action: 'updated', before: { bio: null }, after: { bio: 'Sells' } },
  ])
  const { body: after } = await call('GET', `/v5/contacts/${first.contactId}`)
  expect(after.lastActivityAt).toBe(after.updatedAt)
  const { updatedAt, lastActivityAt } = before
  expect({ ...after, bio: null, updatedAt, lastActivityAt }).toEqual(before)
})

test('an import overwrites its own values, but not edits through the API', async () => {
  const { call, importId } = organization
  await call('PATCH', `/v5/imports/${importId}`, { body: { mergePolicy: 'overwrite', tags: ['fair'] } })
  const { contactId } = await push({ contact: { email: 'cy@c.example', name: 'Cy', location: 'Paris', bio: 'One' } })
  await call('PATCH', `/v5/contacts/${contactId}`, { body: { location: 'Lyon', tags: ['vip'] } })
  const row = await push({ contact: { email: 'cy@c.example', name: 'Cyan', location: 'Paris', bio: null } })
  expect(row.changes).toMatchObject([{ before: { name: 'Cy' }, after: { name: 'Cyan' } }])
  expect((await call('GET', `/v5/contacts/${contactId}`)).body).toMatchObject({
    name: 'Cyan',
    location: 'Lyon',
    bio: 'One',
    tags: ['vip'],
  })
  await call('PATCH', `/v5/imports/${importId}`, { body: { mergePolicy: 'fill', tags: [] } })
})

test('a lead is matched only with contacts of the team of its import', async () => {
  const { call } = organization
  const { body: team } = await call('POST', '/v5/teams', { body: { name: 'Berlin' } })
  const { body: otherImport } = await call('POST', '/v5/imports', { body: { name: 'Berlin fair', teamId: team.id } })
  const here = await push({ contact: { email: 'dora@d.example' } })
  const there = await push(
    { contact: { email: 'dora@d.example' } },
    { ...organization, ...otherImport, importId: otherImport.id },
  )
  expect(there).toMatchObject({ status: 'PROCESSED' })
  expect(there.contactId).not.toBe(here.contactId)
  const people = (await call('GET', '/v5/contacts?filter.email.equals=dora@d.example')).body
  expect(new Set(people.map(({ teamId }: Json) => teamId))).toEqual(new Set([team.id, organization.teamId]))
  expect(new Set(people.map(({ rootContactId }: Json) => rootContactId)).size).toBe(1)
})

test('a push that matches two contacts is a conflict, which a retry after a correction resolves', async () => {
  const { call, importId } = organization
  const { body: eve } = await call('POST', '/v5/contacts', { body: { email: 'eve@e.example' } })
  const { body: other } = await call('POST', '/v5/contacts', { body: { name: 'Eve', externalIds: { crm: 'e1' } } })
  const row = await push({ contact: { email: 'eve@e.example', externalIdCrm: 'e1' }, company: { name: 'E Ltd' } })
  expect(row).toMatchObject({ status: 'CONFLICT', contactId: null, errorCodes: ['ambiguous_contact'], changes: [] })
  expect(row.errors[0].message).toContain(other.id)
  expect((await call('GET', '/v5/companies/count?filter.name.equals=E Ltd')).body).toEqual({ count: 0 })
  await call('PATCH', `/v5/contacts/${other.id}`, { body: { externalIds: { crm: null } } })
  const path = `/v5/imports/${importId}/rows/${row.id}`
  expect((await call('POST', `${path}/retry`)).status).toBe(200)
  await until('the row came to an end', async () => (await call('GET', path)).body.status === 'PROCESSED')
  expect((await call('GET', path)).body).toMatchObject({ contactId: eve.id, errors: [], errorCodes: [] })
})

test('unusable values are reported and the rest is stored', async () => {
  const row = await push({
    contact: { email: 'fay@f.example', website: 'not a url', timeZone: 'Mars/Base', emial: 'x' },
    employment: { history: [{ organization: 'F', start: '2021-01', end: '2020-01' }] },
    company: { domain: 'gmail.com' },
  })
  expect(row.status).toBe('PARTIAL')
  expect(row.errors).toMatchObject([{ code: 'invalid_employment', path: 'employment.history.0' }])
  expect(row.warnings.map(({ code, path }: Json) => `${code} ${path}`).sort()).toEqual([
    'free_mail_domain company.domain',
    'unknown_member contact.emial',
    'unusable_value contact.timeZone',
    'unusable_value contact.website',
  ])
  expect(row.warningCodes.toSorted()).toEqual(['free_mail_domain', 'unknown_member', 'unusable_value'])
  expect(row).toMatchObject({ companyId: null, payload: { contact: { emial: 'x' } } })
})

test('fifty simultaneous identical pushes create one contact', async () => {
  const fresh = await service.newOrganization()
  const path = new URL(fresh.triggerUrl).pathname
  const lead = { contact: { email: 'gus@g.example', note: 'Hi' }, company: { name: 'G' } }
  const pushed = await Promise.all(Array.from({ length: 50 }, () => service.anonymous('POST', path, { body: lead })))
  for (const response of pushed) expect(response).toMatchObject({ status: 200, body: { status: 'PENDING' } })
  // Fifty clients that ask for their rows would take the workers' time.
  await untilFinished(service, fresh, 50)
  const rows: Json[] = (await fresh.call('GET', `/v5/imports/${fresh.importId}/rows?limit=100`)).body
  expect(rows.map(({ status }) => status).sort()).toEqual([...Array(49).fill('DUPLICATE'), 'PROCESSED'])
  for (const noun of ['contacts', 'companies', 'notes']) {
    expect([noun, (await fresh.call('GET', `/v5/${noun}/count`)).body]).toEqual([noun, { count: 1 }])
  }
  const { body } = await fresh.call('GET', `/v5/imports/${fresh.importId}`)
  expect(body.stats.counts).toMatchObject({ PENDING: 0, PROCESSING: 0, PROCESSED: 1, DUPLICATE: 49 })
})

test('pushes are processed in order: with overwrite, the last push determines the values', async () => {
  const fresh = await service.newOrganization()
  await fresh.call('PATCH', `/v5/imports/${fresh.importId}`, { body: { mergePolicy: 'overwrite' } })
  const path = new URL(fresh.triggerUrl).pathname
  for (let version = 1; version <= 60; version++) {
    const contact = { email: `person${version % 3}@h.example`, location: `Place ${version}` }
    expect((await service.anonymous('POST', path, { body: { contact } })).status).toBe(200)
  }
  const { importId, call } = fresh
  const waiting = async () => (await call('GET', `/v5/imports/${importId}`)).body.stats.oldestPendingAt
  await until('all rows came to an end', async () => (await waiting()) === null)
  const { body } = await call('GET', '/v5/contacts?orderBy=email&sort=asc')
  expect(body.map(({ location }: Json) => location)).toEqual(['Place 60', 'Place 58', 'Place 59'])
})
