import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { until } from '../../../test/processes.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { type Sql, sql } from '../../platform/model/sql.ts'
import { Wakeups } from '../../platform/queue/wakeups.ts'
import { analyseByRules } from '../analysis/local-rules.ts'
import type { Analyse } from '../analysis/analysis.ts'
import { createAnalysisWorkers } from './analysis-workers.ts'
import { claimNotes, releaseNotes } from './claim-store.ts'
import { storeAnalyses } from './result-store.ts'
import { storedTokenBudget } from './token-store.ts'

let service: TestService
let organization: TestOrganization
let path: string
beforeAll(async () => {
  service = await startTestService()
})
beforeEach(async () => {
  organization = await service.newOrganization()
  const { body } = await organization.call('POST', '/v5/contacts', { body: { email: 'ada@example.com' } })
  path = `/v5/contacts/${body.id}/notes`
})
afterAll(() => service.close())

const note = async (body: string): Promise<Json> => (await organization.call('POST', path, { body: { body } })).body
const read = async (url: string): Promise<Json> => (await organization.call('GET', url)).body
const uuid = () => decodeId('org', organization.organizationId) ?? ''
const claim = () => claimNotes(service.database, uuid(), { maxNotes: 10, leaseSeconds: 60 })
const run = (statement: ReturnType<typeof sql>) => service.database.crossTenantQuery('check the database', statement)
/** In the past, because times are rounded to milliseconds. */
const expireLeases = (ofNotes: Sql = sql`true`) =>
  run(sql`update note_leases set expires_at = now() - interval '1 second'
    where organization_id = ${uuid()}::uuid and ${ofNotes}`)

/** The signal of a service that runs. */
const { signal } = new AbortController()

/** Analyses and stores the notes of a claim. */
async function finish(claimed: Awaited<ReturnType<typeof claim>>): Promise<void> {
  const analysed = await Promise.all(
    claimed.notes.map(async (one) => ({
      note: one,
      analysis: await analyseByRules({ organizationId: uuid(), text: one.text }, one.facts, signal),
    })),
  )
  await storeAnalyses(service.database, claimed, analysed)
}

/** Runs workers with this engine until the notes are no longer queued. Those with the text `poison` need not wait. */
async function analyseWith(analyse: Analyse, notes: readonly Json[]): Promise<void> {
  // The lease of another note may be that of a worker which is analysing it.
  const isPoison = sql`note_id in (
    select id from notes where organization_id = ${uuid()}::uuid and body = 'poison')`
  const log = pino({ level: 'silent' })
  const { database } = service
  const wakeups = new Wakeups({ database, log })
  const options = { database, log, wakeups, analyse, workers: 2, maxNotes: 10, ready: Promise.resolve() }
  const workers = createAnalysisWorkers(options)
  try {
    for (const { id } of notes) {
      await until('the note is analysed', async () => {
        await expireLeases(isPoison)
        workers.wake()
        return (await read(`/v5/notes/${id}`)).reasoningQueuedAt === null
      })
    }
  } finally {
    await workers.close()
  }
}

test('a note is claimed once, its result is stored once, and a lost lease stores nothing', async () => {
  await note('Please call me.')
  const [first, second] = await Promise.all([claim(), claim()])
  expect(first.notes.length + second.notes.length).toBe(1)
  const lost = first.notes.length > 0 ? first : second
  await expireLeases()
  const taken = await claim()
  expect(taken.notes).toMatchObject([{ attempts: 2, text: 'Please call me.' }])
  await finish(lost)
  expect((await read('/v5/note-analyses/count')).count).toBe(0)
  await Promise.all([finish(taken), finish(taken)])
  await finish(taken)
  expect((await read('/v5/suggestions/count')).count).toBe(1)
  expect(await claim()).toMatchObject({ notes: [] })
})

test('a result is dropped if the note was changed or deleted meanwhile', async () => {
  const [changed, deleted] = [await note('Please call me.'), await note('Please call me.')]
  const claimed = await claim()
  await organization.call('PATCH', `/v5/notes/${changed.id}`, { body: { body: 'Can you send me the price list?' } })
  await organization.call('DELETE', `/v5/notes/${deleted.id}`)
  await finish(claimed)
  expect((await read('/v5/note-analyses/count')).count).toBe(0)
  await finish(await claim())
  expect(await read('/v5/suggestions')).toMatchObject([{ noteId: changed.id, type: 'reply' }])
  // Restored before it was ever analysed.
  await organization.call('POST', `/v5/notes/${deleted.id}/restore`)
  expect((await claim()).notes).toMatchObject([{ id: decodeId('not', deleted.id) }])
})

test('notes that were released are free again, without counting the attempt', async () => {
  await note('Please call me.')
  const claimed = await claim()
  await releaseNotes(service.database, claimed)
  const again = await claim()
  expect(again.notes).toMatchObject([{ attempts: 1 }])
  await releaseNotes(service.database, again, 60)
  expect((await claim()).notes).toEqual([])
})

test('a note that always fails is recorded as failed, and does not delay the others', async () => {
  const [poison, other] = [await note('poison'), await note('Please call me.')]
  const analyse: Analyse = async (given, facts, given_signal) => {
    if (given.text === 'poison') throw new Error('poison')
    return analyseByRules(given, facts, given_signal)
  }
  await analyseWith(analyse, [other, poison])
  const [failed] = await read(`/v5/note-analyses?noteId=${poison.id}`)
  expect(failed).toMatchObject({ intent: 'unclear', degraded: true, degradedReason: 'failed' })
  expect(await read('/v5/suggestions')).toMatchObject([{ noteId: other.id, type: 'call' }])
})

test('a note that has waited for more than 30 days leaves the queue without suggestions', async () => {
  const [old, recent] = [await note('Please call me.'), await note('Please call me.')]
  await run(sql`update notes set reasoning_queued_at = now() - interval '31 days'
    where id = ${decodeId('not', old.id)}::uuid`)
  await analyseWith(analyseByRules, [old, recent])
  expect(await read('/v5/suggestions')).toMatchObject([{ noteId: recent.id }])
})

test('a stopping worker gives its notes back', async () => {
  const waiting = await note('Please call me.')
  let start: () => void = () => undefined
  const started = new Promise<void>((resolve) => (start = resolve))
  const analyse: Analyse = (_, __, closing) =>
    new Promise((_resolve, reject) => {
      start()
      closing.addEventListener('abort', () => reject(new Error('stopping')))
    })
  const log = pino({ level: 'silent' })
  const { database } = service
  const workers = createAnalysisWorkers({
    database,
    log,
    wakeups: new Wakeups({ database, log }),
    analyse,
    workers: 1,
    maxNotes: 10,
    ready: Promise.resolve(),
  })
  await started
  await workers.close()
  expect((await claim()).notes).toMatchObject([{ id: decodeId('not', waiting.id), attempts: 1 }])
})

test('the token budget holds across processes, and a new day begins with a full one', async () => {
  const [one, other] = [storedTokenBudget(service.database, 1000), storedTokenBudget(service.database, 1000)]
  const reserved = await Promise.all([1, 2, 3, 4].map((number) => (number % 2 ? one : other).reserve(uuid(), 400)))
  expect(reserved.filter(Boolean).length).toBe(2)
  await other.correct(uuid(), { reserved: 400, used: 100 })
  expect([await one.reserve(uuid(), 501), await one.reserve(uuid(), 500)]).toEqual([false, true])
  await run(sql`update reasoning_tokens set day = day - 1 where organization_id = ${uuid()}::uuid`)
  expect([await one.reserve(uuid(), 1001), await other.reserve(uuid(), 1000), await one.reserve(uuid(), 1)]).toEqual([
    false,
    true,
    false,
  ])
})
