import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'

/** The temporary cluster of this run, which `global-setup.ts` starts. */
export interface TestCluster {
  engine: 'embedded' | 'debian'
  /** The folder of the Unix socket. */
  host: string
  port: number
  user: string
  /** A migrated database, which is copied for each test. */
  template: string
}

declare module 'vitest' {
  export interface ProvidedContext {
    cluster: TestCluster
  }
}

export interface TestDatabase {
  connection: pg.ClientConfig & { host: string; port: number; user: string; database: string }
  drop(): Promise<void>
}

/** The PostgreSQL of this run. */
export const testEngine = (): TestCluster['engine'] => inject('cluster').engine

/** Creates a migrated database. `drop` ends its open connections. */
export async function createDatabase(): Promise<TestDatabase> {
  return copyDatabase(inject('cluster').template)
}

/** Creates an empty database without any migration. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  return copyDatabase('template0')
}

async function copyDatabase(template: string): Promise<TestDatabase> {
  const { host, port, user } = inject('cluster')
  const database = `test_${randomBytes(8).toString('hex')}`
  // Copying the files takes half the time of copying through the write-ahead log.
  await administer(`create database ${database} template ${template} strategy file_copy`)
  return {
    connection: { host, port, user, database },
    drop: () => administer(`drop database if exists ${database} with (force)`),
  }
}

async function administer(statement: string): Promise<void> {
  const { host, port, user } = inject('cluster')
  const client = new pg.Client({ host, port, user, database: 'postgres' })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
