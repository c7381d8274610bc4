import type { Logger } from 'pino'
import type { Database } from '../../platform/database/database.ts'
import { isConnectionLoss } from '../../platform/database/failures.ts'
import { ApiError } from '../../platform/http/errors.ts'
import { showId } from '../../platform/resource/ids.ts'
import { UniqueConflict } from '../../platform/resource/write.ts'
import { workOn } from './batch.ts'
import { chooseOrganization, type Claim, claimRows, failRow, releaseRows, sumCounts } from './work-store.ts'

export interface ImportWorkOptions {
  /** Connections of its own, so that it neither starves the requests nor is starved by them. */
  database: Database
  log: Logger
  /** Batches at a time; 0 leaves the rows to other processes. */
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

/** What the pool of the work needs: a connection for each worker and one for the upkeep, and patience with large batches. */
export const workPool = ({ importWorkers }: { importWorkers: number }): { size: number; deadline: number } => ({
  size: importWorkers + 1,
  deadline: 20_000,
})

/** Rows of a batch: more would hold their locks longer, fewer would cost more each. */
const mostRows = 100
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

/** Lets those who sleep be woken early, one and all. */
class Bell {
  isClosed = false
  readonly #sleepers = new Set<() => void>()

  ring(): void {
    for (const wake of this.#sleepers) wake()
  }

  close(): void {
    this.isClosed = true
    this.ring()
  }

  /** Resolves after so long, or at the next ring. */
  async sleep(milliseconds: number): Promise<void> {
    if (this.isClosed) return
    await new Promise<void>((resolve) => {
      const wake = () => {
        clearTimeout(timer)
        this.#sleepers.delete(wake)
        resolve()
      }
      const timer = setTimeout(wake, milliseconds)
      this.#sleepers.add(wake)
    })
  }
}

interface Context extends Pick<ImportWorkOptions, 'database' | 'log' | 'leaseSeconds'> {
  bell: Bell
}

async function work(context: Context): Promise<void> {
  const { database, log, leaseSeconds, bell } = context
  let idle = pauses.shortest
  let last: string | undefined
  while (!bell.isClosed) {
    try {
      const organizationId = await chooseOrganization(database, last)
      if (organizationId === undefined) {
        await bell.sleep(idle)
        idle = Math.min(idle * 2, pauses.longest)
        continue
      }
      last = organizationId
      idle = pauses.shortest
      const claim = await claimRows(database, organizationId, { most: mostRows, leaseSeconds })
      if (claim.rowIds.length > 0) await finish(context, claim)
      // Other workers have them: looking again at once would only be in their way.
      else await bell.sleep(pauses.shortest)
    } catch (error) {
      if (!isPassing(error)) log.error(reported(error), 'imports: the queue could not be read')
      await bell.sleep(pauses.longest)
    }
  }
}

/** Brings the rows of a claim to an end, or gives them back: only the end of this process leaves them to their lease. */
async function finish(context: Context, claim: Claim): Promise<void> {
  try {
    await repeated(() => workOn(context.database, claim))
  } catch (error) {
    if (isAway(error)) return release(context, claim)
    if (claim.rowIds.length === 1) return fail(context, claim, error)
    // One of them spoils the batch: each by itself, and it spoils only its own.
    for (const rowId of claim.rowIds) await finish(context, { ...claim, rowIds: [rowId] })
  }
}

/** A unique value that was taken since it was looked for: who looks again finds its holder. */
async function repeated(attempt: () => Promise<unknown>): Promise<void> {
  for (let meetings = 1; ; meetings++) {
    try {
      await attempt()
      return
    } catch (error) {
      if (!(error instanceof UniqueConflict) || meetings >= mostMeetings) throw error
    }
  }
}

async function fail({ database, log }: Context, claim: Claim, error: unknown): Promise<void> {
  const [rowId = ''] = claim.rowIds
  log.error({ row: showId('row', rowId), ...reported(error) }, 'imports: a row failed')
  await failRow(database, claim, patience)
}

/** Until it has worked or the lease is over: then another process has the rows, and has counted this one as lost. */
async function release({ database, leaseSeconds, bell }: Context, claim: Claim): Promise<void> {
  const end = performance.now() + leaseSeconds * 1000
  while (performance.now() < end) {
    try {
      return await releaseRows(database, claim)
    } catch (error) {
      if (!isPassing(error) || bell.isClosed) throw error
      await bell.sleep(pauses.longest / 2)
    }
  }
}

async function keepUp({ database, log, bell }: Context): Promise<void> {
  for (let last = performance.now(); !bell.isClosed; await bell.sleep(upkeepMilliseconds)) {
    // New rows ring too; that is no reason to sum up more often.
    if (performance.now() - last < upkeepMilliseconds) continue
    last = performance.now()
    await sumCounts(database).catch((error: unknown) => {
      if (!isPassing(error)) log.error(reported(error), 'imports: the counts could not be summed up')
    })
  }
}

/** The database is away or full: nothing is wrong with the rows. One that only takes too long may be their doing. */
const isAway = (error: unknown): boolean =>
  isConnectionLoss(error) || (error instanceof ApiError && error.code === 'overloaded')

/** What passes by itself. */
const isPassing = (error: unknown): boolean =>
  isConnectionLoss(error) || (error instanceof ApiError && error.status === 503)

/** What PostgreSQL adds to its errors (the row, the value) would bring people into the log. */
function reported(error: unknown): { error: string; stack: string | undefined } {
  return error instanceof Error
    ? { error: error.message, stack: error.stack }
    : { error: String(error), stack: undefined }
}
