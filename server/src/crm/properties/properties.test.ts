import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'

let service: TestService
let organization: TestOrganization
beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
})
afterAll(() => service.close())

const company = { references: 'companies' }
const choices = [
  { value: 'free', label: 'Free' },
  { value: 'pro', label: 'Pro' },
]

/** By type: a definition, sent values with their stored form, and rejected values with what the error says. */
const types: Record<string, { definition?: Json; valid: [Json, Json][]; invalid: [Json, RegExp][] }> = {
  text: {
    valid: [
      ['Two\nlines', 'Two\nlines'],
      [' x\u200b ', 'x'],
    ],
    invalid: [
      [42, /expected a string/],
      ['  ', /blank/],
      ['x'.repeat(10_001), /at most 10000/],
    ],
  },
  number: {
    valid: [
      [42, 42],
      [-0.5, -0.5],
    ],
    invalid: [
      ['42', /expected a number/],
      [true, /expected a number/],
    ],
  },
  boolean: { valid: [[false, false]], invalid: [['true', /expected a boolean/]] },
  date: {
    valid: [['2026-12-24', '2026-12-24']],
    invalid: [
      ['2026-02-30', /expected a date/],
      ['2026-12-24T00:00:00Z', /expected a date/],
    ],
  },
  instant: {
    valid: [['2026-12-24T17:30+01:00', '2026-12-24T16:30:00.000Z']],
    invalid: [['2026-12-24', /expected a timestamp/]],
  },
  choice: { definition: { choices }, valid: [['pro', 'pro']], invalid: [['Pro', /expected one of free, pro/]] },
  multiChoice: {
    definition: { choices },
    valid: [
      [
        ['pro', 'free', 'pro'],
        ['pro', 'free'],
      ],
    ],
    invalid: [
      [['gold'], /expected one of free, pro/],
      ['pro', /expected an array/],
    ],
  },
  url: {
    valid: [
      ['https://example.com/a', 'https://example.com/a'],
      ['example.com', 'https://example.com'],
    ],
    invalid: [['ftp://example.com', /expected an http/]],
  },
  email: { valid: [['Ada@example.com', 'Ada@example.com']], invalid: [['ada@', /expected an email address/]] },
  phone: { valid: [['+49 30 1234567', '+49301234567']], invalid: [['030 1234567', /expected a phone number/]] },
  money: {
    valid: [
      [
        { amount: '0012.50', currency: 'eur' },
        { amount: '12.50', currency: 'EUR' },
      ],
    ],
    invalid: [
      [12.5, /expected an object/],
      [{ amount: '12.50' }, /currency/],
      [{ amount: '12.50', currency: 'XXQ' }, /ISO 4217/],
      [{ amount: 12, currency: 'EUR' }, /expected a string/],
    ],
  },
  reference: {
    definition: company,
    valid: [],
    invalid: [
      ['com_019aa5b2c1d27e3fa4b5c6d7e8f90123', /no reference with this id exists/],
      ['con_019aa5b2c1d27e3fa4b5c6d7e8f90123', /must match/],
    ],
  },
}

test.each(Object.entries(types))(
  'a property of the type %s accepts its values and refuses others',
  async (type, given) => {
    const { call } = organization
    const body = { resource: 'contacts', key: `a_${type}`, type, label: type, ...given.definition }
    const made = await call('POST', '/v5/properties', { body })
    expect(made.status, made.text).toBe(201)
    const field = `customProperties.${body.key}`
    const { body: contact } = await call('POST', '/v5/contacts', { body: { name: 'Ada' } })
    for (const [sent, stored] of given.valid) {
      const created = await call('POST', '/v5/contacts', {
        body: { name: 'Ada', customProperties: { [body.key]: sent } },
      })
      expect(created.body.customProperties, created.text).toEqual({ [body.key]: stored })
      const changed = await call('PATCH', `/v5/contacts/${contact.id}`, {
        body: { customProperties: { [body.key]: sent } },
      })
      expect(changed.body.customProperties).toEqual({ [body.key]: stored })
    }
    for (const [sent, message] of given.invalid) {
      const requests = [
        call('POST', '/v5/contacts', { body: { name: 'Ada', customProperties: { [body.key]: sent } } }),
        call('PATCH', `/v5/contacts/${contact.id}`, { body: { customProperties: { [body.key]: null } } }).then(() =>
          call('PATCH', `/v5/contacts/${contact.id}`, { body: { customProperties: { [body.key]: sent } } }),
        ),
      ]
      for (const refused of await Promise.all(requests)) {
        expect(refused, refused.text).toMatchObject({ status: 422, body: { code: 'invalid_field_value' } })
        expect(refused.body.details[0].field.startsWith(field)).toBe(true)
        expect(refused.body.details[0].message).toMatch(message)
      }
    }
    const removed = await call('PATCH', `/v5/contacts/${contact.id}`, {
      body: { customProperties: { [body.key]: null } },
    })
    expect(removed.body.customProperties).toEqual({})
  },
)
