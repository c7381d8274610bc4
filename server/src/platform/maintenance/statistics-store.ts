import type { Database, CrossTenantConnection } from '../database/database.ts'
import { identifier, raw, sql } from '../model/sql.ts'

/** Pages of a table so short that no plan for it is a bad one. */
const fewPages = raw('4')

/**
 * Milliseconds that statistics of a table may take: a sample of 30,000 pages, each from a place of its own, on a disk that is
 * slow and has other work.
 */
const analyzeTimeout = 60_000

/** The tables of ours that have doubled since statistics of them were taken, or that have none. */
const grownSql = sql`select relname::text as name from pg_class
  where relkind = 'r' and relnamespace::regnamespace::name = any(current_schemas(false))
    and pg_has_role(relowner, 'usage')
    and pg_relation_size(oid) > current_setting('block_size')::int * greatest(2 * relpages, ${fewPages})::bigint
  order by relname`

export async function findGrownTables(database: Database): Promise<string[]> {
  return (await database.crossTenantQuery<{ name: string }>('take statistics', grownSql)).map(({ name }) => name)
}

/** Takes statistics of the table, unless another process is at it; ends early, with an error, when the signal says so. */
export async function analyze(database: Database, table: string, signal: AbortSignal): Promise<void> {
  const take = async (spanning: CrossTenantConnection) => {
    const [own] = await spanning.query<{ pid: number }>(
      sql`select pg_backend_pid() as pid, set_config('statement_timeout', ${String(analyzeTimeout)}, true)`,
    )
    // Given up by its connection alone, the server would go on.
    const cancel = () => {
      database
        .crossTenantQuery('take statistics', sql`select pg_cancel_backend(${own?.pid}::int)`)
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
  await database.crossTenantTransaction('take statistics', take, undefined, 2 * analyzeTimeout)
}
