import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sql } from '../../platform/model/sql.ts'
import { decodeId } from '../../platform/model/ids.ts'
import type { FindingCode } from '../imports/resource.ts'
import { fullLead } from '../../../test/leads.ts'
import { pushesOf, type Pushed } from '../../../test/processed-pushes.ts'
import {
  type Call,
  type Json,
  startTestService,
  type TestOrganization,
  type TestService,
} from '../../../test/service.ts'
import { casesToTry } from '../../../test/suite.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

/** Ids of the records that a push created. */
type Created = Record<'contact' | 'company', string>

interface Case {
  edit: (call: Call, created: Created) => Promise<unknown>
  /** The warnings of every later push, as `<code> <path>`, or CONFLICT if it is rejected. */
  expected: readonly `${FindingCode} ${string}`[] | 'CONFLICT'
}

const patchContact =
  (body: Json) =>
  (call: Call, { contact }: Created) =>
    expectSuccess(call('PATCH', `/v5/contacts/${contact}`, { body }))
const patchCompany =
  (body: Json) =>
  (call: Call, { company }: Created) =>
    expectSuccess(call('PATCH', `/v5/companies/${company}`, { body }))

async function expectSuccess(response: ReturnType<Call>): Promise<void> {
  const { status, text } = await response
  if (status >= 300) throw new Error(`${status} ${text}`)
}

/** Updates or deletes the contact's job at this employer. */
const changeJob =
  (organization: string, body: Json | 'DELETE') =>
  async (call: Call, { contact }: Created) => {
    const path = `/v5/contacts/${contact}/employments`
    const { body: jobs } = await call('GET', path)
    const { id } = jobs.find((job: Json) => job.organization === organization)
    await expectSuccess(body === 'DELETE' ? call('DELETE', `${path}/${id}`) : call('PATCH', `${path}/${id}`, { body }))
  }
const changeNote =
  (body: Json | 'DELETE') =>
  async (call: Call, { contact }: Created) => {
    const { body: notes } = await call('GET', `/v5/contacts/${contact}/notes`)
    const path = `/v5/notes/${notes[0].id}`
    await expectSuccess(body === 'DELETE' ? call('DELETE', path) : call('PATCH', path, { body }))
  }

/** Also deletes the records permanently, as the purge does after 30 days. */
const purged = (table: 'notes' | 'employments', edit: Case['edit']) => async (call: Call, created: Created) => {
  await edit(call, created)
  await service.database.crossTenantQuery(
    'check the database',
    table === 'notes'
      ? sql`delete from notes where deleted_at is not null`
      : sql`delete from employments where deleted_at is not null`,
  )
}

const contactTexts: Json = {
  name: 'Ada King',
  nickname: 'Countess',
  bio: 'Other',
  avatar: 'https://other.example/a.png',
  website: 'https://other.example',
  location: 'Paris',
  timeZone: 'Europe/Paris',
  facebookHandle: 'other',
  githubHandle: 'other',
  instagramHandle: 'other',
  linkedinHandle: 'other',
  twitterHandle: 'other',
}
const companyTexts: Json = {
  nickname: 'Other',
  bio: 'Other',
  subtitle: 'Other',
  avatar: 'https://other.example/l.png',
  website: 'https://other.example',
  location: 'Paris',
  timeZone: 'Europe/Paris',
  facebookHandle: 'other',
  githubHandle: 'other',
  instagramHandle: 'other',
  linkedinHandle: 'other',
  twitterHandle: 'other',
  annualRevenue: '1',
  employeesCount: 1,
  foundedYear: 1900,
  fundingStage: 'seed',
  fundingTotal: '1',
  retailLocationsCount: 1,
  ticker: 'OTH',
}

const editsKept = (...paths: string[]): Case['expected'] =>
  paths.map((path): `edit_kept ${string}` => `edit_kept ${path}`)

/** Two cases: all fields changed, and all fields cleared. */
function scalars(part: 'contact' | 'company', values: Json): Record<string, Case> {
  const patch = part === 'contact' ? patchContact : patchCompany
  const names = Object.keys(values)
  const expected = editsKept(...names.map((name) => `${part}.${name}`))
  const nothing = Object.fromEntries(names.map((name) => [name, null]))
  return {
    [`fields of a ${part} changed`]: { edit: patch(values), expected },
    [`fields of a ${part} cleared`]: { edit: patch(nothing), expected },
  }
}

const cases: Record<string, Case> = {
  ...scalars('contact', contactTexts),
  ...scalars('company', companyTexts),
  'last name corrected': { edit: patchContact({ lastName: 'King' }), expected: editsKept('contact.name') },
  'address corrected': { edit: patchContact({ email: 'corrected@example.com' }), expected: editsKept('contact.email') },
  'job title changed': { edit: patchContact({ employmentTitle: 'Countess' }), expected: editsKept('employment.title') },
  'seniority cleared': {
    edit: patchContact({ employmentSeniority: null }),
    expected: editsKept('employment.seniority'),
  },
  'company taken off the contact': { edit: patchContact({ companyId: null }), expected: editsKept('company') },
  'contact moved to another company': {
    edit: async (call, created) => {
      const { body } = await call('POST', '/v5/companies', { body: { name: 'Elsewhere' } })
      await patchContact({ companyId: body.id })(call, created)
    },
    expected: editsKept('company'),
  },
  'tag of a contact removed': { edit: patchContact({ tags: ['fair'] }), expected: [] },
  'all tags of a contact removed': { edit: patchContact({ tags: [] }), expected: [] },
  'tag of a contact added and another removed': { edit: patchContact({ tags: ['mine', 'fair'] }), expected: [] },
  'tag of a contact removed and added again': {
    edit: async (call, created) => {
      await patchContact({ tags: ['fair'] })(call, created)
      await patchContact({ tags: ['fair', 'lead'] })(call, created)
    },
    expected: [],
  },
  'tag of a company removed': { edit: patchCompany({ tags: ['vip'] }), expected: editsKept('company.tags') },
  'all tags of a company removed': { edit: patchCompany({ tags: [] }), expected: editsKept('company.tags') },
  'list of a company shortened': {
    edit: patchCompany({ industries: ['software'], languages: [], stack: ['brass'] }),
    expected: editsKept('company.industries', 'company.languages', 'company.stack'),
  },
  'external id of a contact removed': {
    edit: patchContact({ externalIds: { crm: null } }),
    expected: editsKept('contact.externalIdCrm'),
  },
  'external ids of a contact removed': {
    edit: patchContact({ externalIds: { crm: null, hubSpot: null } }),
    expected: editsKept('contact.externalIdCrm', 'contact.externalIdHubSpot'),
  },
  'external id of a contact changed': { edit: patchContact({ externalIds: { crm: 'other' } }), expected: 'CONFLICT' },
  'external id of a company removed': {
    edit: patchCompany({ externalIds: { crm: null } }),
    expected: editsKept('company.externalIdCrm'),
  },
  'external id of a company changed': { edit: patchCompany({ externalIds: { crm: 'other' } }), expected: 'CONFLICT' },
  'company renamed': { edit: patchCompany({ name: 'Engines Ltd' }), expected: editsKept('company.name') },
  'domain of a company corrected': {
    edit: patchCompany({ domain: 'other.example' }),
    expected: editsKept('company.domain'),
  },
  'title of a job corrected': {
    edit: changeJob('Engines', { title: 'Senior analyst' }),
    expected: editsKept('employment.history.0'),
  },
  'employer of a job corrected': {
    edit: changeJob('Engines', { organization: 'Engines Ltd' }),
    expected: editsKept('employment.history.0'),
  },
  'start of a job cleared': {
    edit: changeJob('Engines', { start: null }),
    expected: editsKept('employment.history.0'),
  },
  'job ended': {
    edit: changeJob('Engines', { current: false, end: '2024-01' }),
    expected: editsKept('employment.history.0.current'),
  },
  'job no longer current': {
    edit: changeJob('Engines', { current: false }),
    expected: editsKept('employment.history.0.current'),
  },
  'end of a job corrected': {
    edit: changeJob('Babbage', { end: '2019-06' }),
    expected: editsKept('employment.history.1.end'),
  },
  'end of a job cleared': {
    edit: changeJob('Babbage', { end: null }),
    expected: editsKept('employment.history.1.end'),
  },
  'job still held': {
    edit: changeJob('Babbage', { end: null, current: true }),
    expected: editsKept('employment.history.1.end'),
  },
  'title and end of a job corrected': {
    edit: changeJob('Babbage', { title: 'Chief clerk', end: '2019-06' }),
    expected: editsKept('employment.history.1'),
  },
  'job deleted': { edit: changeJob('Engines', 'DELETE'), expected: editsKept('employment.history.0') },
  'job deleted and purged': {
    edit: purged('employments', changeJob('Engines', 'DELETE')),
    expected: editsKept('employment.history.0'),
  },
  'note edited': { edit: changeNote({ body: 'Met at the conference' }), expected: editsKept('contact.note') },
  'note deleted': { edit: changeNote('DELETE'), expected: editsKept('contact.note') },
  'note edited, deleted and purged': {
    edit: purged('notes', async (call, created) => {
      await changeNote({ body: 'Met at the conference' })(call, created)
      await changeNote('DELETE')(call, created)
    }),
    expected: editsKept('contact.note'),
  },
}

/** Responses that show all records of a lead, and the number of records. */
async function recordTexts(call: Call, { contact, company }: Created): Promise<string[]> {
  const paths = [
    `/v5/contacts/${contact}`,
    `/v5/contacts/${contact}/employments`,
    `/v5/contacts/${contact}/notes`,
    `/v5/companies/${company}`,
    ...['contacts', 'companies', 'notes'].map((name) => `/v5/${name}/count`),
  ]
  return Promise.all(paths.map(async (path) => (await call('GET', path)).text))
}

const warningsOf = ({ status, warnings }: Pushed): string[] | string =>
  status === 'CONFLICT' ? status : warnings.map(({ code, path }: Json) => `${code} ${path}`).sort()

const names = Object.keys(cases)
/** In `npm test`, one of two neighbouring edits with each policy. */
const pairOf = (name: string) => String(Math.floor(names.indexOf(name) / 2))

describe.each(['fill', 'overwrite'])('with %s', (mergePolicy) => {
  let organization: TestOrganization
  beforeAll(async () => {
    organization = await service.newOrganization()
    const { call, importId } = organization
    await expectSuccess(call('PATCH', `/v5/imports/${importId}`, { body: { mergePolicy, tags: ['fair', 'lead'] } }))
  })

  const toTry = casesToTry(Object.entries(cases), ([name]) => pairOf(name), mergePolicy === 'fill' ? 0 : 1)
  test.each(toTry)('no later push reverts an edit: %s', async (name, { edit, expected }) => {
    const { call } = organization
    const push = pushesOf(service, organization)
    const payload = fullLead(names.indexOf(name))
    const [first] = await push(payload)
    expect(first).toMatchObject({ status: 'PROCESSED', warnings: [], errors: [] })
    const created = { contact: first?.contactId ?? '', company: first?.companyId ?? '' }
    expect((await push(payload))[0]?.status).toBe('DUPLICATE')
    await edit(call, created)
    const before = await recordTexts(call, created)
    const later = [...(await push(payload)), ...(await push(payload)), ...(await push(payload, payload, payload))]
    expect(await recordTexts(call, created)).toEqual(before)
    expect(later.map(warningsOf)).toEqual(later.map(() => (expected === 'CONFLICT' ? expected : [...expected].sort())))
    const status = expected === 'CONFLICT' ? expected : expected.length > 0 ? 'PROCESSED' : 'DUPLICATE'
    expect(later.map((row) => row.status)).toEqual(later.map(() => status))
  })
})

test('a push adds values to an edited record, except those that a person removed', async () => {
  const organization = await service.newOrganization()
  const { call } = organization
  const push = pushesOf(service, organization)
  const lead = (tags: string[], externalIds: Json) => ({
    contact: { email: 'ada@example.com', ...externalIds },
    company: { name: 'Engines', domain: 'engines.example', tags },
  })
  const [created] = await push(lead(['one', 'two'], { externalIdCrm: 'c1' }))
  await call('PATCH', `/v5/companies/${created?.companyId}`, { body: { tags: ['two', 'mine'] } })
  await call('PATCH', `/v5/contacts/${created?.contactId}`, { body: { externalIds: { crm: null } } })
  const [more] = await push(lead(['one', 'three'], { externalIdCrm: 'c2', externalIdErp: 'e1' }))
  expect(more).toMatchObject({ status: 'PROCESSED', warnings: [{ code: 'edit_kept', path: 'company.tags' }] })
  expect((await call('GET', `/v5/companies/${created?.companyId}`)).body.tags).toEqual(['two', 'mine', 'three'])
  expect((await call('GET', `/v5/contacts/${created?.contactId}`)).body.externalIds).toEqual({ crm: 'c2', erp: 'e1' })
})

test('a push whose only identifier is an external id that a person removed is a conflict that names the contact', async () => {
  const organization = await service.newOrganization()
  const { call } = organization
  const push = pushesOf(service, organization)
  const lead = { contact: { externalIdCrm: 'c1', name: 'Ada' } }
  const [created] = await push(lead)
  await call('PATCH', `/v5/contacts/${created?.contactId}`, { body: { externalIds: { crm: null } } })
  for (const row of await push(lead, lead)) {
    expect(row).toMatchObject({ status: 'CONFLICT', errors: [{ code: 'external_id_conflict', path: 'contact' }] })
    expect(row.errors[0].message).toContain(created?.contactId)
  }
  expect((await call('GET', '/v5/contacts/count')).body).toEqual({ count: 1 })
  // Another contact has the external id now, so the match is unambiguous.
  const { body: other } = await call('POST', '/v5/contacts', { body: { name: 'Bob', externalIds: { crm: 'c1' } } })
  expect((await push(lead))[0]).toMatchObject({ contactId: other.id })
  // An address identifies the contact.
  await call('PATCH', `/v5/contacts/${other.id}`, { body: { externalIds: { crm: null } } })
  const [third] = await push({ contact: { externalIdCrm: 'c1', email: 'eve@example.com' } })
  expect(third).toMatchObject({ status: 'PROCESSED', errors: [] })
  expect([created?.contactId, other.id]).not.toContain(third?.contactId)
})

test.each(['fill', 'overwrite'])('a renamed company is found by its former name, with %s', async (mergePolicy) => {
  const organization = await service.newOrganization()
  const { call, importId } = organization
  await call('PATCH', `/v5/imports/${importId}`, { body: { mergePolicy } })
  const push = pushesOf(service, organization)
  const lead = (email: string) => ({ contact: { email }, company: { name: 'Engines' } })
  const [created] = await push(lead('ada@example.com'))
  await call('PATCH', `/v5/companies/${created?.companyId}`, { body: { name: 'Engines Ltd' } })
  for (const row of await push(lead('ada@example.com'), lead('bob@example.com'))) {
    expect(row).toMatchObject({
      companyId: created?.companyId,
      warnings: [{ code: 'edit_kept', path: 'company.name' }],
    })
  }
  const { body: companies } = await call('GET', '/v5/companies')
  expect(companies.map(({ name }: Json) => name)).toEqual(['Engines Ltd'])
  // A company that has the name now takes precedence.
  const { body: other } = await call('POST', '/v5/companies', { body: { name: 'Engines' } })
  expect((await push(lead('cy@example.com')))[0]).toMatchObject({ companyId: other.id })
})

test('purging a record deletes the stored edits of it', async () => {
  const organization = await service.newOrganization()
  const { call } = organization
  const push = pushesOf(service, organization)
  const [created] = await push({ contact: { email: 'ada@example.com', note: 'Hi' } })
  await changeNote('DELETE')(call, { contact: created?.contactId ?? '', company: '' })
  const remembered = () =>
    service.database.crossTenantQuery(
      'check the database',
      sql`select from contact_edited_values where contact_id = ${decodeId('con', created?.contactId ?? '')}::uuid`,
    )
  expect(await remembered()).toHaveLength(1)
  await service.database.crossTenantQuery(
    'check the database',
    sql`delete from contacts where id = ${decodeId('con', created?.contactId ?? '')}::uuid`,
  )
  expect(await remembered()).toHaveLength(0)
})
