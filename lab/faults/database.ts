import { mkdir, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { addCleanup } from '../shared/cleanup.ts'
import { findBinaries } from '../../server/src/platform/operations/embedded-postgres/binaries.ts'
import {
  clusterConnection,
  initializeCluster,
  type PostgresServer,
  startPostgres,
} from '../../server/src/platform/operations/embedded-postgres/cluster.ts'
import { serviceConnection } from '../../server/src/platform/operations/embedded-postgres/service-role.ts'
import { copyFolder, type Template } from './template.ts'

/** A separate PostgreSQL of the scenario, which no service starts or stops. */
export interface ScenarioDatabase {
  cluster: string
  /** Path of its socket. */
  socket: string
  /** The database that the service uses. */
  name: string
  user: string
  /** The `DATABASE_URL` with its socket. */
  url: string
  /** Restarts it after it was killed. */
  start(): Promise<void>
  stop(): Promise<void>
}

export interface ScenarioDatabaseOptions {
  /** Separate folder for its WAL. */
  walFolder?: string
  /** Its initial data. */
  template: Template | undefined
}

/** Starts one in a folder. */
export async function startDatabase(
  folder: string,
  { walFolder, template }: ScenarioDatabaseOptions,
): Promise<ScenarioDatabase> {
  const binaries = await findBinaries()
  const cluster = join(folder, 'cluster')
  const socketFolder = join(folder, 'socket')
  await mkdir(folder, { recursive: true })
  if (template) await copyFolder(join(template.dataFolder, 'postgres'), cluster)
  else await initializeCluster({ binaries, folder: cluster })
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
  const { port, user, database: name } = template ? serviceConnection(socketFolder) : clusterConnection(socketFolder)
  return {
    cluster,
    socket: join(socketFolder, `.s.PGSQL.${port}`),
    name: String(name),
    user: String(user),
    url: `postgres://${user}@/${name}?host=${encodeURIComponent(socketFolder)}&port=${port}`,
    start,
    stop: addCleanup(async () => server?.stop('immediate')),
  }
}

/** Moves a folder to another disk and links to it. */
async function moveFolder(from: string, to: string): Promise<void> {
  await copyFolder(from, to)
  await rm(from, { recursive: true })
  await symlink(to, from)
}
