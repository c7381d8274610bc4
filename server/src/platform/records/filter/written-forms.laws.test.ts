import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { normalizers } from '../../model/normalizers.ts'
import { startTestService, type TestOrganization, type TestService } from '../../../../test/service.ts'
import { runsOf } from '../../../../test/seed.ts'

// Whatever a write accepts, a filter with the same text finds, however the text is composed or surrounded.

let service: TestService
let organization: TestOrganization
beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
})
afterAll(() => service.close())

const seed = 20261126
const call = (method: string, path: string, body?: unknown) => organization.call(method, path, { body })

/** Values of each kind of field as people type and paste them, with a part that differs in each record. */
const forms: Readonly<Record<string, readonly string[]>> = {
  email: [
    'Pat#@example.com',
    'संपर्क#@डाटामेल.भारत',
    'ชื่อ#@ตัวอย่าง.ไทย',
    'Zoe\u0308#@Bu\u0308cher.example',
    'plus+#@example.com',
    'क्\u200dष#@example.com',
  ],
  phone: [
    '+49 (0)30 12345##',
    '\u202d+1 202 555 01##\u202c',
    '+49\u201130\u201112345##',
    '＋４９ ３０ １２３４５##',
    'tel:+49-30-54321##',
    '+٤٩ ٣٠ ١٢٣٤٥##',
  ],
  website: [
    'www.example.com/#',
    'HTTPS://Example.com/#',
    'Bücher.example/über#',
    'http://example.com/#',
    'example.com:8080/#',
  ],
  twitterHandle: ['@ada#', 'https://x.com/ada#', 'ada_#'],
  timeZone: ['europe/berlin', 'UTC'],
  countryCode: ['de', 'DE', 'fr'],
  name: ['Cafe\u0301 # Zu\u0308rich', '  Ada # Lovelace ', '\ufeffO’Brien #', '山田\u3000太郎 #', 'می\u200cخواهم #'],
  externalIds: ['cus_#', ' e\u0301-#\u200b'],
}

const around = fc.constantFrom('', ' ', '\u00a0', '\u200b', '\ufeff')
const written = fc.constantFrom(...Object.keys(forms)).chain((field) =>
  fc.record({
    field: fc.constant(field),
    form: fc.constantFrom(...(forms[field] ?? [])),
    before: around,
    after: around,
    composition: fc.constantFrom('NFC', 'NFD'),
  }),
)

test('a filter finds what a write accepted, in the written, the composed and the decomposed form', async () => {
  let count = 10
  await fc.assert(
    fc.asyncProperty(written, async ({ field, form, before, after, composition }) => {
      count += 1
      const number = String(count).padStart(2, '0')
      const text = `${before}${form.replace('##', number.slice(-2)).replace('#', number)}${after}`.normalize(
        composition,
      )
      const isId = field === 'externalIds'
      const body = { [field]: isId ? { [`crm${number}`]: text } : text, ...(field !== 'name' && { name: 'Any' }) }
      const created = await call('POST', '/v5/contacts', body)
      // The number may be taken by an earlier record.
      if (created.status === 409) return
      expect([text, created.status]).toEqual([text, 201])
      const path = isId ? `externalIds.crm${number}` : field
      for (const spelled of [text, text.normalize('NFC'), text.normalize('NFD')]) {
        const value = encodeURIComponent(spelled.replaceAll(',', '\\,'))
        for (const operator of ['equals', 'in']) {
          const found = await call('GET', `/v5/contacts?limit=100&select[]=id&filter.${path}.${operator}=${value}`)
          expect([spelled, operator, found.status]).toEqual([spelled, operator, 200])
          expect(found.body).toContainEqual({ id: created.body.id })
        }
        const searched = await call('POST', '/v5/contacts/search', {
          filter: { [path]: { equals: spelled } },
          limit: 100,
        })
        expect((searched.body as { id: string }[]).map(({ id }) => id)).toContain(created.body.id)
      }
      const others = await call('GET', `/v5/contacts/count?filter.${path}.not=${encodeURIComponent(text)}`)
      const same = await call('GET', `/v5/contacts/count?filter.${path}.equals=${encodeURIComponent(text)}`)
      const all = await call('GET', '/v5/contacts/count')
      expect(others.body.count + same.body.count).toBe(all.body.count)
    }),
    { seed, numRuns: runsOf(40) },
  )
}, 120_000)

test('normalizing a value again changes nothing', () => {
  const names = ['singleLine', 'email', 'phone', 'url', 'domain', 'timeZone', 'country', 'currency', 'handle'] as const
  const characters = fc.constantFrom(
    ...'aÄ9@.+-/: \u00a0\u200b\u200d\ufe0fé\u0301ु्中＠．',
    'www.',
    'https://',
    'example.com',
  )
  fc.assert(
    fc.property(fc.constantFrom(...names), fc.string({ unit: characters, maxLength: 12 }), (name, text) => {
      const once = normalizers[name](text)
      if ('value' in once) expect(normalizers[name](once.value)).toEqual(once)
    }),
    { seed, numRuns: runsOf(20_000) },
  )
})

test.each<[string, string, RegExp]>([
  ['contacts', 'email.equals=plus+tag@example.com', /email address.*%2B/],
  ['contacts', 'email.equals=nobody', /email address/],
  ['contacts', 'email.in=a@example.com,nobody', /email address/],
  ['contacts', 'phone.equals=+49301234567', /phone number.*%2B/],
  ['contacts', 'phone.not=030', /phone number/],
  ['contacts', 'countryCode.equals=Atlantis', /ISO 3166/],
  ['contacts', 'timeZone.equals=Mars/Base', /IANA/],
  ['contacts', 'timeZone.equals=Etc/GMT+5', /IANA.*%2B/],
  ['contacts', 'website.equals=javascript:alert(1)', /URL/],
  ['contacts', 'linkedinHandle.equals=https://example.com/x/y', /handle/],
  ['contacts', 'name.equals=%E2%80%8B', /blank/],
  ['companies', 'domain.equals=no%20domain', /domain/],
])('%s: %s is refused with a hint', async (list, filter, message) => {
  const { status, body } = await call('GET', `/v5/${list}?filter.${filter}`)
  expect(status).toBe(400)
  expect(body.details[0].message).toMatch(message)
})

test('a company is found by every form of its domain', async () => {
  const { body } = await call('POST', '/v5/companies', {
    name: 'Bücher',
    domain: 'https://www.Bücher.example:443/shop?x',
  })
  expect(body.domain).toBe('xn--bcher-kva.example')
  const forms = [
    'bücher.example',
    'xn--bcher-kva.example',
    'WWW.BÜCHER.EXAMPLE.',
    'http://bücher.example/',
    'info@bücher.example',
  ]
  for (const form of forms) {
    const found = await call('GET', `/v5/companies?filter.domain.equals=${encodeURIComponent(form)}`)
    expect([form, found.body.length]).toEqual([form, 1])
    const again = await call('POST', '/v5/companies', { name: 'Again', domain: form })
    expect([form, again.status]).toEqual([form, 409])
  }
  expect((await call('GET', `/v5/companies?filter.domain.contains=${encodeURIComponent('bücher')}`)).body).toHaveLength(
    1,
  )
})

test('a search that looks like a number finds the phone, in any form and in part', async () => {
  const { body } = await call('POST', '/v5/contacts', { name: 'Number', phone: '+49 (0)89 7654321' })
  const queries = [
    '+49 (0)89 7654321',
    '+49-89-765-43-21',
    '0049 89 7654321',
    '089/7654321',
    '089 76.54',
    '(089) 7654-321',
    '+498976',
    '7654 321',
    '\u202d+49 89 7654321\u202c',
    '＋４９ ８９',
  ]
  for (const query of queries) {
    const found = await call('GET', `/v5/contacts?select[]=id&query=${encodeURIComponent(query)}`)
    expect([query, found.body]).toEqual([query, [{ id: body.id }]])
  }
  const filter = encodeURIComponent('(0)89 / 76 54')
  expect((await call('GET', `/v5/contacts?select[]=id&filter.phone.contains=${filter}`)).body).toEqual([
    { id: body.id },
  ])
  const { body: dated } = await call('POST', '/v5/contacts', { name: 'Plan 2024-2025' })
  expect((await call('GET', '/v5/contacts?select[]=id&query=2024-2025')).body).toEqual([{ id: dated.id }])
})

test('searches find typographic and vocalized text', async () => {
  const pairs = [
    ['O’Hara', "o'hara"],
    ['مُحَمَّد', 'محمد'],
    ['أحمد', 'احمد'],
    ['שָׁלוֹם', 'שלום'],
    ['Anne‑Marie', 'anne-marie'],
  ]
  for (const [name = '', typed = ''] of pairs) {
    const { body } = await call('POST', '/v5/contacts', { name })
    for (const parameter of ['query', 'filter.name.contains', 'filter.name.startsWith', 'filter.name.endsWith']) {
      for (const text of [typed, name]) {
        const found = await call('GET', `/v5/contacts?select[]=id&${parameter}=${encodeURIComponent(text)}`)
        expect([parameter, text, found.body]).toEqual([parameter, text, [{ id: body.id }]])
      }
    }
  }
})
