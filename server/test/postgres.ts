import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'

/** A temporary cluster of this run, which `global-setup.ts` starts. */
export interface TestCluster {
  engine: 'embedded' | 'debian' | 'citus'
  /** The folder of the Unix socket. */
  host: string
  port: number
  user: string
  /** A migrated database, which is copied for each test. */
  template: string
  /** Folders of the sockets of Citus' workers, which have the same databases. */
  workers?: readonly string[]
}

declare module 'vitest' {
  export interface ProvidedContext {
    /** The first one is the default. */
    clusters: TestCluster[]
  }
}

export interface TestDatabase {
  connection: pg.ClientConfig & { host: string; port: number; user: string; database: string }
  drop(): Promise<void>
}

let chosen: TestCluster['engine'] | undefined

/** Makes later databases belong to this engine; without one, to the default. */
export const useEngine = (engine: TestCluster['engine'] | undefined): void => void (chosen = engine)

/** The cluster of new databases. */
export function testCluster(): TestCluster {
  const clusters = inject('clusters')
  const found = chosen === undefined ? clusters[0] : clusters.find(({ engine }) => engine === chosen)
  if (!found) throw new Error(`This run has no ${chosen ?? ''} PostgreSQL.`)
  return found
}

/** Creates a migrated database. `drop` ends its open connections. */
export async function createDatabase(): Promise<TestDatabase> {
  return createDatabaseFrom(testCluster().template)
}

/** Creates an empty database without any migration. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  return createDatabaseFrom('template0')
}

/** Creates a copy of another database of the cluster, which must have no connections. */
export async function createDatabaseFrom(
  template: string,
  database = `test_${randomBytes(8).toString('hex')}`,
  cluster = testCluster(),
): Promise<TestDatabase> {
  const { host, port, user } = cluster
  const nodes = nodesOf(cluster)
  // Copying the files takes half the time of copying through the write-ahead log.
  for (const node of nodes)
    await administer(node, `create database ${database} template ${template} strategy file_copy`)
  return {
    connection: { host, port, user, database },
    drop: async () => {
      for (const node of nodes) await dropDatabase(node, database)
    },
  }
}

/** Again if a background process opens the database meanwhile, as Citus' maintenance does, which `force` may not end. */
async function dropDatabase(node: TestCluster, database: string): Promise<void> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await administer(node, `drop database if exists ${database} with (force)`)
    } catch (error) {
      const isOpened = error instanceof pg.DatabaseError && error.code === '55006'
      if (!isOpened || attempts === 3) throw error
    }
  }
}

/** Its servers, the coordinator first. */
export const nodesOf = (cluster: TestCluster): [TestCluster, ...TestCluster[]] => [
  cluster,
  ...(cluster.workers ?? []).map((host) => ({ ...cluster, host })),
]

async function administer({ host, port, user }: TestCluster, statement: string): Promise<void> {
  const client = new pg.Client({ host, port, user, database: 'postgres' })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
