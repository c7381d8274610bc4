import pg from 'pg'
import type { Config } from '../config.ts'
import { explainConnectionError } from '../platform/database/check.ts'
import { isConnectTimeout } from '../platform/database/connect.ts'
import { openEmbedded } from '../platform/operations/embedded-postgres/embedded.ts'
import { isConnectionLoss } from '../platform/database/failures.ts'
import { SnapshotError } from '../platform/operations/backup/format.ts'
import { StartError } from '../platform/database/start-error.ts'
import { Failure, printMessage } from './command.ts'
import { interruptible } from './interruptible.ts'
import type { Purpose } from '../platform/operations/embedded-postgres/owner.ts'

/**
 * A database that is neither checked nor migrated, and for which no secret is created. An embedded database of an older
 * PostgreSQL is not upgraded; the older PostgreSQL serves it, if it is found.
 */
export interface BareDatabase {
  connection: pg.ClientConfig
  /** The embedded database is that of a running service. */
  attached: boolean
  /** Aborted by Ctrl-C and SIGTERM. */
  signal: AbortSignal
}

/** Opens the configured database for `work` and always closes it. */
export const withBareDatabase = <Result>(
  {
    dataFolder,
    databaseUrl,
    postgresBinaries: binaries,
  }: Pick<Config, 'dataFolder' | 'databaseUrl' | 'postgresBinaries'>,
  purpose: Purpose,
  work: (database: BareDatabase) => Promise<Result>,
): Promise<Result> =>
  interruptible(async (signal) => {
    const embedded =
      databaseUrl === undefined
        ? await openEmbedded({ dataFolder, purpose, log: printMessage, withoutUpgrade: true, binaries, signal })
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

/** Explanations by SQLSTATE (appendix A of the PostgreSQL manual). */
const explanationByState: Record<string, string> = {
  '42501': 'The user of DATABASE_URL is not allowed to do this.',
  '53100': 'The disk of the database is full. Nothing was changed. Free some space and try again.',
  '55P03': 'Tables of the database are locked, for example by a migration. Nothing was changed. Try again later.',
}

/** Translates errors of the database into errors that say what to do; returns others unchanged. */
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

export const megabytes = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(1)} MB`
