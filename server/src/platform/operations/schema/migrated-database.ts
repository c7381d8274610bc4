import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { findBinaries } from '../embedded-postgres/binaries.ts'
import { clusterConnection, initializeCluster, startPostgres } from '../embedded-postgres/cluster.ts'
import { migrate } from '../../database/migrate.ts'

const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', autovacuum: 'off' }

/** Applies a folder's migrations to an empty database in a temporary PostgreSQL, of which `read` reads something. */
export async function readMigrated<Result>(
  migrations: string,
  read: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const binaries = await findBinaries()
  const folder = await mkdtemp(join(tmpdir(), 'rapport-schema-'))
  // PostgreSQL does not run as root: another user has to reach its folder in here.
  await chmod(folder, 0o711)
  try {
    const [data, socketFolder, logFile] = [join(folder, 'data'), join(folder, 'socket'), join(folder, 'log')]
    await initializeCluster({ binaries, folder: data, sync: false })
    const server = await startPostgres({ binaries, folder: data, socketFolder, logFile, settings })
    try {
      const connection = clusterConnection(socketFolder)
      await migrate(connection, { folder: migrations, log: () => undefined })
      const client = new pg.Client(connection)
      await client.connect()
      return await read(client).finally(() => client.end())
    } finally {
      await server.stop('immediate')
    }
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}
