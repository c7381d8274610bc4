import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { Client } from './client.ts'
import {
  byAddress,
  type ExpectedContact,
  type SentPush,
  appliedTwice,
  alreadyApplied,
  missing,
  type UnknownChange,
  pushesWithoutContact,
  pushesWithoutRow,
  type ListedContact,
  unexpectedAddresses,
  wrongRevisions,
} from './ledger.ts'
import { freePort } from '../shared/free-port.ts'

const email = 'a@example.com'
const contact = (change: Partial<ExpectedContact> = {}): ExpectedContact => ({
  email,
  id: 'con_1',
  nickname: 'Ada',
  exists: true,
  revision: 2,
  ...change,
})
const listed = (change: Partial<ListedContact> = {}): ListedContact => ({
  id: 'con_1',
  email,
  nickname: 'Ada',
  ...change,
})
const open = (kind: UnknownChange['kind'], nickname: string | null = null): UnknownChange => ({
  kind,
  nickname,
  request: { method: 'POST', path: '/v5/contacts', ...(kind !== 'delete' && { key: 'k' }) },
})
const push = (change: Partial<SentPush> = {}): SentPush => ({
  email,
  request: { method: 'POST', path: '/', key: 'k' },
  rowId: 'row_1',
  ...change,
})

const cases: [string, ExpectedContact, ListedContact[], boolean][] = [
  ['unchanged since its acknowledgement', contact(), [listed()], true],
  ['lost', contact(), [], false],
  ['duplicated', contact(), [listed(), listed({ id: 'con_2' })], false],
  ['shown with an older value', contact(), [listed({ nickname: 'Augusta' })], false],
  ['deleted', contact({ exists: false }), [], true],
  ['deleted, but shown again', contact({ exists: false }), [listed()], false],
  ['perhaps created, and not shown', contact({ exists: false, unknownChange: open('create') }), [], true],
  [
    'perhaps created, and shown',
    contact({ exists: false, unknownChange: open('create') }),
    [listed({ nickname: null })],
    true,
  ],
  [
    'perhaps created, and shown twice',
    contact({ exists: false, unknownChange: open('create') }),
    [listed({ nickname: null }), listed({ nickname: null })],
    false,
  ],
  ['perhaps updated, and unchanged', contact({ unknownChange: open('update', 'Augusta') }), [listed()], true],
  [
    'perhaps updated, and updated',
    contact({ unknownChange: open('update', 'Augusta') }),
    [listed({ nickname: 'Augusta' })],
    true,
  ],
  [
    'perhaps updated, and shown with a third value',
    contact({ unknownChange: open('update', 'Augusta') }),
    [listed({ nickname: 'B' })],
    false,
  ],
  ['perhaps updated, and lost', contact({ unknownChange: open('update', null) }), [], false],
  ['perhaps deleted, and shown', contact({ unknownChange: open('delete') }), [listed()], true],
  ['perhaps deleted, and gone', contact({ unknownChange: open('delete') }), [], true],
]

test.each(cases)('a contact that is %s is judged correctly', (_, contact, visible, isValid) => {
  expect(missing([contact], byAddress(visible))).toHaveLength(isValid ? 0 : 1)
})

test('a contact that no request created is reported, even without an address', () => {
  const found = byAddress([listed(), listed({ email: 'b@example.com' }), listed({ email: 'c@example.com' })])
  expect(unexpectedAddresses([contact()], [push({ email: 'b@example.com' })], found)).toEqual(['c@example.com'])
  expect(unexpectedAddresses([contact()], [], byAddress([listed(), listed({ email: null })]))).toEqual([''])
})

test('a change whose effect is visible must be replayed, not repeated', () => {
  const updated = contact({ unknownChange: open('update', 'Augusta') })
  expect([...alreadyApplied([updated], [], byAddress([listed({ nickname: 'Augusta' })]))]).toEqual([email])
  expect([...alreadyApplied([updated], [], byAddress([listed()]))]).toEqual([])
  // A request without an idempotency key cannot be replayed.
  expect([...alreadyApplied([contact({ unknownChange: open('delete') })], [], byAddress([]))]).toEqual([])
  expect([...alreadyApplied([], [push({ rowId: undefined })], byAddress([listed()]))]).toEqual([email])
  expect([...alreadyApplied([], [push()], byAddress([listed()]))]).toEqual([])

  const fine = [
    { subject: email, wasApplied: true, replayed: [true, true] as const },
    { subject: email, wasApplied: false, replayed: [false, true] as const },
    { subject: email, wasApplied: false, replayed: [true, true] as const },
  ]
  const wrong = [
    { subject: email, wasApplied: true, replayed: [false, true] as const },
    { subject: email, wasApplied: false, replayed: [false, false] as const },
  ]
  expect(appliedTwice([...fine, ...wrong])).toEqual(wrong)
})

test('a revision that differs from the number of changes, or is missing, is reported', () => {
  expect(wrongRevisions([contact()], new Map([['con_1', 2]]))).toEqual([])
  expect(wrongRevisions([contact()], new Map([['con_1', 3]]))).toEqual([{ expected: contact(), revision: 3 }])
  expect(wrongRevisions([contact()], new Map())).toHaveLength(1)
})

test('each push must have exactly one row and one contact', () => {
  const rows = new Set(['row_1', 'row_2'])
  expect(pushesWithoutRow([push(), push({ rowId: 'row_2' })], rows)).toEqual([])
  expect(pushesWithoutRow([push({ rowId: 'row_3' })], rows)).toHaveLength(1)
  expect(pushesWithoutRow([push({ rowId: undefined })], rows)).toHaveLength(1)
  expect(pushesWithoutRow([push(), push()], rows)).toHaveLength(1)
  expect(pushesWithoutContact([push()], byAddress([listed()]))).toEqual([])
  expect(pushesWithoutContact([push()], byAddress([]))).toHaveLength(1)
  expect(pushesWithoutContact([push()], byAddress([listed(), listed()]))).toHaveLength(1)
})

test('an invalid JSON response keeps its status and is reported; a closed connection counts as no response', async () => {
  const server = createServer((request, response) => {
    if (request.url === '/cut') request.socket.destroy()
    else response.writeHead(request.url === '/gone' ? 204 : 200).end(request.url === '/gone' ? undefined : '{"id":')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const account = { apiKey: 'k', organizationId: 'o' }
  const client = new Client(`http://127.0.0.1:${port}`, account)
  const statusOf = async (path: string) => (await client.send({ method: 'GET', path })).status
  expect([await statusOf('/cut'), await statusOf('/gone'), client.invalidJson.length]).toEqual([0, 204, 0])
  expect(await statusOf('/broken')).toBe(200)
  expect(client.invalidJson).toEqual(['GET /broken: 200 "{\\"id\\":"'])
  server.closeAllConnections()
  server.close()
  const unreachable = new Client(`http://127.0.0.1:${await freePort()}`, account)
  expect((await unreachable.send({ method: 'GET', path: '/' })).status).toBe(-1)
})
