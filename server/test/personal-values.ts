import { expect } from 'vitest'
import type { Database } from '../src/platform/database/database.ts'
import { identifier, raw, sql } from '../src/platform/model/sql.ts'

/** The rows of all tables, as JSON, in which one of these words occurs, in any case: `table: row`. */
export async function rowsWith(database: Database, words: readonly string[]): Promise<string[]> {
  const tables = await database.crossTenantQuery<{ name: string }>(
    'check the database',
    sql`select relname::text as name from pg_class
      where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace order by 1`,
  )
  expect(tables.length).toBeGreaterThan(80)
  const found: string[] = []
  for (const { name } of tables) {
    const rows = await database.crossTenantQuery<{ row: string }>(
      'check the database',
      sql`select row::text from (select to_jsonb(${raw(`"${name}"`)}) as row from ${identifier(name)}) stored
        where row::text ilike any(${words.map((word) => `%${word}%`)}::text[])`,
    )
    found.push(...rows.map(({ row }) => `${name}: ${row}`))
  }
  return found
}
