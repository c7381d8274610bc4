import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ModelServer, sendJson, startModelServer } from '../../../test/model-server.ts'
import { until } from '../../../test/processes.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'
import { readInjections } from '../analysis/evaluation/labels.ts'

const apiKey = 'key-that-stays-secret'
let model: ModelServer
let service: TestService
let organization: TestOrganization
let contact: Json
beforeAll(async () => {
  model = await startModelServer()
  service = await startTestService({
    REASONING_URL: model.url,
    REASONING_MODEL: 'test-model',
    REASONING_API_KEY: apiKey,
    REASONING_CONCURRENCY: '4',
    REASONING_TOKENS_PER_DAY: '40000',
    IMPORT_WORKERS: '1',
  })
  organization = await service.newOrganization()
  contact = (await organization.call('POST', '/v5/contacts', { body: { email: 'ada@example.com' } })).body
})
afterAll(async () => {
  await service.close()
  await model.close()
})

// The rules find nothing in it, which shows which engine answered.
const text = 'Meet us in the lab. Bring the samples.'

const answer = JSON.stringify({
  intent: 'meeting_request',
  language: 'en',
  actions: [
    {
      type: 'schedule_meeting',
      evidence: 'Meet us',
      dueAt: null,
      priority: 'high',
      confidence: 0.9,
      ...{ name: null, email: null, phone: null, stageKind: null, title: null },
    },
  ],
  summary: 'Wants to meet in the lab.',
})

const read = async (path: string): Promise<Json> => (await organization.call('GET', path)).body

/** The analysis of a new note, and its suggestions. */
async function analysed(call = organization.call, contactId = contact.id) {
  const { body: note } = await call('POST', `/v5/contacts/${contactId}/notes`, { body: { body: text } })
  const analyses = async () => (await call('GET', `/v5/note-analyses?noteId=${note.id}`)).body
  await until('the note is analysed', async () => (await analyses()).length > 0)
  const suggestions = (await call('GET', `/v5/suggestions?noteId=${note.id}`)).body
  return { analysis: (await analyses())[0], suggestions }
}

test('a note is analysed by the configured model, and its answer becomes a suggestion', async () => {
  model.reply(answer)
  const { analysis, suggestions } = await analysed()
  expect(analysis).toMatchObject({
    engine: 'model',
    model: 'test-model',
    summary: 'Wants to meet in the lab.',
    tokens: 400,
    degraded: false,
  })
  expect(suggestions).toMatchObject([
    { type: 'schedule_meeting', engine: 'model', status: 'pending', evidence: { start: 0, end: 7, text: 'Meet us' } },
  ])
  expect(model.requests[0]?.headers.authorization).toBe(`Bearer ${apiKey}`)
  expect(service.logged.join('')).not.toContain(apiKey)
})

test('if the model fails, the rules answer, and the analysis says why', async () => {
  const failures: [Parameters<ModelServer['reply']>, string][] = [
    [[(response) => sendJson(response, { error: { message: 'no' } }, 500)], 'rejected'],
    [['not JSON', 'not JSON either'], 'invalid_output'],
    [[(response) => response.destroy()], 'unreachable'],
  ]
  for (const [replies, degradedReason] of failures) {
    model.reply(...replies)
    const { analysis, suggestions } = await analysed()
    expect(analysis).toMatchObject({ engine: 'rules', model: 'test-model', degraded: true, degradedReason })
    expect(suggestions).toEqual([])
  }
})

test('one repair of an invalid answer is enough', async () => {
  model.reply('not JSON', answer)
  const { analysis } = await analysed()
  expect([analysis.engine, analysis.tokens, model.requests.length]).toEqual(['model', 800, 2])
})

test('an organization that has used up its budget of the day gets the rules', async () => {
  const { call } = await service.newOrganization()
  const { body } = await call('POST', '/v5/contacts', { body: { email: 'grace@example.com' } })
  const usage = { total_tokens: 39_500 }
  const choices = [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: answer } }]
  model.reply((response) => sendJson(response, { choices, usage }))
  expect((await analysed(call, body.id)).analysis).toMatchObject({ engine: 'model', tokens: 39_500 })
  expect((await analysed(call, body.id)).analysis).toMatchObject({
    engine: 'rules',
    degraded: true,
    degradedReason: 'budget_used_up',
  })
  expect(model.requests.length).toBe(1)
})

test('pushed injections gain no action, reach no model, and change nothing', async () => {
  model.reply(answer)
  const { call, triggerUrl } = (organization = await service.newOrganization())
  const injections = await readInjections(fileURLToPath(new URL('../../../../', import.meta.url)))
  expect(injections.length).toBeGreaterThanOrEqual(60)
  for (const [index, injection] of injections.entries()) {
    const push = { contact: { email: `person-${index}@example.com`, note: injection.text } }
    const { status } = await service.anonymous('POST', new URL(triggerUrl).pathname, { body: push })
    expect([injection.id, status]).toEqual([injection.id, 200])
  }
  await until(
    'all notes are analysed',
    async () => (await read('/v5/note-analyses/count')).count === injections.length,
    60_000,
  )
  const notes = new Map<string, string>()
  for (const { email } of injections.map((_, index) => ({ email: `person-${index}@example.com` }))) {
    const [person] = await read(`/v5/contacts?email=${email}`)
    expect([email, person.emailOptOut]).toEqual([email, false])
    notes.set(email, person.id)
  }
  for (const [index, { id, actions }] of injections.entries()) {
    const found = await read(`/v5/suggestions?contactId=${notes.get(`person-${index}@example.com`)}`)
    const unexpected = found.filter(({ type, status }: Json) => !actions.includes(type) || status !== 'pending')
    expect([id, unexpected]).toEqual([id, []])
  }
  expect(model.requests.length).toBe(0)
  expect((await read('/v5/note-analyses/count?suspicious=true')).count).toBe(injections.length)
  expect([(await call('GET', '/v5/tasks/count')).body, (await read('/v5/deals/count')).count]).toEqual([
    { count: 0 },
    0,
  ])
})
