import { expect, test } from 'vitest'
import { leadOf } from '../../../test/leads.ts'
import type { JsonObject, JsonValue } from '../../platform/model/json.ts'

const email = 'ada@example.com'
const warningsOf = ({ warnings }: { warnings: { code: string; path: string }[] }) =>
  warnings.map(({ code, path }) => `${code} ${path}`)

const company = (members: JsonObject) => leadOf({ contact: { email }, company: { name: 'Acme', ...members } })
const contact = (members: JsonObject) => leadOf({ contact: { email, ...members } })
const job = (members: JsonObject) =>
  leadOf({ contact: { email }, employment: { history: [{ organization: 'Acme', ...members }] } })

test.each<[string, JsonValue, JsonValue]>([
  ['annualRevenue', 1_000_000, '1000000'],
  ['annualRevenue', 12_500_000.5, '12500000.5'],
  ['annualRevenue', 1e-7, '0.0000001'],
  ['annualRevenue', [5], '5'],
  ['annualRevenue', '1e6', '1000000'],
  ['annualRevenue', '1.25E+3', '1250'],
  ['annualRevenue', '15e-1', '1.5'],
  ['annualRevenue', '1,000,000', '1000000'],
  ['annualRevenue', '12,34,567', '1234567'],
  ['annualRevenue', '1.000.000', '1000000'],
  ['annualRevenue', '1.234.567,89', '1234567.89'],
  ['annualRevenue', '1,234.5', '1234.5'],
  ['annualRevenue', '1.234,5', '1234.5'],
  ['annualRevenue', '1 000 000', '1000000'],
  ['annualRevenue', '1\u202f000\u202f000,5', '1000000.5'],
  ['annualRevenue', "1'000'000", '1000000'],
  ['annualRevenue', '12,5', '12.5'],
  ['annualRevenue', '0,125', '0.125'],
  ['annualRevenue', '1.234', '1.234'],
  ['fundingTotal', '+5', '5'],
  ['fundingTotal', '\u22125', '-5'],
  ['employeesCount', '51', 51],
  ['employeesCount', ' 51 ', 51],
  ['employeesCount', '51.0', 51],
  ['employeesCount', '1,000,000', 1_000_000],
  ['employeesCount', '1e3', 1000],
  ['employeesCount', ['51'], 51],
  ['employeesCount', 0, 0],
  ['employeesCount', '0', 0],
  ['foundedYear', '1999', 1999],
  ['foundedYear', 1999.0, 1999],
  ['retailLocationsCount', '3', 3],
  ['industries', 'Software', ['Software']],
  ['industries', 'Research, Development', ['Research, Development']],
  ['industries', '["Software", "Machinery"]', ['Software', 'Machinery']],
  ['industries', [' Software ', 5], ['Software', '5']],
  ['languages', 5, ['5']],
  ['ticker', 700, '700'],
  ['ticker', ['ACME'], 'ACME'],
  ['linkedinHandle', 17841405, '17841405'],
  ['externalIdCrm', 42, '42'],
  ['externalIdCrm', 1e21, '1000000000000000000000'],
  ['externalIdCrm', ['42'], '42'],
])('the %s %j of a company is converted to %j without a warning', (name, value, expected) => {
  const lead = company({ [name]: value })
  expect(name === 'externalIdCrm' ? lead.company?.externalIds : lead.company?.[name]).toEqual(
    name === 'externalIdCrm' ? { crm: expected } : expected,
  )
  expect(lead.warnings).toEqual([])
})

test.each<[string, JsonValue]>([
  ['annualRevenue', null],
  ['annualRevenue', ''],
  ['annualRevenue', []],
  ['annualRevenue', {}],
  ['annualRevenue', [null]],
  ['employeesCount', ''],
  ['employeesCount', '  '],
  ['employeesCount', []],
  ['industries', ''],
  ['industries', {}],
  ['industries', '[]'],
  ['ticker', []],
  ['externalIdCrm', []],
])('the %s %j of a company counts as absent', (name, value) => {
  expect(company({ [name]: value })).toMatchObject({ company: { name: 'Acme' }, warnings: [] })
})

test.each<[string, JsonValue, JsonValue, string]>([
  ['foundedYear', '1999-05-01', 1999, 'shortened_value'],
  ['foundedYear', '1999-05', 1999, 'shortened_value'],
  ['foundedYear', '1999-05-01T00:00:00.000Z', 1999, 'shortened_value'],
  ['industries', ['Software', null, ''], ['Software'], 'unusable_value'],
  ['annualRevenue', '$1.5M', undefined as unknown as JsonValue, 'unusable_value'],
  ['annualRevenue', '1,234', undefined as unknown as JsonValue, 'unusable_value'],
  ['annualRevenue', false, undefined as unknown as JsonValue, 'unusable_value'],
  ['ticker', false, undefined as unknown as JsonValue, 'unusable_value'],
  ['employeesCount', 'N/A', undefined as unknown as JsonValue, 'placeholder'],
  ['foundedYear', 'unknown', undefined as unknown as JsonValue, 'placeholder'],
])('the %s %j of a company is stored as %j, with a warning', (name, value, expected, code) => {
  const lead = company({ [name]: value })
  expect(lead.company?.[name]).toEqual(expected)
  expect(new Set(lead.warnings.map((one) => one.code))).toEqual(new Set([code]))
})

test.each<[JsonValue, string, boolean]>([
  ['2020-01', '2020-01', false],
  ['2020-1', '2020-01', false],
  ['2020/01', '2020-01', false],
  ['01/2020', '2020-01', false],
  ['1.2020', '2020-01', false],
  ['Jan 2020', '2020-01', false],
  ['September, 2020', '2020-09', false],
  ['Sept. 2020', '2020-09', false],
  ['März 2020', '2020-03', false],
  ['okt 2020', '2020-10', false],
  ['15.01.2020', '2020-01', true],
  ['3.4.2020', '2020-04', true],
  ['15/01/2020', '2020-01', true],
  ['01/15/2020', '2020-01', true],
  ['2020-01-15', '2020-01', true],
  ['2020/1/5', '2020-01', true],
  ['2020-01-15T10:00:00Z', '2020-01', true],
  ['2020-01-31T23:30:00+05:00', '2020-01', true],
  ['2020-01-31 23:30:00', '2020-01', true],
  ['2020-02-01T00:00:00.000Z', '2020-02', true],
  [1_579_046_400, '2020-01', true],
  [1_579_046_400_000, '2020-01', true],
  ['1579046400000', '2020-01', true],
])('the start %j of a job is the month %s', (start, month, isShortened) => {
  const lead = job({ start })
  expect(lead.history[0]?.values).toEqual({ organization: 'Acme', start: month })
  expect(warningsOf(lead)).toEqual(isShortened ? ['shortened_value employment.history.0.start'] : [])
})

test.each<JsonValue>(['2020', 2020, 'Present', 'n/a', '2020-01-31T23:00:00.000Z'])(
  'the start %j of a job has no certain month, so it is left out with a warning',
  (start) => {
    const lead = job({ start, title: 'CTO' })
    expect(lead.history[0]?.values).toEqual({ organization: 'Acme', title: 'CTO' })
    expect(lead.warnings).toMatchObject([{ path: 'employment.history.0.start' }])
  },
)

test.each<[JsonValue, boolean]>([
  [true, true],
  ['true', true],
  ['TRUE', true],
  [1, true],
  ['1', true],
  ['yes', true],
  ['Ja', true],
  [0, false],
  ['0', false],
  ['false', false],
  ['No', false],
  [['no'], false],
])('the current %j of a job is %j', (current, expected) => {
  expect(job({ current }).history[0]?.values.current).toBe(expected)
})

test.each([
  ['c_suite', 'c_suite'],
  ['C-Suite', 'c_suite'],
  ['C-Level', 'c_suite'],
  ['cxo', 'c_suite'],
  ['director', 'director'],
  ['Director Level', 'director'],
  ['VP', 'vp'],
  ['V.P.', 'vp'],
  ['Vice President', 'vp'],
  ['Sr.', 'senior'],
  ['Entry-level', 'entry'],
  ['Co-Founder', 'founder'],
  ['OWNER', 'owner'],
])('the seniority %s is %s', (seniority, expected) => {
  const lead = leadOf({ contact: { email }, employment: { seniority } })
  expect([lead.contact.employmentSeniority, lead.warnings]).toEqual([expected, []])
})

test('values of a person are converted like those of a company', () => {
  const lead = contact({
    name: 42,
    githubHandle: 583231,
    externalIdCrm: 17,
    note: ['Met at the fair'],
    location: false,
    timeZone: [],
  })
  expect(lead.contact).toEqual({ email, name: '42', githubHandle: '583231', externalIds: { crm: '17' } })
  expect(lead.note).toBe('Met at the fair')
  expect(warningsOf(lead)).toEqual(['unusable_value contact.location'])
  expect(leadOf({ contact: { email: [email] } }).contact).toEqual({ email })
})

test('an object may be the only item of a list, empty, or the text that it would contain', () => {
  const history = { organization: 'Acme' }
  const lead = leadOf({ contact: [{ email }], employment: [{ history }], company: 'Acme' })
  expect(lead).toMatchObject({ contact: { email }, company: { name: 'Acme' }, warnings: [] })
  expect(lead.history.map(({ values }) => values)).toEqual([history])
  expect(leadOf({ contact: email }).contact).toEqual({ email })
  const empty = { contact: { email }, employment: [], company: '', more: 1 }
  expect(leadOf(empty)).toMatchObject({ contact: { email }, company: undefined, history: [] })
  const nulls = leadOf({ contact: { email }, employment: { history: [null, history] } })
  expect(nulls.history).toHaveLength(1)
  expect(warningsOf(nulls)).toEqual(['unusable_value employment.history.0'])
})
