import type { Logger } from 'pino'
import type { Database } from '../database/database.ts'
import { withJitter, pause, startLoop } from '../background/loop.ts'
import { isOutage } from '../database/failures.ts'
import type { Resource } from '../model/define.ts'
import { ApiError } from '../model/errors.ts'
import { type RecordKey, refreshRenderings } from '../resource/renderings.ts'
import { analyze, findGrownTables } from './statistics-store.ts'
import {
  type ExpiredRow,
  findExpired,
  hasNoDependents,
  type Key,
  type RetentionPolicy,
  purge,
  purgeWithoutDependents,
  type PurgeStep,
} from './retention-store.ts'

export interface PurgeOptions {
  database: Database
  log: Logger
  retentionPolicies: readonly RetentionPolicy[]
  /** Told of what went, for metrics. */
  purged: (name: string, count: number) => void
}

export interface MaintenanceOptions extends PurgeOptions {
  /** Resources with stored renderings. */
  rendered: readonly Resource[]
  /** Resolves once the database is there and has its tables. */
  ready: Promise<unknown>
}

export interface Maintenance {
  /** Begins no further step and waits for the one under way. */
  close(): Promise<void>
}

/** Rows of a step: of the first one, and of any. The time that steps take decides. */
const sizes = { min: 5, first: 100, max: 500 }
/** Milliseconds of a step: quicker ones may grow, slower ones shrink. */
const quick = 100
const slow = 300
/** After a step the database has so many times as long to itself, within these milliseconds. */
const pauseRatio = 3
const pauses = { shortest: 10, longest: 2000 }
const retryInterval = 60_000
const purgeInterval = 60_000
const statisticsInterval = 10_000
const renderingInterval = 60 * 60_000
/** Records of one step of a walk: what has to be rendered of them takes some ten milliseconds. */
const renderingBatchSize = 500

/**
 * Purges in the background what is no longer kept, in small steps: at most a quarter of one connection's time; and takes
 * statistics of what has grown, which plans depend on. Several processes on one database share the work; a crash leaves
 * nothing but work to do.
 */
export function createMaintenance({ ready, ...options }: MaintenanceOptions): Maintenance {
  const { log } = options
  const rounds = new PurgeRounds(options)
  const purging = startLoop({
    ready,
    retryMilliseconds: retryInterval,
    onError: (error) => log.error(errorForLog(error), 'maintenance: a purge failed; it will be retried'),
    run: async (signal) => {
      await rounds.run(signal)
      // Else processes would find each other at work each time.
      return withJitter(purgeInterval)
    },
  })
  const statistics = startLoop({
    ready,
    retryMilliseconds: retryInterval,
    onError: (error) => log.error(errorForLog(error), 'maintenance: updating statistics failed; it will be retried'),
    run: async (signal) => ((await updateStatistics(options, signal)).failed ? retryInterval : statisticsInterval),
  })
  const renderings = startLoop({
    ready,
    retryMilliseconds: retryInterval,
    onError: (error) => log.error(errorForLog(error), 'maintenance: refreshing renderings failed; it will be retried'),
    run: async (signal) => {
      await renderStale(options, signal)
      return renderingInterval
    },
  })
  return { close: async () => void (await Promise.all([purging, statistics, renderings].map((loop) => loop.close()))) }
}

/**
 * Walks through all records in small steps and renders those whose stored rendering is not valid: after an upgrade that
 * changes it, after a restore, and where a foreign key changed a record. Until then each read renders them.
 */
export async function renderStale(
  { database, rendered }: Pick<MaintenanceOptions, 'database' | 'rendered'>,
  signal: AbortSignal,
): Promise<void> {
  for (const resource of rendered) {
    for (let after: RecordKey | undefined; !signal.aborted;) {
      const began = performance.now()
      const step = await refreshRenderings(database, resource, { after, limit: renderingBatchSize })
      after = step.last
      if (after === undefined) break
      if (step.rendered > 0) await pause(pauseRatio * (performance.now() - began), signal)
    }
  }
}

/**
 * Takes statistics of the tables that have doubled since. Autovacuum does that too, but a minute late; and not at all for
 * what was written before a crash of the database, which forgets how much that was. A table that fails keeps no other
 * waiting. Resolves to the tables' names, and whether any failed.
 */
export async function updateStatistics(
  { database, log }: Pick<PurgeOptions, 'database' | 'log'>,
  signal: AbortSignal,
): Promise<{ taken: string[]; failed: boolean }> {
  const taken: string[] = []
  let failed = false
  for (const table of await findGrownTables(database)) {
    try {
      await analyze(database, table, signal)
      taken.push(table)
    } catch (error) {
      if (signal.aborted) break
      if (isOutage(error)) throw error
      failed = true
      log.error({ of: table, ...errorForLog(error) }, 'maintenance: updating statistics failed; it will be retried')
    }
  }
  return { taken, failed }
}

/** Round after round: everything whose time is over, table by table. */
export class PurgeRounds {
  readonly #options: PurgeOptions
  #signal = new AbortController().signal
  /** Rows that a step of each kind takes. */
  readonly #sizes = new Map<string, number>()
  #toldAt = -Infinity

  constructor(options: PurgeOptions) {
    this.#options = options
  }

  async run(signal = this.#signal): Promise<void> {
    this.#signal = signal
    for (const policy of this.#options.retentionPolicies) {
      try {
        if (!(await this.#purgeAll(policy))) return
      } catch (error) {
        this.#tell(policy, error)
        if (isOutage(error)) return
      }
    }
  }

  /** False when the round is over: another process has its turn, or this one is to stop. */
  async #purgeAll(policy: RetentionPolicy): Promise<boolean> {
    const { database } = this.#options
    for (let after: ExpiredRow | undefined; ;) {
      if (this.#signal.aborted) return false
      const max = this.#sizeOf(policy)
      const expired = await findExpired(database, policy, { limit: max, after })
      if (expired.length === 0) return true
      const isFull = expired.length === max
      const sets = hasNoDependents(policy)
        ? [() => purgeWithoutDependents(database, policy, expired)]
        : [...byOrganization(expired)].map(
            ([organizationId, keys]) =>
              () =>
                purge(database, policy, { organizationId, keys, limit: this.#sizeOf(policy) }),
          )
      for (const step of sets) if (!(await this.#purgeSet(policy, step, isFull))) return false
      after = expired.at(-1)
      if (!isFull) return true
    }
  }

  /** One that fails is left to the next round, with a smaller step. */
  async #purgeSet(policy: RetentionPolicy, act: () => Promise<PurgeStep>, isFull: boolean): Promise<boolean> {
    for (;;) {
      if (this.#signal.aborted) return false
      const began = performance.now()
      let step: PurgeStep
      try {
        step = await act()
      } catch (error) {
        this.#sizes.set(policy.name, Math.max(sizes.min, Math.floor(this.#sizeOf(policy) / 2)))
        if (isOutage(error)) throw error
        this.#tell(policy, error)
        return true
      }
      if (!step) return false
      const took = performance.now() - began
      this.#learn(policy, took, isFull || step.isPartial)
      for (const [name, count] of Object.entries(step.removed)) if (count > 0) this.#options.purged(name, count)
      await pause(Math.min(pauses.longest, Math.max(pauses.shortest, took * pauseRatio)), this.#signal)
      if (!step.isPartial) return true
    }
  }

  readonly #sizeOf = ({ name }: RetentionPolicy): number => this.#sizes.get(name) ?? sizes.first

  #learn(policy: RetentionPolicy, took: number, isFull: boolean): void {
    const size = this.#sizeOf(policy)
    if (took > slow) this.#sizes.set(policy.name, Math.max(sizes.min, Math.floor(size / 2)))
    else if (took < quick && isFull) this.#sizes.set(policy.name, Math.min(sizes.max, size * 2))
  }

  /** Not more than once a minute; it is tried again all the same. */
  #tell({ name }: RetentionPolicy, error: unknown): void {
    const now = performance.now()
    if (now - this.#toldAt < retryInterval) return
    this.#toldAt = now
    this.#options.log.error({ of: name, ...errorForLog(error) }, 'maintenance: a purge failed; it will be retried')
  }
}

/** What PostgreSQL adds to its errors (the row, the value) would bring people into the log. */
function errorForLog(error: unknown): { error: string; cause: string | undefined } {
  const cause = error instanceof ApiError && error.cause instanceof Error ? error.cause.message : undefined
  return { error: error instanceof Error ? error.message : String(error), cause }
}

function byOrganization(expired: readonly ExpiredRow[]): Map<string, Key[]> {
  const found = new Map<string, Key[]>()
  for (const { organizationId, key } of expired) {
    const keys = found.get(organizationId)
    if (keys) keys.push(key)
    else found.set(organizationId, [key])
  }
  return found
}
