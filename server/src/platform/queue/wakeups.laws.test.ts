import fc from 'fast-check'
import pg from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { runsOf, seed } from '../../../test/seed.ts'
import { tablesByPlace } from '../../places.ts'
import { Database } from '../database/database.ts'
import { sql } from '../model/sql.ts'
import { RecentTouches } from './recent-touches.ts'
import { coverageSeconds, findDue } from './wakeups-store.ts'
import { sweep, Wakeups } from './wakeups.ts'
import { citus } from '../database/distribution/citus.ts'

let testDatabase: TestDatabase
let database: Database
let client: pg.Client
beforeAll(async () => {
  testDatabase = await createDatabase()
  database = new Database({ connection: testDatabase.connection, size: 6 })
  database.useEngine(citus(tablesByPlace.organization))
  client = new pg.Client(testDatabase.connection)
  await client.connect()
  await client.query('create table organizations_with_work (organization_id uuid)')
})
afterAll(async () => {
  await client.end()
  await database.close()
  await testDatabase.drop()
})

const organizations = ['1', '2'].map((digit) => `00000000-0000-7000-8000-00000000000${digit}`)
const log = pino({ level: 'silent' })
const { signal } = new AbortController()
const leaseMilliseconds = 60_000
const retryMilliseconds = 1000
const coverage = coverageSeconds * 1000

type Step =
  | { kind: 'commit'; process: number; organization: number }
  | { kind: 'announce' | 'crash'; process: number }
  | { kind: 'goOn'; worker: number; fails: boolean }
  | { kind: 'kill'; worker: number }
  | { kind: 'wait'; milliseconds: number }

const either = fc.nat(1)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 60, arbitrary: fc.record({ kind: fc.constant('commit' as const), process: either, organization: either }) },
  { weight: 70, arbitrary: fc.record({ kind: fc.constant('announce' as const), process: either }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const), process: either }) },
  { weight: 200, arbitrary: fc.record({ kind: fc.constant('goOn' as const), worker: either, fails: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('kill' as const), worker: either }) },
  {
    weight: 20,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      milliseconds: fc.constantFrom(coverage / 3, coverage / 2, coverage, leaseMilliseconds),
    }),
  },
)

/** Processes that commit and announce work, and workers that look for it, one step at a time. */
class Model {
  /** Added to both clocks: that of the processes, and that of the database. */
  #offset = 0
  readonly #clock = () => performance.now() + this.#offset
  /** When the work of an organization is due, on the clock. */
  readonly #work = new Map<string, number[]>()
  /** Organizations with work of a process that crashed before it announced it. */
  readonly lost = new Set<string>()
  readonly #processes = [this.#newProcess(), this.#newProcess()]
  readonly #workers = [this.#newWorker(), this.#newWorker()]

  #newProcess() {
    return { wakeups: new Wakeups({ database, log }, new RecentTouches(this.#clock)), committed: [] as string[] }
  }

  #newWorker(): SteppedWorker {
    const { wakeups } = this.#newProcess()
    return new SteppedWorker(wakeups, {
      secondsUntilDue: (id) => this.secondsUntilDue(id),
      lease: (id) => this.#lease(id),
    })
  }

  secondsUntilDue(id: string): number | undefined {
    const times = this.#work.get(id) ?? []
    return times.length === 0 ? undefined : (Math.min(...times) - this.#clock()) / 1000
  }

  /** Leases the due work; returns what finishes it, or schedules it again if it fails. */
  #lease(id: string): ((fails: boolean) => void) | undefined {
    const times = this.#work.get(id) ?? []
    const now = this.#clock()
    const taken = times.filter((time) => time <= now)
    if (taken.length === 0) return undefined
    const leaseEnd = now + leaseMilliseconds
    const others = times.filter((time) => time > now)
    this.#work.set(id, [...others, leaseEnd])
    return (fails) => {
      const current = this.#work.get(id) ?? []
      const position = current.indexOf(leaseEnd)
      const later = fails ? [this.#clock() + retryMilliseconds] : []
      if (position >= 0) current.splice(position, 1, ...later)
    }
  }

  async run(next: Step): Promise<void> {
    if ('worker' in next) {
      const worker = this.#workers[next.worker]
      if (next.kind === 'kill') this.#workers[next.worker] = this.#newWorker()
      else await worker?.goOn(next.fails)
    } else if (next.kind === 'wait') await this.wait(next.milliseconds)
    else if (next.kind === 'commit') {
      const id = organizations[next.organization] ?? ''
      this.#work.set(id, [...(this.#work.get(id) ?? []), this.#clock()])
      this.#processes[next.process]?.committed.push(id)
    } else if (next.kind === 'announce') await this.#announce(next.process)
    else this.#crash(next.process)
  }

  async #announce(position: number): Promise<void> {
    const { wakeups, committed } = this.#processes[position] ?? this.#newProcess()
    const id = committed.shift()
    if (id === undefined) return
    wakeups.announce('imports', [id], () => undefined)
    await wakeups.idle()
  }

  #crash(position: number): void {
    for (const id of this.#processes[position]?.committed ?? []) this.lost.add(id)
    this.#processes[position] = this.#newProcess()
  }

  async wait(milliseconds: number): Promise<void> {
    this.#offset += milliseconds
    await client.query(
      `update wakeups set due_at = due_at - make_interval(secs => $1), touched_at = touched_at - make_interval(secs => $1)`,
      [milliseconds / 1000],
    )
  }

  /** All processes announce what they have committed; the workers are killed. */
  async end(): Promise<void> {
    for (const [position, { committed }] of this.#processes.entries())
      while (committed.length > 0) await this.#announce(position)
    this.#workers.fill(this.#newWorker())
  }

  /** A worker does all that it finds. Returns when it last looked for more, and found none. */
  async drain(): Promise<number> {
    const worker = this.#newWorker()
    let lookedAt = this.#clock()
    // Once more, because the worker begins after the organization of the one before.
    for (let empty = 0; empty < 2;) {
      if (empty === 0) lookedAt = this.#clock()
      empty = (await worker.goOn()) ? 0 : empty + 1
    }
    return lookedAt
  }

  async sweep(): Promise<void> {
    await client.query('truncate organizations_with_work')
    await client.query('insert into organizations_with_work select unnest($1::uuid[])', [this.left()])
    await sweep(database, sql`organizations_with_work`, [{ kind: 'imports', hasWork: () => sql`true` }])
  }

  /** Organizations with work that was due at this time of the clock. */
  left = (time = this.#clock()): string[] =>
    organizations.filter((id) => (this.#work.get(id) ?? []).some((due) => due <= time))

  unfinished = (): string[] => organizations.filter((id) => this.secondsUntilDue(id) !== undefined)
}

interface WorkOfModel {
  secondsUntilDue: (organizationId: string) => number | undefined
  lease: (organizationId: string) => ((fails: boolean) => void) | undefined
}

/** A worker that stops before each step. */
class SteppedWorker {
  readonly #turns
  #last: string | undefined
  #resume: (() => void) | undefined
  #seconds: number | undefined
  #fails = false
  #running: Promise<unknown> = Promise.resolve()
  readonly #model: WorkOfModel
  #stage: 'idle' | 'found' | 'checked' | 'working' = 'idle'
  #reached: (() => void) | undefined

  constructor(wakeups: Wakeups, model: WorkOfModel) {
    this.#model = model
    const queue = {
      kind: 'imports',
      findOrganization: () => Promise.reject(new Error('The queue itself was searched.')),
      secondsUntilDue: async () => {
        await this.#pauseAt('found')
        return this.#seconds
      },
    }
    this.#turns = wakeups.turns(queue, {
      work: async (id) => {
        const finish = model.lease(id)
        if (finish === undefined) return false
        await this.#pauseAt('working')
        finish(this.#fails)
        return true
      },
      onError: (error) => {
        throw error
      },
    })
  }

  #pauseAt(stage: 'found' | 'working'): Promise<void> {
    this.#stage = stage
    this.#reached?.()
    return new Promise((resolve) => (this.#resume = resolve))
  }

  /** Does the next step; false if it found no wakeup. */
  async goOn(fails = false): Promise<boolean> {
    this.#fails = fails
    if (this.#stage === 'idle') return this.#find()
    if (this.#stage === 'found') {
      this.#seconds = this.#model.secondsUntilDue(this.#last ?? '')
      this.#stage = 'checked'
      return true
    }
    const reached = new Promise<void>((resolve) => (this.#reached = resolve))
    this.#stage = 'idle'
    this.#resume?.()
    await Promise.race([reached, this.#running])
    return true
  }

  async #find(): Promise<boolean> {
    this.#last = await this.#turns.choose(this.#last)
    if (this.#last === undefined) return false
    this.#running = this.#turns.work(this.#last, signal)
    return true
  }
}

test('announced work is found at the latest when its touch no longer covers it, and lost work by the next sweep', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 100, size: 'max' }), async (steps) => {
      await client.query('delete from wakeups')
      const model = new Model()
      for (const next of steps) await model.run(next)
      await model.end()
      await model.wait(coverage)
      expect(model.left(await model.drain()).filter((id) => !model.lost.has(id))).toEqual([])
      await model.wait(retryMilliseconds)
      expect(model.left(await model.drain()).filter((id) => !model.lost.has(id))).toEqual([])
      // Killed workers had leases.
      await model.wait(leaseMilliseconds + coverage)
      await model.drain()
      expect(model.unfinished().filter((id) => !model.lost.has(id))).toEqual([])
      await model.sweep()
      await model.drain()
      await model.wait(leaseMilliseconds + coverage)
      await model.drain()
      expect(model.unfinished()).toEqual([])
      // Without work, no wakeup is left, so that nothing is sent to the shards.
      for (let round = 0; round < 2; round++) {
        await model.wait(coverage)
        await model.drain()
      }
      expect(await findDue(database, 'imports')).toBeUndefined()
      expect((await client.query('select from wakeups')).rows).toEqual([])
    }),
    { seed, numRuns: runsOf(200), endOnFailure: true },
  )
}, 120_000)
