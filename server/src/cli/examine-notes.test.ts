import { afterAll, beforeAll, expect, test } from 'vitest'
import pg from 'pg'
import { createDatabase, type TestDatabase } from '../../test/postgres.ts'
import { startTestService, type TestService } from '../../test/service.ts'
import { analysedNote } from '../../test/suggested.ts'
import { examineNotes } from './examine-notes.ts'

let database: TestDatabase
let service: TestService
let client: pg.Client
beforeAll(async () => {
  database = await createDatabase()
  service = await startTestService({}, { ...database, drop: async () => undefined })
  client = new pg.Client(database.connection)
  await client.connect()
})
afterAll(async () => {
  await client.end()
  await service.close()
  await database.drop()
})

test('the doctor reports what analyses notes, how many wait for too long, and that the model did not answer', async () => {
  const rules = { reasoningUrl: undefined, reasoningModel: undefined }
  const model = { reasoningUrl: 'https://models.example/v1', reasoningModel: 'small' }
  const message = 'analysed by the built-in rules; 0 waiting'
  expect(await examineNotes(client, rules)).toEqual({ name: 'notes', state: 'ok', message })
  const organization = await service.newOrganization()
  const { body } = await organization.call('POST', '/v5/contacts', { body: { email: 'ada@example.com' } })
  const path = `/v5/contacts/${body.id}/notes`
  await analysedNote(service, organization, path, 'Please call me.')
  expect((await examineNotes(client, model)).message).toBe('analysed by small at models.example; 0 waiting')
  await client.query(`update note_analyses set degraded = true, degraded_reason = 'timeout'`)
  expect(await examineNotes(client, model)).toMatchObject({
    state: 'note',
    message: expect.stringContaining('1 without the model within a day'),
    advice: expect.stringContaining('timeout'),
  })
  await organization.call('POST', path, { body: { body: 'Please call me.' } })
  await client.query(
    `update notes set reasoning_queued_at = now() - interval '1 hour' where reasoning_queued_at is not null`,
  )
  expect(await examineNotes(client, rules)).toMatchObject({
    state: 'wrong',
    message: expect.stringContaining('1 waiting, the oldest for 60 minutes'),
    advice: expect.stringContaining('REASONING_CONCURRENCY'),
  })
})
