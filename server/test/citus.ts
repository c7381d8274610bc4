import { existsSync } from 'node:fs'
import { cp, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import {
  clusterConnection,
  initializeCluster,
  startPostgres,
} from '../src/platform/operations/embedded-postgres/cluster.ts'
import { migrate } from '../src/platform/database/migrate.ts'
import { tablesByPlace } from '../src/places.ts'
import { migrationsFolder } from '../src/release.ts'
import type { TestCluster } from './postgres.ts'
import { until } from './processes.ts'

/** Debian's folders of the PostgreSQL that the files of Citus were built for. */
const installed = ['usr/lib/postgresql/15', 'usr/share/postgresql/15']

/** Number of shards of each table: more than workers, and few enough to create them quickly. */
const shards = 4

export interface CitusOptions {
  settings: Record<string, string | number>
  /** The name of the migrated and distributed database. */
  template: string
}

/** A server of the cluster. */
export interface CitusNode {
  connection: Pick<TestCluster, 'host' | 'port' | 'user'>
  /** Ends the server without a warning, like a power failure of its machine. */
  kill(): Promise<void>
  /** Starts it again, as the init system of its machine would. */
  restart(): Promise<void>
}

/** Starts a coordinator and two workers, in this order, with Unix sockets in the folder. */
export async function startCitus(folder: string, { settings, template }: CitusOptions) {
  const binaries = await copyWithCitus(join(folder, 'postgres'))
  const nodes = await Promise.all(
    ['coordinator', 'worker1', 'worker2'].map((name) => startNode(binaries, join(folder, name), settings)),
  )
  const connections = nodes.map(({ connection }) => connection)
  await createTemplate(connections, template)
  const [coordinator, ...workers] = connections
  if (!coordinator) throw new Error('no node was started')
  const cluster: TestCluster = { ...coordinator, engine: 'citus', template, workers: workers.map(({ host }) => host) }
  const stop = async () => void (await Promise.all(nodes.map(({ stop: stopNode }) => stopNode())))
  return { cluster, nodes: nodes as readonly CitusNode[], stop }
}

async function startNode(binaries: string, path: string, settings: CitusOptions['settings']) {
  const [data, socketFolder, logFile] = ['data', 'socket', 'log'].map((part) => `${path}-${part}`) as [
    string,
    string,
    string,
  ]
  await initializeCluster({ binaries, folder: data, sync: false })
  const start = () =>
    startPostgres({
      binaries,
      folder: data,
      socketFolder,
      logFile,
      settings: {
        ...settings,
        shared_preload_libraries: 'citus',
        max_prepared_transactions: 200,
        'citus.shard_count': shards,
        'citus.node_conninfo': 'sslmode=disable',
        'citus.enable_statistics_collection': 'off',
      },
    })
  let server = await start()
  return {
    connection: clusterConnection(socketFolder) as CitusNode['connection'],
    stop: () => server.stop('immediate'),
    kill: async () => {
      process.kill(server.pid, 'SIGKILL')
      await server.exited
    },
    restart: async () => {
      const tryStart = async () => {
        server = await start()
        return true
      }
      // Processes of the killed server may still be ending; until then, its memory is in use.
      await until('the server starts', () => tryStart().catch(() => false))
    },
  }
}

/** PostgreSQL 15 finds extensions only in its own folders, so that Citus needs a copy of them. Returns its folder. */
async function copyWithCitus(folder: string): Promise<string> {
  const files = process.env.CITUS_FILES
  if (files === undefined)
    throw new Error('TEST_ENGINE=citus needs CITUS_FILES: a folder with lib/ and extension/ of Citus.')
  for (const part of installed) {
    if (!existsSync(join('/', part))) throw new Error(`Citus needs Debian's postgresql-15: /${part} is missing.`)
    await mkdir(join(folder, part), { recursive: true })
    await cp(join('/', part), join(folder, part), { recursive: true, verbatimSymlinks: true })
  }
  const [binaries, shared] = installed.map((part) => join(folder, part)) as [string, string]
  await cp(join(files, 'lib'), join(binaries, 'lib'), { recursive: true })
  await cp(join(files, 'extension'), join(shared, 'extension'), { recursive: true })
  return binaries
}

/** A database of the same name on each node, which nobody can connect to, so that it can be copied. */
async function createTemplate(nodes: readonly pg.ClientConfig[], template: string): Promise<void> {
  for (const node of nodes) {
    await run(node, `create database ${template}`)
    await run({ ...node, database: template }, 'create extension citus; create extension pg_trgm')
  }
  const [coordinator, ...workers] = nodes.map((node) => ({ ...node, database: template }))
  if (!coordinator) return
  await run(coordinator, `select citus_set_coordinator_host('${coordinator.host}', ${coordinator.port})`)
  for (const { host, port } of workers) await run(coordinator, `select citus_add_node('${host}', ${port})`)
  await migrate(coordinator, {
    folder: migrationsFolder,
    log: () => undefined,
    organizationTables: tablesByPlace.organization,
    distributes: true,
  })
  for (const node of nodes) {
    await run(node, `alter database ${template} allow_connections false`)
    await run(node, `select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = '${template}'`)
  }
}

async function run(connection: pg.ClientConfig, statement: string): Promise<void> {
  const client = new pg.Client(connection)
  await client.connect()
  await client.query(statement).finally(() => client.end())
}
