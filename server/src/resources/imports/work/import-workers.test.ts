import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../../../test/processes.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../../test/service.ts'

let service: TestService
let organization: TestOrganization
beforeAll(async () => {
  service = await startTestService({ IMPORT_WORKERS: '2' })
  organization = await service.newOrganization()
})
afterAll(() => service.close())

/** Pushes at the organization's import and waits for the end of the row. */
async function push(payload: Json, { triggerUrl, importId, call }: TestOrganization = organization): Promise<Json> {
  const response = await service.anonymous('POST', new URL(triggerUrl).pathname, { body: payload })
  expect(response).toMatchObject({ status: 200, body: { object: 'row', status: 'PENDING' } })
  const { id } = response.body
  const path = `/v5/imports/${importId}/rows/${id}`
  let row: Json
  await until('the row came to an end', async () => {
    const { status, body } = await call('GET', path)
    row = body
    // Where many wait at once, some are asked to come back later.
    return status === 200 && body.finishedAt !== null
  })
  return row
}

test('a push becomes a contact with its company, jobs and note, and the row tells so', async () => {
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

test('what comes again is a duplicate, and what adds something is told with before and after', async () => {
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
  expect({ ...after, bio: null, updatedAt: before.updatedAt }).toEqual(before)
})

test('an edit through the API is not overwritten, what an import set before is', async () => {
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

test('a lead goes to the team of its import, and meets no contact of another', async () => {
  const { call } = organization
  const { body: team } = await call('POST', '/v5/teams', { body: { name: 'Berlin' } })
  const { body: made } = await call('POST', '/v5/imports', { body: { name: 'Berlin fair', teamId: team.id } })
  const here = await push({ contact: { email: 'dora@d.example' } })
  const there = await push({ contact: { email: 'dora@d.example' } }, { ...organization, ...made, importId: made.id })
  expect(there).toMatchObject({ status: 'PROCESSED' })
  expect(there.contactId).not.toBe(here.contactId)
  const people = (await call('GET', '/v5/contacts?filter.email.equals=dora@d.example')).body
  expect(new Set(people.map(({ teamId }: Json) => teamId))).toEqual(new Set([team.id, organization.teamId]))
  expect(new Set(people.map(({ rootContactId }: Json) => rootContactId)).size).toBe(1)
})

test('keys of two contacts are a conflict, which a retry after the correction resolves', async () => {
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

test('what cannot be used is told and the rest is taken', async () => {
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

test('fifty identical pushes at once make one contact', async () => {
  const fresh = await service.newOrganization()
  const rows = await Promise.all(
    Array.from({ length: 50 }, () =>
      push({ contact: { email: 'gus@g.example', note: 'Hi' }, company: { name: 'G' } }, fresh),
    ),
  )
  expect(rows.map(({ status }) => status).sort()).toEqual([...Array(49).fill('DUPLICATE'), 'PROCESSED'])
  for (const noun of ['contacts', 'companies', 'notes']) {
    expect([noun, (await fresh.call('GET', `/v5/${noun}/count`)).body]).toEqual([noun, { count: 1 }])
  }
  const { body } = await fresh.call('GET', `/v5/imports/${fresh.importId}`)
  expect(body.stats.counts).toMatchObject({ PENDING: 0, PROCESSING: 0, PROCESSED: 1, DUPLICATE: 49 })
})

test('what is pushed later is worked on later: the last push says what an overwriting import leaves', async () => {
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
