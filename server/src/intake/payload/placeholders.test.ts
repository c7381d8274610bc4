import { expect, test } from 'vitest'
import { errorsOf, leadOf } from '../../../test/leads.ts'
import { isPlaceholder } from '../../platform/model/placeholders.ts'
import type { JsonObject } from '../../platform/model/json.ts'

const email = 'ada@example.com'
const contact = (members: JsonObject) => leadOf({ contact: { email, ...members } })

const placeholders = [
  ...['undefined', 'UNDEFINED', 'null', ' Null ', '"null"', '“null”', '(null)', '<null>', 'nil', 'NaN', 'None', '\\N'],
  ...['[object Object]', 'undefined undefined', 'null-null', 'null_null', '#N/A', '#REF!', '{}', '[]', '?', '...'],
  ...['N/A', 'n.a.', 'na', 'Not available', 'unknown', 'anonymous', '-', '--', '—', '_', '.', '0', '000', '0.0', '-1'],
  ...['00000000-0000-0000-0000-000000000000', '{00000000-0000-0000-0000-000000000000}', 'null\u200b', 'Ｎ／Ａ'],
  ...['{{contact.id}}', 'crm-{{ contact.id }}', '${id}', '#{id}', '{contact_id}', '{!Contact.Id}', '%ID%', '%(id)s'],
  ...['*|ID|*', '<%= id %>', '<id>', '[ID]', '[[id]]', '{{}}'],
  ...['k.A.', 'k. A.', 'keine', 'Keine Angabe', 'n.v.', 'unbekannt', 's/o', 'Néant', 'neant', 'non renseigné'],
  ...['desconocido', 'ninguno', 's/d', 'Não informado', 'sconosciuto', 'n.v.t.', 'onbekend', 'brak', 'нет', 'н/д'],
  ...['なし', '不明', '未知', '无', '없음', 'لا يوجد', 'אין', 'yok', 'okänd'],
]

test.each(placeholders)('%j is neither an external id nor a handle', (value) => {
  const lead = contact({ externalIdCrm: value, githubHandle: value, name: 'Ada' })
  expect(lead.contact).toEqual({ email, name: 'Ada' })
  expect(lead.warnings.map(({ path }) => path).sort()).toEqual(['contact.externalIdCrm', 'contact.githubHandle'])
  expect(lead.warnings.find(({ path }) => path === 'contact.externalIdCrm')?.code).toBe('placeholder')
  const company = leadOf({ contact: { email }, company: { domain: 'acme.example', externalIdCrm: value } }).company
  expect(company).toEqual({ domain: 'acme.example' })
  expect(errorsOf({ contact: { externalIdCrm: value } }).map(({ field }) => field)).toEqual(['contact.email'])
})

test.each([
  ...[
    '1',
    '10',
    '42',
    'a',
    'x1',
    '0x0',
    '007',
    '00420',
    'test',
    'nullify',
    'undefined-42',
    'nano',
    'nonesuch',
    'none1',
  ],
  ...['{3F2504E0-4F89-11D3-9A0C-0305E82C3301}', '{abcdef00-4F89-11D3-9A0C-0305E82C3301}', '100%', 'user%40example'],
  ...['🎉', '李', 'Ж', 'NULL-42', '5f1a3c80-0001', '<m1@mail.example>', 'n/a/1', 'nadia', 'keiner1'],
])('%j is an external id', (value) => {
  expect(isPlaceholder(value)).toBe(false)
  expect(contact({ externalIdCrm: value })).toMatchObject({ contact: { externalIds: { crm: value } }, warnings: [] })
})

test.each([
  ['linkedinHandle', 'https://www.linkedin.com/in/undefined'],
  ['linkedinHandle', 'in/null'],
  ['twitterHandle', '@undefined'],
  ['xHandle', '@N/A'],
  ['facebookHandle', 'https://facebook.com/null/'],
  ['linkedinHandle', 'https://linkedin.com/in/'],
  ['linkedinHandle', 'https://linkedin.com/company/{{handle}}'],
  ['githubHandle', 'https://github.com/'],
])('the %s %j identifies nobody', (name, value) => {
  const lead = contact({ [name]: value })
  expect(lead.contact).toEqual({ email })
  expect(lead.warnings).toMatchObject([{ path: `contact.${name}` }])
})

test('an address that is a placeholder is left out if something else identifies the person', () => {
  for (const value of [
    'n/a',
    'null',
    '-',
    '{{contact.email}}',
    'none@none.com',
    'undefined@undefined.com',
    'null@null',
  ]) {
    const lead = leadOf({ contact: { email: value, externalIdCrm: 'c1' } })
    expect([value, lead.contact]).toEqual([value, { externalIds: { crm: 'c1' } }])
    expect(lead.warnings).toMatchObject([{ code: 'placeholder', path: 'contact.email' }])
    expect(errorsOf({ contact: { email: value } })).toMatchObject([
      { field: 'contact.email', message: expect.stringContaining('is required') },
    ])
  }
  for (const value of ['test@test.com', 'noreply@acme.example', 'null@acme.example', 'none@example.com'])
    expect(leadOf({ contact: { email: value } })).toMatchObject({ contact: { email: value }, warnings: [] })
})

test('names that only a program writes are left out; people may be called Null or Nan', () => {
  for (const name of ['undefined', 'undefined undefined', 'null null', '{{contact.name}}', '[object Object]', '-'])
    expect(contact({ name })).toMatchObject({ contact: { email }, warnings: [{ code: 'placeholder' }] })
  for (const name of ['Null', 'Jennifer Null', 'Nan Nan', 'None', 'Nil', 'Ada', 'Ж'])
    expect(contact({ name })).toMatchObject({ contact: { name }, warnings: [] })
})

test('a placeholder is neither a company name nor a phone number', () => {
  for (const name of ['N/A', '-', 'unknown', 'null', 'k.A.', '{{company.name}}']) {
    const lead = leadOf({ contact: { email }, company: { name, nickname: name, location: 'Oslo' } })
    expect([name, lead.company]).toEqual([name, { location: 'Oslo' }])
    expect(leadOf({ contact: { email }, company: name }).company).toBeUndefined()
  }
  for (const phone of ['0000000000', '+10000000000', '+49 000 0000000', '+1 111 111 1111', 'n/a'])
    expect(contact({ phone }).contact).toEqual({ email })
})
