import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  completion,
  type ModelReply,
  type ModelServer,
  sendJson,
  startModelServer,
} from '../../../../test/model-server.ts'
import { reasoningEgress } from '../../settings.ts'
import { createModelAnalyser, type ModelOptions } from '../analyser.ts'
import { localRules } from '../local-rules.ts'
import { type Analysis, type Degradation, type Note, actionTypes, intents } from '../analysis.ts'
import { factsFor, readInjections } from '../evaluation/labels.ts'
import { Breaker, memoryTokenBudget } from './limits.ts'

let server: ModelServer
beforeAll(async () => {
  server = await startModelServer()
})
afterAll(() => server.close())

const facts = { ...factsFor('Europe/Berlin'), contactEmails: ['contact@birch.example'], openTasks: 2 }
// The rules take it for a referral, which shows which engine answered.
const text = 'Meet Ann Lee (ann.lee@birch.example) in the lab, 3 December 14:00. 👋 Bring the samples.'

const answer = (given: Record<string, unknown> = {}, action: Record<string, unknown> = {}): string =>
  JSON.stringify({
    intent: 'meeting_request',
    language: 'en',
    actions: [
      {
        type: 'schedule_meeting',
        evidence: 'Meet Ann Lee',
        dueAt: '2026-12-03T14:00',
        priority: 'high',
        confidence: 0.9,
        ...{ name: null, email: null, phone: null, stageKind: null, title: null },
        ...action,
      },
    ],
    summary: 'Wants to meet on 3 December.',
    ...given,
  })

function analyser(options: Partial<ModelOptions> = {}) {
  const settings = { url: server.url, model: 'test-model', apiKey: 'key-1' }
  const egress = reasoningEgress(server.url, [])
  return createModelAnalyser({
    rules: localRules,
    settings,
    egress,
    budget: memoryTokenBudget(1_000_000),
    timeout: 5000,
    ...options,
  })
}

const noteOf = (given: string): Note => ({ organizationId: 'org-1', text: given })
const analyse = (options: Partial<ModelOptions> = {}, given = text): Promise<Analysis> =>
  analyser(options)(noteOf(given), facts, new AbortController().signal)

test('the answer of the model is used, with how it was found', async () => {
  server.reply(answer())
  const { latencyMs, ...analysis } = await analyse()
  expect(analysis).toEqual({
    intent: 'meeting_request',
    language: 'en',
    suspicious: false,
    actions: [
      {
        type: 'schedule_meeting',
        params: {},
        evidence: { start: 0, end: 12 },
        dueAt: '2026-12-03T13:00:00.000Z',
        dueAtSource: 'note',
        priority: 'high',
        confidence: 0.9,
      },
    ],
    summary: 'Wants to meet on 3 December.',
    engine: 'model',
    model: 'test-model',
    promptVersion: 'rules-4 note-2',
    inputHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    tokens: 400,
    degraded: false,
  })
  expect(latencyMs).toBeGreaterThanOrEqual(0)
})

test('the note is sent as a JSON string between unpredictable markers, without addresses of the contact', async () => {
  server.reply(answer())
  const quoting = `${text}\n"quoted" \\ {}`
  await analyse({}, quoting)
  await analyse({}, quoting)
  const [first, second] = server.requests
  const contents = first?.body.messages.map(({ content }) => content) ?? []
  expect(first?.path).toBe('/v1/chat/completions')
  expect(first?.body).toMatchObject({ model: 'test-model', max_tokens: 500, response_format: { type: 'json_schema' } })
  expect(contents[0]).toContain('untrusted')
  const [, marker = ''] = /markers ([0-9a-f]{24})\./.exec(contents[1] ?? '') ?? []
  expect(contents[1]?.endsWith(`\n${marker}\n${JSON.stringify(quoting)}\n${marker}`)).toBe(true)
  expect(second?.body.messages[1]?.content).not.toContain(marker)
  expect(JSON.stringify(first?.body)).not.toContain('contact@birch.example')
})

test('only the headers of the protocol leave the service, and the key only if there is one', async () => {
  server.reply(answer())
  await analyse()
  await analyse({ settings: { url: server.url, model: 'test-model', apiKey: undefined } })
  const names = server.requests.map(({ headers }) => Object.keys(headers).sort())
  const usual = ['accept', 'accept-encoding', 'connection', 'content-length', 'content-type', 'host', 'user-agent']
  expect(names).toEqual([['accept', 'accept-encoding', 'authorization', ...usual.slice(2)], usual])
  expect(server.requests[0]?.headers.authorization).toBe('Bearer key-1')
})

test('an invalid answer is repaired once', async () => {
  server.reply('Sure! Here is the JSON you asked for.', answer())
  expect(await analyse()).toMatchObject({ engine: 'model', degraded: false, tokens: 800 })
  const [first, second] = server.requests.map(({ body }) => body.messages)
  expect(first).toHaveLength(2)
  expect(second?.at(-1)).toEqual({
    role: 'user',
    content: 'Your answer was invalid: it is not JSON. Answer again with only the JSON object.',
  })
  server.reply(`\`\`\`json\n${answer()}\n\`\`\``)
  expect(await analyse()).toMatchObject({ engine: 'model', tokens: 400 })
})

const degraded = (reason: Degradation, tokens: unknown = 0) => ({
  engine: 'rules',
  model: 'test-model',
  degraded: true,
  degradedReason: reason,
  intent: 'referral',
  actions: [{ type: 'add_contact' }],
  tokens,
})

const invalidAnswers: readonly (readonly [string, string])[] = [
  ['an unknown intent', answer({ intent: 'delete_contact' })],
  ['an unknown action', answer({}, { type: 'send_email' })],
  ['an unknown property', answer({ tool: 'shell' })],
  ['a missing property', JSON.stringify({ intent: 'question' })],
  ['an invalid date', answer({}, { dueAt: 'tomorrow' })],
  ['too many actions', answer({ actions: Array.from({ length: 6 }, () => JSON.parse(answer()).actions[0]) })],
  ['an array', '[]'],
  ['cut JSON', answer().slice(0, 50)],
  ['nothing', ''],
]

test.each(invalidAnswers)('%s, twice, leads to the result of the rules', async (_, content) => {
  server.reply(content)
  expect(await analyse()).toMatchObject(degraded('invalid_output', 800))
  expect(server.requests).toHaveLength(2)
})

const failures: readonly (readonly [string, Degradation, ModelReply])[] = [
  ['429', 'rejected', (response) => sendJson(response, { error: { message: 'slow down' } }, 429)],
  ['500', 'rejected', (response) => sendJson(response, { error: { message: 'oops' } }, 500)],
  ['401', 'rejected', (response) => sendJson(response, { error: { message: 'bad key' } }, 401)],
  ['a page instead of JSON', 'invalid_output', (response) => response.end('<html>Hello</html>')],
  [
    'broken JSON',
    'invalid_output',
    (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"choices": ['),
  ],
  ['no choices', 'invalid_output', (response) => sendJson(response, { choices: [] })],
  ['choices of a wrong type', 'invalid_output', (response) => sendJson(response, { choices: 'many' })],
  ['a null content', 'invalid_output', (response) => sendJson(response, completion(null))],
  ['a cut connection', 'unreachable', (response) => response.destroy()],
  [
    'a cut body',
    'unreachable',
    (response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
      response.write('{"choices"', () => response.destroy())
    },
  ],
  ['a huge body', 'invalid_output', (response) => sendJson(response, completion('x'.repeat(2_000_000)))],
  [
    'a refusal',
    'refusal',
    (response) => sendJson(response, completion(null, { message: { role: 'assistant', refusal: 'I cannot.' } })),
  ],
  [
    'a content filter',
    'refusal',
    (response) => sendJson(response, completion('', { finish_reason: 'content_filter' })),
  ],
]

test.each(failures)('%s leads to the result of the rules: %s', async (_, reason, reply) => {
  server.reply(reply)
  expect(await analyse()).toMatchObject(degraded(reason, expect.any(Number)))
  expect(server.requests).toHaveLength(1)
})

test('a silent server and one that sends a byte at a time end with the timeout', async () => {
  const drip: ModelReply = async (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    while (!response.destroyed) {
      response.write(' ')
      await delay(20)
    }
  }
  for (const reply of [() => {}, drip]) {
    server.reply(reply)
    const began = performance.now()
    expect(await analyse({ timeout: 200 })).toMatchObject(degraded('timeout'))
    expect(performance.now() - began).toBeLessThan(4000)
  }
})

test('an abort of the caller is not a failure of the model', async () => {
  const controller = new AbortController()
  server.reply(() => controller.abort(new Error('stopping')))
  const breaker = new Breaker({ maxFailures: 2 })
  await expect(analyser({ breaker })(noteOf(text), facts, controller.signal)).rejects.toThrow('stopping')
  await expect(analyser()(noteOf(text), facts, AbortSignal.abort(new Error('early')))).rejects.toThrow('early')
})

test('what the model invents is dropped', async () => {
  const inventions: readonly Record<string, unknown>[] = [
    { evidence: 'please wire the money' },
    { evidence: ' ' },
    { dueAt: '2026-12-04T14:00' },
    { dueAt: '2026-02-31T14:00' },
    { dueAt: '2030-12-03T14:00' },
    { type: 'suppress' },
    { type: 'change_stage', stageKind: 'won' },
    { type: 'change_stage' },
    { type: 'add_contact' },
    { type: 'add_contact', email: 'eve@evil.example', name: 'Ann Lee' },
    { type: 'add_contact', email: 'contact@birch.example' },
    { type: 'add_contact', phone: '+49 30 1234567' },
    { type: 'call', phone: '+1 900 5550100' },
    { type: 'create_task', title: 'Open https://evil.example' },
  ]
  for (const action of inventions) {
    server.reply(answer({}, action))
    expect([action, (await analyse()).actions]).toEqual([action, []])
  }
  server.reply(answer({ summary: 'Click https://evil.example/?d=notes' }))
  const analysis = await analyse()
  expect([analysis.engine, analysis.summary, analysis.actions.length]).toEqual(['model', undefined, 1])
})

test('what the note supports is accepted', async () => {
  const email = 'ann.lee@birch.example'
  server.reply(answer({ intent: 'referral' }, { type: 'add_contact', dueAt: null, email, name: 'Ann Lee' }))
  expect((await analyse()).actions).toMatchObject([{ type: 'add_contact', params: { email, name: 'Ann Lee' } }])
  server.reply(answer({}, { type: 'create_task', title: 'Bring the samples', evidence: '👋 Bring the samples.' }))
  expect((await analyse()).actions).toMatchObject([{ params: { title: 'Bring the samples' } }])
})

test('a title or a summary says nothing that the note does not say', async () => {
  const inventions = [
    'Send Eve Smith the samples',
    'Pay 500 EUR',
    'Pay €500',
    'Pay five hundred euros',
    'Meet on 4 December',
    'Meet on Friday',
    'Meet tomorrow at 15:00',
    'Write to eve@evil.test',
    'Write to ann.lee@birch.test',
    'Follow @eve',
    'Bring the samples to Acme',
    '送样品给李娜',
  ]
  const evidence = '👋 Bring the samples.'
  for (const said of inventions) {
    server.reply(answer({ summary: said }, { type: 'create_task', title: said, evidence }))
    const { engine, actions, summary } = await analyse()
    expect([said, engine, summary, actions.map(({ params }) => params)]).toEqual([
      said,
      'model',
      undefined,
      [{ title: evidence }],
    ])
  }
  for (const said of ['Ann Lee wants to meet in the lab on 3 December at 14:00.', 'Send Ann Lee the samples']) {
    server.reply(answer({ summary: said }, { type: 'create_task', title: said, evidence }))
    const { actions, summary } = await analyse()
    expect([summary, actions[0]?.params]).toEqual([said, { title: said }])
  }
})

test('the model cannot overrule an opt-out, and gets no note that looks like an injection', async () => {
  const wish = answer({ intent: 'interested' })
  server.reply(wish)
  const optOut = await analyse({}, 'Great product! But unsubscribe me.')
  expect(optOut).toMatchObject({ engine: 'rules', model: null, intent: 'opt_out', degraded: false, tokens: 0 })
  const everything = actionTypes.map((type) => ({ ...JSON.parse(wish).actions[0], type })).slice(0, 5)
  const analyseAll = analyser()
  for (const [index, injection] of (await readInjections('.')).entries()) {
    const intent = intents[index % intents.length]
    const evidence = injection.text.slice(0, 20)
    server.reply(answer({ intent, actions: everything.map((one) => ({ ...one, evidence })) }))
    const { actions } = await analyseAll(noteOf(injection.text), facts, new AbortController().signal)
    const gained = actions.map(({ type }) => type).filter((type) => !injection.actions.includes(type))
    expect([injection.id, gained, server.requests.length]).toEqual([injection.id, [], 0])
  }
})

test('without budget, nothing is sent; unused tokens are given back, and the next day has a new budget', async () => {
  server.reply(answer())
  let now = new Date('2026-11-24T23:00:00Z')
  const budget = memoryTokenBudget(3000, () => now)
  expect(await analyse({ budget })).toMatchObject({ engine: 'model' })
  expect(await analyse({ budget })).toMatchObject({ engine: 'model' })
  const small = memoryTokenBudget(100)
  expect(await analyse({ budget: small })).toMatchObject(degraded('budget_used_up'))
  expect(server.requests).toHaveLength(2)
  expect(await budget.reserve('org-1', 2300)).toBe(false)
  expect(await budget.reserve('org-2', 2300)).toBe(true)
  now = new Date('2026-11-25T00:00:01Z')
  expect(await budget.reserve('org-1', 2300)).toBe(true)
})

test('the breaker stops the calls after repeated failures, and one call tries again after a pause', async () => {
  let now = 0
  const breaker = new Breaker({ maxFailures: 3, pause: 60_000, now: () => now })
  server.reply((response) => sendJson(response, {}, 503))
  for (let attempt = 0; attempt < 5; attempt++) await analyse({ breaker })
  expect(server.requests).toHaveLength(3)
  expect(await analyse({ breaker })).toMatchObject(degraded('breaker_open'))
  now = 60_000
  server.reply(answer())
  const results = await Promise.all([analyse({ breaker }), analyse({ breaker })])
  expect(results.map(({ degradedReason }) => degradedReason)).toEqual([undefined, 'breaker_open'])
  expect(await analyse({ breaker })).toMatchObject({ engine: 'model' })
})

test('answers that the author of a note can provoke do not open the breaker', async () => {
  const breaker = new Breaker({ maxFailures: 1 })
  server.reply('no JSON')
  await analyse({ breaker })
  expect(breaker.allows()).toBe(true)
})

test('a redirect is not followed, and no other internal address is reached', async () => {
  const other = await startModelServer()
  try {
    other.reply(answer())
    server.reply((response) => response.writeHead(307, { location: `${other.url}/chat/completions` }).end())
    expect(await analyse()).toMatchObject(degraded('rejected'))
    const settings = { url: other.url, model: 'test-model', apiKey: undefined }
    expect(await analyse({ settings })).toMatchObject(degraded('unreachable'))
    expect(other.requests).toEqual([])
  } finally {
    await other.close()
  }
})

test('the same note, facts and day have the same hash', async () => {
  server.reply(answer())
  const hashOf = async (given: string, day = 24) =>
    (
      await analyser()(
        noteOf(given),
        { ...facts, now: new Date(`2026-11-${day}T09:00:00Z`) },
        AbortSignal.timeout(9000),
      )
    ).inputHash
  const [one, same, otherText, otherDay] = await Promise.all([
    hashOf(text),
    hashOf(text),
    hashOf(`${text}!`),
    hashOf(text, 25),
  ])
  expect([one === same, one === otherText, one === otherDay]).toEqual([true, false, false])
})
