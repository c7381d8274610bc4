import type pg from 'pg'
import { tablesByPlace } from '../src/places.ts'
import { isDistributed } from './engines.ts'

/** On Citus, distributes tables that a test has created, next to those of the product. Returns all distributed tables. */
export async function distributeTables(client: pg.Client): Promise<string[]> {
  const known: readonly string[] = [...tablesByPlace.directory, ...tablesByPlace.organization]
  const { rows } = await client.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public'`,
  )
  const created = rows.map(({ name }) => name).filter((name) => !known.includes(name))
  if (!isDistributed()) return []
  // Each after the tables to which its foreign keys refer.
  for (let remaining = created; remaining.length > 0;) {
    const failed: string[] = []
    for (const table of remaining) {
      await client
        .query(`select create_distributed_table($1, 'organization_id', colocate_with => 'contacts')`, [table])
        .catch((error: unknown) => {
          if (remaining.length === failed.length + 1) throw error
          failed.push(table)
        })
    }
    remaining = failed
  }
  return [...tablesByPlace.organization, ...created]
}
