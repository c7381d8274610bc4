import type pg from 'pg'
import { connect } from '../connect.ts'
import { citus } from './citus.ts'
import { distributedTables, distributionState } from './distribute.ts'
import type { Engine } from './engine.ts'
import { single } from './single.ts'

/** The engine with this name, whose organizations have these tables. */
export const engineNamed = (name: Engine['name'], tables: readonly string[]): Engine =>
  name === 'citus' ? citus(tables) : single

/** The engine of a database that may be about to be migrated. */
export async function findEngine(connection: pg.ClientConfig, timeout?: number): Promise<Engine['name']> {
  const client = await connect({ ...connection, application_name: 'rapport migrate' }, timeout)
  try {
    return (await distributionState(client)) === 'complete' ? 'citus' : 'single'
  } finally {
    await client.end()
  }
}

export async function engineOf(client: pg.Client): Promise<Engine> {
  const tables = await distributedTables(client)
  return tables.size > 0 ? citus([...tables]) : single
}
