import pg from 'pg'
import { createEmptyDatabase, nodesOf, testCluster, type TestDatabase } from './postgres.ts'

export interface CitusDatabase extends TestDatabase {
  /** Adds the workers, so that tables can be distributed. */
  addWorkers(): Promise<void>
}

/** An empty database on every node of the cluster, with the extensions and without migrations. */
export async function createCitusDatabase({ hasWorkers = true } = {}): Promise<CitusDatabase> {
  const database = await createEmptyDatabase()
  const { connection } = database
  const [coordinator, ...workers] = nodesOf(testCluster())
  for (const { host } of [coordinator, ...workers])
    await query({ ...connection, host }, 'create extension citus; create extension pg_trgm')
  await query(connection, `select citus_set_coordinator_host('${connection.host}', ${connection.port})`)
  const addWorkers = async () => {
    for (const { host, port } of workers) await query(connection, `select citus_add_node('${host}', ${port})`)
  }
  if (hasWorkers) await addWorkers()
  return { ...database, addWorkers }
}

async function query(connection: pg.ClientConfig, statement: string): Promise<void> {
  const client = new pg.Client(connection)
  await client.connect()
  await client.query(statement).finally(() => client.end())
}
