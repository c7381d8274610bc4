import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { isDistributed } from '../../../test/engines.ts'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { until } from '../../../test/processes.ts'
import { newImport, newLead, rowsOf, type TestImport } from '../../../test/pushes.ts'
import { openRaw, requestText } from '../../../test/raw-http.ts'
import { expectRefusal } from '../../../test/refusals.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'
import type { Database } from '../../platform/database/database.ts'
import { raw, sql } from '../../platform/model/sql.ts'
import type { Push } from './push.ts'
import { newId } from '../../platform/model/ids.ts'
import type { IntakeDatabase } from './intake-store.ts'
import { createIntake } from './intake.ts'
import { generateTriggerSecret } from '../imports/trigger.ts'

let testDatabase: TestDatabase
let service: TestService
let organization: TestOrganization

beforeAll(async () => {
  testDatabase = await createDatabase()
  service = await startTestService({}, { ...testDatabase, drop: async () => undefined })
  organization = await service.newOrganization()
})
afterAll(async () => {
  await service.close()
  await testDatabase.drop()
})

const check = (statement: ReturnType<typeof sql>) =>
  service.database.crossTenantQuery<Json>('check the database', statement)

const idsOf = async (target: TestImport): Promise<string[]> =>
  (await rowsOf(service.database, target)).map(({ shown }) => shown)

/** Locks the table of rows on a separate connection, so that nothing can be inserted. */
async function lockRows(): Promise<{ release(): Promise<void> }> {
  const client = new pg.Client(testDatabase.connection)
  await client.connect()
  await client.query('begin')
  await client.query('lock table import_rows in access exclusive mode')
  let isHeld = true
  const release = async () => {
    if (!isHeld) return
    isHeld = false
    await client.end()
  }
  onTestFinished(release)
  return { release }
}

const inserting = async (): Promise<number> => {
  const [row] = await check(
    sql`select count(*)::int as count from ${raw(isDistributed() ? 'citus_stat_activity' : 'pg_stat_activity')}
      where datname = current_database() and pid <> pg_backend_pid() and wait_event_type = 'Lock'
        and query like '%insert into import_rows%'`,
  )
  return row.count
}

test('a push that the database rejects does not affect its batch and is not logged', async () => {
  const target = await newImport(service, organization)
  const word = `poison-${randomUUID()}`
  await check(
    sql`alter table import_rows add constraint poison check (payload->'contact'->>'nickname' is null) not valid`,
  )
  onTestFinished(async () => void (await check(sql`alter table import_rows drop constraint poison`)))
  const pushes = Array.from({ length: 60 }, (_, index) => {
    const { contact } = newLead()
    return index % 20 === 7 ? { contact: { ...contact, nickname: word } } : { contact }
  })
  const responses = await Promise.all(
    pushes.map((push, index) => target.push(push, index % 3 ? {} : { headers: { 'idempotency-key': newId() } })),
  )
  const stored = responses.filter(({ status }) => status === 200)
  expect(stored).toHaveLength(57)
  expect((await idsOf(target)).sort()).toEqual(stored.map(({ body }) => body.id).sort())
  for (const response of responses.filter((one) => !stored.includes(one))) {
    expectRefusal(response, 500, 'internal_error')
    expect(response.text).not.toContain(word)
  }
  expect(service.logged.filter((line) => line.includes('"level":50'))).toHaveLength(3)
  expect(service.logged.filter((line) => line.includes(word))).toEqual([])
})

test('while the database is blocked, pushes get 503 in time, and those with a 200 are stored', async () => {
  const target = await newImport(service, organization)
  expect((await target.push()).status).toBe(200)
  const { release } = await lockRows()
  const waves: Promise<Json>[] = []
  for (let wave = 0; wave < 4; wave++) {
    waves.push(...Array.from({ length: 10 }, () => target.push()))
    await until('the wave is on its way', async () => (await inserting()) >= Math.min(wave + 1, 2))
  }
  const began = performance.now()
  const responses = await Promise.all(waves)
  expect(performance.now() - began).toBeLessThan(10_000)
  const codes = new Set(responses.map((response) => expectRefusal(response, 503).code))
  expect([...codes].sort()).toEqual(['overloaded', 'timeout'])
  for (const { headers } of responses) expect(headers.get('retry-after')).toMatch(/^\d+$/)
  await release()
  expect((await target.push()).status).toBe(200)
  expect(await idsOf(target)).toHaveLength(2)
})

test('a push whose client has disconnected is stored before the service stops', async () => {
  const leaving = await startTestService({}, { ...testDatabase, drop: async () => undefined })
  const target = await newImport(service, organization)
  const { release } = await lockRows()
  const connection = await openRaw(leaving.url)
  const body = JSON.stringify(newLead())
  connection.write(requestText('POST', target.path, { body, headers: { 'content-type': 'application/json' } }))
  await until('the push is at the database', async () => (await inserting()) === 1)
  connection.socket.resetAndDestroy()
  await until('its sender is gone', () => leaving.logged.some((line) => line.includes('"status":499')))
  const closed = leaving.close()
  await release()
  await closed
  expect(await idsOf(target)).toHaveLength(1)
})

test('broken database connections neither lose nor duplicate a push with a 200', async () => {
  const target = await newImport(service, organization)
  let isDone = false
  let broken = 0
  const breaking = (async () => {
    while (!isDone) {
      const killed = await check(
        sql`select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid()
            and (query like '%insert into import_rows%' or query like '%run_in_organization%' or query = 'commit')`,
      )
      broken += killed.length
    }
  })()
  const responses: Json[] = []
  for (let wave = 0; wave < 10; wave++) {
    const pushes = Array.from({ length: 20 }, (_, index) =>
      target.push(newLead(), index % 2 ? { headers: { 'idempotency-key': newId() } } : {}),
    )
    responses.push(...(await Promise.all(pushes)))
  }
  isDone = true
  await breaking
  expect(broken).toBeGreaterThan(0)
  const stored = responses.filter(({ status }) => status === 200).map(({ body }) => body.id)
  for (const response of responses.filter(({ status }) => status !== 200)) expectRefusal(response, 503)
  const rows = await idsOf(target)
  expect(new Set(stored).size).toBe(stored.length)
  expect(new Set(rows).size).toBe(rows.length)
  expect(stored.filter((id) => !rows.includes(id))).toEqual([])
  expect(rows.length).toBeLessThanOrEqual(responses.length)
  // No client repeated a push, so none is marked as a replay, although the service sent some inserts twice.
  expect(responses.filter(({ headers }) => headers.has('idempotent-replayed'))).toEqual([])
})

/** An intake in this process whose statements go through `around`. */
async function localIntake(around: (send: () => Promise<Json>, count: number) => Promise<Json>) {
  const target = await newImport(service, organization)
  let count = 0
  const database = {
    writesTablesTogether: service.database.writesTablesTogether,
    crossTenantQuery: (purpose: Parameters<Database['crossTenantQuery']>[0], statement: ReturnType<typeof sql>) =>
      around(() => service.database.crossTenantQuery<Json>(purpose, statement), ++count),
    // The import's state, and then the inserts.
    crossTenantBatch: (...parameters: Parameters<Database['crossTenantBatch']>) =>
      around(() => service.database.crossTenantBatch<Json>(...parameters), ++count),
  } as IntakeDatabase
  const accepted: string[] = []
  const intake = createIntake({
    database,
    onAccepted: (ids) => accepted.push(...ids),
    importBytesPerDay: 0,
    log: pino({ level: 'silent' }),
  })
  const trigger = await intake.find(target.uuid, target.hash)
  if (!trigger) throw new Error('the import is open')
  const push = (key?: Push['key']) =>
    intake.store(trigger, { payload: Buffer.from(JSON.stringify(newLead())), parameters: {}, key })
  return { target, trigger, intake, push, accepted, sent: () => count }
}

const newKey = () => ({ keyHash: Buffer.from(newId()), requestHash: Buffer.alloc(32) })

test('an insert that is repeated because its response was lost stores each push once', async () => {
  const { target, push, accepted, trigger } = await localIntake(async (send, count) => {
    // The first two find the import; the third is the insert.
    if (count === 3) await send()
    return send()
  })
  const stored = await Promise.all([push(), push(newKey()), push(newKey()), push()])
  expect(stored.map(({ isReplay }) => isReplay)).toEqual([false, false, false, false])
  const rows = await rowsOf(service.database, target)
  expect(rows.map(({ id, created_at }) => [id, created_at])).toEqual(stored.map(({ id, createdAt }) => [id, createdAt]))
  expect(accepted).toEqual([trigger.organizationId])
})

test('a push with an unknown outcome gets 503, and the rest of its batch is stored', async () => {
  const { target, push } = await localIntake(async (send, count) => {
    if (count === 5) throw new Error('the connection is lost')
    return send()
  })
  const key = newKey()
  await push(key)
  const outcomes = await Promise.allSettled([push(), push(key), push()])
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(await rowsOf(service.database, target)).toHaveLength(3)
})

test('import workers are notified once per organization and batch, and not for a replay', async () => {
  const { push, accepted, trigger } = await localIntake((send) => send())
  const key = newKey()
  await Promise.all([push(), push(key), push()])
  expect(accepted).toEqual([trigger.organizationId])
  expect((await push(key)).isReplay).toBe(true)
  expect(accepted).toEqual([trigger.organizationId])
})

test('a push whose import was enabled again before the outcome was read gets a retryable 503', async () => {
  const { target, push } = await localIntake(async (send, count) => {
    const set = (disabledAt: string | null) =>
      check(sql`update imports set disabled_at = ${disabledAt} where id = ${target.uuid}::uuid`)
    if (count === 3) await set('now')
    if (count === 4) await set(null)
    return send()
  })
  await expect(push()).rejects.toMatchObject({ code: 'overloaded', headers: { 'retry-after': '1' } })
  expect((await push()).isReplay).toBe(false)
  expect(await rowsOf(service.database, target)).toHaveLength(1)
})

test('many simultaneous wrong secrets are checked with at most two look-ups', async () => {
  const { target, intake, sent } = await localIntake((send) => send())
  const before = sent()
  const guesses = Array.from({ length: 200 }, (_, index) =>
    intake.find(index % 2 ? target.uuid : newId(), generateTriggerSecret()),
  )
  expect((await Promise.all(guesses)).filter((found) => found !== undefined)).toEqual([])
  // Each is a statement for the triggers and a batch for the imports.
  expect(sent() - before).toBeLessThanOrEqual(4)
  expect(await intake.find(target.uuid, target.hash)).toMatchObject({ importId: target.uuid })
})
