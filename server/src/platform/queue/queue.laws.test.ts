import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type LeasedQueue,
  leasedNotes,
  leasedRows,
  leaseSeconds,
  newIds,
  type TestClaim,
} from '../../../test/leased-queues.ts'
import { lawTimes, runsOf, seed } from '../../../test/seed.ts'
import { startTestService, type TestService } from '../../../test/service.ts'
import type { Database } from '../database/database.ts'
import { findInTurn, maxLossesInBatch } from './queue.ts'

let service: TestService
const queues = new Map<string, LeasedQueue>()
beforeAll(async () => {
  service = await startTestService()
  const organizations = [
    await service.newOrganization(),
    await service.newOrganization(),
    await service.newOrganization(),
  ]
  queues.set('rows', leasedRows(service, organizations))
  queues.set('notes', await leasedNotes(service, organizations))
})
afterAll(() => service.close())

type End = 'finish' | 'release' | 'fail'

type Step =
  | { kind: 'add'; organization: number; count: number }
  /** Several workers may claim at the same time. The one that keeps the claim crashes if it has one. */
  | { kind: 'claim'; worker: number; atOnce: number }
  | { kind: 'end'; worker: number; how: End }
  /** A worker that seemed dead continues. */
  | { kind: 'return'; stalled: number; how: End }
  | { kind: 'wait'; seconds: number }

const how = fc.constantFrom<End>('finish', 'release', 'fail')
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('add' as const),
      organization: fc.nat(2),
      count: fc.integer({ min: 1, max: 5 }),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant('claim' as const), worker: fc.nat(1), atOnce: fc.constantFrom(1, 1, 2) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('end' as const), worker: fc.nat(1), how }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('return' as const), stalled: fc.nat(20), how }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      seconds: fc.constantFrom(2, leaseSeconds / 2, leaseSeconds + 2),
    }),
  },
)

/** Milliseconds on the clock of the model: when something happens at the earliest and at the latest. */
interface Range {
  earliest: number
  latest: number
}

interface Item {
  id: string
  organizationId: string
  /** When it can be claimed; the end of its lease if it has one. */
  due: Range
  /** Who has the lease, or had it and has neither ended it nor lost it to another one. */
  holder: TestClaim | undefined
  losses: number
  end?: 'finished' | 'given up'
}

/** The database rounds times to milliseconds. */
const rounding = 5

/** What a queue has promised, next to the queue itself. */
class Model {
  readonly #queue: LeasedQueue
  readonly #database: Database
  /** What was waited, in milliseconds. */
  #offset = 0
  readonly #items = new Map<string, Item>()
  readonly #workers: { last: string | undefined; claim: TestClaim | undefined }[] = [0, 1].map(() => ({
    last: undefined,
    claim: undefined,
  }))
  readonly #stalled: TestClaim[] = []

  constructor(queue: LeasedQueue, database: Database) {
    this.#queue = queue
    this.#database = database
  }

  /** The clock of this machine, which the database reads too. */
  #clock = () => Date.now() + this.#offset

  async #timed<Result>(work: () => Promise<Result>): Promise<[Result, Range]> {
    const earliest = this.#clock() - rounding
    return [await work(), { earliest, latest: this.#clock() + rounding }]
  }

  async run(next: Step): Promise<void> {
    if (next.kind === 'add') await this.#add(next.organization, next.count)
    else if (next.kind === 'wait') await this.wait(next.seconds)
    else if (next.kind === 'claim') await this.#claim(next.worker, next.atOnce)
    else {
      const claim =
        next.kind === 'end'
          ? this.#workers[next.worker]?.claim
          : this.#stalled.at(next.stalled % this.#stalled.length || 0)
      if (claim) await this.#end(claim, next.how)
    }
  }

  async #add(organization: number, count: number): Promise<void> {
    const organizationId = this.#queue.organizationIds[organization] ?? ''
    const ids = newIds(count)
    const [, due] = await this.#timed(() => this.#queue.add(organizationId, ids))
    for (const id of ids) this.#items.set(id, { id, organizationId, due, holder: undefined, losses: 0 })
  }

  async wait(seconds: number): Promise<void> {
    await this.#queue.wait(seconds)
    this.#offset += seconds * 1000
  }

  #item = (id: string): Item => {
    const item = this.#items.get(id)
    if (!item) throw new Error('An item of nobody.')
    return item
  }

  /** Items that have not ended, of one organization or all. */
  #open = (organizationId?: string): Item[] =>
    [...this.#items.values()].filter(
      (item) => item.end === undefined && (organizationId === undefined || item.organizationId === organizationId),
    )

  #isDue = (organizationId: string, { earliest }: Range): boolean =>
    this.#open(organizationId).some(({ due }) => due.latest <= earliest)

  /** False if there was nothing to claim. */
  async #claim(number: number, atOnce: number): Promise<boolean> {
    const worker = this.#workers[number]
    if (!worker) throw new Error('There are two workers.')
    const organizationId = await this.#chooseAfter(worker.last)
    if (organizationId === undefined) return false
    worker.last = organizationId
    const [claims, at] = await this.#timed(() =>
      Promise.all(Array.from({ length: atOnce }, () => this.#queue.claim(organizationId))),
    )
    const isDue = this.#isDue(organizationId, at)
    const givenUp = await this.#markGivenUp()
    // Of several that claim at the same time, one may find everything locked.
    if (isDue) expect(givenUp + claims.flatMap(({ items }) => items).length).toBeGreaterThan(0)
    for (const claim of claims) {
      this.#take(claim, at)
      if (worker.claim) this.#stalled.push(worker.claim)
      worker.claim = claim
    }
    return true
  }

  /** Law: organizations take turns, however many items one of them has. */
  async #chooseAfter(last: string | undefined): Promise<string | undefined> {
    const { organizationIds, queue } = this.#queue
    const [chosen, at] = await this.#timed(() => findInTurn(last, (id) => queue.findOrganization(this.#database, id)))
    const begin = organizationIds.findIndex((id) => last === undefined || id > last)
    const inTurn = begin < 0 ? organizationIds : [...organizationIds.slice(begin), ...organizationIds.slice(0, begin)]
    const skipped = chosen === undefined ? inTurn : inTurn.slice(0, inTurn.indexOf(chosen))
    expect(skipped.filter((id) => this.#isDue(id, at))).toEqual([])
    if (chosen !== undefined) expect(this.#open(chosen).filter(({ due }) => due.earliest <= at.latest)).not.toEqual([])
    return chosen
  }

  /** Law: only an item that was lost too often is given up, not those that it was with. */
  async #markGivenUp(): Promise<number> {
    const newly = (await this.#queue.givenUp()).filter((id) => this.#items.get(id)?.end !== 'given up')
    for (const id of newly) {
      const item = this.#item(id)
      expect(lossesOf(item)).toBe(this.#queue.maxLosses)
      item.end = 'given up'
      item.holder = undefined
    }
    return newly.length
  }

  /** Law: an item has at most one live lease, and one that may have ended its process is claimed alone. */
  #take(claim: TestClaim, at: Range): void {
    for (const item of claim.items.map(this.#item)) {
      expect(item.end).toBeUndefined()
      expect(item.due.earliest).toBeLessThanOrEqual(at.latest)
      item.losses = lossesOf(item)
      expect(item.losses).toBeLessThan(this.#queue.maxLosses)
      if (item.losses >= maxLossesInBatch) expect(claim.items).toHaveLength(1)
      item.holder = claim
      item.due = after(at, leaseSeconds, leaseSeconds)
    }
  }

  /** Law: who has lost the lease, or has ended it, changes nothing any more. */
  async #end(claim: TestClaim, how: End): Promise<void> {
    const [first] = claim.items
    if (first === undefined) return
    const [, at] = await this.#timed(() => (how === 'fail' ? claim.fail(first) : claim[how]()))
    for (const id of how === 'fail' ? [first] : claim.items) {
      const item = this.#item(id)
      if (item.holder !== claim) continue
      item.holder = undefined
      if (how === 'finish') item.end = 'finished'
      else if (how === 'release') item.due = after(at, 0, 1)
      else {
        item.due = after(at, 0.5, 1.5)
        item.losses = this.#queue.countsFailures ? item.losses + 1 : 0
      }
    }
    await this.#checkResults()
  }

  /** Law: what is finished has one result. */
  async #checkResults(): Promise<void> {
    const finished = [...this.#items.values()].filter(({ end }) => end === 'finished').map(({ id }) => id)
    expect((await this.#queue.results()).sort()).toEqual(finished.sort())
  }

  /** Law: whatever happened before, each item is finished or given up once its lease is over. */
  async drain(): Promise<void> {
    await this.wait(leaseSeconds + 2)
    while (await this.#claim(0, 1)) {
      const { claim } = this.#workers[0] ?? {}
      if (claim) await this.#end(claim, 'finish')
    }
    expect(this.#open()).toEqual([])
    await this.#checkResults()
    for (const id of this.#queue.organizationIds)
      expect(await this.#queue.queue.secondsUntilDue(this.#database, id)).toBeUndefined()
  }
}

/** Including that of a lease that is over. */
const lossesOf = ({ losses, holder }: Item): number => losses + (holder ? 1 : 0)

const after = ({ earliest, latest }: Range, least: number, most: number): Range => ({
  earliest: earliest + least * 1000,
  latest: latest + most * 1000,
})

test.each(['rows', 'notes'])(
  'the queue of %s: one live lease, no late results, turns, and an end for each item after any crashes',
  async (name) => {
    const queue = queues.get(name)
    if (!queue) throw new Error(`There is no queue of ${name}.`)
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }), async (steps) => {
        await queue.clear()
        const model = new Model(queue, service.database)
        for (const next of steps) await model.run(next)
        await model.drain()
      }),
      { seed, numRuns: runsOf(15), endOnFailure: true },
    )
  },
  120_000 * lawTimes,
)
