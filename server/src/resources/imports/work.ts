import type { Logger } from 'pino'
import type { Database } from '../../platform/database/database.ts'
import { isConnectionLoss, sqlState } from '../../platform/database/failures.ts'
import { ApiError } from '../../platform/http/errors.ts'
import { showId } from '../../platform/resource/ids.ts'
import { UniqueConflict } from '../../platform/resource/write.ts'
import { Bell } from '../../platform/background/bell.ts'
import { isPassing as passes, reported } from '../../platform/background/failures.ts'
import { untilKept } from '../../platform/background/keep.ts'
import { workOn, workOnNext } from './batch.ts'
import {
  chooseOrganization,
  type Claim,
  failRow,
  type LeasedRows,
  releaseRows,
  sumCounts,
  TurnMissed,
} from './work-store.ts'

export interface ImportWorkOptions {
  /** Connections of its own, so that it neither starves the requests nor is starved by them. */
  database: Database
  log: Logger
  /** Organizations worked for at a time; 0 leaves the rows to other processes. */
  workers: number
  /** Seconds that a batch may take before another process may have its rows. */
  leaseSeconds: number
  /** Resolves once the database is there and has its tables. */
  ready: Promise<unknown>
}

export interface ImportWork {
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
const mostRows = 200
/** Milliseconds between two looks at an empty queue: the shortest after work, the longest after a while without. */
const pauses = { shortest: 20, longest: 1000 }
const upkeepMilliseconds = 60_000
const patience = { attempts: 8, firstDelaySeconds: 5, longestDelaySeconds: 3600 }
/** Times that a batch which met another change is repeated as a whole. */
const mostMeetings = 3

/** Works on accepted rows until it is closed. Several processes on one database share the work. */
export function createImportWork({ ready, workers, ...options }: ImportWorkOptions): ImportWork {
  const bell = new Bell()
  const context: Context = { ...options, bell }
  const running = ready.then(
    () => Promise.all([...Array.from({ length: workers }, () => work(context)), workers > 0 && keepUp(context)]),
    () => undefined,
  )
  return {
    wake: () => bell.ring(),
    close: async () => {
      bell.close()
      await running
    },
  }
}

interface Context extends Pick<ImportWorkOptions, 'database' | 'log' | 'leaseSeconds'> {
  bell: Bell
}

async function work(context: Context): Promise<void> {
  const { database, log, bell } = context
  let idle = pauses.shortest
  let last: string | undefined
  while (!bell.isClosed) {
    try {
      const next = await chooseOrganization(database, last)
      last = next
      if (next === undefined) {
        await bell.sleep(idle)
        idle = Math.min(idle * 2, pauses.longest)
      } else {
        idle = pauses.shortest
        if (!(await workFor(context, next))) await bell.rest(pauses.shortest)
      }
    } catch (error) {
      if (!isPassing(error)) log.error(reported(error), 'imports: the queue could not be read')
      await bell.rest(pauses.longest)
    }
  }
}

/** Works on the organization's next rows; false when another worker has it, or has its rows. */
async function workFor(context: Context, organizationId: string): Promise<boolean> {
  const { database, leaseSeconds } = context
  let leased: LeasedRows | undefined
  const claimed = (rows: LeasedRows) => (leased = rows)
  try {
    return await workOnNext(database, organizationId, { most: mostRows, leaseSeconds, claimed })
  } catch (error) {
    if (!leased || leased.rowIds.length === 0) throw error
    const { rowIds } = leased
    if (rowIds !== 'all') await recover(context, { ...leased, rowIds }, error)
    else {
      // Without an answer the claim may have been made all the same.
      await release(context, leased)
      if (error instanceof TurnMissed) return false
      throw error
    }
    return true
  }
}

/** Brings the rows of a claim to an end, or gives them back: only the end of this process leaves them to their lease. */
async function recover(context: Context, claim: Claim, error: unknown, meetings = 1): Promise<void> {
  const again = (rows: Claim, count: number) =>
    workOn(context.database, rows).catch((next: unknown) => recover(context, rows, next, count))
  if (isAway(error) || error instanceof TurnMissed) return release(context, claim)
  // A unique value was taken since it was looked for: who looks again finds its holder.
  if (error instanceof UniqueConflict && meetings < mostMeetings) return again(claim, meetings + 1)
  if (claim.rowIds.length <= 1) return isHeld(error) ? release(context, claim) : fail(context, claim, error)
  // One of them spoils the batch: each by itself, and it spoils only its own.
  for (const rowId of claim.rowIds) await again({ ...claim, rowIds: [rowId] }, 1)
}

async function fail(context: Context, claim: Claim, error: unknown): Promise<void> {
  const [rowId = ''] = claim.rowIds
  context.log.error({ row: showId('row', rowId), ...reported(error) }, 'imports: a row failed')
  await keep(context, () => failRow(context.database, claim, patience))
}

const release = (context: Context, rows: LeasedRows): Promise<void> =>
  keep(context, () => releaseRows(context.database, rows))

/** Until it has worked or the lease is over: then another process has the rows, and has counted this one as lost. */
async function keep({ leaseSeconds, bell }: Context, write: () => Promise<void>): Promise<void> {
  await untilKept({ bell, end: performance.now() + leaseSeconds * 1000, isPassing }, write)
}

async function keepUp({ database, log, bell }: Context): Promise<void> {
  for (; !bell.isClosed; await bell.rest(upkeepMilliseconds)) {
    await sumCounts(database).catch((error: unknown) => {
      if (!isPassing(error)) log.error(reported(error), 'imports: the counts could not be summed up')
    })
  }
}

/**
 * The database is away or full, or was when it should have confirmed: nothing is wrong with the rows. One that only takes
 * too long may be their doing.
 */
const isAway = (error: unknown): boolean =>
  isConnectionLoss(error) ||
  (error instanceof ApiError && (error.code === 'overloaded' || isConnectionLoss(error.cause)))

/** Somebody else had a record for too long. */
const isHeld = (error: unknown): boolean => error instanceof ApiError && sqlState(error.cause) === '55P03'

/** What passes by itself. */
const isPassing = (error: unknown): boolean => error instanceof TurnMissed || passes(error)
