import type { Database } from '../database/database.ts'
import { identifier, raw, sql } from '../database/sql.ts'

/** Pages of a table so short that no plan for it is a bad one. */
const fewPages = raw('4')

/** The tables of ours that have doubled since statistics of them were taken, or that have none. */
const grownSql = sql`select relname::text as name from pg_class
  where relkind = 'r' and relnamespace::regnamespace::name = any(current_schemas(false))
    and pg_has_role(relowner, 'usage')
    and pg_relation_size(oid) > current_setting('block_size')::int * greatest(2 * relpages, ${fewPages})::bigint
  order by relname`

/**
 * Takes statistics of the tables that have doubled since. Autovacuum does that too, but a minute late; and not at all for
 * what was written before a crash of the database, which forgets how much that was. Resolves to the tables' names.
 */
export async function takeStatistics(database: Database): Promise<string[]> {
  const grown = await database.spanning<{ name: string }>('take statistics', grownSql)
  for (const { name } of grown) {
    // Skipped while another process is at it.
    await database.spanning('take statistics', sql`analyze (skip_locked) ${identifier(name)}`)
  }
  return grown.map(({ name }) => name)
}
