import type { Database, CrossTenantConnection } from '../../database/database.ts'
import { identifier, sql } from '../../model/sql.ts'

/** Tables with no more pages need no statistics: any plan is good. */
const fewPages = 4

/** Milliseconds to analyze a table: a sample of 30,000 scattered pages, on a slow and busy disk. */
const analyzeTimeout = 60_000

/** Our tables that have doubled since their last statistics, or have none. */
const grown = `select relname::text as name from pg_class
  where relkind = 'r' and relnamespace::regnamespace::name = any(current_schemas(false))
    and pg_has_role(relowner, 'usage')
    and pg_relation_size(oid) > current_setting('block_size')::int * greatest(2 * relpages, ${fewPages})::bigint
  order by relname`

export async function findGrownTables(database: Database): Promise<string[]> {
  const found = await Promise.all(
    database.engine
      .tablesOnServers(grown)
      .map((statement) => database.crossTenantQuery<{ name: string }>('update statistics', statement)),
  )
  return found.flat().map(({ name }) => name)
}

/** Analyzes the table, unless another process is doing so. Ends early, with an error, if the signal aborts. */
export async function analyze(database: Database, table: string, signal: AbortSignal): Promise<void> {
  const take = async (spanning: CrossTenantConnection) => {
    const [own] = await spanning.query<{ pid: number }>(
      sql`select pg_backend_pid() as pid, set_config('statement_timeout', ${String(analyzeTimeout)}, true)`,
    )
    // If only the connection were closed, the server would continue.
    const cancel = () => {
      database
        .crossTenantQuery('update statistics', sql`select pg_cancel_backend(${own?.pid}::int)`)
        .catch(() => undefined)
    }
    signal.addEventListener('abort', cancel)
    try {
      signal.throwIfAborted()
      await spanning.query(sql`analyze (skip_locked) ${identifier(table)}`)
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }
  await database.crossTenantTransaction('update statistics', take, { timeout: 2 * analyzeTimeout })
}
