import pg from 'pg'
import type { Config } from '../config.ts'
import { explainConnectionError } from '../platform/database/check.ts'
import { isConnectTimeout } from '../platform/database/connect.ts'
import { openEmbedded } from '../platform/embedded-postgres/embedded.ts'
import { isConnectionLoss } from '../platform/database/failures.ts'
import type { Purpose } from '../platform/embedded-postgres/database-lock.ts'
import { SnapshotError } from '../platform/backup/format.ts'
import { StartError } from '../platform/database/start-error.ts'
import { Failure, printMessage } from './command.ts'
import { interruptible } from './interruptible.ts'

/**
 * A database as it is: neither checked nor migrated, and no secret made for it. An embedded one of an older PostgreSQL is
 * not moved: the older one serves it, where that is found.
 */
export interface BareDatabase {
  connection: pg.ClientConfig
  /** A running service has the embedded database. */
  attached: boolean
  /** Ctrl-C and SIGTERM. */
  signal: AbortSignal
}

/** Opens the database of the configuration for `work` and closes it again, whatever comes of it. */
export const withBareDatabase = <Result>(
  { dataFolder, databaseUrl }: Pick<Config, 'dataFolder' | 'databaseUrl'>,
  purpose: Purpose,
  work: (database: BareDatabase) => Promise<Result>,
): Promise<Result> =>
  interruptible(async (signal) => {
    const embedded =
      databaseUrl === undefined
        ? await openEmbedded({ dataFolder, purpose, log: printMessage, withoutUpgrade: true, signal })
        : undefined
    const connection = embedded?.connection ?? { connectionString: databaseUrl }
    try {
      return await work({ connection, attached: embedded?.attached ?? false, signal })
    } catch (error) {
      throw translateError(error)
    } finally {
      await embedded?.close()
    }
  })

/** PostgreSQL's codes (appendix A of its manual) that an operator meets. */
const explanationByState: Record<string, string> = {
  '42501': 'The user of DATABASE_URL is not allowed to do this.',
  '53100': 'The disk of the database is full. Nothing was changed. Free some space and try again.',
  '55P03': 'Tables of the database are locked, for example by a migration. Nothing was changed. Try again later.',
}

/** The database's faults in words that say what to do; others as they are. */
export function translateError(error: unknown): unknown {
  if (error instanceof SnapshotError) return new Failure(error.message, { cause: error })
  if (!(error instanceof Error)) return error
  const refusal = explainConnectionError(error)
  if (refusal) return refusal
  if (isConnectTimeout(error)) {
    return new StartError('The database did not respond. Check that it is running and that DATABASE_URL is right.', {
      cause: error,
    })
  }
  if (isConnectionLoss(error)) {
    const message = error.message || String(error)
    return new StartError(`The connection to the database failed: ${message}.`, { cause: error })
  }
  if (!(error instanceof pg.DatabaseError)) return error
  const { message, code = '' } = error
  const explanation = explanationByState[code]
  return new Failure(
    explanation === undefined ? `The database reported an error: ${message} (${code}).` : `${explanation} (${message})`,
    {
      cause: error,
    },
  )
}

/** Words for a number of bytes. */
export const megabytes = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(1)} MB`
