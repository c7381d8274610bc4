import { afterAll, beforeEach, expect, test, vi } from 'vitest'
import type { RecordData, ResourceSchema } from '../api/schema.ts'
import { inBrowser } from '../../test/browser-globals.ts'
import type { Property } from './property.ts'

/** The messages on the page, and the last Undo. */
const said: string[] = []
let undo: (() => void) | undefined
vi.mock('../ui/toast.tsx', () => ({
  notify(title: string, options: { undo?: () => void } = {}) {
    said.push(title)
    undo = options.undo ?? undo
    return () => undefined
  },
  notifyError: (title: string, description = '') => said.push(`${title}: ${description}`),
  notifyUnreachable: (title: string) => said.push(title),
}))

const stored = new Map<string, string>()
const storage = {
  getItem: (name: string) => stored.get(name) ?? null,
  setItem: (name: string, value: string) => stored.set(name, value),
  removeItem: (name: string) => stored.delete(name),
}
afterAll(inBrowser({ fetch: answer, localStorage: storage, sessionStorage: storage }))
const { changeProperty, forgetUnsaved, hasUnsaved, onRecordChanged, valueToEdit } = await import('./changes.ts')

const path = '/v5/contacts'
const contacts = { name: 'contacts', path, fields: [{ name: 'emails', type: 'emails' }] } as unknown as ResourceSchema
const propertyOf = (name: string) => ({ name, type: 'text', field: { name, type: 'text' } }) as unknown as Property
const [nickname, city, tags] = ['nickname', 'city', 'tags'].map(propertyOf) as [Property, Property, Property]
const email = propertyOf('email')
const texts = {
  saved: 'saved',
  merged: 'merged',
  undone: 'undone',
  failed: 'failed',
  kept: 'kept',
  changedMeanwhile: 'changed meanwhile',
}

/** The record on the service. */
let record: RecordData
let revision: number
/** The changes that were sent, each with the `If-Match` entity tag. */
let sent: [body: object, ifMatch: string | null][]
/** A change by somebody else before the next change arrives. */
let meanwhile: (() => void) | undefined
let refuse: boolean
beforeEach(() => {
  record = { id: 'con_1', nickname: 'Ada', city: null, tags: ['a'] }
  revision = 1
  sent = []
  meanwhile = undefined
  refuse = false
  said.splice(0)
  stored.clear()
})

async function answer(request: Request | string): Promise<Response> {
  if (typeof request === 'string') {
    const claims = btoa(JSON.stringify({ sub: 'usr_1', org: 'org_1', exp: Date.now() / 1000 + 3600 }))
    return Response.json({ accessToken: `.${claims}.` })
  }
  if (request.method === 'PATCH') {
    meanwhile?.()
    meanwhile = undefined
    const ifMatch = request.headers.get('if-match')
    const body = (await request.json()) as object
    sent.push([body, ifMatch])
    if (refuse) return Response.json({ code: 'invalid_field_value', description: 'Invalid' }, { status: 422 })
    if (ifMatch !== null && ifMatch !== tag()) return Response.json({ code: 'precondition_failed' }, { status: 412 })
    change(body)
  }
  return Response.json(record, { headers: { etag: tag() } })
}

const tag = (): string => `"${revision}-hash"`
function change(values: object): void {
  record = { ...record, ...values }
  revision++
}

let shown: RecordData
const save = (property: Property, value: unknown, seen = record): Promise<void> =>
  changeProperty(contacts, seen, { property, value }, (next) => (shown = next), texts)
const undoLast = () => vi.waitFor(() => undo?.())
const whenSaid = (text: string) => vi.waitFor(() => expect(said.at(-1)).toBe(text))

test('a change shows before it is stored, applies to the record that was loaded, and updates everything else', async () => {
  const learned: RecordData[] = []
  const stop = onRecordChanged((_, changed) => learned.push(changed))
  const saving = save(nickname, 'Countess')
  expect(shown).toMatchObject({ nickname: 'Countess' })
  await saving
  stop()
  expect(sent).toEqual([[{ nickname: 'Countess' }, '"1-hash"']])
  expect([learned, said]).toEqual([[record], ['saved']])
})

test('Undo restores the previous value, but never overwrites a simultaneous change by somebody else', async () => {
  await save(nickname, 'Countess')
  meanwhile = () => change({ city: 'London' })
  await undoLast()
  await whenSaid('undone')
  expect(record).toMatchObject({ nickname: 'Ada', city: 'London' })
  expect(sent.slice(1)).toEqual([
    [{ nickname: 'Ada' }, '"2-hash"'],
    [{ nickname: 'Ada' }, '"3-hash"'],
  ])
})

test('Undo leaves a value that somebody else has saved since', async () => {
  await save(nickname, 'Countess')
  change({ nickname: 'Lovelace' })
  await undoLast()
  await whenSaid('failed: changed meanwhile')
  expect([record.nickname, sent.length]).toEqual(['Lovelace', 1])
})

test("lists get both people's additions, and Undo only removes its own", async () => {
  const seen = record
  change({ tags: ['a', 'theirs'] })
  await save(tags, ['a', 'mine'], seen)
  expect([record.tags, said]).toEqual([['a', 'theirs', 'mine'], ['merged']])
  await undoLast()
  await whenSaid('undone')
  expect(record.tags).toEqual(['a', 'theirs'])
})

test('Undo of a new primary address restores all addresses, and keeps what others and the service have added', async () => {
  const [work, home, other] = ['work', 'home', 'other'].map((name) => ({
    address: `${name}@x.example`,
    primary: false,
  }))
  const before = [{ ...work, primary: true }, home]
  change({ email: 'work@x.example', emails: before.map((entry) => ({ ...entry, bouncedAt: null })) })
  const seen = record
  // Like the service: one of its addresses takes the place of the primary one.
  meanwhile = () => change({ emails: [{ ...home, primary: true, bouncedAt: null }] })
  await save(email, 'home@x.example', seen)
  expect(record).toMatchObject({ email: 'home@x.example', emails: [{ address: 'home@x.example' }] })
  const returned = { ...home, bouncedAt: '2026-11-28T00:00:00.000Z' }
  change({ emails: [{ ...returned, primary: true }, other] })
  await undoLast()
  await whenSaid('undone')
  expect(record.emails).toEqual([returned, other, before[0]])
})

test('a refused value is there when the same property of the same record is edited again, and nowhere else', async () => {
  refuse = true
  const other: RecordData = { ...record, id: 'con_2' }
  await save(nickname, 'Refused')
  expect(shown).toEqual(record)
  expect(said).toEqual([expect.stringMatching(/^failed: .*\nkept$/)])
  expect([valueToEdit(nickname, record), hasUnsaved(nickname, record)]).toEqual(['Refused', true])
  for (const [property, one] of [
    [city, record],
    [nickname, other],
  ] as const)
    expect([valueToEdit(property, one), hasUnsaved(property, one)]).toEqual([one[property.name], false])
  forgetUnsaved(nickname, record)
  expect([valueToEdit(nickname, record), hasUnsaved(nickname, record)]).toEqual(['Ada', false])
  await save(nickname, null)
  expect(valueToEdit(nickname, record)).toBeNull()
  refuse = false
  await save(nickname, 'Countess')
  expect(hasUnsaved(nickname, record)).toBe(false)
})
