import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { until } from '../../../test/processes.ts'
import {
  type Call,
  type Json,
  startTestService,
  type TestOrganization,
  type TestService,
} from '../../../test/service.ts'

let service: TestService
let organization: TestOrganization
let call: Call
let contact: Json
beforeAll(async () => {
  service = await startTestService({ REASONING_CONCURRENCY: '2' })
})
beforeEach(async () => {
  organization = await service.newOrganization()
  call = organization.call
  contact = await create('/v5/contacts', { name: 'Ada Lovelace', email: 'ada@example.com', timeZone: 'Europe/Berlin' })
})
afterAll(() => service.close())

async function create(path: string, body: object): Promise<Json> {
  const made = await call('POST', path, { body })
  expect([made.text, made.status]).toEqual([made.text, 201])
  return made.body
}

const read = async (path: string): Promise<Json> => (await call('GET', path)).body

/** The note once it is analysed, with its suggestions by type. */
async function analysed(note: Json): Promise<Record<string, Json>> {
  await until('the note is analysed', async () => (await read(`/v5/notes/${note.id}`)).reasoningQueuedAt === null)
  const found = await read(`/v5/suggestions?noteId=${note.id}&status=pending`)

  return Object.fromEntries(found.map((one: Json) => [one.type, one]))
}

const note = (body: string, path = `/v5/contacts/${contact.id}/notes`): Promise<Json> => create(path, { body })

test('a note becomes a suggestion with the words that are its reason, and accepting it creates the task once', async () => {
  const made = await note('Thanks! Please call me on 3 December at 14:00, I am very interested.')
  const { call: suggestion } = await analysed(made)
  expect(suggestion).toMatchObject({ noteId: made.id, contactId: contact.id, status: 'pending', engine: 'rules' })
  const { start, end, text } = suggestion.evidence
  expect(made.body.slice(start, end)).toBe(text)
  const path = `/v5/suggestions/${suggestion.id}`
  const all = await Promise.all([1, 2, 3].map(() => call('POST', `${path}/accept`)))
  expect(all.map(({ status }) => status).sort()).toEqual([200, 409, 409])
  const accepted = await read(path)
  expect(accepted).toMatchObject({ status: 'accepted', edits: null })
  const tasks = await read(`/v5/tasks?contactId=${contact.id}`)
  expect(tasks).toMatchObject([{ id: accepted.resultTaskId, title: 'Call Ada Lovelace', dueAt: suggestion.dueAt }])
})
