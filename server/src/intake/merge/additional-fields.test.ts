import { afterAll, beforeAll, expect, test } from 'vitest'
import { pushesOf } from '../../../test/processed-pushes.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

const email = 'ada@example.com'

async function define({ call }: TestOrganization, ...definitions: Json[]): Promise<void> {
  for (const definition of definitions) {
    const body = { resource: 'contacts', label: definition.key, ...definition }
    const { status, text } = await call('POST', '/v5/properties', { body })
    if (status !== 201) throw new Error(text)
  }
}

const warningsOf = ({ warnings }: { warnings: Json[] }) => warnings.map(({ code, path }) => `${code} ${path}`)

test('names, phone, tags and custom properties of a push are stored, and shown as changes of the row', async () => {
  const organization = await service.newOrganization()
  const push = pushesOf(service, organization)
  const person = {
    firstName: 'Johannes',
    lastName: 'van den Bosch',
    phone: '+49 30 1234567',
    tags: ['fair', 'vip'],
    customProperties: { plan: 'pro', seats: 12, nested: { a: { b: 1, c: null } }, empty: '', nothing: null },
  }
  const company = { name: 'Acme', tags: 'prospect', customProperties: { tier: 1 } }
  const [row] = await push({ contact: { email, ...person }, company })
  expect([row?.status, row?.warnings]).toEqual(['PROCESSED', []])
  const { body: contact } = await organization.call('GET', `/v5/contacts/${row?.contactId}`)
  expect(contact).toMatchObject({
    name: 'Johannes van den Bosch',
    firstName: 'Johannes',
    lastName: 'van den Bosch',
    phone: '+49301234567',
    tags: ['fair', 'vip'],
    customProperties: { plan: 'pro', seats: 12, nested: { a: { b: 1 } } },
  })
  expect(Object.keys(contact.customProperties)).toHaveLength(3)
  const { body: employer } = await organization.call('GET', `/v5/companies/${row?.companyId}`)
  expect(employer).toMatchObject({ tags: ['prospect'], customProperties: { tier: 1 } })
  const change = row?.changes.find(({ object }) => object === 'contact')
  expect(change?.after).toMatchObject({ phone: '+49301234567', tags: ['fair', 'vip'], lastName: 'van den Bosch' })
  const [again] = await push({ contact: { email, ...person }, company })
  expect([again?.status, again?.warnings]).toEqual(['DUPLICATE', []])
})

test('the postal address of both is stored, with the country by its code or name, and merged like the rest', async () => {
  const organization = await service.newOrganization()
  const push = pushesOf(service, organization)
  const address = { street: ' Hauptstr. 5\nHinterhaus', postalCode: 10115, city: 'Berlin', country: 'deutschland' }
  const company = { name: 'Acme', city: 'Springfield', state: 'IL', postalCode: '62704', countryCode: 'U.S.A.' }
  const [row] = await push({ contact: { email, ...address }, company })
  expect([row?.status, row?.warnings]).toEqual(['PROCESSED', []])
  const { call } = organization
  const contact = (await call('GET', `/v5/contacts/${row?.contactId}`)).body
  expect(contact).toMatchObject({ postalCode: '10115', countryCode: 'DE' })
  expect(contact.formattedAddress).toBe('Hauptstr. 5, Hinterhaus, 10115 Berlin, Germany')
  const employer = (await call('GET', `/v5/companies/${row?.companyId}`)).body
  expect(employer).toMatchObject({ countryCode: 'US', formattedAddress: 'Springfield, IL 62704, USA' })
  expect((await push({ contact: { email, ...address }, company }))[0]?.status).toBe('DUPLICATE')
  const [again] = await push({
    contact: { email, city: 'Bonn', country: 'Atlantis' },
    company: { name: 'Acme', state: 'CA' },
  })
  expect(again && warningsOf(again).sort()).toEqual([
    'existing_value_kept company.state',
    'existing_value_kept contact.city',
    'unusable_value contact.country',
  ])
  for (const country of [
    'DE',
    'deu',
    'Germany',
    'The Netherlands',
    'Österreich',
    'Osterreich',
    'UK',
    'Côte d’Ivoire',
    "Cote d'Ivoire",
  ]) {
    const [one] = await push({
      contact: { email: `${encodeURIComponent(country).toLowerCase()}@example.com`, country },
    })
    expect([country, one?.warnings]).toEqual([country, []])
  }
})

test('a contact may have nothing but a handle and a first or last name', async () => {
  const organization = await service.newOrganization()
  const [row] = await pushesOf(service, organization)({ contact: { githubHandle: 'ada', lastName: 'Lovelace' } })
  expect([row?.status, row?.warnings]).toEqual(['PROCESSED', []])
  const { body } = await organization.call('GET', `/v5/contacts/${row?.contactId}`)
  expect([body.name, body.lastName]).toEqual(['Lovelace', 'Lovelace'])
})

test.each(['fill', 'overwrite'])('the policy %s applies to them, and edits of people are kept', async (mergePolicy) => {
  const organization = await service.newOrganization()
  const { call, importId } = organization
  await call('PATCH', `/v5/imports/${importId}`, { body: { mergePolicy, tags: ['import'] } })
  const push = pushesOf(service, organization)
  const first = { phone: '+49301234567', tags: ['a', 'b'], customProperties: { plan: 'pro', seats: 1, city: 'Bonn' } }
  const [row] = await push({ contact: { email, firstName: 'Ada', lastName: 'Byron', ...first } })
  const path = `/v5/contacts/${row?.contactId}`
  await call('PATCH', path, { body: { tags: ['a', 'import'], customProperties: { city: null } } })
  const second = { phone: '+49301234568', tags: ['b', 'c'], customProperties: { plan: 'free', city: 'Bonn', more: 1 } }
  const [next] = await push({ contact: { email, firstName: 'Augusta', ...second } })
  const { body } = await call('GET', path)
  const isOverwritten = mergePolicy === 'overwrite'
  expect(body).toMatchObject({
    name: isOverwritten ? 'Augusta Byron' : 'Ada Byron',
    phone: isOverwritten ? '+49301234568' : '+49301234567',
    tags: ['a', 'import', 'c'],
    customProperties: { plan: isOverwritten ? 'free' : 'pro', seats: 1, more: 1 },
  })
  expect(body.customProperties).not.toHaveProperty('city')
  const kept = ['contact.firstName', 'contact.phone', 'contact.customProperties.plan']
  expect(next && warningsOf(next).sort()).toEqual(
    [
      'edit_kept contact.customProperties.city',
      'edit_kept contact.tags',
      ...(isOverwritten ? [] : kept.map((one) => `existing_value_kept ${one}`)),
    ].sort(),
  )
})

test('custom properties follow their definitions; what does not fit is left out with a warning', async () => {
  const organization = await service.newOrganization()
  const { call } = organization
  const choices = [
    { value: 'pro', label: 'Pro plan' },
    { value: 'free', label: 'Free plan' },
  ]
  await define(
    organization,
    { key: 'seats', type: 'number' },
    { key: 'active', type: 'boolean' },
    { key: 'since', type: 'date' },
    { key: 'plan', type: 'choice', choices },
    { key: 'plans', type: 'multiChoice', choices },
    { key: 'value', type: 'money' },
    { key: 'partner', type: 'reference', references: 'companies' },
    { key: 'level', type: 'text', default: 'new' },
    { key: 'needed', type: 'text', required: true },
  )
  const { body: partner } = await call('POST', '/v5/companies', { body: { name: 'Partner' } })
  const push = pushesOf(service, organization)
  const [good, bad, lost] = await push(
    {
      contact: {
        email,
        customProperties: {
          ...{ seats: '51', active: 'yes', since: '2026-01-05', plan: 'PRO PLAN', plans: 'Free' },
          ...{ value: { amount: 12.5, currency: 'eur' }, partner: partner.id, other: true },
        },
      },
    },
    {
      contact: {
        email: 'bob@example.com',
        customProperties: {
          ...{ seats: 'many', active: 'maybe', since: 'soon', plan: 'gold', plans: ['free', 'gold'], value: 5 },
          ...{ partner: 'com_00000000000000000000000000000000', 'a.b': 1, level: 7 },
        },
      },
    },
    { contact: { email: 'eve@example.com', customProperties: 'none', phone: 493012, tags: { a: 1 }, firstName: {} } },
  )
  const one = (await call('GET', `/v5/contacts/${good?.contactId}`)).body
  expect([good?.status, good && warningsOf(good)]).toEqual(['PROCESSED', []])
  expect(one.customProperties).toEqual({
    ...{ seats: 51, active: true, since: '2026-01-05', plan: 'pro', plans: ['free'], level: 'new' },
    ...{ value: { amount: '12.5', currency: 'EUR' }, partner: partner.id, other: true },
  })
  expect((await call('GET', `/v5/contacts/${bad?.contactId}`)).body.customProperties).toEqual({ level: '7' })
  const wrong = ['a.b', 'active', 'partner', 'plan', 'plans', 'seats', 'since', 'value']
  expect(bad && warningsOf(bad).sort()).toEqual(wrong.map((key) => `unusable_value contact.customProperties.${key}`))
  expect(lost?.status).toBe('PROCESSED')
  expect(lost && warningsOf(lost).sort()).toEqual(
    ['customProperties', 'phone', 'tags'].map((name) => expect.stringContaining(`contact.${name}`)),
  )
})

test('keys without a definition are left out where the organization refuses them', async () => {
  const organization = await service.newOrganization()
  await organization.call('PATCH', '/v5/properties/undeclared', { body: { contacts: 'refused' } })
  const [row] = await pushesOf(service, organization)({ contact: { email, customProperties: { plan: 'pro' } } })
  expect(row && warningsOf(row)).toEqual(['unusable_value contact.customProperties.plan'])
})

test.each(['in one batch', 'one after the other'])(
  'a unique value is stored unless another record has it, with leads %s',
  async (order) => {
    const organization = await service.newOrganization()
    const { call, importId } = organization
    await call('PATCH', `/v5/imports/${importId}`, { body: { mergePolicy: 'overwrite' } })
    await define(
      organization,
      { key: 'number', type: 'text', unique: true },
      { key: 'mail', type: 'email', unique: true },
      { key: 'seat', type: 'number', unique: true },
      { key: 'vat', type: 'text', unique: true, resource: 'companies' },
    )
    const stored = { number: 'K-1', mail: 'Taken@Example.com' }
    await call('POST', '/v5/contacts', { body: { name: 'Stored', customProperties: stored } })
    const lead = (name: string, customProperties: Json, company?: Json) => ({
      contact: { email: `${name}@example.com`, name, customProperties },
      company,
    })
    const leads = [
      lead(
        'ada',
        { number: 'K-1', mail: 'taken@example.com', seat: 7 },
        { name: 'Acme', customProperties: { vat: 'X' } },
      ),
      lead('bob', { number: ' K-2 ', seat: 7.0 }, { name: 'Babbage', customProperties: { vat: 'X' } }),
      lead('cy', { number: 'K-2', seat: '8' }, { name: 'Acme', customProperties: { vat: 'X' } }),
      // Gives up a number, which another lead may then have.
      lead('bob', { number: 'K-3' }),
      lead('cy', { number: 'K-2' }),
    ]
    const push = pushesOf(service, organization)
    const rows = []
    if (order === 'in one batch') rows.push(...(await push(...leads)))
    else for (const one of leads) rows.push(...(await push(one)))
    expect(rows.map((row) => [row.status, warningsOf(row)])).toEqual([
      ['PROCESSED', ['number', 'mail'].map((key) => `unusable_value contact.customProperties.${key}`)],
      [
        'PROCESSED',
        ['company.customProperties.vat', 'contact.customProperties.seat'].map((path) => `unusable_value ${path}`),
      ],
      ['PROCESSED', ['unusable_value contact.customProperties.number']],
      ['PROCESSED', []],
      ['PROCESSED', []],
    ])
    const { body: people } = await call('GET', '/v5/contacts?orderBy=name&sort=asc')
    expect(people.map(({ name, customProperties }: Json) => [name, customProperties])).toEqual([
      ['ada', { seat: 7 }],
      ['bob', { number: 'K-3' }],
      ['cy', { seat: 8, number: 'K-2' }],
      ['Stored', stored],
    ])
    const { body: employers } = await call('GET', '/v5/companies?orderBy=name&sort=asc')
    expect(employers.map(({ customProperties }: Json) => customProperties)).toEqual([{ vat: 'X' }, {}])
    const [again] = await push(lead('cy', { number: 'K-2', seat: 8 }))
    expect([again?.status, again?.warnings]).toEqual(['DUPLICATE', []])
  },
)
