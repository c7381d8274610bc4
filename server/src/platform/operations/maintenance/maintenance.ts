import type { Logger } from 'pino'
import type { Database } from '../../database/database.ts'
import { errorForLog } from '../../background/error-for-log.ts'
import { withJitter, pause, startLoop } from '../../background/loop.ts'
import { isOutage } from '../../database/failures.ts'
import type { Resource } from '../../records/declare/define.ts'
import { sharedTurns, turnInterval } from '../../queue/wakeups.ts'
import { refreshRenderings } from '../../records/rendering/renderings.ts'
import { maintainIndexes } from '../../records/properties/index-builds.ts'
import { analyze, findGrownTables } from './statistics-store.ts'
import {
  type ExpiredRow,
  findDue,
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
  purged: (name: string, count: number) => void
}

export interface MaintenanceOptions extends PurgeOptions {
  /** The next organizations (uuids) after one, in the order of their ids; at most `limit`. */
  organizations: (after: string | undefined, limit: number) => Promise<string[]>
  rendered: readonly Resource[]
  /** Resources whose custom properties can be indexed. */
  definable: readonly Resource[]
  ready: Promise<unknown>
}

export interface Maintenance {
  /** Starts no more steps and waits for the current one. */
  close(): Promise<void>
}

/** Rows per step: minimum, initial and maximum. The duration of the steps decides. */
const sizes = { min: 5, first: 100, max: 500 }
/** Milliseconds per step: faster steps may grow, slower ones shrink. On Citus, each statement crosses the network twice. */
const durations = { local: { quick: 100, slow: 300 }, distributed: { quick: 300, slow: 1000 } }
/** After each step, pause for this multiple of its duration, within these milliseconds. */
const pauseRatio = 3
const pauses = { shortest: 10, longest: 2000 }
/** The same for a look at records that need no rendering: it reads the ids of all, at each start and once an hour. */
const lookRatio = 10
const retryInterval = 60_000
/** Longer intervals for loops that visit all shards of a distributed database. */
const purgeInterval = { local: 60_000, distributed: 5 * 60_000 }
const statisticsInterval = { local: 10_000, distributed: 60_000 }
const indexingInterval = 2000
const distributedIndexingSeconds = 60
const renderingInterval = 60 * 60_000
/** Records per step of the rendering scan, which takes some ten milliseconds if all need rendering. */
const renderingBatchSize = 500
const organizationBatchSize = 500

/**
 * Purges expired rows in small steps that use at most a quarter of one connection's time, and updates the statistics of
 * tables that have grown, because plans depend on them. Processes share the work.
 */
export function createMaintenance({ ready, ...options }: MaintenanceOptions): Maintenance {
  const { log, database } = options
  const rounds = new PurgeRounds(options)
  const intervalOf = ({ local, distributed }: { local: number; distributed: number }) =>
    database.isDistributed ? distributed : local
  const loop = (failure: string, run: (signal: AbortSignal) => Promise<number>) =>
    startLoop({
      ready,
      retryMilliseconds: retryInterval,
      onError: (error) => log.error(errorForLog(error), `maintenance: ${failure} failed; it will be retried`),
      run,
    })
  const takeIndexingTurn = sharedTurns(database, 'indexes', distributedIndexingSeconds)
  const loops = [
    loop('a purge', async (signal) => {
      await rounds.run(signal)
      // Jittered, because otherwise the processes would block each other every time.
      return withJitter(intervalOf(purgeInterval))
    }),
    loop('updating statistics', async (signal) =>
      (await updateStatistics(options, signal)).failed ? retryInterval : intervalOf(statisticsInterval),
    ),
    loop('refreshing renderings', async (signal) => {
      await renderStale(options, signal)
      return renderingInterval
    }),
    loop('an index', async (signal) => {
      if (!(await takeIndexingTurn())) return withJitter(turnInterval)
      const onError = (error: unknown) =>
        log.error(errorForLog(error), 'maintenance: an index failed; it will be retried')
      const succeeded = await maintainIndexes({ ...options, onError }, signal)
      return succeeded ? withJitter(indexingInterval) : retryInterval
    }),
  ]
  return { close: async () => void (await Promise.all(loops.map((each) => each.close()))) }
}

/** Renders records without a valid rendering: after an upgrade, a restore or a change by a foreign key. */
export async function renderStale(
  { database, rendered, organizations }: Pick<MaintenanceOptions, 'database' | 'rendered' | 'organizations'>,
  signal: AbortSignal,
): Promise<void> {
  for (let last: string | undefined; !signal.aborted;) {
    const ids = await organizations(last, organizationBatchSize)
    for (const organizationId of ids)
      for (const resource of rendered) await renderStaleOf(database, { resource, organizationId }, signal)
    last = ids.at(-1)
    if (last === undefined) break
  }
}

async function renderStaleOf(
  database: Database,
  { resource, organizationId }: { resource: Resource; organizationId: string },
  signal: AbortSignal,
): Promise<void> {
  for (let after: string | undefined; !signal.aborted;) {
    const began = performance.now()
    const step = await refreshRenderings(database, resource, { organizationId, after, limit: renderingBatchSize })
    after = step.last
    if (after === undefined) break
    await pause((step.rendered > 0 ? pauseRatio : lookRatio) * (performance.now() - began), signal)
  }
}

/**
 * Updates the statistics of tables that have doubled. Autovacuum does so a minute later, and not for rows written
 * before a crash of the database, which loses its counters. Resolves to the tables, and whether any failed.
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

/** Purges all expired rows, table by table, in each round. */
export class PurgeRounds {
  readonly #options: PurgeOptions
  #signal = new AbortController().signal
  /** The current rows per step of each policy. */
  readonly #sizes = new Map<string, number>()
  #loggedAt = -Infinity

  constructor(options: PurgeOptions) {
    this.#options = options
  }

  /** False if the round ended early, because another process is purging or the database is away. */
  async run(signal = this.#signal): Promise<boolean> {
    this.#signal = signal
    try {
      for (const policy of await this.#duePolicies()) if (!(await this.#tryPurgeAll(policy))) return false
      return true
    } catch (error) {
      this.#logFailure({ name: 'all' }, error)
      return false
    }
  }

  async #tryPurgeAll(policy: RetentionPolicy): Promise<boolean> {
    try {
      return await this.#purgeAll(policy)
    } catch (error) {
      this.#logFailure(policy, error)
      return !isOutage(error)
    }
  }

  async #duePolicies(): Promise<readonly RetentionPolicy[]> {
    const { database, retentionPolicies } = this.#options
    if (!database.isDistributed) return retentionPolicies
    const distributed = retentionPolicies.filter(({ isInDirectory }) => !isInDirectory)
    const due = distributed.length === 0 ? new Set() : await findDue(database, distributed)
    return retentionPolicies.filter((policy) => policy.isInDirectory || due.has(policy))
  }

  /** Returns false if the round is over: another process is purging, or this one is stopping. */
  async #purgeAll(policy: RetentionPolicy): Promise<boolean> {
    const { database } = this.#options
    for (let after: ExpiredRow | undefined; ;) {
      if (this.#signal.aborted) return false
      const max = this.#sizeOf(policy)
      const expired = await findExpired(database, policy, { limit: max, after })
      if (expired.length === 0) return true
      const isFull = expired.length === max
      const takesOneTransaction = hasNoDependents(policy) && (policy.isInDirectory || !database.isDistributed)
      const sets = takesOneTransaction
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

  /** A failed step is left to the next round, with fewer rows. */
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
        this.#logFailure(policy, error)
        return true
      }
      if (!step) return false
      const took = performance.now() - began
      this.#adjustSize(policy, took, isFull || step.isPartial)
      for (const [name, count] of Object.entries(step.removed)) if (count > 0) this.#options.purged(name, count)
      await pause(Math.min(pauses.longest, Math.max(pauses.shortest, took * pauseRatio)), this.#signal)
      if (!step.isPartial) return true
    }
  }

  readonly #sizeOf = ({ name }: RetentionPolicy): number => this.#sizes.get(name) ?? sizes.first

  #adjustSize(policy: RetentionPolicy, took: number, isFull: boolean): void {
    const size = this.#sizeOf(policy)
    const { quick, slow } = durations[this.#options.database.isDistributed ? 'distributed' : 'local']
    if (took > slow) this.#sizes.set(policy.name, Math.max(sizes.min, Math.floor(size / 2)))
    else if (took < quick && isFull) this.#sizes.set(policy.name, Math.min(sizes.max, size * 2))
  }

  /** Logs at most once a minute; the purge is retried anyway. */
  #logFailure({ name }: { name: string }, error: unknown): void {
    const now = performance.now()
    if (now - this.#loggedAt < retryInterval) return
    this.#loggedAt = now
    this.#options.log.error({ of: name, ...errorForLog(error) }, 'maintenance: a purge failed; it will be retried')
  }
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
