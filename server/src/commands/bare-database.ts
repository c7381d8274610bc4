import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import type { Config } from '../config.ts'
import { openEmbedded } from '../platform/database/embedded.ts'
import { isConnectionLoss } from '../platform/database/failures.ts'
import type { Purpose } from '../platform/database/hold.ts'
import { SnapshotError } from '../platform/database/snapshot/format.ts'
import { StartError } from '../platform/database/start-error.ts'
import { migrationsFolder, version } from '../release.ts'
import { Failure, tell } from './command.ts'

/** A database as it is: neither checked nor migrated, and no secret made for it. */
export interface BareDatabase {
  connection: pg.ClientConfig
  /** A running service has the embedded database. */
  attached: boolean
}

/** Opens the database of the configuration for `work` and closes it again. */
export async function withBareDatabase<Result>(
  config: Config,
  purpose: Purpose,
  work: (database: BareDatabase) => Promise<Result>,
): Promise<Result> {
  const { dataFolder, databaseUrl } = config
  const embedded =
    databaseUrl === undefined
      ? await openEmbedded({ dataFolder, purpose, log: tell, upgrade: { migrationsFolder, version: version() } })
      : undefined
  const connection = embedded?.connection ?? { connectionString: databaseUrl }
  try {
    return await work({ connection, attached: embedded?.attached ?? false })
  } catch (error) {
    if (error instanceof SnapshotError) throw new Failure(error.message, { cause: error })
    if (!isConnectionLoss(error)) throw error
    throw new StartError(`The connection with the database failed: ${(error as Error).message || String(error)}.`, {
      cause: error,
    })
  } finally {
    await embedded?.close()
  }
}

/** Was the embedded database of this data folder ever made? */
export const isEmbeddedMade = async (dataFolder: string): Promise<boolean> =>
  (await Promise.allSettled(['postgres', 'postgres.location'].map((name) => stat(join(dataFolder, name))))).some(
    ({ status }) => status === 'fulfilled',
  )

/** Words for a number of bytes. */
export const megabytes = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(1)} MB`
