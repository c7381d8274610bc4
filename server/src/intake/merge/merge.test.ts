import { describe, expect, test } from 'vitest'
import { noRecords, leadRow, reconcileAndApply } from '../../../test/lead-model.ts'
import { encodeId } from '../../platform/model/ids.ts'
import type { Outcome } from './reconcile.ts'
import type { JsonObject } from '../../platform/model/json.ts'

const email = 'ada@a.example'
const policies = ['fill', 'overwrite'] as const

/** Pushes payloads to a new organization, with `fill` by default. */
function imported() {
  const fixture = noRecords()
  const push = (payload: JsonObject, mergePolicy: (typeof policies)[number] = 'fill') => {
    const [outcome] = reconcileAndApply(fixture, leadRow(payload, { mergePolicy }))
    if (!outcome) throw new Error('a row has an outcome')
    return outcome
  }
  const batch = (...payloads: JsonObject[]) =>
    reconcileAndApply(fixture, ...payloads.map((payload) => leadRow(payload)))
  return { world: fixture, push, batch }
}

const warningsOf = ({ warnings }: Outcome) => warnings.map(({ code, path }) => `${code} ${path}`).sort()
const idsOf = (prefix: string, records: Map<string, JsonObject>) =>
  [...records.keys()].map((id) => encodeId(prefix, id))

describe.each(policies)('with %s', (policy) => {
  test('a second external id of a provider is a conflict that names the contact and stores nothing', () => {
    const { world: fixture, push } = imported()
    push({ contact: { email, externalIdCrm: 'c1', externalIdErp: 'e1' } })
    const before = structuredClone([...fixture.contacts])
    const refused = push(
      { contact: { email, externalIdCrm: 'c2', bio: 'Wrote notes' }, company: { name: 'Acme' } },
      policy,
    )
    expect(refused).toMatchObject({ status: 'CONFLICT', contactId: null, companyId: null, changes: [] })
    expect(refused.errors).toMatchObject([{ code: 'external_id_conflict', path: 'contact.externalIdCrm' }])
    expect(refused.errors[0]?.message).toContain(idsOf('con', fixture.contacts)[0])
    // Matched by one id and contradicted by the other.
    const both = push({ contact: { externalIdCrm: 'c1', externalIdErp: 'e2' } }, policy)
    expect(both).toMatchObject({ status: 'CONFLICT', errors: [{ path: 'contact.externalIdErp' }] })
    expect([...fixture.contacts]).toEqual(before)
    expect(fixture.companies.size).toBe(0)
  })

  test.each([
    ['domain', { domain: 'acme.example' }],
    ['name', { name: 'Acme' }],
  ])('a second external id of a provider is a conflict that names the company found by %s', (_key, company) => {
    const { world: fixture, push } = imported()
    push({ contact: { email }, company: { name: 'Acme', domain: 'acme.example', externalIdCrm: 'c1' } })
    const refused = push({ contact: { email }, company: { ...company, externalIdCrm: 'c2' } }, policy)
    expect(refused).toMatchObject({
      status: 'CONFLICT',
      errors: [{ code: 'external_id_conflict', path: 'company.externalIdCrm' }],
    })
    expect(refused.errors[0]?.message).toContain(idsOf('com', fixture.companies)[0])
    expect([...fixture.companies.values()]).toMatchObject([{ externalIds: { crm: 'c1' } }])
  })
})

test('a further address of a contact matches it, and is stored already', () => {
  const { world: fixture, push } = imported()
  push({ contact: { email, phone: '+49301234567' } })
  const [[id = '', contact = {}] = []] = [...fixture.contacts]
  const emails = [email, 'Ada@home.example'].map((address, index) => ({
    address,
    kind: null,
    primary: index === 0,
    bouncedAt: null,
  }))
  const phones = ['+49301234567', '+49307654321'].map((number, index) => ({ number, kind: null, primary: index === 0 }))
  fixture.contacts.set(id, { ...contact, emails, phones })
  const lead = { contact: { email: 'ada@HOME.example', phone: '+49307654321' } }
  for (const policy of policies)
    expect(push(lead, policy)).toMatchObject({ status: 'DUPLICATE', warnings: [], changes: [] })
  expect(push({ contact: { email: 'ada@home.example', bio: 'Mathematician' } }, 'overwrite')).toMatchObject({
    status: 'PROCESSED',
    changes: [{ action: 'updated', after: { bio: 'Mathematician' } }],
  })
  expect(fixture.contacts.size).toBe(1)
  expect(fixture.contacts.get(id)).toMatchObject({ email, emails, phones })
})

test('rows of one batch conflict with each other like separate pushes', () => {
  const { world: fixture, batch } = imported()
  const outcomes = batch(
    { contact: { email, externalIdCrm: 'c1' }, company: { name: 'Acme', domain: 'acme.example', externalIdCrm: 'x1' } },
    { contact: { email, externalIdCrm: 'c2' } },
    { contact: { email: 'bob@b.example' }, company: { domain: 'acme.example', externalIdCrm: 'x2' } },
    { contact: { email: 'bob@b.example', externalIdCrm: 'c2' } },
  )
  expect(outcomes.map(({ status }) => status)).toEqual(['PROCESSED', 'CONFLICT', 'CONFLICT', 'PROCESSED'])
  expect(fixture.contacts.size).toBe(2)
})

test('a conflict between companies names all of them', () => {
  const { world: fixture, push } = imported()
  push({ contact: { email: 'a@a.example' }, company: { name: 'Acme', domain: 'acme.example' } })
  push({ contact: { email: 'b@a.example' }, company: { name: 'Other', externalIdCrm: 'c1' } })
  push({ contact: { email: 'c@a.example' }, company: { name: 'Acme', domain: 'acme.test' } })
  const ids = idsOf('com', fixture.companies)
  const byKeys = push({ contact: { email }, company: { domain: 'acme.example', externalIdCrm: 'c1' } })
  const byName = push({ contact: { email }, company: { name: 'Acme' } })
  for (const { status, errors } of [byKeys, byName]) {
    expect([status, errors.map(({ code }) => code)]).toEqual(['CONFLICT', ['ambiguous_company']])
  }
  for (const id of [ids[0], ids[1]]) expect(byKeys.errors[0]?.message).toContain(id)
  for (const id of [ids[0], ids[2]]) expect(byName.errors[0]?.message).toContain(id)
})

const full = {
  contact: { email, name: 'Ada Lovelace', githubHandle: 'Ada', externalIdCrm: 'c1', note: 'Met' },
  employment: {
    title: 'Analyst',
    history: [
      { organization: 'Acme', start: '2020-01', current: true },
      { organization: 'Babbage', start: '2018-01', end: '2019-12' },
    ],
  },
  company: { name: 'Acme', domain: 'acme.example', annualRevenue: '1250.50', stack: ['a', 'b'], tags: ['x'] },
}

test('a push is a duplicate if all its values are stored, in any spelling', () => {
  const { push } = imported()
  expect(push(full).status).toBe('PROCESSED')
  expect(push(full)).toMatchObject({ status: 'DUPLICATE', warnings: [] })
  const respelled = {
    contact: { email: 'ADA@a.example', name: 'Ada Lovelace', githubHandle: 'ada' },
    employment: { history: [{ organization: 'ACME', start: '2020-01' }] },
    company: { domain: 'www.acme.example', annualRevenue: '1250.5', stack: ['b'] },
  }
  expect(push(respelled)).toMatchObject({ status: 'DUPLICATE', warnings: [] })
  // A value without a field is stored with the row.
  expect(push({ contact: { ...full.contact, colour: 'blue' } })).toMatchObject({ status: 'DUPLICATE' })
})

test('with fill, each value that is not stored causes a warning, and the push is not a duplicate', () => {
  const { push } = imported()
  push(full)
  const outcome = push({
    contact: { email, name: 'Ada King', githubHandle: 'king', website: 'https://ada.example' },
    employment: {
      title: 'Countess',
      history: [
        { organization: 'Acme', start: '2020-01', current: false },
        { organization: 'Babbage', start: '2018-01', end: '2019-06' },
      ],
    },
    company: { name: 'Acme Ltd', domain: 'acme.example', annualRevenue: '9', stack: ['b', 'c'], tags: ['y'] },
  })
  expect(outcome.status).toBe('PROCESSED')
  expect(warningsOf(outcome)).toEqual(
    [
      'company.annualRevenue',
      'company.name',
      'company.stack',
      'contact.githubHandle',
      'contact.name',
      'employment.history.0.current',
      'employment.history.1.end',
      'employment.title',
    ].map((path) => `existing_value_kept ${path}`),
  )
  expect(outcome.changes.map(({ after }) => after)).toEqual([{ tags: ['x', 'y'] }, { website: 'https://ada.example' }])
  expect(push({ contact: { email, name: 'Ada King' } })).toMatchObject({ status: 'PROCESSED', changes: [] })
})

test('with overwrite, existing values are replaced; reopened and repeated jobs cause warnings', () => {
  const { push } = imported()
  push(full)
  const history = [
    { organization: 'Acme', start: '2020-01', end: '2021-12' },
    { organization: 'acme', start: '2020-01', end: '2022-12' },
    { organization: 'Babbage', start: '2018-01', current: true },
  ]
  const outcome = push({ contact: { email, name: 'Ada King' }, employment: { history } }, 'overwrite')
  expect(warningsOf(outcome)).toEqual([
    'existing_value_kept employment.history.1.end',
    'existing_value_kept employment.history.2.current',
  ])
  expect(outcome.changes.map(({ after }) => after)).toMatchObject([
    { name: 'Ada King' },
    { end: '2021-12', current: false },
  ])
})

test('a push with an unusable value is not a duplicate', () => {
  const { push } = imported()
  push({ contact: { email } })
  expect(push({ contact: { email, website: 'none' } })).toMatchObject({
    status: 'PROCESSED',
    warnings: [{ code: 'unusable_value', path: 'contact.website' }],
    changes: [],
  })
})

test('no company is created for a contact that keeps another one', () => {
  const { world: fixture, push } = imported()
  const first = push({ contact: { email }, company: { name: 'Acme' } })
  const second = push({ contact: { email, bio: 'Sells' }, company: { name: 'Babbage' } })
  expect(second).toMatchObject({ status: 'PROCESSED', companyId: null })
  expect(warningsOf(second)).toEqual(['existing_value_kept company'])
  expect(fixture.companies.size).toBe(1)
  expect([...fixture.contacts.values()]).toMatchObject([{ companyId: first.companyId, bio: 'Sells' }])
  // An existing company still gets the pushed values.
  const other = push({ contact: { email: 'bob@b.example' }, company: { name: 'Babbage' } })
  const known = push({ contact: { email }, company: { name: 'Babbage', employeesCount: 3 } })
  expect(known).toMatchObject({ companyId: other.companyId, changes: [{ after: { employeesCount: 3 } }] })
  expect(warningsOf(known)).toEqual(['existing_value_kept company'])
  const moved = push({ contact: { email }, company: { name: 'Coyote' } }, 'overwrite')
  expect(moved).toMatchObject({ status: 'PROCESSED', warnings: [] })
  expect([...fixture.contacts.values()][0]).toMatchObject({ companyId: moved.companyId })
})

test.each([
  ['https://www.acme.example/about', 'acme.example'],
  ['http://shop.acme.co.uk:8080', 'shop.acme.co.uk'],
  ['https://acme.github.io/site', 'acme.github.io'],
])('a company with only the website %s gets the domain %s', (website, domain) => {
  const { world: fixture, push } = imported()
  const first = push({ contact: { email }, company: { website } })
  expect(first).toMatchObject({ status: 'PROCESSED', warnings: [], errors: [] })
  expect([...fixture.companies.values()]).toMatchObject([{ name: domain, domain, website }])
  expect(push({ contact: { email }, company: { website } })).toMatchObject({ status: 'DUPLICATE' })
  const other = push({ contact: { email: 'bob@b.example' }, company: { name: 'Acme', domain: `www.${domain}` } })
  expect(other.companyId).toBe(first.companyId)
  const later = push({ contact: { email: 'cy@c.example' }, company: { website: `${website}?from=ad` } })
  expect(later.companyId).toBe(first.companyId)
})

test.each([
  'https://gmail.com',
  'https://www.facebook.com/acme',
  'https://linkedin.com/company/acme',
  'https://sites.google.com/view/acme',
  'http://192.0.2.7/',
  'http://localhost:8080',
])('the website %s does not identify a company', (website) => {
  const { world: fixture, push } = imported()
  expect(push({ contact: { email }, company: { website } })).toMatchObject({
    status: 'PARTIAL',
    errors: [{ code: 'company_without_name' }],
  })
  expect(fixture.companies.size).toBe(0)
})

test('the host of a website is not used for a company with a name or domain', () => {
  const { world: fixture, push } = imported()
  push({ contact: { email }, company: { name: 'Acme', website: 'https://acme.example' } })
  push({ contact: { email: 'b@b.example' }, company: { domain: 'b.example', website: 'https://acme.example' } })
  expect([...fixture.companies.values()].map(({ domain }) => domain)).toEqual([null, 'b.example'])
})

test('a company with only a nickname is created once, however often it is pushed', () => {
  const { world: fixture, push } = imported()
  for (const address of [email, 'bob@b.example', email]) {
    push({ contact: { email: address }, company: { nickname: 'Acme' } }, 'overwrite')
  }
  expect([...fixture.companies.values()]).toMatchObject([{ name: 'Acme', nickname: 'Acme' }])
})
