import { expect, test } from 'vitest'
import { leadOf } from '../../../test/leads.ts'
import { type Lead, pushExample } from './payload.ts'
import type { JsonObject, JsonValue } from '../../platform/model/json.ts'

const email = 'ada@example.com'

const warningsOf = ({ warnings }: Lead) => warnings.map(({ code, path, message }) => [code, path, message])

/** The lead of a contact with an email and these properties. */
const contactWith = (members: JsonObject) => leadOf({ contact: { email, ...members } })
const companyWith = (company: JsonObject) => leadOf({ contact: { email }, company })
const historyOf = (...history: JsonValue[]) => leadOf({ contact: { email }, employment: { history } })

test('the documented example is accepted completely', () => {
  const lead = leadOf(pushExample)
  expect([lead.warnings, lead.errors]).toEqual([[], []])
  expect(lead.contact).toMatchObject({
    email,
    linkedinHandle: 'adalovelace',
    externalIds: { clearbit: '5f1a3c80-0001' },
    employmentTitle: 'Head of Engines',
    employmentSeniority: 'senior',
  })
  expect(lead.contact).not.toHaveProperty('note')
  expect(lead.note).toBe('Asked for a demo at the fair in May.')
  expect(lead.company).toEqual(pushExample.company)
  expect(lead.history.map(({ path, values }) => [path, values.organization])).toEqual([
    ['employment.history.0', 'Acme Engines'],
    ['employment.history.1', 'Analytical Society'],
  ])
})

test('an email address alone is a lead', () => {
  expect(leadOf({ contact: { email: 'Ada@Example.com' } })).toEqual({
    contact: { email: 'Ada@Example.com' },
    company: undefined,
    history: [],
    note: undefined,
    warnings: [],
    errors: [],
  })
})

test('null, blank text and empty lists count as absent without a warning', () => {
  const lead = leadOf({
    contact: {
      email,
      name: null,
      nickname: '',
      bio: ' \n\t',
      note: ' ',
      xHandle: null,
      externalIdClearbit: '',
      domain: '',
    },
    employment: {
      title: null,
      seniority: '',
      history: [{ organization: 'Acme', title: ' ', current: null, start: '' }],
    },
    company: { name: ' ', domain: null, employeesCount: null, tags: [], stack: null, annualRevenue: '' },
  })
  expect(lead).toEqual({
    contact: { email },
    company: undefined,
    history: [{ path: 'employment.history.0', values: { organization: 'Acme' } }],
    note: undefined,
    warnings: [],
    errors: [],
  })
  expect(leadOf({ contact: { email }, employment: null, company: null })).toMatchObject({ history: [], warnings: [] })
  expect(leadOf({ contact: { email }, employment: { history: null }, company: {} }).company).toBeUndefined()
})

test('an external id or a handle can replace the email address', () => {
  expect(leadOf({ contact: { email: null, externalIdClearbit: 'c1' } }).contact).toEqual({
    externalIds: { clearbit: 'c1' },
  })
  expect(leadOf({ contact: { linkedInHandle: 'in/ada' } }).contact).toEqual({ linkedinHandle: 'ada' })
})

test.each(['JUNIOR', 'Mid', 'senior', 'eXecutive'])('the seniority %s is stored in lower case', (seniority) => {
  const { contact } = leadOf({ contact: { email }, employment: { seniority } })
  expect(contact.employmentSeniority).toBe(seniority.toLowerCase())
})

test.each<[string, JsonObject, RegExp]>([
  ['name', { name: 'Ada\nLovelace' }, /one line/],
  ['name', { name: 'x'.repeat(502) }, /501 characters/],
  ['name', { name: `${'x'.repeat(251)} y` }, /250 characters each/],
  ['nickname', { nickname: 'x'.repeat(201) }, /200 characters/],
  ['bio', { bio: 'x'.repeat(10_001) }, /10000 characters/],
  ['avatar', { avatar: 'ada.jpg' }, /URL/],
  ['website', { website: 'ftp://ada.example' }, /URL/],
  ['website', { website: 'http:ada.example' }, /URL/],
  ['website', { website: ' JavaScript:alert(1)' }, /URL/],
  ['location', { location: 'x'.repeat(501) }, /500 characters/],
  ['timeZone', { timeZone: 'Mars/Olympus' }, /IANA/],
  ['facebookHandle', { facebookHandle: 'two words' }, /handle/],
  ['gitHubHandle', { gitHubHandle: 'https://example.com/ada' }, /handle/],
  ['domain', { domain: 'not a domain' }, /domain/],
  ['externalIdX', { externalIdX: 'x'.repeat(201) }, /200 characters/],
  ['note', { note: 'x'.repeat(100_001) }, /100000 characters/],
])('an unusable %s of a contact is left out with a warning: %#', (name, members, message) => {
  const lead = contactWith(members)
  expect(lead.contact).toEqual({ email })
  expect(lead.note).toBeUndefined()
  expect(lead.warnings).toHaveLength(1)
  expect(lead.warnings[0]).toMatchObject({ code: 'unusable_value', path: `contact.${name}` })
  expect(lead.warnings[0]?.message).toMatch(message)
})

test('a time zone is stored by its canonical name', () => {
  expect(contactWith({ timeZone: 'europe/berlin' })).toMatchObject({
    contact: { timeZone: 'Europe/Berlin' },
    warnings: [],
  })
})

test.each<[string, JsonValue, RegExp]>([
  ['name', 'x'.repeat(201), /200 characters/],
  ['subtitle', 'x'.repeat(501), /500 characters/],
  ['avatar', 'javascript:alert(1)', /URL/],
  ['domain', 'ftp://acme.example', /domain/],
  ['timeZone', '+02:00', /IANA/],
  ['annualRevenue', '1,250', /must match/],
  ['fundingTotal', '1'.repeat(21), /must match/],
  ['fundingTotal', `${'1'.repeat(15)}.${'1'.repeat(6)}`, /20 digits/],
  ['employeesCount', -1, /at least 0/],
  ['employeesCount', 3_000_000_000, /at most/],
  ['foundedYear', 0, /at least 1/],
  ['retailLocationsCount', 1e300, /at most/],
  ['fundingStage', 'series\tb', /one line/],
  ['ticker', 'x'.repeat(21), /20 characters/],
  ['twitterHandle', 'https://twitter.com/intent/user?screen_name=acme', /handle/],
  ['externalIdX', 'x'.repeat(201), /200 characters/],
])('an unusable %s of a company, %j, is left out with a warning', (name, value, message) => {
  const lead = companyWith({ nickname: 'Acme', [name]: value })
  expect(lead.company).toEqual({ nickname: 'Acme' })
  expect(lead.warnings).toHaveLength(1)
  expect(lead.warnings[0]).toMatchObject({ code: 'unusable_value', path: `company.${name}` })
  expect(lead.warnings[0]?.message).toMatch(message)
})

test('values are normalized like in the REST API', () => {
  const { company, warnings } = companyWith({
    domain: ' WWW.Bücher.example. ',
    twitterHandle: '@acme',
    linkedinHandle: 'https://www.linkedin.com/company/acme',
    stack: ['b', 'a', 'b'],
    name: ' Acme ',
  })
  expect(warnings).toEqual([])
  expect(company).toEqual({
    domain: 'xn--bcher-kva.example',
    twitterHandle: 'acme',
    linkedinHandle: 'acme',
    stack: ['b', 'a'],
    name: 'Acme',
  })
})

test('surrounding spaces are removed, except in a note', () => {
  const { contact, note, history, company, warnings } = leadOf({
    contact: {
      email: ' ada@example.com\n',
      name: ' Ada ',
      website: ' https://ada.example ',
      timeZone: 'Europe/Berlin ',
      xHandle: ' @ada ',
      externalIdCrm: ' c1\u00a0',
      bio: ' Wrote\n',
      note: ' Met\n',
    },
    employment: { seniority: ' senior ', history: [{ organization: ' Acme ', title: 'CTO ', start: ' 2020-01' }] },
    company: { name: 'Acme ', domain: ' acme.example ', tags: [' vip ', 'vip'], annualRevenue: ' 12 ' },
  })
  expect(warnings).toEqual([])
  expect(contact).toEqual({
    email: 'ada@example.com',
    name: 'Ada',
    website: 'https://ada.example',
    timeZone: 'Europe/Berlin',
    twitterHandle: 'ada',
    externalIds: { crm: 'c1' },
    bio: ' Wrote\n',
    employmentSeniority: 'senior',
  })
  expect(note).toBe(' Met\n')
  expect(history[0]?.values).toEqual({ organization: 'Acme', title: 'CTO', start: '2020-01' })
  expect(company).toEqual({ name: 'Acme', domain: 'acme.example', tags: ['vip'], annualRevenue: '12' })
})

test('only the unusable items of a list, and those beyond 100, are left out', () => {
  const lead = companyWith({ tags: ['a', ' ', 'x'.repeat(101), 'b', 'a'], stack: ['', ''] })
  expect(lead.company).toEqual({ tags: ['a', 'b'] })
  expect(warningsOf(lead)).toEqual([
    ['unusable_value', 'company.tags.1', 'is blank'],
    ['unusable_value', 'company.tags.2', 'expected at most 100 characters'],
    ['unusable_value', 'company.stack.0', 'is blank'],
    ['unusable_value', 'company.stack.1', 'is blank'],
  ])
  const many = Array.from({ length: 150 }, (_, index) => `tag ${index % 101}`)
  const cut = companyWith({ tags: many })
  expect(cut.company?.tags).toEqual(many.slice(0, 100))
  expect(warningsOf(cut)).toEqual([
    ['unusable_value', 'company.tags', 'expected at most 100 items; the rest was left out'],
  ])
  expect(companyWith({ tags: many.map((_, index) => `tag ${index % 100}`) }).warnings).toEqual([])
})

test('an alias of a handle is accepted; the name itself takes precedence', () => {
  expect(contactWith({ gitHubHandle: 'a', linkedInHandle: 'b', xHandle: '@c' }).contact).toEqual({
    email,
    githubHandle: 'a',
    linkedinHandle: 'b',
    twitterHandle: 'c',
  })
  const same = contactWith({ xHandle: 'https://x.com/ada', twitterHandle: '@ada' })
  expect([same.contact.twitterHandle, same.warnings]).toEqual(['ada', []])
  const other = contactWith({ xHandle: 'bob', twitterHandle: 'ada' })
  expect(other.contact).toEqual({ email, twitterHandle: 'ada' })
  expect(warningsOf(other)).toEqual([['unusable_value', 'contact.xHandle', 'twitterHandle has a different value']])
  expect(contactWith({ xHandle: 'bob', twitterHandle: 'two words' }).contact.twitterHandle).toBe('bob')
  expect(contactWith({ xHandle: 'bob', twitterHandle: null }).warnings).toEqual([])
  expect(companyWith({ gitHubHandle: 'acme' }).company).toEqual({ githubHandle: 'acme' })
})

test('at most 50 external ids are stored, by provider', () => {
  const constructed = contactWith({ externalIdConstructor: ' c ', externalIdToString: 't', externalIdZ9: 'z\n' })
  expect(Object.entries(constructed.contact.externalIds ?? {})).toEqual([
    ['constructor', 'c'],
    ['toString', 't'],
    ['z9', 'z'],
  ])
  expect(constructed.warnings).toEqual([])
  expect(companyWith({ externalIdCrunchBase: '7' }).company).toEqual({ externalIds: { crunchBase: '7' } })
  const others = contactWith({
    externalId: '1',
    externalIdx: '2',
    externalId_X: '3',
    [`externalIdX${'x'.repeat(40)}`]: '4',
  })
  expect(others.contact).toEqual({ email })
  expect(others.warnings.map(({ code }) => code)).toEqual(Array(4).fill('unknown_member'))
  const many = Object.fromEntries(Array.from({ length: 52 }, (_, index) => [`externalIdP${index}`, 'id']))
  const cut = contactWith(many)
  expect(Object.keys(cut.contact.externalIds ?? {})).toHaveLength(50)
  expect(cut.warnings.map(({ path }) => path)).toEqual(['contact.externalIdP50', 'contact.externalIdP51'])
  expect(leadOf({ contact: { email }, employment: { externalIdX: '1' } }).warnings[0]?.code).toBe('unknown_member')
})

test('a personal domain becomes the website if there is no usable one', () => {
  expect(contactWith({ domain: 'Ada.Example' }).contact).toEqual({ email, website: 'https://ada.example' })
  const both = contactWith({ domain: 'ada.example', website: 'http://lovelace.example/me' })
  expect(both.contact).toEqual({ email, website: 'http://lovelace.example/me' })
  expect(warningsOf(both)).toEqual([
    ['unusable_value', 'contact.domain', 'differs from the domain of the website, which was stored'],
  ])
  const same = contactWith({ domain: 'ada.example', website: 'http://www.ada.example/me' })
  expect([same.contact, same.warnings]).toEqual([{ email, website: 'http://www.ada.example/me' }, []])
  const repaired = contactWith({ domain: 'ada.example', website: 'my site' })
  expect(repaired.contact.website).toBe('https://ada.example')
  expect(repaired.warnings.map(({ path }) => path)).toEqual(['contact.website'])
})

test('a free-mail domain does not identify a company', () => {
  const lead = companyWith({ name: 'Acme', domain: 'mail.GMX.de' })
  expect(lead.company).toEqual({ name: 'Acme' })
  expect(warningsOf(lead)).toEqual([
    ['free_mail_domain', 'company.domain', 'mail.gmx.de is a free-mail domain, which anyone can use'],
  ])
  expect(companyWith({ domain: 'gmail.com' }).company).toBeUndefined()
})

test.each<[JsonObject, JsonObject | string]>([
  [{ organization: 'Acme' }, { organization: 'Acme' }],
  [
    { organization: 'Acme', title: 'CTO', current: true, start: '2020-01', end: null },
    { organization: 'Acme', title: 'CTO', current: true, start: '2020-01' },
  ],
  [
    { organization: 'Acme', title: 'x'.repeat(501), start: '2020-01', end: '2020-01' },
    { organization: 'Acme', start: '2020-01', end: '2020-01' },
  ],
  [{ title: 'CTO' }, 'organization is required'],
  [{ organization: 'x'.repeat(201) }, 'organization is required'],
  [{ organization: 'Acme', start: '2020-02', end: '2020-01' }, 'end must not be earlier than start'],
  [{ organization: 'Acme', current: true, end: '2020-01' }, 'end must be empty for a current job'],
])('the job %j is stored, or an error says why not', (job, expected) => {
  const { history, errors } = historyOf({ organization: 'First' }, job)
  expect(history[0]).toEqual({ path: 'employment.history.0', values: { organization: 'First' } })
  if (typeof expected === 'string') {
    expect(history).toHaveLength(1)
    expect(errors).toMatchObject([{ code: 'invalid_employment', path: 'employment.history.1', message: expected }])
  } else {
    expect(history[1]).toEqual({ path: 'employment.history.1', values: expected })
    expect(errors).toEqual([])
  }
})

test('of more than 100 jobs, the first 100 are stored with one warning', () => {
  const lead = historyOf(...Array.from({ length: 103 }, (_, index) => ({ organization: `Acme ${index}`, other: 1 })))
  expect(lead.history).toHaveLength(100)
  expect(lead.warnings.filter(({ code }) => code === 'unusable_value')).toMatchObject([{ path: 'employment.history' }])
})

test.each<[JsonValue, string, string]>([
  [{ contact: { email }, compnay: {} }, 'compnay', 'unknown field; did you mean company?'],
  [{ contact: { email, websit: 'x' } }, 'contact.websit', 'unknown field; did you mean website?'],
  [
    { contact: { email, linkedInHandel: 'x' } },
    'contact.linkedInHandel',
    'unknown field; did you mean linkedinHandle?',
  ],
  [{ contact: { email, zodiac: 'x' } }, 'contact.zodiac', 'unknown field'],
  [{ contact: { email, '': 'x' } }, 'contact.""', 'unknown field'],
  [{ contact: { email, toString: 'x' } }, 'contact.toString', 'unknown field'],
  [{ contact: { email }, employment: { tittle: 'x' } }, 'employment.tittle', 'unknown field; did you mean title?'],
  [{ contact: { email }, employment: { histry: 'x' } }, 'employment.histry', 'unknown field; did you mean history?'],
  [{ contact: { email }, company: { hasOwnProperty: 1 } }, 'company.hasOwnProperty', 'unknown field'],
  [
    { contact: { email }, employment: { history: [{ organization: 'A', ende: 1 }] } },
    'employment.history.0.ende',
    'unknown field; did you mean end?',
  ],
  [{ contact: { email, ['😀'.repeat(200)]: 1 } }, `contact.${'😀'.repeat(100)}…`, 'unknown field'],
])('the unknown property of %j is reported', (payload, path, message) => {
  const lead = leadOf(payload)
  expect(warningsOf(lead)).toEqual([['unknown_member', path, message]])
  expect(lead.contact).toEqual({ email })
})

test('each query parameter is reported', () => {
  const parameters = Object.fromEntries([
    ['source', 'x'],
    ['__proto__', ['a', 'b']],
    ['x'.repeat(101), ''],
  ])
  expect(warningsOf(leadOf({ contact: { email } }, parameters))).toEqual([
    ['unknown_parameter', 'source', 'unknown parameter'],
    ['unknown_parameter', '__proto__', 'unknown parameter'],
    ['unknown_parameter', `${'x'.repeat(100)}…`, 'unknown parameter'],
  ])
})

test('at most 100 warnings are listed, with the number of others', () => {
  const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`q${index}`, 1]))
  expect(contactWith(members(100)).warnings.at(-1)?.message).toBe('unknown field')
  const { warnings } = contactWith(members(105))
  expect(warnings).toHaveLength(100)
  expect(warnings.at(-1)).toMatchObject({ path: 'contact.q99', message: 'unknown field; 5 more are not listed' })
})
