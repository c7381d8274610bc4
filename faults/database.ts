import { execFile } from 'node:child_process'
import { mkdir, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { atEnd } from '../bench/cleanup.ts'
import { findBinaries } from '../server/src/platform/database/binaries.ts'
import {
  clusterConnection,
  initializeCluster,
  type PostgresServer,
  startPostgres,
} from '../server/src/platform/database/cluster.ts'

/** A PostgreSQL of the scenario's own, which no service starts or ends. */
export interface OwnDatabase {
  cluster: string
  /** The folder of its socket, and its name there. */
  socket: string
  /** The `DATABASE_URL` of its socket. */
  url: string
  /** Starts it again after it was killed. */
  start(): Promise<void>
  stop(): Promise<void>
}

/** Starts one below a folder; `walFolder` is where its log of changes lies instead. */
export async function startDatabase(folder: string, walFolder?: string): Promise<OwnDatabase> {
  const binaries = await findBinaries()
  const cluster = join(folder, 'cluster')
  const socketFolder = join(folder, 'socket')
  await mkdir(folder, { recursive: true })
  await initializeCluster({ binaries, folder: cluster })
  if (walFolder !== undefined) {
    await moveFolder(join(cluster, 'pg_wal'), walFolder)
  }
  const settings = { max_connections: 200, shared_buffers: '64MB', max_wal_size: '1GB' }
  let server: PostgresServer | undefined
  const start = async () => {
    server = await startPostgres({
      binaries,
      folder: cluster,
      socketFolder,
      logFile: join(folder, 'database.log'),
      settings,
    })
  }
  await start()
  const { port, user, database } = clusterConnection(socketFolder)
  return {
    cluster,
    socket: join(socketFolder, `.s.PGSQL.${port}`),
    url: `postgres://${user}@/${database}?host=${encodeURIComponent(socketFolder)}&port=${port}`,
    start,
    stop: atEnd(async () => server?.stop('immediate')),
  }
}

/** To another disk; `cp` keeps whose it is. */
async function moveFolder(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', from, to])
  await rm(from, { recursive: true })
  await symlink(to, from)
}
