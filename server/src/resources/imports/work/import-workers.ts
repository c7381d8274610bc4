import type { Logger } from 'pino'
import type { Database } from '../../../platform/database/database.ts'
import { isTransactionConflict, isOutage, isTransient, sqlState } from '../../../platform/database/failures.ts'
import { ApiError } from '../../../platform/model/errors.ts'
import { showId } from '../../../platform/model/ids.ts'
import { UniqueConflict } from '../../../platform/resource/unique-conflict.ts'
import { type Loop, startLoop } from '../../../platform/background/loop.ts'
import { errorForLog } from '../../../platform/background/error-for-log.ts'
import { retryTransient } from '../../../platform/background/retry.ts'
import { processClaim, processNextBatch } from './batch.ts'
import {
  chooseOrganization,
  type Claim,
  failRow,
  type LeasedRows,
  releaseRows,
  sumCounts,
  WorkLockTimeout,
} from './work-store.ts'

export interface ImportWorkersOptions {
  /** Connections of its own, so that it neither starves the requests nor is starved by them. */
  database: Database
  log: Logger
  /** Organizations worked for at a time; 0 leaves the rows to other processes. */
  workers: number
  /** Seconds that a batch may take before another process may have its rows. */
  leaseSeconds: number
  /** Does this process also sum up the counts of rows, for all? */
  isMaintaining: boolean
  /** Resolves once the database is there and has its tables. */
  ready: Promise<unknown>
}

export interface ImportWorkers {
  /** There may be new rows: looks at once. */
  wake(): void
  /** Takes no more rows and waits for those under way. */
  close(): Promise<void>
}

/** What the pool of the work needs: for each worker one to claim and one to work, two for the upkeep, and patience. */
export const workPool = ({ importWorkers }: { importWorkers: number }): { size: number; deadline: number } => ({
  size: 2 * importWorkers + 2,
  deadline: 20_000,
})

/** Rows of a batch: more would hold their locks longer, fewer would cost more each. */
const maxRows = 200
/** Milliseconds between two looks at an empty queue: the shortest after work, the longest after a while without. */
const pollIntervals = { shortest: 20, longest: 1000 }
const compactionInterval = 60_000
const retryPolicy = { attempts: 8, firstDelaySeconds: 5, maxDelaySeconds: 3600 }
/** Times that a batch which met another change is repeated as a whole. */
const maxConflictRetries = 3

/** Works on accepted rows until it is closed. Several processes on one database share the work. */
export function createImportWorkers({
  ready,
  workers,
  isMaintaining,
  ...options
}: ImportWorkersOptions): ImportWorkers {
  const loops = Array.from({ length: workers }, () => startWorker(ready, options))
  if (isMaintaining && workers > 0) loops.push(startCountCompaction(ready, options))
  return {
    wake: () => loops.forEach((loop) => loop.wake()),
    close: async () => void (await Promise.all(loops.map((loop) => loop.close()))),
  }
}

type WorkerOptions = Pick<ImportWorkersOptions, 'database' | 'log' | 'leaseSeconds'>

interface Context extends WorkerOptions {
  /** Aborts when the work is closed. */
  signal: AbortSignal
}

function startWorker(ready: Promise<unknown>, options: WorkerOptions): Loop {
  let pollDelay = pollIntervals.shortest
  let last: string | undefined
  return startLoop({
    ready,
    retryMilliseconds: pollIntervals.longest,
    onError: (error) => {
      if (!isRetryable(error)) options.log.error(errorForLog(error), 'imports: reading the queue failed')
    },
    run: async (signal) => {
      last = await chooseOrganization(options.database, last)
      if (last === undefined) {
        const milliseconds = pollDelay
        pollDelay = Math.min(pollDelay * 2, pollIntervals.longest)
        return milliseconds
      }
      pollDelay = pollIntervals.shortest
      return (await processOrganization({ ...options, signal }, last)) ? 0 : pollIntervals.shortest
    },
  })
}

function startCountCompaction(ready: Promise<unknown>, { database, log }: WorkerOptions): Loop {
  const { close } = startLoop({
    ready,
    retryMilliseconds: compactionInterval,
    onError: (error) => {
      if (!isTransient(error)) log.error(errorForLog(error), 'imports: summing up the counts failed')
    },
    run: async () => {
      await sumCounts(database)
      return compactionInterval
    },
  })
  // New rows are no reason for it.
  return { close, wake: () => undefined }
}

/** Works on the organization's next rows; false when another worker has it, or has its rows. */
async function processOrganization(context: Context, organizationId: string): Promise<boolean> {
  const { database, leaseSeconds } = context
  let leased: LeasedRows | undefined
  const onClaimed = (rows: LeasedRows) => (leased = rows)
  try {
    return await processNextBatch(database, organizationId, { maxRows: maxRows, leaseSeconds, onClaimed })
  } catch (error) {
    if (!leased || leased.rowIds.length === 0) throw error
    const { rowIds } = leased
    if (rowIds !== 'all') await recover(context, { ...leased, rowIds }, error)
    else {
      // Without an answer the claim may have been made all the same.
      await release(context, leased)
      if (error instanceof WorkLockTimeout) return false
      throw error
    }
    return true
  }
}

/** Brings the rows of a claim to an end, or gives them back: only the end of this process leaves them to their lease. */
async function recover(context: Context, claim: Claim, error: unknown, conflicts = 1): Promise<void> {
  const retry = (rows: Claim, count: number) =>
    processClaim(context.database, rows).catch((next: unknown) => recover(context, rows, next, count))
  // An outage says nothing about the rows. One that only takes too long may be their doing.
  if (isOutage(error) || error instanceof WorkLockTimeout) return release(context, claim)
  // A unique value was taken since it was looked for: who looks again finds its holder.
  if (error instanceof UniqueConflict && conflicts < maxConflictRetries) return retry(claim, conflicts + 1)
  if (claim.rowIds.length <= 1) return isLockConflict(error) ? release(context, claim) : fail(context, claim, error)
  // One of them spoils the batch: each by itself, and it spoils only its own.
  for (const rowId of claim.rowIds) await retry({ ...claim, rowIds: [rowId] }, 1)
}

async function fail(context: Context, claim: Claim, error: unknown): Promise<void> {
  const [rowId = ''] = claim.rowIds
  context.log.error({ row: showId('row', rowId), ...errorForLog(error) }, 'imports: a row failed')
  await retryUntilLeaseEnds(context, () => failRow(context.database, claim, retryPolicy))
}

const release = (context: Context, rows: LeasedRows): Promise<void> =>
  retryUntilLeaseEnds(context, () => releaseRows(context.database, rows))

/** Until it has worked or the lease is over: then another process has the rows, and has counted this one as lost. */
async function retryUntilLeaseEnds({ leaseSeconds, signal }: Context, write: () => Promise<void>): Promise<void> {
  await retryTransient({ signal, deadline: performance.now() + leaseSeconds * 1000, isTransient: isRetryable }, write)
}

/** Somebody else had a record for too long, or wanted it at the same time again and again. */
const isLockConflict = (error: unknown): boolean =>
  error instanceof ApiError && (sqlState(error.cause) === '55P03' || isTransactionConflict(error.cause))

const isRetryable = (error: unknown): boolean => error instanceof WorkLockTimeout || isTransient(error)
