import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runsOf, seed } from '../../../test/seed.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'

let service: TestService
let organization: TestOrganization
const choices = ['free', 'pro', 'max, or more', 'écru']

/** By type: values that a person could send, most of them valid, and how a filter tests whether a record has one. */
const types: Record<string, { value: fc.Arbitrary<Json>; more?: Json; filter?: (stored: Json) => Json }> = {
  text: { value: fc.string({ unit: 'grapheme', maxLength: 30 }) },
  number: { value: fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 })) },
  boolean: { value: fc.boolean() },
  date: {
    value: fc
      .date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
      .map((day) => day.toISOString().slice(0, 10)),
  },
  instant: {
    value: fc
      .tuple(
        fc.date({ min: new Date('1900-01-01'), max: new Date('2100-01-01'), noInvalidDate: true }),
        fc.constantFrom('Z', '+01:00', '-09:30'),
      )
      .map(([instant, offset]) => instant.toISOString().replace('Z', offset)),
  },
  choice: { value: fc.constantFrom(...choices, 'other') },
  multiChoice: {
    value: fc.array(fc.constantFrom(...choices), { maxLength: 4 }),
    filter: (stored) => (stored.length === 0 ? { isEmpty: true } : { hasEvery: stored }),
  },
  url: { value: fc.oneof(fc.webUrl({ withQueryParameters: true }), fc.constantFrom('ftp://a.example', 'a b')) },
  email: { value: fc.oneof(fc.emailAddress(), fc.constantFrom('ada', 'Ada@Example.com')) },
  phone: { value: fc.constantFrom('+49 30 1234567', '+44 (0)20 7123 4567', '+1 202-555-0143', '030 1234567') },
  money: {
    value: fc.record({
      amount: fc.oneof(fc.integer().map(String), fc.constantFrom('007.10', '-0.00', '1e3', '12345678901234567890')),
      currency: fc.constantFrom('EUR', 'usd', 'XYZ'),
    }),
    filter: ({ amount }) => ({ equals: amount }),
  },
}

beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
  for (const type of Object.keys(types)) {
    const more = /hoice/.test(type) ? { choices: choices.map((value) => ({ value, label: value })) } : {}
    const body = { resource: 'companies', key: type, type, label: type, ...more }
    const made = await organization.call('POST', '/v5/properties', { body })
    expect(made.status, made.text).toBe(201)
  }
})
afterAll(() => service.close())

test(
  'what the API accepts is returned in one form, accepted again unchanged, and found by its value',
  { timeout: 60_000 },
  async () => {
    const { call } = organization
    let accepted = 0
    const cases = fc
      .constantFrom(...Object.keys(types))
      .chain((type) => fc.tuple(fc.constant(type), types[type]?.value ?? fc.constant(null)))
    await fc.assert(
      fc.asyncProperty(cases, async ([type, value]) => {
        const created = await call('POST', '/v5/companies', {
          body: { name: 'Acme', customProperties: { [type]: value } },
        })
        if (created.status === 422) {
          expect(created.body.details[0].field.startsWith(`customProperties.${type}`)).toBe(true)
          return
        }
        expect(created.status, created.text).toBe(201)
        accepted += 1
        const { id, customProperties } = created.body
        const stored = customProperties[type]
        const again = await call('PATCH', `/v5/companies/${id}`, { body: { customProperties } })
        expect(again.text).toBe(created.text)
        const path = type === 'money' ? 'customProperties.money.amount' : `customProperties.${type}`
        const operators = types[type]?.filter?.(stored) ?? { equals: stored }
        const found = (negated: boolean) => {
          const condition = { [path]: operators }
          const filter = { and: [{ id: { equals: id } }, negated ? { not: condition } : condition] }
          return call('POST', '/v5/companies/search/count', { body: { filter } })
        }
        const [inside, outside] = await Promise.all([found(false), found(true)])
        expect([type, stored, inside.body, outside.body]).toEqual([type, stored, { count: 1 }, { count: 0 }])
      }),
      { seed, numRuns: runsOf(60) },
    )
    expect(accepted).toBeGreaterThan(runsOf(60) / 3)
    // The definitions fit everything that was accepted.
    for (const { id } of (await call('GET', '/v5/properties?limit=100')).body) {
      await call('DELETE', `/v5/properties/${id}`)
      const restored = await call('POST', `/v5/properties/${id}/restore`)
      expect(restored.status, restored.text).toBe(200)
    }
  },
)
