import pg from 'pg'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { until } from '../../../test/processes.ts'
import { tablesByPlace } from '../../places.ts'
import { Database } from '../database/database.ts'
import { newId } from '../model/ids.ts'
import { sql } from '../model/sql.ts'
import type { Queue } from './queue.ts'
import { RecentTouches } from './recent-touches.ts'
import { claimSweep, findDue, touch } from './wakeups-store.ts'
import { startSweep, Wakeups } from './wakeups.ts'
import { startQueueWorkers } from './workers.ts'
import { citus } from '../database/distribution/citus.ts'

let testDatabase: TestDatabase
let client: pg.Client
let database: Database
let onOneServer: Database
beforeAll(async () => {
  testDatabase = await createDatabase()
  client = new pg.Client(testDatabase.connection)
  await client.connect()
  await client.query('create table organizations_with_work (organization_id uuid)')
  database = new Database({ connection: testDatabase.connection, size: 4 })
  database.useEngine(citus(tablesByPlace.organization))
  onOneServer = new Database({ connection: testDatabase.connection, size: 1 })
})
beforeEach(async () => void (await client.query('delete from wakeups')))
afterAll(async () => {
  await client.end()
  await Promise.all([database.close(), onOneServer.close()])
  await testDatabase.drop()
})
const closing: { close(): Promise<void> }[] = []
afterEach(async () => void (await Promise.all(closing.splice(0).map((each) => each.close()))))

const log = pino({ level: 'silent' })
const findOrganization = () => Promise.reject(new Error('The queue itself was searched.'))
const rethrow = (error: unknown) => {
  throw error
}
const ids = [newId(), newId(), newId()].sort() as [string, string, string]
const [first, second, third] = ids
const stored = async () => (await client.query('select * from wakeups order by kind, organization_id')).rows

test('organizations take turns, and kinds of work are independent', async () => {
  await touch(database, 'imports', ids)
  await touch(database, 'notes', [second])
  const turns: (string | undefined)[] = []
  for (let last: string | undefined; turns.length < 4; turns.push(last))
    last = (await findDue(database, 'imports', last))?.organizationId
  expect(turns).toEqual([first, second, third, first])
  expect((await findDue(database, 'notes', first))?.organizationId).toBe(second)
  expect((await findDue(database, 'notes', second))?.organizationId).toBe(second)
})

test('a kind of work without anything due removes only its own wakeup', async () => {
  await touch(database, 'imports', [first])
  await touch(database, 'notes', [first])
  await client.query(`update wakeups set touch = $1, touched_at = now() - interval '1 minute'`, [newId()])
  const turns = new Wakeups({ database, log }).turns(
    { kind: 'notes', findOrganization, secondsUntilDue: async () => 30 },
    { work: () => Promise.reject(new Error('Nothing is due.')), onError: rethrow },
  )
  const { signal } = new AbortController()
  await turns.work((await turns.choose(undefined)) ?? '', signal)
  expect(await findDue(database, 'notes')).toBeUndefined()
  expect(await findDue(database, 'imports')).toMatchObject({ organizationId: first })
})

test('a worker that stalls before it puts a wakeup off does not put off work that is due by then', async () => {
  await touch(database, 'imports', [first])
  let worked = 0
  let dueSeconds = 60
  const turns = new Wakeups({ database, log }).turns(
    {
      kind: 'imports',
      findOrganization,
      secondsUntilDue: async () => {
        const seconds = dueSeconds
        // The worker stalls for a minute: the stored times move instead of the clock.
        await client.query(
          `update wakeups set due_at = due_at - interval '1 minute', touched_at = touched_at - interval '1 minute'`,
        )
        dueSeconds = 0
        return seconds
      },
    },
    { work: async () => ((worked += 1), true), onError: rethrow },
  )
  const { signal } = new AbortController()
  await turns.work((await turns.choose(undefined)) ?? '', signal)
  expect(worked).toBe(0)
  await turns.work((await turns.choose(undefined)) ?? '', signal)
  expect(worked).toBe(1)
})

test('announcements that follow each other closely send one statement', async () => {
  // They follow each other closely, however slow the machine is.
  const wakeups = new Wakeups({ database, log }, new RecentTouches(() => 0))
  let woken = 0
  for (let count = 0; count < 50; count++) wakeups.announce('imports', [first], () => (woken += 1))
  await wakeups.idle()
  expect(woken).toBe(50)
  const [{ touch: sent }] = await stored()
  wakeups.announce('imports', [first, second], () => undefined)
  await wakeups.idle()
  expect(await stored()).toMatchObject([{ touch: sent }, { organization_id: second }])
})

test('a touch that waited for another one does not shorten the time that the other one covers', async () => {
  await touch(database, 'imports', [first])
  await client.query(`update wakeups set touched_at = now() + interval '1 minute'`)
  await touch(database, 'imports', [first])
  expect((await findDue(database, 'imports'))?.coveredSeconds).toBeGreaterThan(50)
})

test('an organization whose work fails does not delay others, and is tried again once work is announced', async () => {
  const wakeups = new Wakeups({ database, log })
  await touch(database, 'imports', ids)
  const worked: string[] = []
  const errors: unknown[] = []
  const left = new Set([second, third])
  const queue: Queue = {
    kind: 'imports',
    findOrganization,
    secondsUntilDue: async (_, id) => (id === first || left.has(id) ? 0 : undefined),
    hasWork: () => sql`true`,
  }
  closing.push(
    startQueueWorkers(queue, {
      ready: Promise.resolve(),
      log,
      wakeups,
      workers: 1,
      pollIntervals: { shortest: 5, longest: 5 },
      isTransient: (error) => errors.push(error) > 0,
      work: async (id) => {
        worked.push(id)
        if (id === first) throw new Error('Its shard is not available.')
        return left.delete(id)
      },
    }),
  )
  await until('the others are worked on', async () => left.size === 0)
  expect(worked).toEqual(ids)
  expect(errors).toHaveLength(1)
  await until('only the failed one is left', async () => (await stored()).length === 1)
  expect(worked).toEqual(ids)
  await touch(database, 'imports', [first])
  await until('it is tried again', async () => worked.length > ids.length)
})

test('work that ends before its lease is looked for again, although another worker has waited for the lease', async () => {
  await touch(database, 'imports', [first])
  await client.query(`update wakeups set touched_at = now() - interval '1 minute'`)
  let isLeased = false
  const turnsOf = (finished: Promise<void>) =>
    new Wakeups({ database, log }).turns(
      { kind: 'imports', findOrganization, secondsUntilDue: async () => (isLeased ? 60 : 0) },
      {
        work: async () => {
          isLeased = true
          await finished
          return true
        },
        onError: rethrow,
      },
    )
  let finish: () => void = () => undefined
  const [working, other] = [turnsOf(new Promise((resolve) => (finish = resolve))), turnsOf(Promise.resolve())]
  const { signal } = new AbortController()
  const [chosen, sameChosen] = [await working.choose(undefined), await other.choose(undefined)]
  const work = working.work(chosen ?? '', signal)
  await until('the work has begun', async () => isLeased)
  await other.work(sameChosen ?? '', signal)
  expect(await findDue(database, 'imports')).toBeUndefined()
  finish()
  await work
  expect(await findDue(database, 'imports')).toMatchObject({ organizationId: first })
})

test('of several processes, one sweeps in each interval, and each sweeps when it starts', async () => {
  const claims = await Promise.all([1, 2, 3].map(() => claimSweep(database, 'sweep', 60)))
  expect(claims.filter(Boolean)).toHaveLength(1)
  await client.query(`update wakeups set due_at = now() where kind = 'sweep'`)
  expect([await claimSweep(database, 'sweep', 60), await claimSweep(database, 'sweep', 60)]).toEqual([true, false])
  await client.query('insert into organizations_with_work values ($1), ($2)', [first, second])
  const kinds = [
    { kind: 'imports', hasWork: () => sql`true` },
    { kind: 'notes', hasWork: (organization: ReturnType<typeof sql>) => sql`${organization} = ${second}::uuid` },
  ]
  closing.push(
    startSweep({ database, log, ready: Promise.resolve(), organizations: sql`organizations_with_work`, kinds }),
  )
  await until('the work is found', async () => (await stored()).length === 4)
  expect(await stored()).toMatchObject([
    { kind: 'imports', organization_id: first },
    { kind: 'imports', organization_id: second },
    { kind: 'notes', organization_id: second },
    { kind: 'sweep' },
  ])
})

test('on a single server, workers search the queue itself, and nothing is written', async () => {
  const wakeups = new Wakeups({ database: onOneServer, log })
  let isWoken = false
  wakeups.announce('imports', [first], () => (isWoken = true))
  expect(isWoken).toBe(true)
  const turns = wakeups.turns(
    {
      kind: 'imports',
      findOrganization: async (_, after) => (after < first ? first : undefined),
      secondsUntilDue: () => Promise.reject(new Error('Not needed.')),
    },
    { work: async (id) => id === first, onError: rethrow },
  )
  const { signal } = new AbortController()
  expect([await turns.choose(undefined), await turns.choose(first), await turns.work(first, signal)]).toEqual([
    first,
    first,
    true,
  ])
  expect(await stored()).toEqual([])
})
