import { expect, test } from 'vitest'
import { processorTime } from '../../../test/processor-time.ts'
import { errorsOf } from '../../../test/leads.ts'
import { parsePush } from './payload.ts'
import type { JsonObject, JsonValue } from '../../platform/model/json.ts'

const email = 'ada@example.com'

const ofContact = (members: JsonObject): JsonValue => ({ contact: { email, ...members } })
const ofJob = (job: JsonValue): JsonValue => ({
  contact: { email },
  employment: { history: [{ organization: 'A' }, job] },
})
const ofCompany = (company: JsonObject): JsonValue => ({ contact: { email }, company })

test.each<[string, JsonValue, [field: string, message: RegExp][]]>([
  ['a body that is not an object', [], [['body', /object/]]],
  ['null', null, [['body', /object/]]],
  ['no contact', {}, [['contact', /required/]]],
  ['a contact of null', { contact: null }, [['contact', /object/]]],
  ['a contact that is a list', { contact: [] }, [['contact', /object/]]],
  ['a contact by another name', { constructor: { email } }, [['contact', /required/]]],
  ['an employment that is a text', { contact: { email }, employment: 'CTO' }, [['employment', /object or null/]]],
  [
    'several companies',
    { contact: { email }, company: [{ name: 'A' }, { name: 'B' }] },
    [['company', /object or null/]],
  ],
  ['a contact that is a name', { contact: 'Ada' }, [['contact', /object/]]],
  ['no address', { contact: {} }, [['contact.email', /required/]]],
  ['an address of null', { contact: { email: null, name: 'Ada' } }, [['contact.email', /required/]]],
  ['a blank address', { contact: { email: ' ' } }, [['contact.email', /required/]]],
  [
    'an invalid handle and no address',
    { contact: { facebookHandle: 'https://facebook.com/profile.php?id=1' } },
    [['contact.email', /required, unless there is a usable/]],
  ],
  ['a blank external id and no address', { contact: { externalIdX: ' ' } }, [['contact.email', /required/]]],
  ['an invalid address', ofContact({ email: 'ada' }), [['contact.email', /email address/]]],
  ['two addresses', ofContact({ email: 'ada@example.com, bob@example.com' }), [['contact.email', /email address/]]],
  ['a long address', ofContact({ email: `a@${'x'.repeat(400)}.com` }), [['contact.email', /320/]]],
  [
    'an invalid address with a handle',
    ofContact({ email: 'ada', xHandle: 'ada' }),
    [['contact.email', /email address/]],
  ],
  ['an address that is a number', ofContact({ email: 5 }), [['contact.email', /email address/]]],
  ['a name that is a list', ofContact({ name: ['Ada', 'Lovelace'] }), [['contact.name', /string or null/]]],
  ['a name that is true', ofContact({ name: true }), [['contact.name', /string or null/]]],
  ['a note that is an object', ofContact({ note: { text: 'Met' } }), [['contact.note', /string or null/]]],
  ['an external id that is true', ofContact({ externalIdX: true }), [['contact.externalIdX', /string or null/]]],
  [
    'another seniority',
    { contact: { email }, employment: { seniority: 'boss' } },
    [['employment.seniority', /one of JUNIOR, MID, SENIOR, EXECUTIVE, ENTRY/]],
  ],
  [
    'a seniority with letters that only fold to valid ones',
    { contact: { email }, employment: { seniority: '\u017fenior' } },
    [['employment.seniority', /one of/]],
  ],
  [
    'a history that is a text',
    { contact: { email }, employment: { history: 'Acme' } },
    [['employment.history', /array of objects or null/]],
  ],
  ['a job that is a text', ofJob('Acme'), [['employment.history.1', /object/]]],
  ['a day that could be two', ofJob({ start: '05/01/2024' }), [['employment.history.1.start', /2024-05/]]],
  ['a month that does not exist', ofJob({ end: '2024-13' }), [['employment.history.1.end', /2024-05/]]],
  ['a date in doubt', ofJob({ end: '03/04/2024' }), [['employment.history.1.end', /2024-05/]]],
  ['a current that is a text', ofJob({ current: 'maybe' }), [['employment.history.1.current', /boolean or null/]]],
  ['a revenue that is a list', ofCompany({ annualRevenue: [5, 6] }), [['company.annualRevenue', /string or null/]]],
  ['a count that is a word', ofCompany({ employeesCount: 'many' }), [['company.employeesCount', /integer or null/]]],
  ['a count that is a range', ofCompany({ employeesCount: '51-200' }), [['company.employeesCount', /integer or null/]]],
  [
    'a count that could be two',
    ofCompany({ employeesCount: '1,234' }),
    [['company.employeesCount', /integer or null/]],
  ],
  ['a count that is a fraction', ofCompany({ foundedYear: 1.5 }), [['company.foundedYear', /integer or null/]]],
  ['tags that are an object', ofCompany({ tags: { a: 'b' } }), [['company.tags', /array of strings or null/]]],
  [
    'invalid items',
    ofCompany({ tags: ['a', true, 'b', ['c']] }),
    [
      ['company.tags.1', /string/],
      ['company.tags.3', /string/],
    ],
  ],
  [
    'several of these',
    {
      contact: { email: 'no', bio: { a: 1 } },
      employment: { seniority: 'x', history: [1] },
      company: { tags: { a: 1 } },
    },
    [
      ['contact.email', /address/],
      ['contact.bio', /string/],
      ['employment.seniority', /one of/],
      ['employment.history.0', /object/],
      ['company.tags', /array/],
    ],
  ],
])('%s rejects the push', (_, payload, expected) => {
  const errors = errorsOf(payload)
  expect(errors.map(({ field }) => field)).toEqual(expected.map(([field]) => field))
  for (const [index, [, message]] of expected.entries()) expect(errors[index]?.message).toMatch(message)
})

test('at most 100 errors are reported, including those of jobs beyond the limit', () => {
  expect(errorsOf({ contact: { email }, company: { tags: Array(5000).fill(true) } })).toHaveLength(100)
  const history = [...Array<JsonValue>(100).fill({ organization: 'Acme' }), { start: 'Mayday' }]
  expect(errorsOf({ contact: { email }, employment: { history } })).toMatchObject([
    { field: 'employment.history.100.start' },
  ])
})

test('any megabyte of payload is read in bounded time', () => {
  const names = Array.from({ length: 80_000 }, (_, index) => [`m${index}`, 1] as const)
  const payloads: JsonValue[] = [
    ofContact(Object.fromEntries(names)),
    ofCompany({ tags: Array<string>(300_000).fill('') }),
    ofCompany({ tags: Array.from({ length: 90_000 }, (_, index) => `${index}`) }),
    ofCompany({ tags: Array<number>(500_000).fill(1) }),
    { contact: { email }, employment: { history: Array<JsonValue>(300_000).fill({}) } },
    ofContact({ note: ' '.repeat(1_000_000), bio: 'x'.repeat(1_000_000), linkedinHandle: '/'.repeat(1_000_000) }),
  ]
  for (const payload of payloads) {
    expect(processorTime(() => void parsePush(payload, {}))).toBeLessThan(5000)
  }
})
