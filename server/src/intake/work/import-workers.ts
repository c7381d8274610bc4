import type { Database } from '../../platform/database/database.ts'
import { isTransactionConflict, isOutage, isTransient, sqlState } from '../../platform/database/failures.ts'
import { ApiError } from '../../platform/model/errors.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { UniqueConflict } from '../../platform/records/write/unique-conflict.ts'
import { joinLoops, type Loop, startLoop } from '../../platform/background/loop.ts'
import { errorForLog } from '../../platform/background/error-for-log.ts'
import type { RetryPolicy } from '../../platform/queue/queue.ts'
import { retryTransient } from '../../platform/queue/retry.ts'
import { sharedTurns } from '../../platform/queue/wakeups.ts'
import { type QueueWorkersOptions, startQueueWorkers } from '../../platform/queue/workers.ts'
import { sumCounts } from '../row-counts/store.ts'
import { processClaim, processNextBatch } from './batch.ts'
import { importQueue } from './queue-store.ts'
import { type Claim, failRow, type LeasedRows, type OnFailedRows, releaseRows, WorkLockTimeout } from './work-store.ts'

export interface ImportWorkersOptions extends Pick<QueueWorkersOptions, 'ready' | 'log' | 'wakeups' | 'workers'> {
  /** A separate pool, so that imports and requests do not starve each other. */
  database: Database
  /** Seconds that a batch may take before another process can take over its rows. */
  leaseSeconds: number
  /** Whether this process also compacts the row counts, for all processes. */
  isMaintaining: boolean
  onFailedRows?: OnFailedRows
  /** Called after rows of the organization (uuid) were processed, which may have created notes. */
  onProcessed?: (organizationId: string) => void
}

/**
 * The pool of background work: two connections per import worker, to claim and to process, one per batch of notes, and
 * two for maintenance. `deadline` in milliseconds.
 */
export const workPool = ({
  importWorkers,
  reasoningConcurrency,
  webhookConcurrency = 0,
}: WorkLoad): { size: number; deadline: number } => ({
  size: 2 * importWorkers + reasoningConcurrency + Math.min(3, webhookConcurrency) + 2,
  deadline: 20_000,
})

interface WorkLoad {
  importWorkers: number
  reasoningConcurrency: number
  webhookConcurrency?: number
}

/** Maximum rows of a batch: more would hold locks longer, fewer would cost more per row. */
const maxRows = 200
const pollIntervals = { shortest: 20, longest: 1000 }
const compactionInterval = 60_000
/** For all processes that take turns (`sharedTurns`). */
const compactionTurnSeconds = 5 * 60
const retryPolicy: RetryPolicy = { attempts: 8, firstDelaySeconds: 5, maxDelaySeconds: 3600 }
/** Number of attempts for a batch after conflicts with other changes. */
const maxConflictRetries = 3

/** Processes accepted rows until it is closed. Several processes on one database share the work. */
export function createImportWorkers(options: ImportWorkersOptions): Loop {
  const queueWorkers = startQueueWorkers(importQueue, {
    ...options,
    pollIntervals,
    isTransient: isRetryable,
    work: async (organizationId, signal) => {
      const hasProcessed = await processOrganization({ ...options, signal }, organizationId)
      if (hasProcessed) options.onProcessed?.(organizationId)
      return hasProcessed
    },
  })
  const isCompacting = options.isMaintaining && options.workers > 0
  return isCompacting ? joinLoops([queueWorkers, startCountCompaction(options)]) : queueWorkers
}

function startCountCompaction({ ready, database, log }: ImportWorkersOptions): Loop {
  const takeTurn = sharedTurns(database, 'compaction', compactionTurnSeconds)
  const { close } = startLoop({
    ready,
    retryMilliseconds: compactionInterval,
    onError: (error) => {
      if (!isTransient(error)) log.error(errorForLog(error), 'imports: summing up the counts failed')
    },
    run: async () => {
      if (await takeTurn()) await sumCounts(database)
      return compactionInterval
    },
  })
  // New rows do not require compaction.
  return { close, wake: () => undefined }
}

interface Context extends ImportWorkersOptions {
  /** Aborts when the workers are closed. */
  signal: AbortSignal
}

/** Processes the next rows of the organization; false if another worker has the lock or the rows. */
async function processOrganization(context: Context, organizationId: string): Promise<boolean> {
  const { database, leaseSeconds, onFailedRows } = context
  let leased: LeasedRows | undefined
  const onClaimed = (rows: LeasedRows) => (leased = rows)
  try {
    return await processNextBatch(database, organizationId, { maxRows, leaseSeconds, onClaimed, onFailedRows })
  } catch (error) {
    if (!leased || leased.rowIds.length === 0) throw error
    const { rowIds } = leased
    if (rowIds !== 'all') await recover(context, { ...leased, rowIds }, error)
    else {
      // Without a response, the claim may have been committed.
      await release(context, leased)
      if (error instanceof WorkLockTimeout) return false
      throw error
    }
    return true
  }
}

/**
 * Finishes or releases the rows of a failed claim. Only a crash of this process leaves them to the end of their lease.
 */
async function recover(context: Context, claim: Claim, error: unknown, conflicts = 1): Promise<void> {
  const retry = (rows: Claim, count: number) =>
    processClaim(context.database, rows, context.onFailedRows).catch((next: unknown) =>
      recover(context, rows, next, count),
    )
  // An outage says nothing about the rows. A timeout may be caused by them.
  if (isOutage(error) || error instanceof WorkLockTimeout) return release(context, claim)
  // Another transaction took a unique value since it was looked up: the next attempt finds its record.
  if (error instanceof UniqueConflict && conflicts < maxConflictRetries) return retry(claim, conflicts + 1)
  if (claim.rowIds.length <= 1) return isLockConflict(error) ? release(context, claim) : fail(context, claim, error)
  // One row makes the batch fail: process each row alone.
  for (const rowId of claim.rowIds) await retry({ ...claim, rowIds: [rowId] }, 1)
}

async function fail(context: Context, claim: Claim, error: unknown): Promise<void> {
  const [rowId = ''] = claim.rowIds
  context.log.error({ row: encodeId('row', rowId), ...errorForLog(error) }, 'imports: a row failed')
  await retryUntilLeaseEnds(context, () => failRow(context.database, claim, retryPolicy, context.onFailedRows))
}

const release = (context: Context, rows: LeasedRows): Promise<void> =>
  retryUntilLeaseEnds(context, () => releaseRows(context.database, rows))

/**
 * Retries until success or the end of the lease, after which another process has the rows and has counted this one as
 * crashed.
 */
async function retryUntilLeaseEnds({ leaseSeconds, signal }: Context, write: () => Promise<void>): Promise<void> {
  await retryTransient({ signal, deadline: performance.now() + leaseSeconds * 1000, isTransient: isRetryable }, write)
}

/** Another transaction held a lock for too long, or conflicts kept recurring. */
const isLockConflict = (error: unknown): boolean =>
  error instanceof ApiError && (sqlState(error.cause) === '55P03' || isTransactionConflict(error.cause))

const isRetryable = (error: unknown): boolean => error instanceof WorkLockTimeout || isTransient(error)
