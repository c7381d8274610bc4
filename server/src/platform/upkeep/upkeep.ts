import type { Logger } from 'pino'
import type { Database } from '../database/database.ts'
import { jittered, pause, startLoop } from '../background/loop.ts'
import { isOutage } from '../database/failures.ts'
import type { Resource } from '../model/define.ts'
import { ApiError } from '../model/errors.ts'
import { type RecordKey, refreshRenderings } from '../resource/renderings.ts'
import { analyze, findGrown } from './statistics-store.ts'
import { type Due, findDue, isPlain, type Key, type Perishable, purge, purgePlain, type Step } from './store.ts'

export interface RoundOptions {
  database: Database
  log: Logger
  perishables: readonly Perishable[]
  /** Told of what went, for metrics. */
  purged: (name: string, count: number) => void
}

export interface UpkeepOptions extends RoundOptions {
  /** Resources with stored renderings. */
  rendered: readonly Resource[]
  /** Resolves once the database is there and has its tables. */
  ready: Promise<unknown>
}

export interface Upkeep {
  /** Begins no further step and waits for the one under way. */
  close(): Promise<void>
}

/** Rows of a step: of the first one, and of any. The time that steps take decides. */
const sizes = { least: 5, first: 100, most: 500 }
/** Milliseconds of a step: quicker ones may grow, slower ones shrink. */
const quick = 100
const slow = 300
/** After a step the database has so many times as long to itself, within these milliseconds. */
const restRatio = 3
const rests = { shortest: 10, longest: 2000 }
const betweenFaults = 60_000
const betweenRounds = 60_000
const betweenLooks = 10_000
const betweenWalks = 60 * 60_000
/** Records of one step of a walk: what has to be rendered of them takes some ten milliseconds. */
const walkedRecords = 500

/**
 * Purges in the background what is no longer kept, in small steps: at most a quarter of one connection's time; and takes
 * statistics of what has grown, which plans depend on. Several processes on one database share the work; a crash leaves
 * nothing but work to do.
 */
export function createUpkeep({ ready, ...options }: UpkeepOptions): Upkeep {
  const { log } = options
  const rounds = new Rounds(options)
  const purging = startLoop({
    ready,
    retryMilliseconds: betweenFaults,
    failed: (error) => log.error(inWords(error), 'maintenance: a purge failed; it will be retried'),
    run: async (signal) => {
      await rounds.run(signal)
      // Else processes would find each other at work each time.
      return jittered(betweenRounds)
    },
  })
  const statistics = startLoop({
    ready,
    retryMilliseconds: betweenFaults,
    failed: (error) => log.error(inWords(error), 'maintenance: updating statistics failed; it will be retried'),
    run: async (signal) => ((await takeStatistics(options, signal)).failed ? betweenFaults : betweenLooks),
  })
  const renderings = startLoop({
    ready,
    retryMilliseconds: betweenFaults,
    failed: (error) => log.error(inWords(error), 'maintenance: refreshing renderings failed; it will be retried'),
    run: async (signal) => {
      await renderStale(options, signal)
      return betweenWalks
    },
  })
  return { close: async () => void (await Promise.all([purging, statistics, renderings].map((loop) => loop.close()))) }
}

/**
 * Walks through all records in small steps and renders those whose stored rendering is not valid: after an upgrade that
 * changes it, after a restore, and where a foreign key changed a record. Until then each read renders them.
 */
export async function renderStale(
  { database, rendered }: Pick<UpkeepOptions, 'database' | 'rendered'>,
  signal: AbortSignal,
): Promise<void> {
  for (const resource of rendered) {
    for (let after: RecordKey | undefined; !signal.aborted;) {
      const began = performance.now()
      const step = await refreshRenderings(database, resource, { after, limit: walkedRecords })
      after = step.last
      if (after === undefined) break
      if (step.rendered > 0) await pause(restRatio * (performance.now() - began), signal)
    }
  }
}

/**
 * Takes statistics of the tables that have doubled since. Autovacuum does that too, but a minute late; and not at all for
 * what was written before a crash of the database, which forgets how much that was. A table that fails keeps no other
 * waiting. Resolves to the tables' names, and whether any failed.
 */
export async function takeStatistics(
  { database, log }: Pick<RoundOptions, 'database' | 'log'>,
  signal: AbortSignal,
): Promise<{ taken: string[]; failed: boolean }> {
  const taken: string[] = []
  let failed = false
  for (const table of await findGrown(database)) {
    try {
      await analyze(database, table, signal)
      taken.push(table)
    } catch (error) {
      if (signal.aborted) break
      if (isOutage(error)) throw error
      failed = true
      log.error({ of: table, ...inWords(error) }, 'maintenance: updating statistics failed; it will be retried')
    }
  }
  return { taken, failed }
}

/** Round after round: everything whose time is over, table by table. */
export class Rounds {
  readonly #options: RoundOptions
  #signal = new AbortController().signal
  /** Rows that a step of each kind takes. */
  readonly #sizes = new Map<string, number>()
  #toldAt = -Infinity

  constructor(options: RoundOptions) {
    this.#options = options
  }

  async run(signal = this.#signal): Promise<void> {
    this.#signal = signal
    for (const perishable of this.#options.perishables) {
      try {
        if (!(await this.#purgeAll(perishable))) return
      } catch (error) {
        this.#tell(perishable, error)
        if (isOutage(error)) return
      }
    }
  }

  /** False when the round is over: another process has its turn, or this one is to stop. */
  async #purgeAll(perishable: Perishable): Promise<boolean> {
    const { database } = this.#options
    for (let after: Due | undefined; ;) {
      if (this.#signal.aborted) return false
      const most = this.#sizeOf(perishable)
      const due = await findDue(database, perishable, { most, after })
      if (due.length === 0) return true
      const isFull = due.length === most
      const sets = isPlain(perishable)
        ? [() => purgePlain(database, perishable, due)]
        : [...byOrganization(due)].map(
            ([organizationId, keys]) =>
              () =>
                purge(database, perishable, { organizationId, keys, most: this.#sizeOf(perishable) }),
          )
      for (const step of sets) if (!(await this.#purgeSet(perishable, step, isFull))) return false
      after = due.at(-1)
      if (!isFull) return true
    }
  }

  /** One that fails is left to the next round, with a smaller step. */
  async #purgeSet(perishable: Perishable, act: () => Promise<Step>, isFull: boolean): Promise<boolean> {
    for (;;) {
      if (this.#signal.aborted) return false
      const began = performance.now()
      let step: Step
      try {
        step = await act()
      } catch (error) {
        this.#sizes.set(perishable.name, Math.max(sizes.least, Math.floor(this.#sizeOf(perishable) / 2)))
        if (isOutage(error)) throw error
        this.#tell(perishable, error)
        return true
      }
      if (!step) return false
      const took = performance.now() - began
      this.#learn(perishable, took, isFull || step.isPart)
      for (const [name, count] of Object.entries(step.gone)) if (count > 0) this.#options.purged(name, count)
      await pause(Math.min(rests.longest, Math.max(rests.shortest, took * restRatio)), this.#signal)
      if (!step.isPart) return true
    }
  }

  readonly #sizeOf = ({ name }: Perishable): number => this.#sizes.get(name) ?? sizes.first

  #learn(perishable: Perishable, took: number, isFull: boolean): void {
    const size = this.#sizeOf(perishable)
    if (took > slow) this.#sizes.set(perishable.name, Math.max(sizes.least, Math.floor(size / 2)))
    else if (took < quick && isFull) this.#sizes.set(perishable.name, Math.min(sizes.most, size * 2))
  }

  /** Not more than once a minute; it is tried again all the same. */
  #tell({ name }: Perishable, error: unknown): void {
    const now = performance.now()
    if (now - this.#toldAt < betweenFaults) return
    this.#toldAt = now
    this.#options.log.error({ of: name, ...inWords(error) }, 'maintenance: a purge failed; it will be retried')
  }
}

/** What PostgreSQL adds to its errors (the row, the value) would bring people into the log. */
function inWords(error: unknown): { error: string; cause: string | undefined } {
  const cause = error instanceof ApiError && error.cause instanceof Error ? error.cause.message : undefined
  return { error: error instanceof Error ? error.message : String(error), cause }
}

function byOrganization(due: readonly Due[]): Map<string, Key[]> {
  const found = new Map<string, Key[]>()
  for (const { organizationId, key } of due) {
    const keys = found.get(organizationId)
    if (keys) keys.push(key)
    else found.set(organizationId, [key])
  }
  return found
}
