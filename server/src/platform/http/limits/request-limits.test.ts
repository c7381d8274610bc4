import { afterAll, beforeAll, expect, test } from 'vitest'
import { routes } from '../../../app.ts'
import type { PublicRoute } from '../route.ts'
import { parsePush } from '../../../intake/payload/payload.ts'
import { requestText, sendRaw } from '../../../../test/raw-http.ts'
import { expectRefusal } from '../../../../test/refusals.ts'
import { startTestService, type TestOrganization, type TestService } from '../../../../test/service.ts'

let service: TestService
let organization: TestOrganization
beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
})
afterAll(() => service.close())

/** Misspelled names of a field. */
const misspelled = (count: number) =>
  Array.from({ length: count }, (_, index) => `emaiil${index % 10}${'x'.repeat(index / 10)}`)
const isSuggestion = ({ message }: { message: string }) => message.includes('did you mean')

/** Names close enough to `email` that it is suggested. */
const nearEmail = [...'abcdefghijklmnopqrstuvwxyz'].map((letter) => `emai${letter}l`)

test('a response reports at most 100 errors of a body, says that there are more, and suggests names for 20', async () => {
  const post = (names: string[]) =>
    organization.call('POST', '/v5/contacts', { body: Object.fromEntries(names.map((name) => [name, 1])) })
  const few = expectRefusal(await post(nearEmail), 422)
  expect(few.details).toHaveLength(26)
  expect(few.details.filter(isSuggestion)).toHaveLength(20)
  expect(few.description).not.toContain('and more')
  const many = expectRefusal(await post(misspelled(500)), 422)
  expect(many.details).toHaveLength(100)
  expect(many.description).toContain('and more')
})

test.each(['/v5/contacts', '/v5/contacts/count', '/v5/contacts/con_019aa5b2c1d27e3fa4b5c6d7e8f90123', '/v5/me'])(
  'a response reports at most 100 errors of a query of %s and suggests names for 20',
  async (path) => {
    const get = (names: string[]) => organization.call('GET', `${path}?${names.map((name) => `${name}=1`).join('&')}`)
    const few = expectRefusal(await get(nearEmail), 400)
    expect(few.details).toHaveLength(26)
    expect(few.details.filter(isSuggestion).length).toBeLessThanOrEqual(20)
    const many = expectRefusal(await get(misspelled(300)), 400)
    expect(many.details).toHaveLength(100)
    expect(many.description).toContain('and more')
  },
)

test('names are suggested for at most 20 unknown filters and 20 unknown selected fields', async () => {
  const filters = nearEmail.map((name) => `filter.${name}.equals=1`).join('&')
  const rejected = expectRefusal(await organization.call('GET', `/v5/contacts?${filters}`), 400)
  expect(rejected.details.filter(isSuggestion)).toHaveLength(20)
  const selected = nearEmail.map((name) => `select[]=${name}`).join('&')
  const unselected = expectRefusal(await organization.call('GET', `/v5/contacts?${selected}`), 400)
  expect(unselected.details.filter(isSuggestion)).toHaveLength(20)
})

test('at most 100 properties are reported of a body where none is expected', async () => {
  const body = Object.fromEntries(misspelled(500).map((name) => [name, 1]))
  const path = `/v5/contacts/con_019aa5b2c1d27e3fa4b5c6d7e8f90123/restore`
  const { details, description } = expectRefusal(await organization.call('POST', path, { body }), 422)
  expect(details).toHaveLength(100)
  expect(description).toContain('and more')
})

test('a push with more than 10,000 property names is rejected, and at most 20 warnings suggest a name', async () => {
  const contact = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`n${index}`, 1]))
  const push = service.anonymous('POST', new URL(organization.triggerUrl).pathname, { body: { contact } })
  expect(expectRefusal(await push, 400).details).toEqual([
    { field: 'body', message: 'a body can have at most 10000 property names in total' },
  ])
  const misspelledNames = Object.fromEntries(nearEmail.map((name) => [name, '1']))
  const read = parsePush({ contact: { email: 'ada@example.com', ...misspelledNames } }, {})
  const warnings = 'lead' in read ? read.lead.warnings : []
  expect(warnings).toHaveLength(26)
  expect(warnings.filter(isSuggestion)).toHaveLength(20)
})

test('of a pushed list, a thousand items are validated, and the type of all items is checked', () => {
  const tags = [...Array<string>(1000).fill(' '), 'late']
  const read = parsePush({ contact: { email: 'ada@example.com' }, company: { name: 'Acme', tags } }, {})
  expect('lead' in read && read.lead.company?.tags).toBeUndefined()
  const wrong = parsePush({ contact: { email: 'ada@example.com' }, company: { tags: [...tags, true] } }, {})
  expect(wrong).toEqual({ errors: [{ field: 'company.tags.1001', message: 'expected a string' }] })
})

const publicBodies = routes.filter((route): route is PublicRoute => route.kind === 'public' && route.method === 'POST')

test.each(publicBodies.map(({ path }) => path))(
  '%s requires no credential and accepts at most 16 KiB',
  async (path) => {
    const body = (bytes: number) => `{"a":"${'x'.repeat(bytes - 8)}"}`
    const headers = { 'content-type': 'application/json' }
    const sized = await sendRaw(service.url, requestText('POST', path, { headers, body: body(16 * 1024 + 1) }))
    expect(expectRefusal(sized, 413, 'payload_too_large').description).toContain('16 KiB')
    const chunk = body(16 * 1024 + 1)
    const chunked = requestText('POST', path, { headers: { ...headers, 'transfer-encoding': 'chunked' } })
    const streamed = await sendRaw(service.url, `${chunked}${chunk.length.toString(16)}\r\n${chunk}\r\n0\r\n\r\n`)
    expectRefusal(streamed, 413, 'payload_too_large')
    const accepted = await sendRaw(service.url, requestText('POST', path, { headers, body: body(16 * 1024) }))
    expect(accepted.status).not.toBe(413)
  },
)

test('the body of a request without a required credential is not parsed', async () => {
  for (const body of ['{', '['.repeat(1000), '{"a":1,"a":1}']) {
    expectRefusal(await service.anonymous('POST', '/v5/contacts', { body }), 401, 'missing_authorization')
  }
})
