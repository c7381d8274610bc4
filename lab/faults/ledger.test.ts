import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { Client } from './client.ts'
import {
  byAddress,
  type KnownContact,
  type KnownPush,
  madeAgain,
  madeAlready,
  missing,
  type OpenChange,
  pushesWithoutContact,
  pushesWithoutRow,
  type Shown,
  strangers,
  wrongRevisions,
} from './ledger.ts'
import { freePort } from '../shared/free-port.ts'

const email = 'a@example.com'
const known = (change: Partial<KnownContact> = {}): KnownContact => ({
  email,
  id: 'con_1',
  nickname: 'Ada',
  isThere: true,
  revision: 2,
  ...change,
})
const shown = (change: Partial<Shown> = {}): Shown => ({ id: 'con_1', email, nickname: 'Ada', ...change })
const open = (kind: OpenChange['kind'], nickname: string | null = null): OpenChange => ({
  kind,
  nickname,
  request: { method: 'POST', path: '/v5/contacts', ...(kind !== 'delete' && { key: 'k' }) },
})
const push = (change: Partial<KnownPush> = {}): KnownPush => ({
  email,
  request: { method: 'POST', path: '/', key: 'k' },
  rowId: 'row_1',
  ...change,
})

const cases: [string, KnownContact, Shown[], boolean][] = [
  ['unchanged since its acknowledgement', known(), [shown()], true],
  ['lost', known(), [], false],
  ['duplicated', known(), [shown(), shown({ id: 'con_2' })], false],
  ['shown with an older value', known(), [shown({ nickname: 'Augusta' })], false],
  ['deleted', known({ isThere: false }), [], true],
  ['deleted, but shown again', known({ isThere: false }), [shown()], false],
  ['perhaps created, and not shown', known({ isThere: false, open: open('create') }), [], true],
  ['perhaps created, and shown', known({ isThere: false, open: open('create') }), [shown({ nickname: null })], true],
  [
    'perhaps created, and shown twice',
    known({ isThere: false, open: open('create') }),
    [shown({ nickname: null }), shown({ nickname: null })],
    false,
  ],
  ['perhaps updated, and unchanged', known({ open: open('update', 'Augusta') }), [shown()], true],
  ['perhaps updated, and updated', known({ open: open('update', 'Augusta') }), [shown({ nickname: 'Augusta' })], true],
  [
    'perhaps updated, and shown with a third value',
    known({ open: open('update', 'Augusta') }),
    [shown({ nickname: 'B' })],
    false,
  ],
  ['perhaps updated, and lost', known({ open: open('update', null) }), [], false],
  ['perhaps deleted, and shown', known({ open: open('delete') }), [shown()], true],
  ['perhaps deleted, and gone', known({ open: open('delete') }), [], true],
]

test.each(cases)('a contact that is %s is judged correctly', (_, contact, visible, isValid) => {
  expect(missing([contact], byAddress(visible))).toHaveLength(isValid ? 0 : 1)
})

test('a contact that no request created is reported, even without an address', () => {
  const found = byAddress([shown(), shown({ email: 'b@example.com' }), shown({ email: 'c@example.com' })])
  expect(strangers([known()], [push({ email: 'b@example.com' })], found)).toEqual(['c@example.com'])
  expect(strangers([known()], [], byAddress([shown(), shown({ email: null })]))).toEqual([''])
})

test('a change whose effect is visible must be replayed, not repeated', () => {
  const updated = known({ open: open('update', 'Augusta') })
  expect([...madeAlready([updated], [], byAddress([shown({ nickname: 'Augusta' })]))]).toEqual([email])
  expect([...madeAlready([updated], [], byAddress([shown()]))]).toEqual([])
  // A request without an idempotency key cannot be replayed.
  expect([...madeAlready([known({ open: open('delete') })], [], byAddress([]))]).toEqual([])
  expect([...madeAlready([], [push({ rowId: undefined })], byAddress([shown()]))]).toEqual([email])
  expect([...madeAlready([], [push()], byAddress([shown()]))]).toEqual([])

  const fine = [
    { email, wasMade: true, replayed: [true, true] as const },
    { email, wasMade: false, replayed: [false, true] as const },
    { email, wasMade: false, replayed: [true, true] as const },
  ]
  const wrong = [
    { email, wasMade: true, replayed: [false, true] as const },
    { email, wasMade: false, replayed: [false, false] as const },
  ]
  expect(madeAgain([...fine, ...wrong])).toEqual(wrong)
})

test('a revision that differs from the number of changes, or is missing, is reported', () => {
  expect(wrongRevisions([known()], new Map([['con_1', 2]]))).toEqual([])
  expect(wrongRevisions([known()], new Map([['con_1', 3]]))).toEqual([{ known: known(), revision: 3 }])
  expect(wrongRevisions([known()], new Map())).toHaveLength(1)
})

test('each push must have exactly one row and one contact', () => {
  const rows = new Set(['row_1', 'row_2'])
  expect(pushesWithoutRow([push(), push({ rowId: 'row_2' })], rows)).toEqual([])
  expect(pushesWithoutRow([push({ rowId: 'row_3' })], rows)).toHaveLength(1)
  expect(pushesWithoutRow([push({ rowId: undefined })], rows)).toHaveLength(1)
  expect(pushesWithoutRow([push(), push()], rows)).toHaveLength(1)
  expect(pushesWithoutContact([push()], byAddress([shown()]))).toEqual([])
  expect(pushesWithoutContact([push()], byAddress([]))).toHaveLength(1)
  expect(pushesWithoutContact([push()], byAddress([shown(), shown()]))).toHaveLength(1)
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
  expect([await statusOf('/cut'), await statusOf('/gone'), client.unreadable.length]).toEqual([0, 204, 0])
  expect(await statusOf('/broken')).toBe(200)
  expect(client.unreadable).toEqual(['GET /broken: 200 "{\\"id\\":"'])
  server.closeAllConnections()
  server.close()
  const unreachable = new Client(`http://127.0.0.1:${await freePort()}`, account)
  expect((await unreachable.send({ method: 'GET', path: '/' })).status).toBe(-1)
})
